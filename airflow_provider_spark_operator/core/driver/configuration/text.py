"""Text and floating-point numbers in Java's format."""

import re
from decimal import Decimal

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


_DECIMAL = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?[fFdD]?", re.ASCII)
_HEXADECIMAL = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]++(?:\.[0-9a-fA-F]*+)?|\.[0-9a-fA-F]++)[pP][+-]?\d++[fFdD]?", re.ASCII
)
_INFINITE = re.compile(r"[+-]?Infinity")
_POSITIONAL_FROM, _POSITIONAL_BELOW = 1e-3, 1e7
_INFINITY = float("inf")


def parse_double(text: str) -> float | None:
    """Parse a number as `Double.parseDouble` does: too large a number is infinite. Return None for other text."""
    if _DECIMAL.fullmatch(text):
        return float(text.rstrip("fFdD"))
    if _HEXADECIMAL.fullmatch(text):
        mantissa, exponent = re.split("[pP]", text.rstrip("fFdD"))
        try:
            return float.fromhex(f"{mantissa}p{exponent}")
        except OverflowError:
            return -_INFINITY if text.startswith("-") else _INFINITY
    return float(text) if _INFINITE.fullmatch(text) else None


def format_double(value: float) -> str:
    """Format a number as `Double.toString` does: `0.1`, `0.0`, `1.0E-5`, `Infinity`."""
    if abs(value) == _INFINITY:
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _POSITIONAL_FROM <= abs(value) < _POSITIONAL_BELOW:
        return repr(float(value))
    number = Decimal(repr(value)).normalize()
    digits = "".join(map(str, number.as_tuple().digits))
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:] or '0'}E{number.adjusted()}"
