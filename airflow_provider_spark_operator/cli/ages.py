"""Ages and durations, as `kubectl get` shows them, and durations of options."""

from datetime import datetime, timedelta

import pendulum
import typer

_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def format_duration(duration: timedelta) -> str:
    """Return the two largest units of a duration: `5m3s`, `2d4h`; a negative duration is `0s`."""
    total = pendulum.duration(seconds=max(0.0, duration.total_seconds()))
    parts = (
        (total.days, "d"),
        (total.hours, "h"),
        (total.minutes, "m"),
        (total.remaining_seconds, "s"),
    )
    first = next((index for index, (number, _) in enumerate(parts) if number), len(parts) - 1)
    return "".join(f"{number}{unit}" for number, unit in parts[first : first + 2] if number) or "0s"


def format_age(time: str | None, now: datetime) -> str:
    """Return the time since a timestamp of the API, such as `metadata.creationTimestamp`; empty if there is none."""
    if not time:
        return ""
    return format_duration(now - datetime.fromisoformat(time))


def parse_duration(text: str) -> timedelta:
    """Return a duration such as `90s`, `15m`, `2h30m` or `7d`. A number without a unit is in seconds.

    Raises:
        typer.BadParameter: The text is not a duration, or is too long.
    """
    numbers: dict[str, int] = {}
    digits = ""
    for character in text if not text.isdecimal() else f"{text}s":
        if character in "0123456789":
            digits += character
        elif digits and character in _UNITS and _UNITS[character] not in numbers:
            numbers[_UNITS[character]] = int(digits[:12])
            digits = ""
        else:
            numbers.clear()
            break
    if digits or not numbers:
        raise typer.BadParameter(f"invalid duration {text!r}: write for example 90s, 15m, 2h30m or 7d")
    try:
        return timedelta(**numbers)
    except OverflowError:
        raise typer.BadParameter(f"invalid duration {text!r}: too long") from None


def check_age(text: str | None) -> str | None:
    """Return the value of an option that `parse_duration` accepts and that has a unit.

    Ages select what is deleted: a number without a unit would be in seconds, where a user may have meant days. Zero
    needs no unit.

    Raises:
        typer.BadParameter: The text is not a duration, is too long, or has no unit.
    """
    if text is not None and text.isdecimal() and text.strip("0"):
        raise typer.BadParameter(f"{text!r} has no unit: write for example {text}m, {text}h or {text}d")
    return check_duration(text)


def check_duration(text: str | None) -> str | None:
    """Return the value of an option that `parse_duration` accepts.

    Raises:
        typer.BadParameter: The text is not a duration, or is too long.
    """
    if text is not None:
        parse_duration(text)
    return text
