"""Convert a ScheduledSparkApplication of Kubeflow's operator to a DAG file."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import OBJECT_RULE, is_object_name
from ..kubernetes.problems import Problem, filter_errors, filter_warnings
from ..validation.validate import validate_without_status
from .application import build_application, describe_resource, report_fields
from .conversion import Conversion, Draft, Status
from .fields import SCHEDULE_FIELDS
from .normalize import Normalized, find_shape_problems, normalize

IsTimeZone: TypeAlias = Callable[[str], bool]

# The zone of Kubeflow's operator.
_OWN_ZONES: Final = ("", "Local")
_CONCURRENCY: Final = {
    "Allow": "the DAG has Airflow's default for max_active_runs, which is 16 unless you configure another",
    "Forbid": "becomes max_active_runs=1: after a long run, Airflow immediately starts the latest run that was missed",
    "Replace": "becomes max_active_runs=1: unlike Kubeflow's operator, Airflow does not stop the active run when the "
    "next one is due. Set dagrun_timeout to limit the duration of a run",
}
_NO_PLACE: Final = re.compile(r"^(spec)(?=\.|$)")
_JINJA: Final = ("{{", "{%", "{#")
_DAG: Final = '''"""Run the application of the ScheduledSparkApplication {name} on its schedule."""

{imports}

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

APPLICATION = {application}

with DAG(
    {dag_id},
{arguments}
) as dag:
    SparkApplicationOperator(task_id="run", application=APPLICATION, deferrable=True)
'''
_EVERY: Final = re.compile(r"@every\s+(?P<duration>\S+)")
_DURATION_PART: Final = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)(h|ms|m|s)")
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DESCRIPTORS: Final = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_ZONE: Final = re.compile(r"(?:CRON_TZ|TZ)=(?P<zone>\S+)\s+(?P<rest>.*)", re.DOTALL)
_PART: Final = re.compile(r"(?:\*|(?P<first>[A-Za-z0-9]+)(?:-(?P<last>[A-Za-z0-9]+))?)(?:/(?P<step>[0-9]{1,9}))?")
_LONGEST_NUMBER: Final = 10
_LONGEST_MONTHS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


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


def convert_schedule(document: Mapping[str, Any], is_time_zone: IsTimeZone | None = None) -> Conversion:
    """Convert a ScheduledSparkApplication of version v1beta2 to a DAG file.

    Args:
        document: The document. It stays unchanged.
        is_time_zone: Returns whether a time zone with this name exists. None if names are not checked.
    """
    normalized = normalize(document, SCHEDULE_FIELDS)
    problems = [*normalized.problems, *find_schedule_problems(normalized.document, is_time_zone)]
    application = {"apiVersion": document["apiVersion"], "kind": "SparkApplication"}
    if not problems:
        application |= {"metadata": normalized.document["metadata"], "spec": normalized.document["spec"]["template"]}
        problems = [move_problem(problem) for problem in filter_errors(validate_without_status(application))]
        problems = problems or list(find_shape_problems(application["spec"], "spec.template"))
    if problems:
        return Conversion(describe_resource(document), Status.REFUSED, problems=tuple(problems))
    return _convert(describe_resource(document), normalized, application)


def _convert(resource: str, normalized: Normalized, application: JsonObject) -> Conversion:
    name, spec = application["metadata"]["name"], normalized.document["spec"]
    draft, converted = build_application(application)
    schedule = _read_schedule(draft, spec)
    found = validate_without_status(converted)
    problems = [move_problem(problem) for problem in (*draft.problems, *filter_errors(found))]
    draft.overrides = {_move_path(path): outcome for path, outcome in draft.overrides.items()}
    draft.targets = {_move_path(path): target for path, target in draft.targets.items()}
    max_active_runs = _read_concurrency(draft, spec)
    fields = report_fields(normalized, draft, SCHEDULE_FIELDS)
    if problems:
        return Conversion(resource, Status.REFUSED, fields=fields, problems=tuple(dict.fromkeys(problems)))
    converted["metadata"].pop("name")
    is_paused = spec.get("suspend") or None
    text = _write_dag(name, converted, schedule, max_active_runs=max_active_runs, is_paused=is_paused)
    if max_active_runs is None:
        _report_shared_names(draft, converted["spec"])
    notes = tuple(dict.fromkeys([*draft.notes, *map(str, filter_warnings(found))]))
    return Conversion(resource, Status.CONVERTED, dag=text, dag_id=name, fields=fields, notes=notes)


def find_schedule_problems(document: Mapping[str, Any], is_time_zone: IsTimeZone | None = None) -> list[Problem]:
    """Return the problems of a ScheduledSparkApplication, without those of its template.

    Args:
        document: The document, whose fields have the right types.
        is_time_zone: Returns whether a time zone with this name exists. None if names are not checked.
    """
    metadata, spec = document.get("metadata") or {}, document.get("spec") or {}
    problems = []
    if not metadata.get("name"):
        problems.append(Problem("metadata.name", "is required: it becomes the ID of the DAG"))
    elif not is_object_name(metadata["name"]):
        problems.append(Problem("metadata.name", f"{metadata['name']!r} is not a valid name: {OBJECT_RULE}"))
    problems += _check_times(spec, is_time_zone)
    if not isinstance(spec.get("template"), Mapping):
        problems.append(Problem("spec.template", "is required: the spec of the application"))
    policy = spec.get("concurrencyPolicy")
    if policy and policy not in _CONCURRENCY:
        problems.append(Problem("spec.concurrencyPolicy", f"must be Allow, Forbid or Replace, not {policy!r}"))
    return problems


def _check_times(spec: Mapping[str, Any], is_time_zone: IsTimeZone | None) -> Iterator[Problem]:
    if not spec.get("schedule"):
        yield Problem("spec.schedule", "is required")
        return
    try:
        schedule = parse_schedule(spec["schedule"])
    except InvalidSchedule as error:
        yield Problem("spec.schedule", str(error))
        return
    for path, zone in (("spec.schedule", schedule.zone), ("spec.timeZone", spec.get("timeZone") or "")):
        if zone not in _OWN_ZONES and is_time_zone and not is_time_zone(zone):
            yield Problem(path, f"{zone!r} is not a time zone: use a name such as Europe/Paris")


def _read_schedule(draft: Draft, spec: Mapping[str, Any]) -> Schedule:
    schedule = parse_schedule(spec["schedule"])
    zone = schedule.zone or spec.get("timeZone") or ""
    if schedule.zone and spec.get("timeZone"):
        draft.drop("timeZone", f"spec.schedule already sets the time zone {schedule.zone}")
    if zone in _OWN_ZONES:
        reason = "the time zone is UTC: Kubeflow's operator uses the time zone of its own pod, which usually is UTC"
        draft.change("schedule" if not spec.get("timeZone") else "timeZone", reason)
        zone = "UTC"
    if schedule.seconds is not None:
        draft.change(
            "schedule",
            "Airflow counts the intervals from the time when the DAG is added or unpaused. Kubeflow's operator counts "
            "them from its own start",
        )
    return Schedule(schedule.cron, schedule.seconds, zone)


def _read_concurrency(draft: Draft, spec: Mapping[str, Any]) -> int | None:
    """Return the maximum number of active runs; None for Airflow's default."""
    policy = spec.get("concurrencyPolicy")
    if policy:
        draft.change("spec.concurrencyPolicy", _CONCURRENCY[policy])
    else:
        draft.notes.append(
            "spec.concurrencyPolicy is not set. In this case, Kubeflow's operator starts only the first run. The DAG "
            "starts every run of its schedule, as with Allow."
        )
    return 1 if policy in ("Forbid", "Replace") else None


