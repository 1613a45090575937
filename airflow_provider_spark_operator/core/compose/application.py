"""Compose an application from its document, the parameters of a task, and its files."""

from dataclasses import dataclass, field
from datetime import timedelta

from ..dialects.dialect import dialect_of
from ..kubernetes.json_object import JsonObject, copy_object
from ..kubernetes.names import LABEL_PRIORITY_CLASS, LABEL_QUEUE_NAME
from ..kubernetes.problems import InvalidResource
from ..parameters.parameter_problems import find_problems
from ..parameters.parameter_types import read_seconds
from ..parameters.parameters import Parameters
from ..parameters.pod_settings import format_values
from ..spark.spark_conf import EXECUTOR_PREFIX_KEY, NAME_KEY, POLLING_KEYS
from .files import MountedFiles
from .memory import MemoryGrowth, grow_memory

_POLLING_INTERVAL = "1s"


@dataclass(frozen=True)
class TaskSettings:
    """Settings of a task that change its application, in addition to the parameters.

    Attributes:
        ttl: Time that the application stays after its end, in seconds if it is a number; `KEEP` for no deletion. None
            leaves the time of the document. A document without one gets 7 days; a task that sees the success shortens
            them to 1 day.
        keep_failed_driver: Time that the cluster keeps a failed driver pod, in seconds if it is a number. None leaves
            the document unchanged.
        keep_driver: Time that the cluster keeps the driver pod after any end, in seconds if it is a number. None leaves
            the document unchanged.
        restarts: Whether the operator in the cluster may restart the application.
        memory: How much more memory the application gets, because earlier tries of the task ran out of memory.
        metrics: Whether the task reads what Spark does. Its driver and executors then measure their memory every
            second, unless the configuration has another interval. By default, they measure it at each heartbeat.
    """

    ttl: timedelta | float | None = None
    keep_failed_driver: timedelta | float | None = None
    keep_driver: timedelta | float | None = None
    restarts: bool = True
    memory: MemoryGrowth = field(default_factory=MemoryGrowth)
    metrics: bool = False


def apply_parameters(document: JsonObject, parameters: Parameters, name: str = "") -> JsonObject:
    """Return `document` with the fields that `parameters` override.

    Args:
        document: The document of an application. It stays unchanged.
        parameters: Rendered parameters.
        name: The name of the application. If the document has no spec, the executors are named after the application.

    Raises:
        InvalidResource: A parameter is not valid, or a part of the document has the wrong type.
    """
    problems = find_problems(parameters)
    if problems:
        raise InvalidResource(problems)
    dialect = dialect_of(document.get("apiVersion"))
    written = dialect.write_parameters(document, parameters)
    if name and not document.get("spec") and parameters.cluster is None:
        # Spark's default is the class of its Python runner. The executors of each attempt need other names, so with
        # restarts only the name of the program is set, to which Spark adds random digits.
        key = NAME_KEY if parameters.restart_policy else EXECUTOR_PREFIX_KEY
        is_given = key in dialect.read_properties(written)
        written = dialect.write_properties(written, {} if is_given else {key: name})
    return write_metadata(written, parameters)


def compose_application(
    document: JsonObject,
    parameters: Parameters,
    settings: TaskSettings,
    files: MountedFiles | None = None,
    name: str = "",
) -> JsonObject:
    """Return the application that a task submits.

    Args:
        document: The document of the application. It stays unchanged.
        parameters: Rendered parameters, with the URIs of files.
        settings: Further settings of the task.
        files: Files to mount into the pods. The dialect must support them.
        name: See `apply_parameters`.

    Raises:
        InvalidResource: A parameter is not valid, or a part of the document has the wrong type.
    """
    dialect = dialect_of(document.get("apiVersion"))
    document = apply_parameters(document, parameters, name)
    if files:
        document = dialect.mount_files(document, files.name, files.contents, executors=files.executors)
    document = dialect.write_ttl(document, read_seconds(settings.ttl))
    if not settings.restarts:
        document = dialect.disable_restarts(document)
    memory = grow_memory(dialect.read_memory(document), settings.memory)
    document = dialect.write_memory(document, memory) if memory else document
    if settings.metrics:
        given = dialect.read_properties(document)
        polling = {key: _POLLING_INTERVAL for key in POLLING_KEYS if key not in given}
        document = dialect.write_properties(document, polling)
    kept = read_seconds(settings.keep_driver)
    document = dialect.keep_driver(document, kept) if kept else document
    kept = read_seconds(settings.keep_failed_driver)
    return dialect.keep_failed_driver(document, kept) if kept else document


def write_metadata(document: JsonObject, parameters: Parameters) -> JsonObject:
    """Return `document` with the labels and annotations of the parameters, and with its queue in Kueue.

    Args:
        document: The document of an application or a SparkCluster. It stays unchanged.
        parameters: Valid parameters.

    Raises:
        InvalidResource: A part of the metadata is not an object.
    """
    queue = {LABEL_QUEUE_NAME: parameters.kueue_queue, LABEL_PRIORITY_CLASS: parameters.kueue_priority}
    # The pods do not get these labels: Kueue would queue each pod as well.
    labels = format_values(parameters.labels) | {key: value.strip() for key, value in queue.items() if value}
    given = {"labels": labels, "annotations": format_values(parameters.annotations)}
    metadata = copy_object(document, "metadata", "metadata")
    for part, values in given.items():
        if values:
            metadata[part] = copy_object(metadata, part, f"metadata.{part}") | values
    return document | {"metadata": metadata} if any(given.values()) else document
