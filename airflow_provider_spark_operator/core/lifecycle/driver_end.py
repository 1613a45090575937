"""Read from a driver pod whether the driver has started or ended."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ..kubernetes import pods
from ..kubernetes.names import DRIVER_CONTAINER, ROLE_DRIVER
from ..kubernetes.pods import ContainerStatus
from ..spark.spark_conf import TEMPLATE_CONTAINER_KEYS
from ..states import reasons
from ..states.states import ApplicationState

# The first argument of the driver's container in Spark's images. It identifies a container with another name.
_DRIVER_COMMAND: Final = "driver"


@dataclass(frozen=True)
class DriverEnd:
    """How a driver ended.

    Attributes:
        state: The state that the application enters.
        reason: A constant of `core.states.reasons`.
        message: A sentence for the user.
        driver_status: The pod status to record, None if it adds nothing.
    """

    state: ApplicationState
    reason: str
    message: str
    driver_status: Mapping[str, object] | None = None


def get_main_container(spark_conf: Mapping[str, object]) -> str | None:
    """Return the name of the container that runs Spark if the configuration sets it, else None."""
    return pods.get_text(spark_conf.get(TEMPLATE_CONTAINER_KEYS[ROLE_DRIVER])) or None


def find_driver_container(pod: Mapping[str, object], main: str | None = None) -> str | None:
    """Return the name of the container that runs Spark, or None if it is unknown.

    Spark's container has the configured name, else `driver` as its first argument, else Spark's default name. If
    several containers have the argument, the default name decides, else the order: Spark puts its container last. If
    no container of a template has the configured name, Spark uses the first one, whatever its name.

    Args:
        pod: The driver pod.
        main: The name that the configuration sets, None if it sets none.
    """
    declared = pods.list_objects(pods.get_object(pod.get("spec")).get("containers"))
    found = [(pods.get_text(entry.get("name")), _has_driver_command(entry)) for entry in declared]
    found = found or [(container.name, False) for container in pods.list_containers(pods.get_status(pod))]
    ranks = [
        ((main is not None and name.lower() == main.lower(), commanded, name == DRIVER_CONTAINER), index, name)
        for index, (name, commanded) in enumerate(found)
    ]
    marks, _, name = max(ranks, default=((False, False, False), 0, ""))
    return name if any(marks) else None


def get_driver_container(pod: Mapping[str, object], main: str | None = None) -> str | None:
    """Return the name of the container that runs Spark, or of the first container of the pod if that is unknown.

    Args:
        pod: The driver pod.
        main: The name that the configuration sets, None if it sets none.
    """
    declared = pods.list_objects(pods.get_object(pod.get("spec")).get("containers"))
    return find_driver_container(pod, main) or next((pods.get_text(each.get("name")) for each in declared), None)


def has_started(pod: Mapping[str, object], main: str | None) -> bool:
    """Whether the driver's container is ready, or the whole pod is."""
    return pods.is_ready(pod) or any(container.ready for container in _select_spark(pod, main))


def find_driver_end(pod: Mapping[str, object], main: str | None) -> DriverEnd | None:
    """Return how the driver ended, or None while it runs.

    If the container that runs Spark is known, its exit code decides, whatever the other containers and the phase of
    the pod show. Otherwise the rules are the Apache operator's, with two exceptions. One observation of a pod gives
    one result. The phase counts if there is no container status.

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
    spark = _select_spark(pod, main)
    exit_code = spark[0].exit_code if len(spark) == 1 else None
    if exit_code == 0 or (exit_code is None and phase == "succeeded"):
        recorded = None if phase == "succeeded" else status
        message = "The driver ended with exit code 0."
        return DriverEnd(ApplicationState.SUCCEEDED, reasons.DRIVER_SUCCEEDED, message, recorded)
    if phase == "failed":
        return _read_failed_pod(status, spark or pods.list_containers(status))
    return _find_failed_init_container(pod, status) or _find_container_end(status, spark)


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


def _find_container_end(status: Mapping[str, object], spark: list[ContainerStatus]) -> DriverEnd | None:
    for container in spark:
        if container.exit_code:
            message = _join_sentences(_describe_exit(container), container.message)
            return DriverEnd(ApplicationState.FAILED, reasons.DRIVER_FAILED, message, status)
    if spark and all(container.exit_code == 0 for container in spark):
        message = "The containers of the driver ended with exit code 0."
        return DriverEnd(ApplicationState.SUCCEEDED, reasons.DRIVER_SUCCEEDED, message, status)
    for container in spark:
        if container.restart_count > 0:
            before = container.previous
            after = f" after it had ended with {pods.describe_exit(before)}" if before else ""
            message = f"Container {container.name} of the driver was restarted{after}: its Spark context is lost."
            return DriverEnd(ApplicationState.FAILED, reasons.DRIVER_RESTARTED, message, status)
    return None


def _select_spark(pod: Mapping[str, object], main: str | None) -> list[ContainerStatus]:
    """Return the container that runs Spark, or all containers if it is unknown."""
    containers = pods.list_containers(pods.get_status(pod))
    name = find_driver_container(pod, main)
    return containers if name is None else [container for container in containers if container.name == name]


def _has_driver_command(declared: Mapping[str, object]) -> bool:
    arguments = declared.get("args")
    return isinstance(arguments, list | tuple) and list(arguments[:1]) == [_DRIVER_COMMAND]


def _describe_exit(container: ContainerStatus) -> str:
    return f"container {container.name} of the driver ended with {pods.describe_exit(container)}"


def _join_sentences(beginning: str, detail: str) -> str:
    sentence = f"{beginning[:1].upper()}{beginning[1:]}" + (f": {detail}" if detail else "")
    return sentence if sentence.endswith(".") else f"{sentence}."
