"""The observation of an application by a controller: its driver pod, its executors, and the outcome of the last write.

The functions find the pods of an application among all pods.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.resource_names import POD_NAME_KEY, get_driver_pod_name
from airflow_provider_spark_operator.core.kueue.observation import QueueObservation
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.names import (
    LABEL_APPLICATION_SELECTOR,
    LABEL_ROLE,
    ROLE_DRIVER,
    ROLE_EXECUTOR,
    build_application_id,
)
from airflow_provider_spark_operator.core.pods import get_object
from airflow_provider_spark_operator.core.policy import find_attempt_start
from airflow_provider_spark_operator.core.states import INITIALIZING, STOPPING
from airflow_provider_spark_operator.core.times import read_time

JsonObject: TypeAlias = dict[str, Any]
KubernetesObject: TypeAlias = Mapping[str, object]

_APPLICATION_ID_KEY: Final = "spark.app.id"
# A driver is deleted before the next one is created, so only the last few can still exist.
_LINGERING_ATTEMPTS: Final = 8


@dataclass(frozen=True)
class Present:
    """The driver pod of the current attempt, as the cache or a live read shows it."""

    pod: KubernetesObject


@dataclass(frozen=True)
class Absent:
    """A live read has shown that the driver pod does not exist."""


@dataclass(frozen=True)
class Unconfirmed:
    """The cache holds no driver pod. The cache may lag behind."""


DriverObservation: TypeAlias = Present | Absent | Unconfirmed


@dataclass(frozen=True)
class Created:
    """All resources of the attempt exist."""


@dataclass(frozen=True)
class Refused:
    """The attempt's resources could not be built, or the API rejected one of them permanently.

    Attributes:
        detail: A sentence that names the object or field, and the cause.
        reason: SCHEDULING_FAILED, or SPEC_UNBUILDABLE if only an edit of the spec can help.
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
    """

    driver: DriverObservation = field(default_factory=Unconfirmed)
    executors: Sequence[KubernetesObject] = ()
    create_outcome: CreateOutcome | None = None
    pods: ApplicationPods = field(default_factory=ApplicationPods)
    queue: QueueObservation | None = None


def observe(
    application: SparkApplication, all_pods: Iterable[JsonObject], deleted_pods: Iterable[JsonObject] = ()
) -> Observed:
    """Return what the cache shows of an application; a driver that the cache does not hold is Unconfirmed.

    Args:
        application: The application as the cache holds it.
        all_pods: The pods that carry its name.
        deleted_pods: The pods whose deletion the watch has reported. If the driver of a stopped attempt is among
            them, the driver is Absent: no other driver is created for that attempt.
    """
    known = list(all_pods)
    attempt_id = get_attempt_id(application)
    driver = find_driver(application, attempt_id, known)
    sorted_pods = _sort_pods(application, known, is_live=False)
    if driver is not None:
        return Observed(driver=Present(driver), executors=find_executors(driver, known), pods=sorted_pods)
    if _is_stopped(application) and any(_is_certainly_of(application, attempt_id, pod) for pod in deleted_pods):
        return Observed(driver=Absent(), pods=sorted_pods)
    return Observed(driver=Unconfirmed(), pods=sorted_pods)


def observe_live(observed: Observed, application: SparkApplication, all_pods: Iterable[JsonObject]) -> Observed:
    """Return `observed` with the pods that a live read has returned.

    Args:
        observed: What the cache shows.
        application: The application.
        all_pods: The driver and executor pods that carry its name.
    """
    known = list(all_pods)
    driver = find_driver(application, get_attempt_id(application), known)
    return replace(
        observed,
        driver=Absent() if driver is None else Present(driver),
        executors=() if driver is None else find_executors(driver, known),
        pods=_sort_pods(application, known, is_live=True),
    )


def get_attempt_id(application: SparkApplication) -> int:
    """Return the id of the attempt that the status describes, 0 if there is no status."""
    return application.status.current_attempt_summary.attempt_info.id if application.status else 0


def list_owner_uids(document: Mapping[str, Any]) -> frozenset[str]:
    """Return the uids of the owner references of `document`."""
    return frozenset(reference["uid"] for reference in document["metadata"].get("ownerReferences") or ())


def is_driver(pod: Mapping[str, Any]) -> bool:
    """Whether a pod is the driver of any application."""
    return _get_role(pod) == ROLE_DRIVER


def find_drivers(application: SparkApplication, all_pods: Iterable[JsonObject]) -> list[JsonObject]:
    """Return the drivers of all attempts of an application.

    The owner's uid decides, not the name: the pod of a deleted application with the same name does not count.
    """
    return [pod for pod in all_pods if is_driver(pod) and application.uid in list_owner_uids(pod)]


def find_driver(application: SparkApplication, attempt_id: int, all_pods: Iterable[JsonObject]) -> JsonObject | None:
    """Return the driver pod of an attempt, or None if it is not among `all_pods`.

    The selector label identifies the attempt. If the user sets that label, or has changed it, the youngest driver
    that is not being deleted is the current one. If there is no such driver and one was requested, the pod with the
    name that the user sets counts. The Apache operator also adopts the pod of an earlier attempt.
    """
    drivers = find_drivers(application, all_pods)
    candidates = [pod for pod in drivers if not is_of_earlier_attempt(application, attempt_id, pod)]
    if not candidates and _is_requested(application):
        name = _find_fixed_driver_name(application, attempt_id)
        candidates = [pod for pod in drivers if pod["metadata"]["name"] == name]
    fixed = application.spec.spark_conf.get(_APPLICATION_ID_KEY)
    expected = fixed or build_application_id(application.namespace, application.name, attempt_id)

    def rank(pod: JsonObject) -> tuple[bool, bool, str]:
        metadata = pod["metadata"]
        alive = "deletionTimestamp" not in metadata
        return (_get_selector_label(pod) == expected, alive, metadata.get("creationTimestamp", ""))

    return max(candidates, key=rank, default=None)


def is_of_earlier_attempt(application: SparkApplication, attempt_id: int, pod: JsonObject) -> bool:
    """Whether a driver belongs to an attempt before `attempt_id`.

    The selector label decides. It does not count if the user sets this id, because it may look like the id of
    another attempt. It does not count either if the pod is younger than the attempt, because the user may have
    removed the setting since.
    """
    if not has_id_of_earlier_attempt(application, attempt_id, pod):
        return False
    began = find_attempt_start(application.status) if application.status else None
    created = read_time(pod["metadata"].get("creationTimestamp"))
    return began is None or created is None or created < began.replace(microsecond=0)  # pods' times are whole seconds


def has_id_of_earlier_attempt(application: SparkApplication, attempt_id: int, pod: Mapping[str, Any]) -> bool:
    """Whether the selector label of a driver is the id of an earlier attempt than `attempt_id`.

    A label that the user sets with `spark.app.id` does not count.
    """
    label = _get_selector_label(pod)
    if label is None or label == application.spec.spark_conf.get(_APPLICATION_ID_KEY):
        return False
    earlier = range(max(0, attempt_id - _LINGERING_ATTEMPTS), attempt_id)
    return any(build_application_id(application.namespace, application.name, each) == label for each in earlier)


def find_executors(driver: Mapping[str, Any], all_pods: Iterable[JsonObject]) -> tuple[JsonObject, ...]:
    """Return the executors that this driver requested.

    Executors of an earlier driver with the same selector, even of a deleted application with the same name, may still
    exist. Spark makes the driver the owner of its executors, or of the StatefulSet or Deployment that creates them. An
    executor that no pod owns belongs to this driver if it is not older.
    """
    selector = _get_selector_label(driver)
    same = (pod for pod in all_pods if _get_role(pod) == ROLE_EXECUTOR and _get_selector_label(pod) == selector)
    return tuple(pod for pod in same if _is_executor_of(driver, pod))


def _is_executor_of(driver: Mapping[str, Any], executor: JsonObject) -> bool:
    owners = executor["metadata"].get("ownerReferences") or ()
    if any(owner.get("kind") == "Pod" for owner in owners):
        return driver["metadata"].get("uid") in list_owner_uids(executor)
    requested, created = (read_time(pod["metadata"].get("creationTimestamp")) for pod in (driver, executor))
    return requested is None or created is None or created >= requested


def has_fixed_child_names(application: SparkApplication) -> bool:
    """Whether the user sets names of a driver's children, which the next attempt or another application may reuse."""
    spec = application.spec
    routes = (spec.driver_service_ingress_list, spec.driver_http_route_list, spec.driver_grpc_route_list)
    return _APPLICATION_ID_KEY in spec.spark_conf or bool(spec.config_map_specs) or any(routes)


