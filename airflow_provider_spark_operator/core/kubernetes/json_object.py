"""JSON objects of the Kubernetes API: checked access to their parts, their times, and their problems."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final, TypeAlias, TypeGuard

MAX_PROBLEMS: Final = 100
"""The number of problems of one kind that are reported. A user who fixes them sees further ones."""

_LONGEST_PATH: Final = 500
_LONGEST_MESSAGE: Final = 2000
JsonObject: TypeAlias = dict[str, Any]
KubernetesObject: TypeAlias = Mapping[str, object]
"""An object of the API that is only read."""
# A hundred years. A longer duration could overflow a timedelta, and has the same meaning: never.
LONGEST_MILLIS: Final = 100 * 365 * 24 * 3600 * 1000


class Severity(StrEnum):
    """Whether a problem prevents the submission of a resource."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Problem:
    """One problem of a document.

    Attributes:
        path: The field as users write it, such as `spec.pyFiles`. Empty for the whole document.
        message: Completes the sentence that begins with the path.
        severity: An error prevents the submission; a warning is only shown.
        admissible: Whether operators can run the resource despite the error. The webhook and the controller, which
            handle resources that were written for any operator, treat such an error as a warning.
    """

    path: str
    message: str
    severity: Severity = Severity.ERROR
    admissible: bool = False

    def __post_init__(self) -> None:
        # A key or a value of a document can have a mebibyte.
        object.__setattr__(self, "path", cut_middle(self.path, _LONGEST_PATH))
        object.__setattr__(self, "message", cut_middle(self.message, _LONGEST_MESSAGE))

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message

    @property
    def is_error(self) -> bool:
        """Whether the problem prevents the submission."""
        return self.severity is Severity.ERROR

    @property
    def is_refused(self) -> bool:
        """Whether the webhook rejects the resource because of the problem."""
        return self.is_error and not self.admissible


def join_first(names: Sequence[str], most: int) -> str:
    """Join the first names and the number of the others in one text."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def cut_middle(text: str, longest: int) -> str:
    """Return `text` without its middle if it is longer than `longest` characters. Its end can be advice."""
    half = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[: longest - 1 - half]}…{text[-half:]}"


def filter_errors(problems: Iterable[Problem]) -> list[Problem]:
    """Return the errors among `problems`, in their order."""
    return [problem for problem in problems if problem.is_error]


def filter_warnings(problems: Iterable[Problem]) -> list[Problem]:
    """Return the warnings among `problems`, in their order."""
    return [problem for problem in problems if not problem.is_error]


class InvalidResource(Exception):
    """A document that is not a valid resource. `problems` has at least one entry, in the document's order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def copy_object(holder: Mapping[str, Any], key: str, path: str) -> JsonObject:
    """Return a copy of the object at `key`, an empty object if there is none.

    Args:
        holder: The object that contains the key.
        key: The key.
        path: The path of the value in the document, for the message.

    Raises:
        InvalidResource: The value is not an object.
    """
    value = holder.get(key)
    if value is not None and not isinstance(value, dict):
        raise InvalidResource([Problem(path, "must be an object")])
    return dict(value or {})


def copy_list(holder: Mapping[str, Any], key: str, path: str) -> list[Any]:
    """Return a copy of the list at `key`, an empty list if there is none.

    Args:
        holder: The object that contains the key.
        key: The key.
        path: The path of the value in the document, for the message.

    Raises:
        InvalidResource: The value is not a list.
    """
    value = holder.get(key)
    if value is not None and not isinstance(value, list):
        raise InvalidResource([Problem(path, "must be a list")])
    return list(value or [])


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether `value` is an integer of JSON, which `true` and `false` are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def change_texts(value: KubernetesObject, change: Callable[[str], str]) -> JsonObject:
    """Return a copy of an object with each text of it changed, but not its keys."""

    def visit(each: object) -> object:
        if isinstance(each, str):
            return change(each)
        if isinstance(each, Mapping):
            return {key: visit(inner) for key, inner in each.items()}
        return [visit(inner) for inner in each] if isinstance(each, list) else each

    return {key: visit(inner) for key, inner in value.items()}


def to_duration(millis: int) -> timedelta:
    """Return `millis` as a duration between 0 and a hundred years."""
    return timedelta(milliseconds=min(max(millis, 0), LONGEST_MILLIS))


def to_seconds(value: object) -> float | None:
    """Return a duration, given as a timedelta or in seconds, in seconds; None if `value` is not a duration."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def to_utc(time: datetime) -> datetime:
    """Return `time` in UTC. A time without an offset counts as UTC, because operators write UTC."""
    if time.tzinfo is None:
        return time.replace(tzinfo=UTC)
    try:
        return time.astimezone(UTC)
    except OverflowError:  # in the first or last hours of the calendar
        return time.replace(tzinfo=UTC)


def read_time(value: object) -> datetime | None:
    """Return the time in `value`, a string in RFC 3339; None if `value` is not a time."""
    if not isinstance(value, str):
        return None
    try:
        return to_utc(datetime.fromisoformat(value))
    except ValueError:
        return None


def format_seconds(duration: timedelta) -> str:
    """Format `duration` for messages: `90 s`."""
    return f"{duration.total_seconds():g} s"


def format_duration(duration: timedelta) -> str:
    """Return the two largest units of a duration: `5m3s`, `2d4h`; a negative duration is `0s`."""
    minutes, seconds = divmod(max(0, int(duration.total_seconds())), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = ((days, "d"), (hours, "h"), (minutes, "m"), (seconds, "s"))
    first = next((index for index, (number, _) in enumerate(parts) if number), len(parts) - 1)
    return "".join(f"{number}{unit}" for number, unit in parts[first : first + 2] if number) or "0s"


def read_first_time(event: Mapping[str, object]) -> datetime | None:
    """Return when an event happened first; None if the Event has no time."""
    return read_time(event.get("firstTimestamp") or event.get("eventTime") or event.get("lastTimestamp"))


def read_last_time(event: Mapping[str, object]) -> datetime | None:
    """Return when an event happened last; None if the Event has no time."""
    return read_time(event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp"))
