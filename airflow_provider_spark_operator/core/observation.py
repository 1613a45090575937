"""The observation of an application by a controller: its driver pod, its executors, and the outcome of the last write.

The functions find the pods of an application among all pods, and read from a driver pod whether the driver has
started or ended.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from airflow_provider_spark_operator.core import pods, reasons
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.resource_names import POD_NAME_KEY, get_driver_pod_name
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.names import (
    DRIVER_CONTAINER,
    LABEL_APPLICATION_SELECTOR,
    LABEL_ROLE,
    ROLE_DRIVER,
    ROLE_EXECUTOR,
    build_application_id,
)
from airflow_provider_spark_operator.core.pods import ContainerStatus
from airflow_provider_spark_operator.core.policy import find_attempt_start
from airflow_provider_spark_operator.core.spark_conf import TEMPLATE_CONTAINER_KEYS
from airflow_provider_spark_operator.core.states import INITIALIZING, STOPPING, ApplicationState
from airflow_provider_spark_operator.core.times import read_time

JsonObject: TypeAlias = dict[str, Any]
KubernetesObject: TypeAlias = Mapping[str, object]

_APPLICATION_ID_KEY: Final = "spark.app.id"
# The first argument of the driver's container in Spark's images. It identifies a container with another name.
_DRIVER_COMMAND: Final = "driver"
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
class Observed:
    """Everything that `decide()` reads in addition to the resource.

    Attributes:
        driver: The driver pod of the current attempt.
        executors: The executor pods of that driver.
        create_outcome: The outcome of `CreateAttempt` in this pass, None before it.
    """

    driver: DriverObservation = field(default_factory=Unconfirmed)
    executors: Sequence[KubernetesObject] = ()
    create_outcome: CreateOutcome | None = None


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
    if driver is not None:
        return Observed(driver=Present(driver), executors=find_executors(driver, known))
    if _is_stopped(application) and any(_is_certainly_of(application, attempt_id, pod) for pod in deleted_pods):
        return Observed(driver=Absent())
    return Observed(driver=Unconfirmed())


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
    label = _get_selector_label(pod)
    if label is None or label == application.spec.spark_conf.get(_APPLICATION_ID_KEY):
        return False
    earlier = range(max(0, attempt_id - _LINGERING_ATTEMPTS), attempt_id)
    if all(build_application_id(application.namespace, application.name, each) != label for each in earlier):
        return False
    began = find_attempt_start(application.status) if application.status else None
    created = read_time(pod["metadata"].get("creationTimestamp"))
    return began is None or created is None or created < began.replace(microsecond=0)  # pods' times are whole seconds


def find_executors(driver: Mapping[str, Any], all_pods: Iterable[JsonObject]) -> tuple[JsonObject, ...]:
    """Return the executors that this driver requested.

    Spark makes the driver the owner of its executors. Executors of an earlier driver with the same selector, even of
    a deleted application with the same name, may still exist.
    """
    selector, uid = _get_selector_label(driver), driver["metadata"].get("uid")
    same = (pod for pod in all_pods if _get_role(pod) == ROLE_EXECUTOR and _get_selector_label(pod) == selector)
    return tuple(pod for pod in same if uid in (owners := list_owner_uids(pod)) or not owners)


def has_fixed_child_names(application: SparkApplication) -> bool:
    """Whether the user sets names of a driver's children, which the next attempt or another application may reuse."""
    spec = application.spec
    routes = (spec.driver_service_ingress_list, spec.driver_http_route_list, spec.driver_grpc_route_list)
    return _APPLICATION_ID_KEY in spec.spark_conf or bool(spec.config_map_specs) or any(routes)


@dataclass(frozen=True)
class DriverEnd:
    """How a driver ended.

    Attributes:
        state: The state that the application enters.
        reason: A constant of `core.reasons`.
        message: A sentence for the user.
        driver_status: The pod status to record, None if it adds nothing.
    """

    state: ApplicationState
    reason: str
    message: str
    driver_status: Mapping[str, object] | None = None


def get_main_container(spark_conf: Mapping[str, str]) -> str | None:
    """Return the name of the container that runs Spark if the configuration sets it, else None."""
    return spark_conf.get(TEMPLATE_CONTAINER_KEYS[ROLE_DRIVER]) or None


def has_started(pod: Mapping[str, object], main: str | None) -> bool:
    """Whether the driver's container is ready, or the whole pod is."""
    containers = pods.list_containers(pods.get_status(pod))
    judged = containers if len(containers) == 1 else _select_critical(containers, main)
    return pods.is_ready(pod) or any(container.ready for container in judged)


def find_driver_end(pod: Mapping[str, object], main: str | None) -> DriverEnd | None:
    """Return how the driver ended, or None while it runs.

    The rules are the Apache operator's, with three exceptions. One observation of a pod gives one result. The phase
    counts if there is no container status. The end of a sidecar does not end the application.

    Args:
        pod: The driver pod.
        main: The name of the container that runs Spark, None if the configuration does not set it.
    """
    end = _find_end(pod, main)
    if end is None or end.state is not ApplicationState.FAILED or not (interruption := _describe_interruption(pod)):
        return end
    return replace(end, reason=reasons.DRIVER_INTERRUPTED, message=f"{interruption} {end.message}")


