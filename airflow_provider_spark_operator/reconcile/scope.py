"""Which namespaces the controller looks after."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class NamedNamespaces:
    """These namespaces, whether they exist yet or not."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class SelectedNamespaces:
    """The namespaces whose labels match, as they come and go; `selector` is written as for `kubectl -l`."""

    selector: str


@dataclass(frozen=True)
class EveryNamespace:
    """The whole cluster."""


Scope: TypeAlias = NamedNamespaces | SelectedNamespaces | EveryNamespace


def describe(scope: Scope) -> str:
    """Say in a word or two what is watched: `a,b`, `selector:team=x`, `*`."""
    match scope:
        case NamedNamespaces(names):
            return ",".join(names)
        case SelectedNamespaces(selector):
            return f"selector:{selector}"
        case EveryNamespace():
            return "*"


def is_covered(scope: Scope, namespace: str) -> bool:
    """Whether a namespace is certain to be watched; of those that a selector finds, only the API knows."""
    match scope:
        case NamedNamespaces(names):
            return namespace in names
        case SelectedNamespaces():
            return False
        case EveryNamespace():
            return True
