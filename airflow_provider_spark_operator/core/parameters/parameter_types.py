"""The types of parameters that group settings. Each has a plain form: an object with the same keys.

DAG files import these types from `airflow_provider_spark_operator.parameters`. The operator stores the plain form:
Airflow renders the templates in it and shows it.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import timedelta
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar, cast

from ..kubernetes.names import ROLE_DRIVER
from ..kubernetes.times import to_seconds

PODS_ALL: Final = "all"
PODS_DRIVER: Final = ROLE_DRIVER
PODS_EXECUTORS: Final = "executors"
PODS: Final = (PODS_ALL, PODS_DRIVER, PODS_EXECUTORS)

Duration: TypeAlias = timedelta | float

VOLCANO: Final = "volcano"
YUNIKORN: Final = "yunikorn"


class Pending:
    """A value that becomes known when the task runs, for example the result of another task."""


PENDING: Final = Pending()


def is_template(value: object) -> bool:
    """Return whether `value` is a template expression, so that its final value is not known yet."""
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def advise_native(value: object) -> str:
    """Return the advice for a text in place of an object or a list: a template renders text."""
    advice = ". If a template rendered it, set render_template_as_native_obj=True in the DAG"
    return advice if isinstance(value, str) else ""


def is_pending(value: object) -> bool:
    """Return whether `value` is missing or not known yet."""
    if isinstance(value, str):
        return "{{" in value or "{%" in value
    return value is None or isinstance(value, Pending)


Context = TypeVar("Context", bound=Mapping[str, object])

# They occur in images, paths, Java options, and labels and annotations of executors.
_NAMES = ("SPARK_VERSION", "APP_ID", "EXECUTOR_ID")


def with_placeholders(context: Context, macros: Container[str] = ()) -> Context:
    """Return `context` with a value for each placeholder that renders as the placeholder, including its braces.

    Args:
        context: The values for the templates of a task. It is not changed.
        macros: The global names of the template engine. They take precedence over a placeholder of the same name.
    """
    if _NAMES[0] in context:  # nested values are rendered with the context of the outer value
        return context
    placeholders = {name: f"{{{{{name}}}}}" for name in _NAMES if name not in macros}
    return cast("Context", {**placeholders, **context})


@dataclass(frozen=True)
class Secret:
    """A Kubernetes Secret, as environment variables, as files, or both. The Secret must exist.

    Args:
        name: Name of the Secret, in the namespace of the application.
        env: Environment variables, each with a key of the Secret, for example {"DB_PASSWORD": "password"}. If None, no
            environment variables are set.
        path: Directory in which each key of the Secret is a file, for example "/etc/certificates". If None, no files
            are mounted.
        pods: The pods that get the Secret: "all" (the default), "driver" or "executors".
    """

    name: str
    env: Mapping[str, str] | None = None
    path: str | None = None
    pods: str = PODS_ALL


@dataclass(frozen=True)
class ConfigMap:
    """A Kubernetes ConfigMap as files. The ConfigMap must exist.

    Args:
        name: Name of the ConfigMap, in the namespace of the application.
        path: Directory in which each key of the ConfigMap is a file, for example "/etc/job".
        pods: The pods that get the files: "all" (the default), "driver" or "executors".
    """

    name: str
    path: str
    pods: str = PODS_ALL


@dataclass(frozen=True)
class Volume:
    """A volume and its mount. Set exactly one of `claim`, `size` and `source`.

    Args:
        name: Name of the volume, for example "data". Spark uses a volume whose name starts with "spark-local-dir-" as
            scratch space.
        path: Mount path, for example "/data".
        claim: Name of an existing PersistentVolumeClaim, for example "datasets". All pods mount the same claim.
        size: Size of a PersistentVolumeClaim that Spark creates for each pod, for example "50Gi".
        storage_class: Name of the storage class of the claims that Spark creates, for example "fast". Required with
            `size`.
        source: Any other volume source of Kubernetes, for example {"emptyDir": {"medium": "Memory"}}.
        read_only: Whether the mount is read-only. The default is False.
        sub_path: Path inside the volume to mount, for example "2026/january". If None, the whole volume is mounted.
        pods: The pods that mount the volume: "all" (the default), "driver" or "executors".
    """

    name: str
    path: str
    claim: str | None = None
    size: str | None = None
    storage_class: str | None = None
    source: Mapping[str, object] | None = None
    read_only: bool = False
    sub_path: str | None = None
    pods: str = PODS_ALL


@dataclass(frozen=True)
class DynamicAllocation:
    """Limits of the number of executors that Spark requests while the application runs.

    Args:
        min: Smallest number of executors. If None, Spark's default, 0, is used.
        max: Largest number of executors. If None, there is no limit.
        initial: Number of executors at the start. If None, `min` is used.
    """

    min: int | str | None = None
    max: int | str | None = None
    initial: int | str | None = None


@dataclass(frozen=True)
class Timeouts:
    """Limits of the phases of an attempt, in seconds or as a timedelta.

    0 means no limit. If None, the value of the manifest is used, by default 5 minutes.

    Args:
        driver_start: Limit, for example 600, from the time when the operator requests the driver until its pod runs.
        driver_ready: Limit from the start of the driver until its pod is ready.
        executor_start: Limit from the readiness of the driver until the executors run.
        termination: Limit from the end of the application until the operator forces the deletion of its resources.
    """

    driver_start: Duration | None = None
    driver_ready: Duration | None = None
    executor_start: Duration | None = None
    termination: Duration | None = None


@dataclass(frozen=True)
class Streaming:
    """The streaming queries of an application, which are not expected to end.

    Args:
        wait_for: When the task succeeds: "end", when the application ends, or "progress", when a query has made
            progress. The application then continues.
        stalled_after: Age of the latest progress from which the queries count as stalled, in seconds or as a timedelta.
        on_stall: The reaction to a stall: "warn", or "fail" to end the application and fail. A retry starts it again.
        stop_timeout: How long an earlier version may take to stop before the task deletes it, in seconds or as a
            timedelta.
    """

    wait_for: str = "end"
    stalled_after: Duration = 600
    on_stall: str = "warn"
    stop_timeout: Duration = 300


@dataclass(frozen=True)
class RestartPolicy:
    """The restarts of an application by the operator in the cluster.

    Args:
        policy: When the operator restarts the application: "Never", "OnFailure", "OnInfrastructureFailure" or "Always".
        attempts: Maximum number of restarts. If None, the value of the manifest is used, by default 3.
        backoff: Delay before a restart, in seconds or as a timedelta. If None, the value of the manifest is used, by
            default 30 seconds.
    """

    policy: str
    attempts: int | str | None = None
    backoff: Duration | None = None


@dataclass(frozen=True)
class Scheduler:
    """The scheduler of the pods of an application.

    Args:
        name: Name of the scheduler: `volcano`, `yunikorn`, or the schedulerName of another scheduler.
        queue: Queue of Volcano or YuniKorn, for example "root.data". If None, the scheduler chooses its default queue.
    """

    name: str
    queue: str | None = None


Group: TypeAlias = Secret | ConfigMap | Volume | DynamicAllocation | Timeouts | RestartPolicy | Scheduler
T = TypeVar("T", bound=Group)


def build_value(kind: type[T], value: object) -> T:
    """Return the typed form of a value that has no problems."""
    if isinstance(value, kind):
        return value
    plain: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    return kind(**plain)


def build_values(kind: type[T], values: Sequence[object] | None) -> list[T]:
    """Return the typed form of the values of a list that have no problems."""
    return [build_value(kind, value) for value in values or ()]


def is_in(pods: str, role: str) -> bool:
    """Return whether pods of the role, "driver" or "executor", belong to the value of `pods`."""
    return pods == PODS_ALL or pods.startswith(role)


def read_flag(value: object) -> bool | None:
    """Return a boolean, which a template renders as text; None if `value` is not a boolean."""
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else None


def read_seconds(value: object) -> float | None:
    """Return a duration, which a template renders as text, in seconds; None if there is none."""
    return float(value) if isinstance(value, str) else to_seconds(value)


def convert_to_plain(value: object) -> object:
    """Return `value` with each of the types above as an object, and each duration in it as seconds.

    Fields that have their default are left out. Any other value is returned unchanged.
    """
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, (list, tuple)):
        return [convert_to_plain(entry) for entry in value]
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, dict):
        return {key: convert_to_plain(entry) for key, entry in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    given = {name: entry for name, default in _list_defaults(type(value)) if (entry := getattr(value, name)) != default}
    return {name: convert_to_plain(entry) for name, entry in given.items()}


@cache
def _list_defaults(kind: type) -> tuple[tuple[str, object], ...]:
    """Return the names of the fields of a `dataclass`, each with its default."""
    return tuple((one.name, one.default) for one in fields(kind))
