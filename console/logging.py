"""Log lines are JSON: `noun.verb` with ids, never content (PL-11, WM-24)."""

import logging
import logging.config
import traceback
from types import TracebackType

from pythonjsonlogger.json import JsonFormatter

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class ContentFreeFormatter(JsonFormatter):
    """Writes where an exception came from and its class. Its message may quote content, so it is left out."""

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802
        kind, _, trace = ei
        if kind is None:
            return ""
        frames = (f"{frame.filename}:{frame.lineno}:{frame.name}" for frame in traceback.extract_tb(trace))
        return " < ".join([kind.__name__, *reversed(list(frames))])


def configure(level: str) -> None:
    """Send every logger to standard error as JSON lines."""
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "json": {
                    "()": "console.logging.ContentFreeFormatter",
                    "fmt": "%(asctime)s %(levelname)s %(name)s %(message)s",
                    "rename_fields": {
                        "asctime": "at",
                        "levelname": "level",
                        "name": "logger",
                        "message": "event",
                    },
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
            "root": {"handlers": ["stderr"], "level": level},
            "loggers": {
                # Django's own request lines carry paths and reasons; RequestLog writes ours instead.
                "django.request": {"level": "CRITICAL", "propagate": True},
                "django.server": {"level": "CRITICAL"},
                "django.db.backends": {"level": "CRITICAL"},
                "django.security": {"level": "WARNING"},
            },
        }
    )
