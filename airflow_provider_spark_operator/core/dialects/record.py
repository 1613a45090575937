"""The record of all differences between one kind of SparkApplication and another."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ..kubernetes.json_object import JsonObject
from ..kubernetes.problems import Problem
from ..parameters.parameters import Parameters
from .progress import Progress, StateEntry


class MountFiles(Protocol):
    """A function that writes files into an application and mounts them into its pods."""

    def __call__(self, document: JsonObject, name: str, files: Mapping[str, str], *, executors: bool) -> JsonObject:
        """Return the application with a ConfigMap of the files, mounted into the driver and maybe the executors."""
        ...


@dataclass(frozen=True)
class Dialect:
    """One kind of SparkApplication, identified by its API group.

    A function that writes returns a changed copy of a document whose spec is an object. It raises `InvalidResource` if
    a part that it must extend has the wrong type. A function that reads accepts any document and never raises.

    Attributes:
        group: The API group.
        operator: The operator that runs the applications, for messages.
        installation: How to install the definitions of the group, for messages.
        versions: Supported versions, the newest first. Their documents differ only in the apiVersion.
        states: The states, in the order of the lifecycle.
        ended_states: The states of an application that has ended.
        running: The state of an application whose driver runs.
        success: The state of a successful application.
        application_label: The label of the pods that contains the name of the application.
        owned_driver: Whether the driver pod always has the application as its owner.
        submits_before_status: Whether the operator runs spark-submit, which can take minutes, before its first status.
        has_clusters: Whether the group also defines SparkClusters, on which its applications can run.
        default_restart_attempts: Number of restarts if the document has a policy but no number.
        default_restart_backoff_millis: Delay before a restart in milliseconds, if the document has none.
        read_progress: Reads the status.
        read_history: Reads the states of the attempts, oldest first. The time at which the driver of the latest attempt
            started, according to its pod, completes a status without a history.
        read_executor_states: Reads the states of the executors by the names of their pods. Returns an empty mapping if
            the status does not contain the executors.
        count_wanted_executors: Counts the executors with which an application starts.
        find_problems: Checks a document without a model. None if there is a model.
        find_unsupported: Finds the parameters that the operator does not support, as far as their values are known.
        is_suspended: Reads whether an application requests to be suspended.
        read_application_id: Reads Spark's id of an attempt (from 0). Returns None if only the status contains it.
        read_driver_pod_name: Reads the name of the driver pod of the attempt with an application id. Returns None if it
            is unknown.
        read_ui_url: Reads the URL of the Spark UI from the ingresses and routes of the application. Returns an empty
            string if there is none.
        read_restart_config: Reads the restart policy as a restartConfig of spark.apache.org. Returns an empty object if
            there is none.
        read_ttl: Reads the seconds after which the operator deletes a terminated application. Returns None if the
            application is kept.
        read_properties: Reads the Spark properties.
        read_memory: Reads the memory that the pods request, by Spark property.
        write_parameters: Writes the fields that parameters override.
        write_ttl: Writes the time to live in seconds. None writes the default unless the document has a time to live.
        patch_ttl: Returns the merge patch that changes the time to live after a success. None if a change of the spec
            would run the application again.
        write_properties: Writes additional Spark properties.
        write_memory: Writes the memory of the pods, by Spark property.
        mount_files: Writes files into the pods. None if an application cannot contain files.
        disable_restarts: Disables restarts by the operator.
        keep_driver: Keeps every driver pod for a number of seconds after its end.
        keep_failed_driver: Keeps failed driver pods for a number of seconds after their end.
    """

    group: str
    operator: str
    installation: str
    versions: tuple[str, ...]
    states: tuple[str, ...]
    ended_states: frozenset[str]
    running: str
    success: str
    application_label: str
    owned_driver: bool
    submits_before_status: bool
    has_clusters: bool
    default_restart_attempts: int
    default_restart_backoff_millis: int
    read_progress: Callable[[Mapping[str, object]], Progress]
    read_history: Callable[[Mapping[str, object], datetime | None], tuple[StateEntry, ...]]
    read_executor_states: Callable[[Mapping[str, object]], Mapping[str, str]]
    count_wanted_executors: Callable[[Mapping[str, object]], int]
    find_problems: Callable[[Mapping[str, object]], list[Problem]] | None
    find_unsupported: Callable[[Parameters], list[Problem]]
    is_suspended: Callable[[Mapping[str, object]], bool]
    read_application_id: Callable[[Mapping[str, object], int], str | None]
    read_driver_pod_name: Callable[[Mapping[str, object], str | None], str | None]
    read_ui_url: Callable[[Mapping[str, object]], str]
    read_restart_config: Callable[[Mapping[str, object]], Mapping[str, object]]
    read_ttl: Callable[[Mapping[str, object]], float | None]
    read_properties: Callable[[Mapping[str, object]], Mapping[str, object]]
    read_memory: Callable[[Mapping[str, object]], Mapping[str, str]]
    write_parameters: Callable[[JsonObject, Parameters], JsonObject]
    write_ttl: Callable[[JsonObject, float | None], JsonObject]
    patch_ttl: Callable[[int], JsonObject] | None
    write_properties: Callable[[JsonObject, Mapping[str, str]], JsonObject]
    write_memory: Callable[[JsonObject, Mapping[str, str]], JsonObject]
    mount_files: MountFiles | None
    disable_restarts: Callable[[JsonObject], JsonObject]
    keep_driver: Callable[[JsonObject, float], JsonObject]
    keep_failed_driver: Callable[[JsonObject, float], JsonObject]
