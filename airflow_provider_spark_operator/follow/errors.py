"""What can go wrong for a follower beyond a refused request."""

from collections.abc import Mapping
from typing import Any

from airflow_provider_spark_operator.follow.reference import ApplicationReference


class ApplicationDeleted(Exception):
    """The application was deleted before it came to its end. `last` is its last known content, if any."""

    def __init__(self, reference: ApplicationReference, last: Mapping[str, Any] | None = None) -> None:
        super().__init__(reference)
        self.reference = reference
        self.last = last

    def __str__(self) -> str:
        return f"{self.reference} (uid {self.reference.uid}) was deleted before it came to its end"


class NameTaken(Exception):
    """An application of the wanted name exists and must not be deleted.

    Attributes:
        reference: The application.
        owner: Whose it is, in words.
        state: What it does, in words that follow its name.
        advice: What to do, as a sentence without a full stop.
    """

    def __init__(
        self,
        reference: ApplicationReference,
        owner: str,
        state: str = "is not deleted",
        advice: str = "Choose another name, or delete it",
    ) -> None:
        super().__init__(reference, owner, state, advice)
        self.reference = reference
        self.owner = owner
        self.state = state
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.reference} already exists and belongs to {self.owner}; it {self.state}. {self.advice}"


class DeletionStuck(Exception):
    """An earlier application of this task was deleted to make room, and does not go away."""

    def __init__(self, reference: ApplicationReference, finalizers: list[str], seconds: float) -> None:
        super().__init__(reference, finalizers, seconds)
        self.reference = reference
        self.finalizers = finalizers
        self.seconds = seconds

    def __str__(self) -> str:
        holders = ", ".join(self.finalizers) or "none"
        return (
            f"{self.reference} was deleted and is still there after {self.seconds:.0f} s "
            f"(finalizers: {holders}): is the operator that removes them running?"
        )
