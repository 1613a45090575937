"""The namespaces that the controller watches."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class NamedNamespaces:
    """Namespaces by name, whether they exist yet or not."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class SelectedNamespaces:
    """The namespaces whose labels match `selector`, which has the syntax of `kubectl -l`."""

    selector: str


@dataclass(frozen=True)
class EveryNamespace:
    """The whole cluster."""


Scope: TypeAlias = NamedNamespaces | SelectedNamespaces | EveryNamespace


def describe(scope: Scope) -> str:
    """Return a short description of the scope: `a,b`, `selector:team=x`, `*`."""
    match scope:
        case NamedNamespaces(names):
            return ",".join(names)
        case SelectedNamespaces(selector):
            return f"selector:{selector}"
        case EveryNamespace():
            return "*"


def is_covered(scope: Scope, namespace: str) -> bool:
    """Whether a namespace is certainly watched; only the API knows the namespaces that a selector matches."""
    match scope:
        case NamedNamespaces(names):
            return namespace in names
        case SelectedNamespaces():
            return False
        case EveryNamespace():
            return True
