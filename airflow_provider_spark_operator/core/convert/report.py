"""The result of a conversion: what became of each field, or why the document was refused."""

from dataclasses import dataclass
from enum import StrEnum

from ..kubernetes.json_object import JsonObject, Problem


class Outcome(StrEnum):
    """What became of a field.

    EXACT: the converted resource has the same effect. CHANGED: the effect differs, or the field is written in a way
    that the user should know. DROPPED: the converted resource does not have the effect. ADDED: the document does
    not set the field, but the converted resource does.
    """

    EXACT = "exact"
    CHANGED = "changed"
    DROPPED = "dropped"
    ADDED = "added"


@dataclass(frozen=True)
class FieldReport:
    """What became of one field of a document.

    Attributes:
        path: The field, for example `spec.driver.memory`. `[]` stands for all entries of a list. For an
            added field, the Spark property, or the path in the converted resource without `spec.`.
        outcome: What became of it.
        target: The field or Spark property that replaces it. Empty if the field was dropped or added.
        reason: What differs and why. Empty if the field is exact.
    """

    path: str
    outcome: Outcome
    target: str = ""
    reason: str = ""


class Status(StrEnum):
    """What became of a document."""

    CONVERTED = "converted"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True)
class Conversion:
    """What became of one document.

    Attributes:
        resource: Kind and name of the document, for example `SparkApplication pi`.
        status: Whether the document was converted, passed through or refused.
        document: The converted document, or the document itself if it is unchanged.
        dag: The text of a DAG file, for a ScheduledSparkApplication.
        dag_id: The ID of the DAG.
        fields: What became of each field, in the order of the document.
        notes: Sentences about the document as a whole.
        problems: Why the document was refused.
    """

    resource: str
    status: Status
    document: JsonObject | None = None
    dag: str | None = None
    dag_id: str | None = None
    fields: tuple[FieldReport, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    def count(self, outcome: Outcome) -> int:
        """Return the number of fields with this outcome."""
        return sum(field.outcome is outcome for field in self.fields)
