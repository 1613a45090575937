"""The report of a job that uses `spark_task.py`. The input is untrusted."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeGuard, TypeVar

from ..kubernetes.json_object import JsonObject, is_integer
from ..kubernetes.pods import get_object, get_text
from ..log.driver_log import REPORT_MARKER
from ..log.secrets import hide_secrets
from .record_values import cut_text, drop_unknown, measure

Scalar: TypeAlias = str | int | float | bool | None
_Value = TypeVar("_Value")

# The same as in `spark_task.py`, which is not imported here because it does I/O.
KEY: Final = "spark-task"
MAX_NAMES: Final = 50
_MAX_QUERIES: Final = 10
_LONGEST_LINE: Final = 4096
_LONGEST_MESSAGE: Final = 16 * 1024
_NAME: Final = 64
_TEXT: Final = 300
_LARGEST: Final = 6000
_LARGEST_INTEGER: Final = 2**53 - 1


@dataclass(frozen=True)
class JobReport:
    """The report of a job. It is valid and bounded, and has no secrets that names and texts show.

    Attributes:
        checks: Whether each check has passed, by its name.
        details: What each check found, by its name, if it says so.
        metadata: Facts about the result by their names.
        progress: How much is done, from 0 to 1. None if the job does not say so.
        queries: The latest batch of each streaming query, by its name: `batch`, `first`, `rows` and `time`.
        total: How many checks and facts the job has reported. Those that did not fit are not known.
    """

    checks: Mapping[str, bool] = field(default_factory=dict)
    details: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    progress: float | None = None
    total: int = 0
    queries: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)

    def __or__(self, later: "JobReport") -> "JobReport":
        """Return the report with the content of a later one."""
        checks = _limit({**self.checks, **later.checks})
        details = {name: text for name, text in self.details.items() if name not in later.checks}
        return JobReport(
            checks,
            {name: text for name, text in {**details, **later.details}.items() if name in checks},
            _limit({**self.metadata, **later.metadata}),
            self.progress if later.progress is None else later.progress,
            max(self.total, later.total),
            dict([*{**self.queries, **later.queries}.items()][:_MAX_QUERIES]),
        )

    @property
    def failed(self) -> list[str]:
        """The failed checks, each with what it found."""
        return [self._describe_check(name) for name, passed in self.checks.items() if not passed]

    def describe(self) -> str:
        """Return the report in one line, for the log."""
        parts = [f"check {self._describe_check(name)}" for name in self.checks]
        parts += [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in self.metadata.items()]
        parts += [_describe_query(name, query) for name, query in self.queries.items()]
        return ", ".join(parts + ([f"progress: {self.progress:.0%}"] if self.progress is not None else []))

    def to_json(self) -> JsonObject:
        """Return the report as JSON of at most 6 KiB. Failed checks come first. Empty if nothing was reported."""
        checks: dict[str, JsonObject] = {}
        metadata: JsonObject = {}
        room = _LARGEST
        for name in sorted(self.checks, key=self.checks.__getitem__):
            entry = drop_unknown({"passed": self.checks[name], "detail": self.details.get(name)})
            room -= measure({name: entry})
            if room >= 0:
                checks[name] = entry
        for name, value in self.metadata.items():
            room -= measure({name: value})
            if room >= 0:
                metadata[name] = value
        omitted = max(self.total, len(self.checks) + len(self.metadata)) - len(checks) - len(metadata)
        queries = {name: drop_unknown(dict(query)) for name, query in self.queries.items()}
        members = {"checks": checks, "metadata": metadata, "progress": self.progress, "queries": queries}
        return drop_unknown({**members, "omitted": omitted or None})

    def _describe_check(self, name: str) -> str:
        detail = self.details.get(name)
        return f"{name} {'passed' if self.checks[name] else 'failed'}{f': {detail}' if detail else ''}"


def parse_line(line: str) -> JobReport | None:
    """Return the message in a line of the driver's log; None if the line contains none."""
    if not line.startswith(REPORT_MARKER) or len(line) > _LONGEST_LINE:
        return None
    report = _read(_parse(line[len(REPORT_MARKER) :]))
    return report if report != JobReport() else None


def parse_message(message: str) -> JobReport:
    """Return the report in the termination message of a driver's container; an empty one if it contains none."""
    return _read(_parse(message[:_LONGEST_MESSAGE]).get(KEY)) if KEY in message else JobReport()


def _parse(text: str) -> Mapping[str, object]:
    try:
        return get_object(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _read(value: object) -> JobReport:
    given = get_object(value)
    checks = {_clean(name): get_object(check) for name, check in get_object(given.get("checks")).items()}
    checks = {name: check for name, check in checks.items() if name and isinstance(check.get("passed"), bool)}
    details = {name: str(_convert(name, get_text(check.get("detail")))) for name, check in checks.items()}
    metadata = {_clean(name): _convert(name, fact) for name, fact in get_object(given.get("metadata")).items()}
    progress, total = given.get("progress"), given.get("total")
    return JobReport() | JobReport(
        {name: check["passed"] is True for name, check in checks.items()},
        {name: detail for name, detail in details.items() if detail},
        {name: fact for name, fact in metadata.items() if name},
        float(progress) if _is_number(progress) and 0 <= progress <= 1 else None,
        total if is_integer(total) and 0 < total < _LARGEST_INTEGER else 0,
        {name: _read_query(query) for key, query in get_object(given.get("queries")).items() if (name := _clean(key))},
    )


def _describe_query(name: str, query: Mapping[str, Scalar]) -> str:
    if query.get("batch") is None:
        return f"query {name} waits for its first data"
    return f"query {name} has completed batch {query['batch']} with {query.get('rows', 'unknown')} rows"


def _read_query(value: object) -> dict[str, Scalar]:
    given = get_object(value)
    numbers = {key: given.get(key) for key in ("batch", "first", "rows")}
    known: dict[str, Scalar] = {
        key: number for key, number in numbers.items() if is_integer(number) and 0 <= number <= _LARGEST_INTEGER
    }
    return {**known, "time": cut_text(get_text(given.get("time")), _NAME)}


def _limit(values: Mapping[str, _Value]) -> dict[str, _Value]:
    return dict(list(values.items())[:MAX_NAMES])


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, float) or is_integer(value)


def _clean(name: object) -> str:
    return cut_text(str(name), _NAME)


def _convert(name: str, value: object) -> Scalar:
    """Return a value that each reader of JSON reads exactly; a text for another one."""
    if value is None or isinstance(value, bool):
        return value
    is_exact = isinstance(value, int) and abs(value) <= _LARGEST_INTEGER
    if is_exact or (isinstance(value, float) and math.isfinite(value)):
        return hide_secrets(value, name)  # type: ignore[return-value] # a number or a text
    return cut_text(str(hide_secrets(str(value), name)), _TEXT)
