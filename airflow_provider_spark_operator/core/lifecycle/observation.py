"""The observation of an application by a controller: its driver pod, its executors, and the outcome of the last write.

The functions find the pods of an application among all pods.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ..kubernetes.json_object import JsonObject, KubernetesObject
from ..kubernetes.names import LABEL_APPLICATION_SELECTOR, LABEL_ROLE, ROLE_EXECUTOR
from ..kubernetes.times import read_time
from ..kueue.steps import QueueObservation
from ..models.application import SparkApplication
from ..states import reasons
from .drivers import (
    APPLICATION_ID_KEY,
    find_driver,
    find_drivers,
    get_driver_name,
    get_label,
    get_name,
    list_owner_uids,
)


@dataclass(frozen=True)
class Present:
    """The driver pod of the current attempt, as the cache or a live read shows it."""

    pod: KubernetesObject


@dataclass(frozen=True)
class Absent:
    """A live read by name has shown that the driver pod does not exist.

    Attributes:
        namesake: The name of a pod that has the driver's name, but is not the driver; None if there is no such pod.
    """

    namesake: str | None = None


@dataclass(frozen=True)
class Unconfirmed:
    """The cache holds no driver pod. It may lag behind, and a watch shows a changed label as a deletion."""


DriverObservation: TypeAlias = Present | Absent | Unconfirmed


@dataclass(frozen=True)
class Created:
    """All resources of the attempt exist."""


@dataclass(frozen=True)
class Refused:
    """The attempt's resources could not be built, or the API rejected one of them permanently.

    Attributes:
        detail: A sentence that names the object or field, and the cause.
        reason: SCHEDULING_FAILED; NAME_TAKEN or SPEC_UNBUILDABLE if a retry would fail in the same way.
    """

    detail: str
    reason: str = reasons.SCHEDULING_FAILED


CreateOutcome: TypeAlias = Created | Refused


@dataclass(frozen=True)
class ApplicationPods:
    """The pods of all attempts of an application.

    Attributes:
        drivers: The driver pods that the application owns.
        executors: The executor pods that carry its name. Their driver may not exist any more.
        is_live: Whether they come from a live read. The cache may lag behind.
    """

    drivers: Sequence[KubernetesObject] = ()
    executors: Sequence[KubernetesObject] = ()
    is_live: bool = False


@dataclass(frozen=True)
class Observed:
    """Everything that `decide()` reads in addition to the resource.

    Attributes:
        driver: The driver pod of the current attempt.
        executors: The executor pods of that driver.
        create_outcome: The outcome of `CreateAttempt` in this pass, None before it.
        pods: The pods of all attempts.
        queue: The Workload of Kueue; None if the controller runs without Kueue.
        last_driver: The last known state of the driver pod, if the cache does not hold the pod any more.
    """

    driver: DriverObservation = field(default_factory=Unconfirmed)
    executors: Sequence[KubernetesObject] = ()
    create_outcome: CreateOutcome | None = None
    pods: ApplicationPods = field(default_factory=ApplicationPods)
    queue: QueueObservation | None = None
    last_driver: KubernetesObject | None = None


def observe(
    application: SparkApplication,
    all_pods: Iterable[JsonObject],
    operator_name: str,
    deleted_pods: Iterable[JsonObject] = (),
) -> Observed:
    """Return what the cache shows of an application; a driver that the cache does not hold is Unconfirmed.

    Args:
        application: The application as the cache holds it.
        all_pods: The pods that carry its name.
        operator_name: The value of the operator's label.
        deleted_pods: The last known states of the drivers that the watch has reported as deleted.
    """
    known, attempt_id = list(all_pods), get_attempt_id(application)
    driver = find_driver(application, attempt_id, known, operator_name)
    return Observed(
        driver=Unconfirmed() if driver is None else Present(driver),
        executors=() if driver is None else find_executors(driver, known),
        pods=_sort_pods(application, known, operator_name, is_live=False),
        last_driver=find_driver(application, attempt_id, deleted_pods, operator_name),
    )


def observe_live(
    observed: Observed, application: SparkApplication, all_pods: Iterable[JsonObject], operator_name: str
) -> Observed:
    """Return `observed` with all pods that a live read has returned.

    Args:
        observed: What the cache shows.
        application: The application.
        all_pods: The driver and executor pods that carry its name, and the pods with the names of its drivers.
        operator_name: The value of the operator's label.
    """
    known = list(all_pods)
    confirmed = confirm_driver(observed, application, known, operator_name, known)
    return replace(confirmed, pods=_sort_pods(application, known, operator_name, is_live=True))


def confirm_driver(
    observed: Observed,
    application: SparkApplication,
    found: Sequence[JsonObject],
    operator_name: str,
    all_pods: Iterable[JsonObject],
) -> Observed:
    """Return `observed` with the driver that a live read by name has shown, or with its absence.

    A driver that only the cache holds is Unconfirmed: the watch has not shown its last state yet.

    Args:
        observed: What the cache shows.
        application: The application.
        found: The pods that the read has returned.
        operator_name: The value of the operator's label.
        all_pods: The pods that can be executors.
    """
    attempt_id = get_attempt_id(application)
    driver = find_driver(application, attempt_id, found, operator_name)
    if driver is not None:
        return replace(observed, driver=Present(driver), executors=find_executors(driver, all_pods))
    if isinstance(observed.driver, Present):
        return replace(observed, driver=Unconfirmed(), executors=())
    name, ours = get_driver_name(application, attempt_id), find_drivers(application, attempt_id, found, operator_name)
    namesakes = [pod for pod in found if get_name(pod) == name and pod not in ours]
    return replace(observed, driver=Absent(name if namesakes else None), executors=())


def get_attempt_id(application: SparkApplication) -> int:
    """Return the id of the attempt that the status describes, 0 if there is no status."""
    return application.status.current_attempt_summary.attempt_info.id if application.status else 0


def find_executors(driver: Mapping[str, Any], all_pods: Iterable[JsonObject]) -> tuple[JsonObject, ...]:
    """Return the executors that this driver requested.

    Executors of an earlier driver with the same selector, even of a deleted application with the same name, may still
    exist. Spark makes the driver the owner of its executors, or of the StatefulSet or Deployment that creates them. An
    executor that no pod owns belongs to this driver if it is not older.
    """
    selector = get_label(driver, LABEL_APPLICATION_SELECTOR)
    executors = [pod for pod in all_pods if get_label(pod, LABEL_ROLE) == ROLE_EXECUTOR]
    return tuple(pod for pod in executors if _is_executor_of(driver, selector, pod))


def _is_executor_of(driver: Mapping[str, Any], selector: str | None, executor: JsonObject) -> bool:
    owners = executor["metadata"].get("ownerReferences") or ()
    if any(owner.get("kind") == "Pod" for owner in owners):
        return driver["metadata"].get("uid") in list_owner_uids(executor)
    if get_label(executor, LABEL_APPLICATION_SELECTOR) != selector:
        return False
    requested, created = (read_time(pod["metadata"].get("creationTimestamp")) for pod in (driver, executor))
    return requested is None or created is None or created >= requested


def has_fixed_child_names(application: SparkApplication) -> bool:
    """Whether the user sets names of a driver's children, which the next attempt or another application may reuse."""
    spec = application.spec
    routes = (spec.driver_service_ingress_list, spec.driver_http_route_list, spec.driver_grpc_route_list)
    return APPLICATION_ID_KEY in spec.spark_conf or bool(spec.config_map_specs) or any(routes)


def _sort_pods(
    application: SparkApplication, all_pods: Sequence[JsonObject], operator_name: str, *, is_live: bool
) -> ApplicationPods:
    drivers = find_drivers(application, get_attempt_id(application), all_pods, operator_name)
    executors = [pod for pod in all_pods if get_label(pod, LABEL_ROLE) == ROLE_EXECUTOR and pod not in drivers]
    return ApplicationPods(tuple(drivers), tuple(executors), is_live)
