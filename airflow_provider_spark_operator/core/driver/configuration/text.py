"""Text functions of Java."""

from ...spark.spark_conf import JAVA_BLANKS
from .errors import DriverBuildError

_MAX_ENTRIES = 2000


def decode_text(field: str, content: bytes) -> str:
    """Return the content as text. Raise DriverBuildError for `field` if it is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise DriverBuildError(field, "must be a text file in UTF-8") from error


def trim(text: str) -> str:
    """Trim the text as `String.trim` does."""
    return text.strip(JAVA_BLANKS)


def trim_except_line_ends(text: str) -> str:
    """Trim the text, but keep line ends: in a properties file, the user must have escaped them on purpose."""
    return text.strip(JAVA_BLANKS.replace("\r", "").replace("\n", ""))


def split_list(field: str, text: str) -> tuple[str, ...]:
    """Return the entries of a comma-separated list, trimmed, without empty ones.

    Raises:
        DriverBuildError: The list of `field` has more entries than any real application.
    """
    if text.count(",") >= _MAX_ENTRIES:
        sentence = f"has more than {_MAX_ENTRIES} entries: pack the files into archives, or add them to the image"
        raise DriverBuildError(field, sentence)
    return tuple(entry for each in text.split(",") if (entry := trim(each)))


def split(text: str, separator: str) -> list[str]:
    """Split the text as `String.split` does: without empty parts at the end, unless there is no separator."""
    if separator not in text:
        return [text]
    kept = text.rstrip(separator)
    return kept.split(separator) if kept else []