def _report_shared_names(draft: Draft, spec: Mapping[str, Any]) -> None:
    """Add a note if each run creates an object with the same name."""
    shared = [f"the ConfigMap {each['name']}" for each in spec.get("configMapSpecs", ())]
    if pod := spec["sparkConf"].get("spark.kubernetes.driver.pod.name"):
        shared.append(f"the driver pod {pod}")
    if shared:
        names = " and ".join(shared)
        draft.notes.append(f"runs that overlap would share {names}: set max_active_runs=1 in the DAG to prevent it")


def move_problem(problem: Problem) -> Problem:
    """Return a problem of the application with its path in the ScheduledSparkApplication."""
    return Problem(_move_path(problem.path), problem.message, problem.severity, problem.admissible)


def _move_path(path: str) -> str:
    if path in ("schedule", "timeZone"):
        return f"spec.{path}"
    return _NO_PLACE.sub("spec.template", path)


def _write_dag(
    name: str,
    application: Mapping[str, Any],
    schedule: Schedule,
    *,
    max_active_runs: int | None,
    is_paused: bool | None,
) -> str:
    """Return the text of the file.

    Args:
        name: The name of the ScheduledSparkApplication, which becomes the ID of the DAG.
        application: The converted application, without a name.
        schedule: When the DAG runs.
        max_active_runs: How many runs can be active; None for Airflow's default.
        is_paused: Whether the DAG is paused when it is added; None for Airflow's default.
    """
    arguments = [f"schedule={_format_schedule(schedule)}", "catchup=False"]
    if max_active_runs is not None:
        arguments.append(f"max_active_runs={max_active_runs}")
    if is_paused is not None:
        arguments.append(f"is_paused_upon_creation={is_paused}")
    timetable = "CronTriggerTimetable" if schedule.cron else "DeltaTriggerTimetable"
    imports = ["from airflow.sdk import DAG", f"from airflow.timetables.trigger import {timetable}"]
    if not schedule.cron:
        imports = ["from datetime import timedelta", "", *imports]
    return _DAG.format(
        name=name,
        imports="\n".join(imports),
        application=_format(_escape_templates(dict(application))),
        dag_id=_format(name),
        arguments="\n".join(f"    {argument}," for argument in arguments),
    )


def _escape_templates(value: Any) -> Any:
    """Return a value without templates of Airflow: Kubeflow's operator passes such texts on unchanged."""
    if isinstance(value, str):
        return f"{{% raw %}}{value}{{% endraw %}}" if any(mark in value for mark in _JINJA) else value
    if isinstance(value, Mapping):
        return {key: _escape_templates(each) for key, each in value.items()}
    return [_escape_templates(each) for each in value] if isinstance(value, list) else value


def _format_schedule(schedule: Schedule) -> str:
    if schedule.cron:
        return f"CronTriggerTimetable({_format(schedule.cron)}, timezone={_format(schedule.zone or 'UTC')})"
    return f"DeltaTriggerTimetable(timedelta(seconds={schedule.seconds:g}))"


def _format(value: Any, indent: str = "") -> str:
    """Return a value of JSON as Python code, in the style of ruff and black."""
    if isinstance(value, str):
        return json.dumps(value)
    inner = f"{indent}    "
    if isinstance(value, Mapping) and value:
        lines = [f"{inner}{_format(key)}: {_format(each, inner)},\n" for key, each in value.items()]
        return f"{{\n{''.join(lines)}{indent}}}"
    if isinstance(value, list) and value:
        lines = [f"{inner}{_format(each, inner)},\n" for each in value]
        return f"[\n{''.join(lines)}{indent}]"
    return repr(value)


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
