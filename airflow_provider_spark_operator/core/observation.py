"""What a driver pod shows: that it has started, is ready, or has ended, and how.

The rules are the Apache operator's, except that one look at a pod gives one verdict, that a phase
speaks for itself where no container status does, and that sidecars do not end an application.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_spark_operator.core import pods, reasons
from airflow_provider_spark_operator.core.names import DRIVER_CONTAINER
from airflow_provider_spark_operator.core.pods import Container
from airflow_provider_spark_operator.core.states import ApplicationState

_MAIN_CONTAINER_KEY = "spark.kubernetes.driver.podTemplateContainerName"
# The command of Spark's images, by which the driver's container can be told where it has another name.
_DRIVER_COMMAND = "driver"


@dataclass(frozen=True)
class Ending:
    """How a driver has ended; `driver_status` is what to record of the pod, None where it says no more."""

    state: ApplicationState
    reason: str
    message: str
    driver_status: Mapping[str, object] | None = None


def main_container(spark_conf: Mapping[str, str]) -> str | None:
    """The name of the container that runs Spark where the configuration names it, else None."""
    return spark_conf.get(_MAIN_CONTAINER_KEY) or None


def has_started(pod: Mapping[str, object], main: str | None) -> bool:
    """Whether the driver's container runs and is ready, or the whole pod is."""
    containers = pods.containers(pods.status_of(pod))
    judged = containers if len(containers) == 1 else _critical(containers, main)
    return pods.is_ready(pod) or any(container.ready for container in judged)


def ending(pod: Mapping[str, object], main: str | None) -> Ending | None:
    """How the driver has ended, None while it has not."""
    status = pods.status_of(pod)
    phase = pods.phase(status)
    containers = pods.containers(status)
    if phase == "failed":
        return _failed_pod(status, _critical(containers, main) or containers)
    if phase == "succeeded":
        message = "The driver ended with exit code 0."
        return Ending(ApplicationState.SUCCEEDED, reasons.DRIVER_SUCCEEDED, message)
    critical = _critical(containers, main)
    spark = critical if main else _running_spark(pod, containers)
    return _failed_init_container(pod, status) or _ended_containers(status, critical, spark)


def _failed_pod(status: Mapping[str, object], containers: list[Container]) -> Ending:
    word, said = pods.text(status.get("reason")), pods.text(status.get("message"))
    if word.lower() == "evicted":
        message = _sentence("The driver pod was evicted from its node", said)
        return Ending(ApplicationState.DRIVER_EVICTED, reasons.DRIVER_EVICTED, message, status)
    failed = next((container for container in containers if container.exit_code), None)
    what = _exit(failed) if failed else "The driver pod failed"
    message = _sentence(what, ": ".join(part for part in (word, said) if part))
    return Ending(ApplicationState.FAILED, reasons.DRIVER_FAILED, message, status)


def _failed_init_container(pod: Mapping[str, object], status: Mapping[str, object]) -> Ending | None:
    sidecars = pods.sidecar_names(pod)  # they are killed at the end, and their exit code says nothing
    for container in pods.containers(status, "initContainerStatuses"):
        if container.exit_code and container.exit_code > 0 and container.name not in sidecars:
            message = _sentence(f"Init container {container.name}: {_exit(container)}", "")
            return Ending(ApplicationState.FAILED, reasons.INIT_CONTAINER_FAILED, message, status)
    return None


def _ended_containers(status: Mapping[str, object], critical: list[Container], spark: list[Container]) -> Ending | None:
    for container in critical:
        if container.exit_code:
            message = _sentence(_exit(container), container.message)
            return Ending(ApplicationState.FAILED, reasons.DRIVER_FAILED, message, status)
    if spark and all(container.exit_code == 0 for container in spark):
        message = "The driver ended with exit code 0."
        return Ending(ApplicationState.SUCCEEDED, reasons.DRIVER_SUCCEEDED, message, status)
    for container in critical:
        if container.restart_count > 0:
            before = container.previous
            after = f" after it had ended with {pods.exit_words(before)}" if before else ""
            message = f"Container {container.name} of the driver was restarted{after}: its Spark context is lost."
            return Ending(ApplicationState.FAILED, reasons.DRIVER_RESTARTED, message, status)
    return None


def _critical(containers: list[Container], main: str | None) -> list[Container]:
    """The containers whose end is the driver's end: the one that runs Spark, all where none is named."""
    if main is None:
        return containers
    return [container for container in containers if container.name.lower() == main.lower()]


def _running_spark(pod: Mapping[str, object], containers: list[Container]) -> list[Container]:
    """The containers whose success is the driver's where none is named: Spark's where it can be told, else all.

    A sidecar that something else has put into the pod, such as a service mesh's proxy, may never end.
    """
    declared = pods.entries(pods.mapping(pod.get("spec")).get("containers"))
    commanded = [pods.text(entry.get("name")) for entry in declared if _runs_driver(entry)]
    name = commanded[0] if len(commanded) == 1 else DRIVER_CONTAINER
    spark = [container for container in containers if container.name == name]
    return spark if spark or len(commanded) == 1 else containers


def _runs_driver(declared: Mapping[str, object]) -> bool:
    arguments = declared.get("args")
    return isinstance(arguments, list | tuple) and list(arguments[:1]) == [_DRIVER_COMMAND]


def _exit(container: Container) -> str:
    return f"container {container.name} of the driver ended with {pods.exit_words(container)}"


def _sentence(what: str, detail: str) -> str:
    said = f"{what[:1].upper()}{what[1:]}" + (f": {detail}" if detail else "")
    return said if said.endswith(".") else f"{said}."
