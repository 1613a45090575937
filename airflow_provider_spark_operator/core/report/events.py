"""The Kubernetes Events of an application: which of a namespace belong to it, and their times."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ..dialects.dialect import dialect_of
from ..dialects.progress import Progress
from ..kubernetes import pods
from ..kubernetes.names import LABEL_APPLICATION_SELECTOR
from ..kubernetes.times import read_last_time, read_time
from ..spark.spark_conf import EXECUTOR_PREFIX_KEY

# Events of earlier attempts have expired.
_ATTEMPTS: Final = 20
EXECUTOR_INFIX: Final = "-exec-"
"""Is before the number of an executor in the name of its pod."""


@dataclass(frozen=True)
class PodNames:
    """The names of the pods of an application, whether or not the pods still exist.

    Attributes:
        names: Complete names.
        prefixes: How the names of its executors begin.
    """

    names: frozenset[str]
    prefixes: tuple[str, ...]

    def __contains__(self, name: object) -> bool:
        """Return whether a pod of the application can have this name."""
        return isinstance(name, str) and (name in self.names or self.has_executor(name))

    def has_executor(self, name: str) -> bool:
        """Return whether an executor of the application can have this name."""
        return name.startswith(self.prefixes)


def find_pod_names(
    resource: Mapping[str, object], seen: Progress, all_pods: Iterable[Mapping[str, object]] = ()
) -> PodNames:
    """Return the names of the pods of an application, as far as they are known.

    Args:
        resource: The application.
        seen: Its progress.
        all_pods: The pods of the application that exist.
    """
    dialect = dialect_of(resource.get("apiVersion"))
    attempts = range(max(0, seen.attempt - _ATTEMPTS), seen.attempt + 1)
    identifiers = {identifier for attempt in attempts if (identifier := dialect.read_application_id(resource, attempt))}
    present = {pods.get_text(pods.get_object(pod.get("metadata")).get("name")) for pod in all_pods}
    drivers = {dialect.read_driver_pod_name(resource, identifier) for identifier in identifiers} | {seen.driver_name}
    executors = dialect.read_executor_states(resource)
    known = {name for name in (*present, *drivers, *executors) if name}
    # By default Spark draws the prefix, so that only the names of present executors contain it.
    fixed = pods.get_text(dialect.read_properties(resource).get(EXECUTOR_PREFIX_KEY))
    drawn = {name.rpartition(EXECUTOR_INFIX)[0] for name in present if EXECUTOR_INFIX in name}
    prefixes = {name for name in (*identifiers, seen.application_id, fixed, *drawn) if name}
    return PodNames(frozenset(known), tuple(f"{name}{EXECUTOR_INFIX}" for name in prefixes))


def find_executor_prefix(
    resource: Mapping[str, object], application_id: str, all_pods: Iterable[Mapping[str, object]]
) -> str:
    """Return how the names of the executors of an attempt begin, before `EXECUTOR_INFIX`.

    Args:
        resource: The application.
        application_id: Spark's id of the attempt.
        all_pods: Pods of the application. By default, only the names of executors contain the beginning.
    """
    for metadata in (pods.get_object(pod.get("metadata")) for pod in all_pods):
        name, labels = pods.get_text(metadata.get("name")), pods.get_object(metadata.get("labels"))
        if EXECUTOR_INFIX in name and labels.get(LABEL_APPLICATION_SELECTOR) == application_id:
            return name.rpartition(EXECUTOR_INFIX)[0]
    fixed = dialect_of(resource.get("apiVersion")).read_properties(resource).get(EXECUTOR_PREFIX_KEY)
    return pods.get_text(fixed) or application_id


def select_events(
    resource: Mapping[str, object], names: PodNames, events: Iterable[Mapping[str, object]]
) -> list[Mapping[str, object]]:
    """Return the Events about an application and its pods, by the time they happened last, oldest first."""
    uid = pods.get_object(resource.get("metadata")).get("uid")
    own = [event for event in events if _is_about(event, uid, names) and is_as_young(read_last_time(event), resource)]
    return sorted(own, key=_rank)


def is_as_young(time: datetime | None, resource: Mapping[str, object]) -> bool:
    """Return whether the application existed at the time of an Event or of the creation of a pod.

    An earlier application with its name had pods with the same names and labels. An unknown time excludes nothing.
    """
    created = read_time(pods.get_object(resource.get("metadata")).get("creationTimestamp"))
    return created is None or time is None or time >= created


def _is_about(event: Mapping[str, object], uid: object, names: PodNames) -> bool:
    subject = pods.get_object(event.get("involvedObject"))
    if subject.get("kind") == "Pod":
        return subject.get("name") in names
    return uid is not None and subject.get("uid") == uid


def _rank(event: Mapping[str, object]) -> tuple[int, int]:
    """Return the order of an Event: most contain only the second, so the order of the writes decides within it."""
    time = read_last_time(event)
    version = pods.get_text(pods.get_object(event.get("metadata")).get("resourceVersion"))
    return int(time.timestamp()) if time else 0, int(version) if version.isdecimal() else 0
