"""Ages, durations and time zones of the command line."""

import re
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import click

from ...core.kubernetes.times import format_duration

_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_SECONDS: Final = re.compile(r"[0-9]+(\.[0-9]+)?")


def format_age(time: str | None, now: datetime) -> str:
    """Return the time since a timestamp of the API, such as `metadata.creationTimestamp`; empty if there is none."""
    if not time:
        return ""
    return format_duration(now - datetime.fromisoformat(time))


def parse_duration(text: str) -> timedelta:
    """Return a duration such as `90s`, `15m`, `2h30m` or `7d`. A number without a unit is in seconds: `90`, `0.5`.

    Raises:
        click.BadParameter: The text is not a duration, or is too long.
    """
    try:
        return timedelta(seconds=float(text)) if _SECONDS.fullmatch(text) else timedelta(**_split_units(text))
    except OverflowError:
        raise click.BadParameter(f"invalid duration {text!r}: too long") from None


def _split_units(text: str) -> dict[str, int]:
    """Return the number of each unit of a duration.

    Raises:
        click.BadParameter: The text is not a duration.
    """
    numbers: dict[str, int] = {}
    digits = ""
    for character in text:
        if character in "0123456789":
            digits += character
        elif digits and character in _UNITS and _UNITS[character] not in numbers:
            numbers[_UNITS[character]] = int(digits[:12])
            digits = ""
        else:
            numbers.clear()
            break
    if digits or not numbers:
        raise click.BadParameter(f"invalid duration {text!r}: write for example 90s, 15m, 2h30m or 7d")
    return numbers


def check_age(text: str) -> str:
    """Return the value of an option that `parse_duration` accepts and that has a unit.

    Ages select what is deleted: a number without a unit would be in seconds, where a user may have meant days. Zero
    needs no unit.

    Raises:
        click.BadParameter: The text is not a duration, is too long, or has no unit.
    """
    if _SECONDS.fullmatch(text) and float(text):
        number = text if text.isdecimal() else "7"
        raise click.BadParameter(f"{text!r} has no unit: write for example {number}m, {number}h or {number}d")
    return check_duration(text)


def check_duration(text: str) -> str:
    """Return the value of an option that `parse_duration` accepts.

    Raises:
        click.BadParameter: The text is not a duration, or is too long.
    """
    parse_duration(text)
    return text


def check_limit(text: str) -> str:
    """Return the value of an option that `parse_duration` accepts and that is greater than 0.

    Raises:
        click.BadParameter: The text is not a duration, is too long, or is 0.
    """
    if not parse_duration(text):
        raise click.BadParameter("must be greater than 0")
    return text


def is_time_zone(name: str) -> bool:
    """Return whether a time zone with this name exists, for example `Europe/Paris`."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, not a relative path, or a folder
        return False
    return True
