"""The names of resources on a command line: NAME, or TYPE/NAME as `kubectl -o name` and the verbs print it."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

import click

from ...core.kubernetes.names import APPLICATION_IDENTITY, OBJECT_RULE, find_name_problem, is_object_name

_VERSION: Final = re.compile(r"^v\d+(?:(?:alpha|beta)\d+)?\.")
_APPLICATION: Final = ("sparkapplication", "sparkapplications", "sparkapp")
_CLUSTER: Final = ("sparkcluster", "sparkclusters")
_LONGEST_STEM: Final = 40


def derive_name(program: str) -> str:
    """Return the name of an application for the path or the URI of its program: `a-b` for `jobs/a_b.py`."""
    stem = re.sub(r"[^a-z0-9]+", "-", PurePosixPath(program).stem.lower()).strip("-")
    stem = stem if stem[:1].isalpha() else f"spark-{stem}".rstrip("-")
    return stem[:_LONGEST_STEM].rstrip("-")


def require_object_name(value: str) -> str:
    """Return the name of an object without its type.

    Raises:
        click.BadParameter: The name is invalid.
    """
    if not is_object_name(value):
        raise click.BadParameter(f"invalid object name {value!r}: {OBJECT_RULE}")
    return value


def require_new_name(value: str) -> str:
    """Return the name for a new application.

    Raises:
        click.BadParameter: The name is invalid.
    """
    if problem := find_name_problem(value, APPLICATION_IDENTITY):
        raise click.BadParameter(problem.message)
    return value


def require_application(value: str) -> str:
    """Return the name of an application: NAME, or `sparkapplication.GROUP/NAME` if the value contains a group.

    Raises:
        click.BadParameter: The name is invalid, or the type is not an application.
    """
    return _normalize(value, _APPLICATION, "SparkApplication")


def require_cluster(value: str) -> str:
    """Return the name of a SparkCluster, without its type.

    Raises:
        click.BadParameter: The name is invalid, or the type is not a SparkCluster.
    """
    return _normalize(value, _CLUSTER, "SparkCluster").rpartition("/")[2]


def require_applications(values: list[str]) -> list[str]:
    """Return the names of applications, each once. See `require_application`."""
    return list(dict.fromkeys(map(require_application, values)))


def require_clusters(values: list[str]) -> list[str]:
    """Return the names of SparkClusters, each once. See `require_cluster`."""
    return list(dict.fromkeys(map(require_cluster, values)))


def _normalize(value: str, words: Sequence[str], kind: str) -> str:
    resource_type, slash, name = value.rpartition("/")
    if not slash:
        return require_object_name(value)
    word, _, group = resource_type.lower().partition(".")
    group = _VERSION.sub("", group, count=1)
    if word not in words or (group and not _is_known(group)):
        raise click.BadParameter(f"{value!r} is not the name of a {kind}: use NAME or {words[0]}/NAME")
    return f"{words[0]}.{group}/{require_object_name(name)}" if group else require_object_name(name)


def _is_known(group: str) -> bool:
    # Every verb imports this module, and most command lines have no API group.
    from ...core.dialects.dialect import find_dialect  # noqa: PLC0415

    return find_dialect(group) is not None
