"""What a long-running command logs to stderr: text for people, JSON for machines."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

# Attributes that our records carry beside the message, in the order in which they are shown.
_CONTEXT = ("application", "cluster", "namespace")


class TextFormatter(logging.Formatter):
    """`TIME LEVEL [application] message`, and a traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """One record; only a traceback takes more than one line."""
        context = "".join(f"[{value}] " for name in _CONTEXT if (value := getattr(record, name, None)))
        line = f"{_format_time(record)} {record.levelname:<7} {context}{' '.join(record.getMessage().splitlines())}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """One JSON object a line: `time`, `level`, `logger`, `message`, and what the record is about."""

    def format(self, record: logging.LogRecord) -> str:
        """One record in one line, its traceback included."""
        entry = {
            "time": _format_time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry |= {name: value for name in _CONTEXT if (value := getattr(record, name, None))}
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def configure_logs(log_format: str, level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Send everything of `level` and above to stderr, ours and that of the libraries.

    Args:
        log_format: `text` or `json`.
        level: the lowest level shown.
        stream: instead of stderr.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # Each request of a probe is no news.
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)


def _format_time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
