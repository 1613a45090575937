"""The state of a conversion: the normalized document, and what the steps have written so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..kubernetes.json_object import JsonObject, Problem
from .report import Outcome


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
