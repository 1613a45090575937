"""Rules for the names of resources, which allow child objects to be named after them."""

from dataclasses import dataclass
from typing import Final

from .kubernetes_names import NAMESPACE_RULE, is_namespace, is_service_name
from .names import LONGEST_LABEL_VALUE
from .problems import Problem


@dataclass(frozen=True)
class NameRules:
    """The rules for the names of one kind of resource.

    Attributes:
        kind: The `kind` of the resource.
        noun: The resource in messages, for example "application".
        longest_name: The maximum length of the name.
        because: The reason for that length, for messages.
        names: The resource and the objects that are named after it, for messages.
    """

    kind: str
    noun: str
    longest_name: int
    because: str
    names: str


APPLICATION_IDENTITY: Final = NameRules(
    kind="SparkApplication",
    noun="application",
    longest_name=LONGEST_LABEL_VALUE,
    because="it becomes a label",
    names="the application and its driver service",
)
CLUSTER_IDENTITY: Final = NameRules(
    kind="SparkCluster",
    noun="cluster",
    # Kubernetes labels the pods of a StatefulSet with its name and a hash of up to ten characters: 63 in total.
    longest_name=45,
    because="its name is a part of a label on its pods, and a label has at most 63 characters",
    names="the cluster and its services",
)


def find_name_problem(name: object, identity: NameRules) -> Problem | None:
    """Return the problem with the name of a resource; None if the name is missing or valid."""
    if name is None:
        return None
    if not isinstance(name, str):
        return Problem("metadata.name", f"must be a string, not {name!r}")
    if len(name) > identity.longest_name:
        message = f"has {len(name)} characters: use at most {identity.longest_name}, because {identity.because}"
        return Problem("metadata.name", message)
    # Services are named after the resource.
    if not is_service_name(name):
        return Problem(
            "metadata.name",
            f"{name!r} is not a valid name for {identity.names}. Begin with a lowercase letter, "
            "use only lowercase letters, digits and '-', and end with a letter or digit",
        )
    return None


def find_namespace_problem(namespace: object) -> Problem | None:
    """Return the problem with the namespace of a resource; None if it is missing or valid."""
    if namespace is None or (isinstance(namespace, str) and is_namespace(namespace)):
        return None
    return Problem("metadata.namespace", f"{namespace!r} is not a valid namespace: {NAMESPACE_RULE}")
