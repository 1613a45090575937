"""A conversion: its draft, and its result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ..kubernetes.json_object import JsonObject
from ..kubernetes.problems import Problem


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


@dataclass
class Draft:
    """A conversion that is not complete.

    Attributes:
        name: The name of the application; empty if the API server generates it.
        namespace: The namespace; empty if the document names none.
        labels: The labels of the application.
        source: The spec of Kubeflow's resource, with values of the right types and without nulls.
        conf: The Spark properties of the converted resource.
        spec: The other fields of its spec.
        overrides: Outcomes that replace those of the table of fields, by path. The last one counts.
        targets: Fields of the converted resource that replace those of the table of fields, by path.
        added: Why the converted resource has a field that the document does not set, by field or Spark property.
        notes: Sentences about the whole document.
        problems: Why the document is refused.
    """

    name: str
    namespace: str
    labels: Mapping[str, str]
    source: Mapping[str, Any]
    conf: dict[str, str] = field(default_factory=dict)
    spec: JsonObject = field(default_factory=dict)
    overrides: dict[str, tuple[Outcome, str]] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    added: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def get_pod(self, role: str) -> Mapping[str, Any]:
        """Return the fields of the driver or the executor."""
        pod: Mapping[str, Any] = self.source.get(role, {})
        return pod

    def change(self, path: str, reason: str) -> None:
        """Report that a field is changed."""
        self.overrides[path] = (Outcome.CHANGED, reason)

    def drop(self, path: str, reason: str) -> None:
        """Report that a field is dropped."""
        self.overrides[path] = (Outcome.DROPPED, reason)

    def add_property(self, key: str, value: str, reason: str) -> None:
        """Set a Spark property that the document does not set, and report why."""
        if key not in self.conf:
            self.conf[key] = value
            self.added[key] = f"is {value}: {reason}"

    def refuse(self, path: str, reason: str) -> None:
        """Report why the document is refused."""
        self.problems.append(Problem(path, reason))
