"""Find and count the executors of an application."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ..dialects.dialect import dialect_of
from ..dialects.progress import ExecutorState, Phase, Progress
from ..kubernetes import pods
from ..kubernetes.json_object import KubernetesObject
from ..kubernetes.names import LABEL_APPLICATION_SELECTOR, LABEL_EXECUTOR_ID, LABEL_ROLE, ROLE_EXECUTOR
from ..kubernetes.times import read_time
from ..spark.spark_conf import uses_dynamic_allocation
from .events import is_as_young


@dataclass(frozen=True)
class ExecutorNumbers:
    """The number of executors.

    Attributes:
        running: Executors that run. None if unknown.
        wanted: Executors with which the application starts. 0 if the number is not fixed.
        starting: Executors whose pods wait for their start. None if the pods were not read.
    """

    running: int | None
    wanted: int
    starting: int | None = None

    @property
    def absence(self) -> str:
        """Why no executor of a running driver runs, in words; empty if one does, or if the reason is unknown."""
        if self.running != 0 or self.starting is None:
            return ""
        if self.starting:
            return f"the driver runs, and {self.starting} {'is' if self.starting == 1 else 'are'} starting"
        return "the driver runs, but no executor runs or is starting"

    def __str__(self) -> str:
        """Return `<running>/<wanted>`, with `?` for an unknown number."""
        running = "?" if self.running is None else str(self.running)
        return f"{running}/{max(self.wanted, self.running or 0)}"


def count_executors(
    resource: KubernetesObject, seen: Progress, all_pods: Iterable[KubernetesObject] | None
) -> ExecutorNumbers:
    """Count the executors of the latest attempt.

    Args:
        resource: The application.
        seen: Its progress.
        all_pods: Pods, among them those of the application. None if they could not be read: the status may contain the
            executors then.
    """
    dialect = dialect_of(resource.get("apiVersion"))
    wanted = dialect.count_wanted_executors(resource)
    if all_pods is not None:
        executors = select_executors(resource, all_pods, seen.application_id)
        starting = sum(pods.is_pending(pods.get_status(pod)) for pod in executors)
        return ExecutorNumbers(sum(map(_is_running, executors)), wanted, starting)
    states = dialect.read_executor_states(resource)
    if states or seen.phase is not Phase.RUNNING:
        return ExecutorNumbers(sum(state is ExecutorState.RUNNING for state in states.values()), wanted)
    return ExecutorNumbers(None, wanted)


def is_dynamic(resource: KubernetesObject) -> bool:
    """Return whether Spark chooses the number of executors, so that it removes some before the driver ends."""
    allocation = pods.get_object(pods.get_object(resource.get("spec")).get("dynamicAllocation"))
    properties = dialect_of(resource.get("apiVersion")).read_properties(resource)
    return allocation.get("enabled") is True or uses_dynamic_allocation(properties)


def get_executor_number(executor: KubernetesObject) -> str:
    """Return the number that Spark gave an executor, from the label of its pod or else from the name of the pod.

    The label of an executor that a StatefulSet or Deployment creates contains no number. The name then ends with the
    number of the StatefulSet, or with the identifier of the Deployment.
    """
    metadata = pods.get_object(executor.get("metadata"))
    number = pods.get_text(pods.get_object(metadata.get("labels")).get(LABEL_EXECUTOR_ID))
    return number if number.isdecimal() else pods.get_text(metadata.get("name")).rpartition("-")[2]


def select_executors(
    resource: KubernetesObject, all_pods: Iterable[KubernetesObject], application_id: str | None = None
) -> list[KubernetesObject]:
    """Return the executor pods of an application.

    Args:
        resource: The application.
        all_pods: Pods, among them those of the application.
        application_id: Spark's id of an attempt. If None, the executors of all attempts are returned.
    """
    return select_pods(resource, all_pods, ROLE_EXECUTOR, application_id)


def select_pods(
    resource: KubernetesObject, all_pods: Iterable[KubernetesObject], role: str, application_id: str | None = None
) -> list[KubernetesObject]:
    """Return the pods of an application with a role, `driver` or `executor`. See `select_executors`.

    Pods of an earlier application with the same name can still exist.
    """
    label = dialect_of(resource.get("apiVersion")).application_label
    metadata = pods.get_object(resource.get("metadata"))
    expected = {label: metadata.get("name"), LABEL_ROLE: role}
    found = [pod for pod in all_pods if _is_in(pod, metadata.get("namespace")) and _has_labels(pod, expected)]
    own = [pod for pod in found if is_as_young(_read_creation(pod), resource)]
    if application_id is None:
        return own
    return [pod for pod in own if _read_labels(pod).get(LABEL_APPLICATION_SELECTOR, application_id) == application_id]


def _is_in(pod: KubernetesObject, namespace: object) -> bool:
    return pods.get_object(pod.get("metadata")).get("namespace") == namespace


def _read_creation(pod: KubernetesObject) -> datetime | None:
    return read_time(pods.get_object(pod.get("metadata")).get("creationTimestamp"))


def _has_labels(pod: KubernetesObject, expected: Mapping[str, object]) -> bool:
    labels = _read_labels(pod)
    return all(labels.get(key) == value for key, value in expected.items())


def _read_labels(pod: KubernetesObject) -> Mapping[str, object]:
    return pods.get_object(pods.get_object(pod.get("metadata")).get("labels"))


def _is_running(pod: KubernetesObject) -> bool:
    # An executor that is being deleted runs until its pod does not exist, but gets no more tasks.
    return pods.read_phase(pods.get_status(pod)) == "running" and pods.read_deletion_deadline(pod) is None
