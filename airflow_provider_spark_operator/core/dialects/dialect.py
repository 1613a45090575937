"""The supported dialects, and the choice of the dialect of a resource."""

from collections.abc import Mapping
from typing import Final

from ..kubernetes.problems import Problem
from .apache import Apache
from .base import Dialect
from .kubeflow import Kubeflow
from .progress import Progress

APACHE: Final = Apache()
KUBEFLOW: Final = Kubeflow()
DIALECTS: Final[tuple[Dialect, ...]] = (APACHE, KUBEFLOW)


def find_dialect(group: str) -> Dialect | None:
    """Return the dialect of an API group; None if the group is not supported."""
    return next((dialect for dialect in DIALECTS if dialect.group == group), None)


def find_alternatives(group: str) -> list[Dialect]:
    """Return the other dialects if `group` is the group of the default dialect; empty otherwise."""
    return [dialect for dialect in DIALECTS if dialect is not APACHE] if group == APACHE.group else []


def list_known_states() -> frozenset[str]:
    """Return the state words of all dialects."""
    return frozenset(state for dialect in DIALECTS for state in dialect.states)


def list_ended_states() -> frozenset[str]:
    """Return the states of applications that have ended, in the words of all dialects."""
    return frozenset(state for dialect in DIALECTS for state in dialect.ended_states)


def dialect_of(api_version: object) -> Dialect:
    """Return the dialect of an apiVersion; the dialect of `spark.apache.org` if the group is not supported."""
    return find_dialect(str(api_version).partition("/")[0]) or APACHE


def find_api_version_problem(api_version: object) -> Problem | None:
    """Return the problem with the parameter `api_version` of a SparkApplication; None if it is valid."""
    known = [f"{dialect.group}/{version}" for dialect in DIALECTS for version in dialect.versions]
    if api_version in known:
        return None
    return Problem("api_version", f"must be one of {', '.join(known)}, not {api_version!r}")


def read_progress(resource: Mapping[str, object]) -> Progress:
    """Return the progress of a SparkApplication of any dialect.

    Args:
        resource: The whole resource as the API returns it.
    """
    return dialect_of(resource.get("apiVersion")).read_progress(resource)
