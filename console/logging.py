"""Log lines are JSON: `noun.verb` with ids, never content (PL-11, WM-24)."""

import json
import logging
import logging.config
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

import orjson

_PLAIN = (str, int, float, bool, type(None))
_OF_EVERY_RECORD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class ContentFreeFormatter(logging.Formatter):
    """Writes where an exception came from and its class. Its message may quote content, so it is left out."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one line: when, how bad, who, what, and the ids and numbers beside it."""
        # A request, or anything else that is no plain value, may quote what was sent.
        beside = {
            name: value
            for name, value in record.__dict__.items()
            if name not in _OF_EVERY_RECORD and isinstance(value, _PLAIN)
        }
        line = {
            "at": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "event": _event(record),
            **beside,
        }
        if record.exc_info:
            line["exc_info"] = self.formatException(record.exc_info)
        return _written(line)

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        """Write times as everywhere: RFC 3339 in UTC (PL-10)."""
        return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802
        kind, _, trace = ei
        if kind is None:
            return ""
        frames = (f"{frame.filename}:{frame.lineno}:{frame.name}" for frame in traceback.extract_tb(trace))
        return " < ".join([kind.__name__, *reversed(list(frames))])


def _event(record: logging.LogRecord) -> str:
    """Replace what others say of a request or an exception, which may quote content, by that they said so."""
    is_ours = record.name.startswith("lastro.")
    quotes = record.exc_info or not isinstance(record.msg, str)
    if record.name.startswith("django.") or (quotes and not is_ours):
        return f"{record.name.partition('.')[0]}.event"
    return record.getMessage()


def _written(line: dict[str, Any]) -> str:
    try:
        return orjson.dumps(line).decode()
    except TypeError:  # half a surrogate pair, or a number over 64 bits
        return json.dumps(line)


def configure(level: str) -> None:
    """Send every logger to standard error as JSON lines."""
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"json": {"()": "console.logging.ContentFreeFormatter"}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
            "root": {"handlers": ["stderr"], "level": level},
            "loggers": {
                # Django's own request lines carry paths and reasons; RequestLog writes ours instead.
                "django.request": {"level": "CRITICAL", "propagate": True},
                "django.server": {"level": "CRITICAL"},
                "django.db.backends": {"level": "CRITICAL"},
                "django.security": {"level": "WARNING"},
                # At DEBUG it writes the verifier of a sign-in under way, and urllib3 the addresses it asks.
                "authlib": {"level": "WARNING"},
                "urllib3": {"level": "WARNING"},
            },
        }
    )