def _find_end(pod: Mapping[str, object], main: str | None) -> DriverEnd | None:
    status = pods.get_status(pod)
    phase = pods.read_phase(status)
    containers = pods.list_containers(status)
    if phase == "failed":
        return _read_failed_pod(status, _select_critical(containers, main) or containers)
    if phase == "succeeded":
        message = "The driver ended with exit code 0."
        return DriverEnd(ApplicationState.SUCCEEDED, reasons.DRIVER_SUCCEEDED, message)
    critical = _select_critical(containers, main)
    spark = critical if main else _select_spark(pod, containers)
    return _find_failed_init_container(pod, status) or _find_container_end(status, critical, spark)


def _describe_interruption(pod: Mapping[str, object]) -> str | None:
    """Return a sentence if a failed driver was disrupted or deleted while it ran, else None."""
    status = pods.get_status(pod)
    if pods.is_taken_away(status):
        disruption = pods.describe_disruption(status)
        return "The driver pod was disrupted while it ran" + (f": {disruption.rstrip('.')}." if disruption else ".")
    return "The driver pod was deleted while it ran." if pods.was_deleted_before_end(pod) else None


def _read_failed_pod(status: Mapping[str, object], containers: list[ContainerStatus]) -> DriverEnd:
    reason, detail = pods.get_text(status.get("reason")), pods.get_text(status.get("message"))
    if reason.lower() == "evicted":
        message = _join_sentences("The driver pod was evicted from its node", detail)
        return DriverEnd(ApplicationState.DRIVER_EVICTED, reasons.DRIVER_EVICTED, message, status)
    failed = next((container for container in containers if container.exit_code), None)
    sentence = _describe_exit(failed) if failed else "The driver pod failed"
    message = _join_sentences(sentence, ": ".join(part for part in (reason, detail) if part))
    return DriverEnd(ApplicationState.FAILED, reasons.DRIVER_FAILED, message, status)


def _find_failed_init_container(pod: Mapping[str, object], status: Mapping[str, object]) -> DriverEnd | None:
    sidecars = pods.list_sidecar_names(pod)  # sidecars are killed at the end: their exit code does not matter
    for container in pods.list_containers(status, "initContainerStatuses"):
        if container.exit_code and container.exit_code > 0 and container.name not in sidecars:
            message = _join_sentences(f"Init container {container.name}: {_describe_exit(container)}", "")
            return DriverEnd(ApplicationState.FAILED, reasons.INIT_CONTAINER_FAILED, message, status)
    return None


def _find_container_end(
    status: Mapping[str, object], critical: list[ContainerStatus], spark: list[ContainerStatus]
) -> DriverEnd | None:
    for container in critical:
        if container.exit_code:
            message = _join_sentences(_describe_exit(container), container.message)
            return DriverEnd(ApplicationState.FAILED, reasons.DRIVER_FAILED, message, status)
    if spark and all(container.exit_code == 0 for container in spark):
        message = "The driver ended with exit code 0."
        return DriverEnd(ApplicationState.SUCCEEDED, reasons.DRIVER_SUCCEEDED, message, status)
    for container in critical:
        if container.restart_count > 0:
            before = container.previous
            after = f" after it had ended with {pods.describe_exit(before)}" if before else ""
            message = f"Container {container.name} of the driver was restarted{after}: its Spark context is lost."
            return DriverEnd(ApplicationState.FAILED, reasons.DRIVER_RESTARTED, message, status)
    return None


def _select_critical(containers: list[ContainerStatus], main: str | None) -> list[ContainerStatus]:
    """Return the containers whose end is the driver's end: the one named `main`, or all if `main` is None."""
    if main is None:
        return containers
    return [container for container in containers if container.name.lower() == main.lower()]


def _select_spark(pod: Mapping[str, object], containers: list[ContainerStatus]) -> list[ContainerStatus]:
    """Return the containers whose success is the driver's: the one that runs Spark if it is known, else all.

    An injected sidecar, such as the proxy of a service mesh, may never end.
    """
    declared = pods.list_objects(pods.get_object(pod.get("spec")).get("containers"))
    commanded = [pods.get_text(entry.get("name")) for entry in declared if _has_driver_command(entry)]
    name = commanded[0] if len(commanded) == 1 else DRIVER_CONTAINER
    spark = [container for container in containers if container.name == name]
    return spark if spark or len(commanded) == 1 else containers


def _has_driver_command(declared: Mapping[str, object]) -> bool:
    arguments = declared.get("args")
    return isinstance(arguments, list | tuple) and list(arguments[:1]) == [_DRIVER_COMMAND]


def _describe_exit(container: ContainerStatus) -> str:
    return f"container {container.name} of the driver ended with {pods.describe_exit(container)}"


def _join_sentences(beginning: str, detail: str) -> str:
    sentence = f"{beginning[:1].upper()}{beginning[1:]}" + (f": {detail}" if detail else "")
    return sentence if sentence.endswith(".") else f"{sentence}."


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
    value = (pod["metadata"].get("labels") or {}).get(name)
    return value if isinstance(value, str) else None
