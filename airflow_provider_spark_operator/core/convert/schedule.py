"""Convert the schedule of a ScheduledSparkApplication to a timetable of Airflow."""

import re
from dataclasses import dataclass
from typing import Final

_EVERY: Final = re.compile(r"@every\s+(?P<duration>\S+)")
_DURATION_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)")
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_ZONE: Final = re.compile(r"(?:CRON_TZ|TZ)=(?P<zone>\S+)\s+(?P<rest>.*)", re.DOTALL)
_FIELDS: Final = 5
_PART: Final = re.compile(r"(\*|[A-Za-z0-9]+(-[A-Za-z0-9]+)?)(/[0-9]+)?")
# The largest value of each field: minute, hour, day of the month, month, day of the week.
_LARGEST: Final = (59, 23, 31, 12, 6)


class InvalidSchedule(ValueError):
    """A schedule that cannot be converted."""


@dataclass(frozen=True)
class Schedule:
    """A schedule.

    Attributes:
        cron: A cron expression of five fields; empty for an interval.
        seconds: The interval in seconds; None for a cron expression.
        zone: The name of the time zone; empty if the schedule names none.
    """

    cron: str
    seconds: float | None = None
    zone: str = ""


def parse_schedule(text: str) -> Schedule:
    """Return the schedule that Kubeflow's operator reads from `text`.

    Raises:
        InvalidSchedule: Kubeflow's operator would reject the schedule, or Airflow has no such schedule.
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
        return Schedule(_DESCRIPTORS[text], zone=zone)
    fields = text.split()
    if len(fields) != _FIELDS:
        raise InvalidSchedule(f"{text!r} must have five fields: minute, hour, day of month, month, day of week")
    return Schedule(" ".join(map(_convert_field, fields, _LARGEST)), zone=zone)


def _convert_field(field: str, largest: int) -> str:
    """Return a field in the syntax of Airflow, which knows neither `?` nor a start without an end, such as `5/15`."""
    parts = []
    for part in field.replace("?", "*").split(","):
        if not _PART.fullmatch(part):
            raise InvalidSchedule(f"{field!r} is not a field of a cron expression")
        start, separator, step = part.partition("/")
        if separator and step.strip("0") == "":
            raise InvalidSchedule(f"{field!r} has a step of 0")
        is_open = separator and start != "*" and "-" not in start
        parts.append(f"{start}-{largest}/{step}" if is_open else part)
    return ",".join(parts)


def _parse_duration(text: str) -> float:
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise InvalidSchedule(f"{text} is not a duration: use for example 1h30m")
    # Kubeflow's operator rounds down to seconds, and runs at most once per second.
    return max(1.0, float(int(sum(float(number) * _UNITS[unit] for number, unit in parts))))
