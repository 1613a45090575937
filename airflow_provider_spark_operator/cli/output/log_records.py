"""The log messages of a long-running command on stderr, as text or as JSON."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

from ..base.errors import print_note

# Attributes of log records in addition to the message, in the order of the output.
_CONTEXT = ("application", "cluster", "namespace")


class TextFormatter(logging.Formatter):
    """Format a record as `TIME LEVEL [application] message`, with a traceback if the record has one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line, and its traceback below."""
        context = "".join(f"[{value}] " for name in _CONTEXT if (value := getattr(record, name, None)))
        line = f"{_format_time(record)} {record.levelname:<7} {context}{' '.join(record.getMessage().splitlines())}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """Format a record as one line of JSON: `time`, `level`, `logger`, `message` and the object of the message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record and its traceback as one line."""
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
    """Log the records of this program and its libraries to stderr.

    Args:
        log_format: `text` or `json`.
        level: The lowest level that is logged.
        stream: The stream to write to, by default stderr.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # Requests of probes are not worth a message.
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)


class _NoteHandler(logging.Handler):
    """Prints records as notes of the command. A document that is checked twice causes each note once."""

    def __init__(self) -> None:
        super().__init__()
        self._printed: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        message = f"{record.levelname.lower()}: {' '.join(record.getMessage().splitlines())}"
        if message not in self._printed:
            print_note(message)
        self._printed.add(message)


def show_warnings() -> None:
    """Print warnings of this program and its libraries as notes, for a command that ends soon."""
    logging.basicConfig(level=logging.WARNING, handlers=[_NoteHandler()], force=True)


def _format_time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
