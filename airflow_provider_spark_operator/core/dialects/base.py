"""The base of the dialects: everything in which one kind of SparkApplication differs from another."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Final

from ..kubernetes.json_object import JsonObject, KubernetesObject
from ..kubernetes.pods import get_object
from ..kubernetes.problems import Problem
from ..parameters.parameters import Parameters
from .progress import ExecutorState, Phase, Progress, StateEntry

_JAVA_ERROR: Final = re.compile(r'^Exception in thread "[^"\n]*" (.+)$', re.MULTILINE)
_CAUSED: Final = "\nCaused by: "
# fabric8's client prints the whole answer of the API server, whose message it has printed before.
_DUMP: Final = " Received status: Status("


class Dialect(ABC):
    """One kind of SparkApplication, identified by its API group.

    A method that writes returns a changed copy of a document whose spec is an object. It raises `InvalidResource` if a
    part that it must extend has the wrong type. A method that reads accepts any document and never raises.

    Attributes:
        group: The API group.
        operator: The operator that runs the applications, for messages.
        installation: How to install the definitions of the group, for messages.
        versions: Supported versions, the newest first. Their documents differ only in the apiVersion.
        states: The states, in the order of the lifecycle.
        ended_states: The states of an application that has ended.
        healthy_states: The states of an application that runs or has succeeded.
        failed_states: The states that show a failure.
        running: The state of an application whose driver runs.
        success: The state of a successful application.
        application_label: The label of the pods that contains the name of the application.
        owned_driver: Whether the driver pod always has the application as its owner.
        submits_before_status: Whether the operator runs spark-submit, which can take minutes, before its first status.
        reruns_after_edit: Whether the operator runs an application again if its spec changes while its driver runs.
        suspended_by_kueue: Whether Kueue itself sets `spec.suspend` of the applications in its queues.
        has_clusters: Whether the group also defines SparkClusters, on which its applications can run.
        has_model: Whether a model describes the documents, so that `find_problems` is not needed.
        can_mount_files: Whether an application can contain files, see `mount_files`.
    """

    group: ClassVar[str]
    operator: ClassVar[str]
    installation: ClassVar[str]
    versions: ClassVar[tuple[str, ...]]
    states: ClassVar[tuple[str, ...]]
    ended_states: ClassVar[frozenset[str]]
    healthy_states: ClassVar[frozenset[str]]
    failed_states: ClassVar[frozenset[str]]
    running: ClassVar[str]
    success: ClassVar[str]
    application_label: ClassVar[str]
    owned_driver: ClassVar[bool] = False
    submits_before_status: ClassVar[bool] = False
    reruns_after_edit: ClassVar[bool] = False
    suspended_by_kueue: ClassVar[bool] = False
    has_clusters: ClassVar[bool] = False
    has_model: ClassVar[bool] = False
    can_mount_files: ClassVar[bool] = False

    @abstractmethod
    def get_phase(self, state: str) -> Phase:
        """Return the phase of a state. An unknown state counts as waiting."""

    @abstractmethod
    def read_progress(self, resource: KubernetesObject) -> Progress:
        """Return the progress of an application.

        Args:
            resource: The whole resource as the API returns it.
        """

    @abstractmethod
    def read_history(self, resource: KubernetesObject, driver_started: datetime | None) -> tuple[StateEntry, ...]:
        """Return the states of the attempts, oldest first.

        Args:
            resource: The whole resource as the API returns it.
            driver_started: When the driver of the latest attempt started, according to its pod. It completes a status
                without a history. None if unknown.
        """

    @abstractmethod
    def count_wanted_executors(self, resource: KubernetesObject) -> int:
        """Return the number of executors with which an application starts."""

    @abstractmethod
    def read_driver_pod_name(self, resource: KubernetesObject, identifier: str | None) -> str | None:
        """Return the name of the driver pod of the attempt with an application id; None if it is unknown."""

    @abstractmethod
    def read_restart_config(self, document: KubernetesObject) -> Mapping[str, object]:
        """Return the restart policy as a restartConfig of `spark.apache.org`; empty if there is none."""

    @abstractmethod
    def disable_restarts(self, document: JsonObject) -> JsonObject:
        """Return `document` with its own restarts disabled."""

    @abstractmethod
    def read_ttl(self, document: KubernetesObject) -> float | None:
        """Return the seconds after which the operator deletes a terminated application; None if it keeps it."""

    @abstractmethod
    def write_ttl(self, document: JsonObject, seconds: float | None) -> JsonObject:
        """Return `document` with its time to live.

        Args:
            document: The application. It stays unchanged. Its spec is an object.
            seconds: The time after the end, in seconds; `KEEP` for no deletion. None sets the default, unless the
                document has a time to live.
        """

    @abstractmethod
    def read_memory(self, document: KubernetesObject) -> dict[str, str]:
        """Return the memory that the pods of an application request, by Spark property."""

    @abstractmethod
    def write_memory(self, document: JsonObject, memory: Mapping[str, str]) -> JsonObject:
        """Return `document` with the memory of its pods, by Spark property."""

    @abstractmethod
    def write_parameters(self, document: JsonObject, parameters: Parameters) -> JsonObject:
        """Return `document` with the fields that `parameters` override.

        Args:
            document: The application; it stays unchanged.
            parameters: Valid parameters.

        Raises:
            InvalidResource: A part of the document that must be extended is not an object or list. A parameter
                conflicts with a property, or the operator does not support it.
        """

    def find_unsupported(self, parameters: Parameters) -> list[Problem]:
        """Return the parameters that the operator does not support, as far as their values are known."""
        return []

    def find_problems(self, document: KubernetesObject) -> list[Problem]:
        """Return the problems of a document without a model."""
        return []

    def is_suspended(self, document: KubernetesObject) -> bool:
        """Return whether an application requests to be suspended."""
        return get_object(document.get("spec")).get("suspend") is True

    def read_executor_states(self, resource: KubernetesObject) -> Mapping[str, ExecutorState]:
        """Return the executors by the names of their pods; empty if the status does not contain the executors."""
        return {}

    def read_application_id(self, resource: KubernetesObject, attempt: int) -> str | None:
        """Return Spark's id of an attempt, from 0; None if only the status contains it, once the driver runs."""
        return None

    def read_ui_url(self, document: KubernetesObject) -> str:
        """Return the URL of the Spark UI from the ingresses and routes of an application; empty if there is none."""
        return ""

    def patch_ttl(self, seconds: int) -> JsonObject | None:
        """Return the merge patch that changes the time to live of a terminated application.

        Return None if a change of the spec would run the application again.
        """
        return None

    def read_properties(self, document: KubernetesObject) -> Mapping[str, object]:
        """Return the Spark properties of an application."""
        return get_object(get_object(document.get("spec")).get("sparkConf"))

    def read_sizes(self, document: KubernetesObject) -> Mapping[str, object]:
        """Return the Spark properties with the cores and the memory of the pods, wherever the document sets them."""
        return self.read_properties(document)

    def write_properties(self, document: JsonObject, properties: Mapping[str, str]) -> JsonObject:
        """Return `document` with additional Spark properties."""
        if not properties:
            return document
        return document | {"spec": document["spec"] | {"sparkConf": {**self.read_properties(document), **properties}}}

    def mount_files(self, document: JsonObject, name: str, files: Mapping[str, str], *, executors: bool) -> JsonObject:
        """Return `document` with a ConfigMap of files, mounted into the driver and, if needed, into the executors.

        Args:
            document: The application. It stays unchanged. Its spec is an object.
            name: Name of the ConfigMap.
            files: Contents by file name.
            executors: Whether executors need the files, too.
        """
        return document

    def keep_driver(self, document: JsonObject, seconds: float) -> JsonObject:
        """Return `document` so that every driver pod is kept for a number of seconds after its end."""
        return document

    def keep_failed_driver(self, document: JsonObject, seconds: float) -> JsonObject:
        """Return `document` so that failed driver pods are kept for a number of seconds after their end."""
        return document


def shorten_java_message(message: str) -> str:
    """Return the error and innermost cause in a message with the output of spark-submit or a Java stack trace.

    Kubeflow's operator reports the output of spark-submit, and the Apache operator a stack trace. Other messages are
    returned as they are.
    """
    error = _JAVA_ERROR.search(message)
    if error is not None:
        beginning = message[: error.start()].partition(": ")[0].strip()
        causes = message[error.end() :].split(_CAUSED)[1:]
        return ": ".join(filter(None, [beginning, *map(_shorten, (error[1], *causes[-1:]))]))
    outer, *causes = message.split(_CAUSED)
    if not (causes or "\n\tat " in outer):
        return message.partition(_DUMP)[0]
    return ": ".join(map(_shorten, (outer, *causes[-1:]))).replace(". StackTrace: ", ": ", 1)


def _shorten(exception: str) -> str:
    return exception.strip().partition("\n\t")[0].partition(_DUMP)[0].strip().rstrip(".")
