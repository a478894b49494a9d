"""Log lines are JSON: `noun.verb` with ids, never content (PL-11, WM-24)."""

import logging
import logging.config
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from pythonjsonlogger.json import JsonFormatter

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class ContentFreeFormatter(JsonFormatter):
    """Writes where an exception came from and its class. Its message may quote content, so it is left out."""

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        """Keep ids and numbers alone: a request, or anything else that is not, may quote what was sent."""
        plain = (str, int, float, bool, type(None))
        return {name: value for name, value in log_data.items() if isinstance(value, plain)}

    def format(self, record: logging.LogRecord) -> str:
        """Replace what others say of a request or an exception, which may quote content, by that they said so."""
        is_ours = record.name.startswith("lastro.")
        if record.name.startswith("django.") or (record.exc_info and not is_ours):
            event = f"{record.name.partition('.')[0]}.event"
            record = logging.makeLogRecord({**record.__dict__, "msg": event, "args": ()})
        return super().format(record)

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        """Write times as everywhere: RFC 3339 in UTC (PL-10)."""
        return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")

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
