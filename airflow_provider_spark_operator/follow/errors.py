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
    """An application of the wanted name exists and is not this task's, so it is left alone."""

    def __init__(self, reference: ApplicationReference, owner: str) -> None:
        super().__init__(reference, owner)
        self.reference = reference
        self.owner = owner

    def __str__(self) -> str:
        return f"{self.reference} already exists and belongs to {self.owner}: choose another name, or delete it"


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
