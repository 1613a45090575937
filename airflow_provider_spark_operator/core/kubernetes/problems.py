"""Problems of resources that users write."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_PROBLEMS: Final = 100
"""The number of problems of one kind that are reported. A user who fixes them sees further ones."""

_LONGEST_PATH: Final = 500
_LONGEST_MESSAGE: Final = 2000


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
