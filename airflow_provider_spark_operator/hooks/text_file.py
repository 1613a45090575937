"""Read a text file that a parameter names. DAG files import this module."""

import os
from pathlib import Path

from ..airflow_compat import AirflowFailException


def read_text_file(path: str | os.PathLike[str], noun: str) -> str:
    """Return the text of a file.

    Args:
        path: Path of the file, absolute or relative to the working directory.
        noun: What the file contains, for messages.

    Raises:
        AirflowFailException: The file does not exist, cannot be read, or is not UTF-8 text.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise build_read_error(path, noun, error) from error


def build_read_error(path: str | os.PathLike[str], noun: str, error: Exception) -> AirflowFailException:
    """Return the failure of a task that could not read a file.

    Args:
        path: Path of the file.
        noun: What the file contains.
        error: Why the file could not be read.
    """
    reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
    return AirflowFailException(f"could not read {noun} file {os.fspath(path)!r}: {reason}")
