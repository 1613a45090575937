"""Convert the schedule of a ScheduledSparkApplication to a timetable of Airflow."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

_EVERY: Final = re.compile(r"@every\s+(?P<duration>\S+)")
_DURATION_PART: Final = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)(h|ms|m|s)")
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DESCRIPTORS: Final = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_ZONE: Final = re.compile(r"(?:CRON_TZ|TZ)=(?P<zone>\S+)\s+(?P<rest>.*)", re.DOTALL)
_PART: Final = re.compile(r"(?:\*|(?P<first>[A-Za-z0-9]+)(?:-(?P<last>[A-Za-z0-9]+))?)(?:/(?P<step>[0-9]{1,9}))?")
_LONGEST_NUMBER: Final = 10
_LONGEST_MONTHS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class InvalidSchedule(ValueError):
    """A schedule that cannot be converted."""


@dataclass(frozen=True)
class _Unit:
    """The values of a field of a cron expression.

    Attributes:
        name: Its name in messages.
        first: The smallest value.
        last: The largest value.
        words: Names of the values, beginning with that of the smallest value.
    """

    name: str
    first: int
    last: int
    words: tuple[str, ...] = ()


_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_UNITS_OF_FIELDS: Final = (
    _Unit("minute", 0, 59),
    _Unit("hour", 0, 23),
    _Unit("day of the month", 1, 31),
    _Unit("month", 1, 12, _MONTHS),
    # Sunday is 0 only: https://pkg.go.dev/github.com/robfig/cron/v3, which Kubeflow's operator uses.
    _Unit("day of the week", 0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)


class _Field(NamedTuple):
    """A field of a cron expression, or a part of it, in the syntax of Airflow, and its values."""

    text: str
    values: frozenset[int]


@dataclass(frozen=True)
class Schedule:
    """A schedule.

    Attributes:
        cron: A cron expression of five fields, or a name such as @daily; empty for an interval.
        seconds: The interval in seconds; None for a cron expression.
        zone: The name of the time zone; empty if the schedule names none.
    """

    cron: str
    seconds: float | None = None
    zone: str = ""


def parse_schedule(text: str) -> Schedule:
    """Return the schedule that Kubeflow's operator reads from `text`.

    Raises:
        InvalidSchedule: Kubeflow's operator would reject the schedule, or it never occurs.
    """
    zone = ""
    match = _ZONE.fullmatch(text.strip())
    if match:
        zone, text = match["zone"], match["rest"]
    text = " ".join(text.split())
    every = _EVERY.fullmatch(text)
    if every:
        return Schedule("", _parse_duration(every["duration"]), zone)
    if text.startswith("@"):
        if text not in _DESCRIPTORS:
            raise InvalidSchedule(f"{text} is not a schedule: use five cron fields, or @every and a duration")
        return Schedule(text, zone=zone)
    fields = text.replace("?", "*").split()
    if len(fields) != len(_UNITS_OF_FIELDS):
        raise InvalidSchedule(f"{text!r} must have five fields: minute, hour, day of month, month, day of week")
    converted = list(map(_convert_field, fields, _UNITS_OF_FIELDS))
    if fields[4] == "*":  # otherwise a day of the week is sufficient
        _require_day(text, min(converted[2].values), converted[3].values)
    return Schedule(" ".join(field.text for field in converted), zone=zone)


def _require_day(text: str, first_day: int, months: Iterable[int]) -> None:
    """Check that a month has the day. Airflow would import the DAG, and never run it."""
    if first_day > max(_LONGEST_MONTHS[month - 1] for month in months):
        raise InvalidSchedule(f"{text!r} never occurs: its months have no day {first_day}")


def _convert_field(field: str, unit: _Unit) -> _Field:
    parts = [_convert_part(part, unit) for part in field.split(",")]
    return _Field(",".join(part.text for part in parts), frozenset().union(*(part.values for part in parts)))


def _convert_part(part: str, unit: _Unit) -> _Field:
    """Return a part of a field in the syntax of Airflow, which does not know a start without an end, such as `5/15`."""
    match = _PART.fullmatch(part)
    if not match:
        raise InvalidSchedule(f"{part!r} is not valid for the {unit.name}")
    limits = [_parse_value(match[name], unit) for name in ("first", "last") if match[name]]
    step = int(match["step"] or 1)
    if step == 0:
        raise InvalidSchedule(f"{part!r} has a step of 0")
    if limits != sorted(limits):
        raise InvalidSchedule(f"{part!r} begins after its end")
    is_open = match["step"] is not None and len(limits) == 1
    first, *end = limits or (unit.first, unit.last)
    last = unit.last if is_open else (end or [first])[0]
    text = f"{match['first']}-{unit.last}/{step}" if is_open else part
    return _Field(text, frozenset(range(first, last + 1, step)))


def _parse_value(text: str, unit: _Unit) -> int:
    if text.lower() in unit.words:
        return unit.first + unit.words.index(text.lower())
    if text.isdecimal() and len(text) < _LONGEST_NUMBER and unit.first <= int(text) <= unit.last:
        return int(text)
    words = f" or {unit.words[0]} to {unit.words[-1]}" if unit.words else ""
    raise InvalidSchedule(f"the {unit.name} must be {unit.first} to {unit.last}{words}, not {text!r}")


def _parse_duration(text: str) -> float:
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise InvalidSchedule(f"{text} is not a duration: use for example 1h30m")
    # Kubeflow's operator rounds down to seconds, and runs at most once per second.
    return max(1.0, float(int(sum(float(number) * _UNITS[unit] for number, unit in parts))))