def _sort_pods(application: SparkApplication, all_pods: Iterable[JsonObject], *, is_live: bool) -> ApplicationPods:
    known = list(all_pods)
    executors = tuple(pod for pod in known if _get_role(pod) == ROLE_EXECUTOR)
    return ApplicationPods(tuple(find_drivers(application, known)), executors, is_live)


def _is_certainly_of(application: SparkApplication, attempt_id: int, driver: JsonObject) -> bool:
    """Whether the id of a driver, which no other attempt has, shows that the driver belongs to the attempt."""
    if _APPLICATION_ID_KEY in application.spec.spark_conf or application.uid not in list_owner_uids(driver):
        return False
    return _get_selector_label(driver) == build_application_id(application.namespace, application.name, attempt_id)


def _find_fixed_driver_name(application: SparkApplication, attempt_id: int) -> str | None:
    """Return the name that the user sets for the driver pod; None if there is none, or no driver can have it."""
    conf = application.spec.spark_conf
    if POD_NAME_KEY not in conf:
        return None
    identifier = conf.get(_APPLICATION_ID_KEY) or build_application_id(
        application.namespace, application.name, attempt_id
    )
    try:
        return get_driver_pod_name(identifier, conf)
    except DriverBuildError:
        return None


def _is_stopped(application: SparkApplication) -> bool:
    status = application.status
    return status is not None and status.current_state.current_state_summary in STOPPING


def _is_requested(application: SparkApplication) -> bool:
    status = application.status
    return status is not None and status.current_state.current_state_summary not in INITIALIZING


def _get_role(pod: Mapping[str, Any]) -> str | None:
    return _get_label(pod, LABEL_ROLE)


def _get_selector_label(pod: Mapping[str, Any]) -> str | None:
    return _get_label(pod, LABEL_APPLICATION_SELECTOR)


def _get_label(pod: Mapping[str, Any], name: str) -> str | None:
    value = get_object(get_object(pod.get("metadata")).get("labels")).get(name)
    return value if isinstance(value, str) else None
