"""The values of parameters that group settings: their checks, and their typed form.

A value may contain template expressions. Each part is checked once it is known. Messages do not contain the values of
environment variables and annotations, because some are secrets.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import timedelta
from typing import Any, Final, TypeAlias, TypeVar

from ..kubernetes.kubernetes_names import (
    LABEL_RULE,
    OBJECT_RULE,
    is_data_key,
    is_label_value,
    is_namespace,
    is_object_name,
)
from ..kubernetes.problems import Problem
from ..kubernetes.times import to_seconds
from .parameter_types import (
    PODS,
    PODS_ALL,
    VOLCANO,
    YUNIKORN,
    ConfigMap,
    DynamicAllocation,
    RestartPolicy,
    Scheduler,
    Secret,
    Timeouts,
    Volume,
)
from .pending import advise_native, is_pending

RESTART_POLICIES: Final = ("Never", "OnFailure", "OnInfrastructureFailure", "Always")
_ENVIRONMENT_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*\Z")
_QUANTITY = re.compile(r"[1-9][0-9]*(\.[0-9]+)?(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E)\Z")
_COUNT = re.compile(r"(0|[1-9][0-9]{0,8})\Z")
# The API server ignores an unknown source, and the volume then becomes an emptyDir.
_VOLUME_SOURCES: Final = (
    "awsElasticBlockStore azureDisk azureFile cephfs cinder configMap csi downwardAPI emptyDir ephemeral fc flexVolume "
    "flocker gcePersistentDisk gitRepo glusterfs hostPath image iscsi nfs persistentVolumeClaim photonPersistentDisk "
    "portworxVolume projected quobyte rbd scaleIO secret storageos vsphereVolume"
)
# Spark mounts a Secret as the volume `<name>-volume`, whose name has at most 63 characters and no dots.
_LONGEST_MOUNTED_SECRET: Final = 56

Check: TypeAlias = Callable[[object], str | None]
Group: TypeAlias = Secret | ConfigMap | Volume | DynamicAllocation | Timeouts | RestartPolicy | Scheduler
T = TypeVar("T", bound=Group)


def _check_name(value: object) -> str | None:
    if isinstance(value, str) and is_object_name(value):
        return None
    return f"must be the name of an object, not {value!r}: {OBJECT_RULE}"


def _check_volume_name(value: object) -> str | None:
    if isinstance(value, str) and is_namespace(value):
        return None
    return f"must be at most 63 lowercase letters, digits and '-', not {value!r}"


def _check_path(value: object) -> str | None:
    if isinstance(value, str) and value.startswith("/") and ":" not in value:
        return None
    return f"must be an absolute path, such as /data, not {value!r}"


def _check_sub_path(value: object) -> str | None:
    if isinstance(value, str) and value and not value.startswith("/") and ".." not in value.split("/"):
        return None
    return f"must be a relative path without '..', such as data/2026, not {value!r}"


def _check_pods(value: object) -> str | None:
    return None if value in PODS else f"must be one of {', '.join(map(repr, PODS))}, not {value!r}"


def _check_quantity(value: object) -> str | None:
    return None if isinstance(value, str) and _QUANTITY.match(value) else f"must be a size, such as 50Gi, not {value!r}"


def _check_flag(value: object) -> str | None:
    return None if read_flag(value) is not None else f"must be True or False, not {value!r}"


def _check_count(value: object) -> str | None:
    if isinstance(value, (int, str)) and not isinstance(value, bool) and _COUNT.match(str(value).strip()):
        return None
    return f"must be an integer of 0 or more, not {value!r}"


def _check_duration(value: object) -> str | None:
    return None if _is_duration(value) else f"must be a number of seconds or a timedelta, not {value!r}"


def _check_policy(value: object) -> str | None:
    return None if value in RESTART_POLICIES else f"must be one of {', '.join(RESTART_POLICIES)}, not {value!r}"


def _check_keys(value: object) -> str | None:
    if not isinstance(value, Mapping):
        example = "such as {'DB_PASSWORD': 'password'}"
        return f"must be an object that maps environment variables to keys of the Secret, {example}, not {value!r}"
    wrong = [name for name in value if not is_environment_name(name)]
    if wrong:
        return f"{', '.join(map(repr, wrong))}: not a valid name of an environment variable"
    unknown = [key for key in value.values() if not (is_pending(key) or (isinstance(key, str) and is_data_key(key)))]
    return f"{', '.join(map(repr, unknown))} cannot be a key of a Secret" if unknown else None


def _check_source(value: object) -> str | None:
    if not isinstance(value, Mapping) or len(value) != 1:
        return "must be an object with one volume source, such as {'emptyDir': {}}"
    unknown = [name for name in value if name not in _VOLUME_SOURCES.split() and not is_pending(name)]
    if unknown:
        return f"{unknown[0]!r} is not a volume source of Kubernetes"
    wrong = [name for name, source in value.items() if not (isinstance(source, Mapping) or is_pending(source))]
    return f"the volume source {wrong[0]!r} must be an object" if wrong else None


def _check_secret(value: Mapping[str, object]) -> str | None:
    if value.get("env") is None and value.get("path") is None:
        return "needs env, path or both"
    name = value.get("name")
    if value.get("path") is None or is_pending(name):
        return None
    if len(str(name)) <= _LONGEST_MOUNTED_SECRET and is_namespace(str(name)):
        return None
    return (
        f"the Secret {name!r} cannot be mounted as files (path): Spark names the volume after the Secret, so the name "
        f"must have at most {_LONGEST_MOUNTED_SECRET} characters, only lowercase letters, digits and '-'"
    )


def _check_volume(value: Mapping[str, object]) -> str | None:
    given = [name for name in ("claim", "size", "source") if value.get(name) is not None]
    if len(given) != 1:
        return "needs exactly one of claim, size and source"
    if (given == ["size"]) != (value.get("storage_class") is not None):
        return "size and storage_class must be set together: Spark creates claims of that size and class"
    return None


def _check_limits(value: Mapping[str, object]) -> str | None:
    known = {name: int(str(value[name])) for name in ("min", "max", "initial") if not is_pending(value.get(name))}
    low, high = known.get("min", 0), known.get("max")
    if high is not None and (high < low or high < 1):
        return f"max must be at least 1 and at least min, not {high}"
    initial = known.get("initial")
    if initial is not None and (initial < low or (high is not None and initial > high)):
        return f"initial must be between min and max, not {initial}"
    return None


def _check_queue(value: object) -> str | None:
    if isinstance(value, str) and is_label_value(value):
        return None
    return f"must be the name of a queue, such as root.data, not {value!r}: {LABEL_RULE}"


def _check_scheduler(value: Mapping[str, object]) -> str | None:
    name = value.get("name")
    if value.get("queue") is None or is_pending(name) or name in (VOLCANO, YUNIKORN):
        return None
    return f"queue is supported for {VOLCANO!r} and {YUNIKORN!r}, not for the scheduler {name!r}"


def _check_nothing(_: Mapping[str, object]) -> str | None:
    return None


_POD: Final[Mapping[str, Check]] = {"name": _check_name, "path": _check_path, "pods": _check_pods}
_FIELDS: Final[Mapping[type, Mapping[str, Check]]] = {
    Secret: {**_POD, "env": _check_keys},
    ConfigMap: _POD,
    Volume: {
        **_POD,
        "name": _check_volume_name,
        "claim": _check_name,
        "size": _check_quantity,
        "storage_class": _check_name,
        "source": _check_source,
        "read_only": _check_flag,
        "sub_path": _check_sub_path,
    },
    DynamicAllocation: dict.fromkeys(("min", "max", "initial"), _check_count),
    Timeouts: dict.fromkeys(("driver_start", "driver_ready", "executor_start", "termination"), _check_duration),
    RestartPolicy: {"policy": _check_policy, "attempts": _check_count, "backoff": _check_duration},
    Scheduler: {"name": _check_name, "queue": _check_queue},
}
_KINDS: Final[tuple[type[Group], ...]] = (
    Secret,
    ConfigMap,
    Volume,
    DynamicAllocation,
    Timeouts,
    RestartPolicy,
    Scheduler,
)
# The keys of each type, and those that a value must have.
_KEYS: Final[Mapping[type, Sequence[str]]] = {kind: [one.name for one in fields(kind)] for kind in _KINDS}
_REQUIRED: Final[Mapping[type, Sequence[str]]] = {
    kind: [one.name for one in fields(kind) if one.default is MISSING] for kind in _KINDS
}


def _check_restarts(value: Mapping[str, object]) -> str | None:
    # The backoff is also the delay of the task's retries.
    if value.get("policy") != "Never" or value.get("attempts") is None:
        return None
    return "attempts cannot be set with the policy Never, which restarts nothing"


_WHOLE: Final[Mapping[type, Callable[[Mapping[str, object]], str | None]]] = {
    Secret: _check_secret,
    Volume: _check_volume,
    DynamicAllocation: _check_limits,
    RestartPolicy: _check_restarts,
    Scheduler: _check_scheduler,
}


def is_environment_name(name: object) -> bool:
    """Return whether `name` can be the name of an environment variable."""
    return isinstance(name, str) and _ENVIRONMENT_NAME.match(name) is not None


def read_flag(value: object) -> bool | None:
    """Return a boolean, which a template renders as text; None if `value` is not a boolean."""
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else None


def read_seconds(value: object) -> float | None:
    """Return a duration, which a template renders as text, in seconds; None if there is none."""
    return float(value) if isinstance(value, str) else to_seconds(value)


def find_value_problems(path: str, kind: type[T], value: object) -> list[Problem]:
    """Return the problems of one value, as far as it is known.

    Args:
        path: The parameter, with the position in a list, for messages.
        kind: The type of the value.
        value: The value: of the type, or an object with the same keys.
    """
    if is_pending(value):
        return []
    plain = vars(value) if isinstance(value, kind) else value
    known = _KEYS[kind]
    if not isinstance(plain, (dict, Mapping)):  # the first check is the faster one, and applies to most values
        given = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
        # A class of another package can have the same name.
        advice = ". Import the class from airflow_provider_spark_operator.parameters" if "." in given else ""
        wrong = f"must be a {kind.__name__} or a dict with its parameters, not {given}{advice}{advise_native(value)}"
        return [Problem(path, wrong)]
    unknown = [str(name) for name in plain if name not in known]
    if unknown:
        return [Problem(path, f"unknown key {', '.join(unknown)}: the keys are {', '.join(known)}")]
    missing = [name for name in _REQUIRED[kind] if plain.get(name) is None]
    if missing:
        return [Problem(path, f"needs {' and '.join(missing)}")]
    found: list[Problem] = []
    checks = _FIELDS[kind]
    for name, entry in plain.items():
        message = None if entry is None or is_pending(entry) else checks[name](entry)
        found += [Problem(f"{path}.{name}", message)] if message else []
    whole = None if found else _WHOLE.get(kind, _check_nothing)(plain)
    return [*found, Problem(path, whole)] if whole else found


def build_value(kind: type[T], value: object) -> T:
    """Return the typed form of a value that has no problems."""
    return value if isinstance(value, kind) else kind(**_to_keywords(value))


def build_values(kind: type[T], values: Sequence[object] | None) -> list[T]:
    """Return the typed form of the values of a list that have no problems."""
    return [build_value(kind, value) for value in values or ()]


def is_in(pods: str, role: str) -> bool:
    """Return whether pods of the role, "driver" or "executor", belong to the value of `pods`."""
    return pods == PODS_ALL or pods.startswith(role)


def _to_keywords(value: object) -> dict[str, Any]:
    return {str(key): entry for key, entry in value.items()} if isinstance(value, Mapping) else {}


def _is_duration(value: object) -> bool:
    if isinstance(value, timedelta):
        return value >= timedelta(0)
    if isinstance(value, str):
        return re.fullmatch(r"[0-9]{1,12}(\.[0-9]+)?", value.strip()) is not None
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e12
