"""Values of bounded JSON: texts without secrets, numbers, times, and lists that fit a number of bytes."""

import json
from bisect import bisect_right
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Final

from ..kubernetes.json_object import JsonObject
from ..kubernetes.times import to_utc
from ..log.driver_log import clean_line
from ..log.secrets import hide_secrets

# Texts are shorter after redaction. The rest of longer texts is not searched for secrets, and not shown.
_SEARCHED: Final = 4096
_MARK: Final = "…"
_LARGEST: Final = 2**53 - 1
_SMALL: Final = Decimal("0.01")  # below, three decimals would show one digit


def measure(value: object) -> int:
    """Return the length of a JSON value in ASCII, where a character outside ASCII has up to 12 bytes."""
    return len(json.dumps(value))


def cut_text(text: str, most: int) -> str:
    """Return a text on one line, without secrets and control characters, and cut to a length in JSON.

    Args:
        text: Any text.
        most: Its greatest length in JSON, in bytes of ASCII without the quotes.
    """
    if len(text) > _SEARCHED:  # half a secret at the end would not be found
        text = (text[: _SEARCHED - 1].rpartition(" ")[0] or text[: most // 2]) + _MARK
    shown = str(hide_secrets(clean_line(text, longest=_SEARCHED)))
    if measure(shown) - 2 <= most:
        return shown
    kept = bisect_right(range(most), most + 2, key=lambda count: measure(shown[:count] + _MARK)) - 1
    return shown[: max(0, kept)] + _MARK


def limit_number(number: float) -> float:
    """Return a number that each reader of JSON reads exactly. An integer remains an integer."""
    return max(-_LARGEST, min(number, _LARGEST))


def round_amount(amount: Decimal) -> float:
    """Return an amount with up to six decimals."""
    return limit_number(round(float(amount), 6))


def format_amount(amount: Decimal | float) -> str:
    """Return an amount for people: three decimals, or as many as two significant digits need."""
    return f"{amount:.3f}" if amount >= _SMALL or not amount else f"{Decimal(f'{amount:.2g}'):f}"


def format_time(time: datetime) -> str:
    """Return a time in UTC: `2026-11-27T08:21:46Z`, with milliseconds unless these are zero."""
    exact = to_utc(time)
    unit = "milliseconds" if exact.microsecond // 1000 else "seconds"
    return exact.replace(tzinfo=None).isoformat(timespec=unit) + "Z"


def drop_unknown(values: JsonObject) -> JsonObject:
    """Return the members of an object that are known. None, empty texts, lists and objects are unknown."""
    return {key: value for key, value in values.items() if value is not None and value not in ("", [], {})}


def fit(items: Iterable[JsonObject], most: int) -> list[JsonObject]:
    """Return the first items that together have at most `most` bytes of JSON in ASCII."""
    kept: list[JsonObject] = []
    for item in items:
        most -= measure(item) + 2
        if most < 0:
            break
        kept.append(item)
    return kept
