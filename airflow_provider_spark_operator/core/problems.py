"""What is wrong with a resource that a user wrote."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Whether a problem stops a resource from being submitted."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a document.

    Attributes:
        path: The field as users write it, such as `spec.pyFiles`. Empty for the whole document.
        message: Completes the sentence that begins with the path.
        severity: An error is refused before anything is submitted; a warning is only shown.
        admissible: An error that does not stop an operator from running the resource. The webhook and the
            controller, which see resources that were written for any operator, treat it as a warning.
    """

    path: str
    message: str
    severity: Severity = Severity.ERROR
    admissible: bool = False

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message

    @property
    def is_error(self) -> bool:
        """Whether the resource must not be submitted."""
        return self.severity is Severity.ERROR

    @property
    def is_refused(self) -> bool:
        """Whether the webhook refuses the resource."""
        return self.is_error and not self.admissible


def errors_of(problems: Iterable[Problem]) -> list[Problem]:
    """The errors among `problems`, in their order."""
    return [problem for problem in problems if problem.is_error]


def warnings_of(problems: Iterable[Problem]) -> list[Problem]:
    """The warnings among `problems`, in their order."""
    return [problem for problem in problems if not problem.is_error]


class InvalidResource(Exception):
    """A document that is no valid resource; `problems` has at least one entry, in the document's order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
