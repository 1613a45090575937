"""The record of everything in which one kind of SparkApplication differs from another."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from airflow_provider_spark_operator.core.dialects.progress import Progress
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.core.parameters import Parameters
from airflow_provider_spark_operator.core.problems import Problem


class MountFiles(Protocol):
    """Writes files into an application and the pods that need them."""

    def __call__(self, document: JsonObject, name: str, files: Mapping[str, str], *, executors: bool) -> JsonObject:
        """Return the application with a config map of the files, mounted into the driver and maybe the executors."""
        ...


@dataclass(frozen=True)
class Dialect:
    """One kind of SparkApplication, by its API group.

    A function that writes returns a changed copy of a document whose spec is an object. It raises `InvalidResource` if
    a part that it must extend has the wrong type. A function that reads takes any document, and never raises.

    Attributes:
        group: The API group.
        operator: The operator that runs the applications, for messages.
        installation: How to install the definitions of the group, for messages.
        versions: Those whose documents differ in nothing but their apiVersion, the newest first.
        states: The state words, in the order of a life.
        success: The word to wait for.
        application_label: The label with the application's name, which its pods bear.
        owned_driver: Whether the driver pod always names the application as its owner.
        default_restart_attempts: Number of restarts if the document has a policy but no number.
        default_restart_backoff_millis: Delay before a restart in milliseconds, if the document has none.
        progress: Reads the status.
        wanted_executors: Reads how many executors an application begins with.
        problems: Checks a document of which there is no model; None if there is a model.
        is_suspended: Reads whether an application requests to be suspended.
        read_application_id: Reads Spark's id of an attempt (from 0); None if only the status has it.
        read_driver_pod_name: Reads the name of the driver pod of the attempt with an application id; None if unknown.
        read_ui_url: Reads the URL of Spark's UI that the application itself publishes; empty if there is none.
        read_restart_config: Reads the restart policy, in the fields of the restartConfig of spark.apache.org; empty if
            there is none.
        read_ttl: Reads after how many seconds the operator deletes a terminated application; None if it keeps it.
        read_properties: Reads the Spark properties.
        read_memory: Reads the memory that the pods request, by Spark property.
        write_parameters: Writes the fields that parameters override.
        write_ttl: Writes the time to live in seconds. None writes the default unless the document has a time to live.
        patch_ttl: Returns the merge patch that changes the time to live after a success; None if a change of the spec
            would run the application again.
        write_properties: Writes additional Spark properties.
        write_memory: Writes the memory of the pods, by Spark property.
        mount_files: Writes files into the pods; None if an application cannot contain files.
        disable_restarts: Writes that the operator never restarts the application.
        keep_driver: Writes that every driver pod is kept for a number of seconds after its end.
        keep_failed_driver: Writes the same for failed drivers only.
    """

    group: str
    operator: str
    installation: str
    versions: tuple[str, ...]
    states: tuple[str, ...]
    success: str
    application_label: str
    owned_driver: bool
    default_restart_attempts: int
    default_restart_backoff_millis: int
    progress: Callable[[Mapping[str, object]], Progress]
    wanted_executors: Callable[[Mapping[str, object]], int]
    problems: Callable[[Mapping[str, object]], list[Problem]] | None
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
