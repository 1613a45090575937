"""The checks of parameters, composed of those of `validators`.

Parts that are missing or not known yet are valid. Messages do not contain the values of environment variables,
annotations and Spark properties, because some are secrets.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from ..kubernetes import names
from ..kubernetes.json_object import is_integer
from ..kubernetes.names import CLUSTER_IDENTITY, LABEL_TASK, RESERVED_LABELS, find_name_problem
from ..kubernetes.problems import Problem
from ..spark.spot import SPOT_LABELS
from . import parameter_types as types
from .arguments import FILE_EXTENSIONS, advise_suffix
from .parameter_types import Pending, is_pending
from .validators import (
    OBJECT,
    Check,
    and_,
    choose,
    each,
    each_group,
    each_key,
    each_value,
    each_word,
    follows,
    group,
    instance_of,
    integer,
    mask_user,
    matches,
    name_of,
    one_of,
    optional,
    record,
    satisfies,
    text,
)

_SECONDS: Final = re.compile(r"[0-9]{1,12}(\.[0-9]+)?")
_SIZE: Final = matches(r"(?i)\s*[1-9][0-9]*[kmgtp]b?\s*", "must be a size with its unit, such as 512m or 4g")
# A quantity of Kubernetes. Spark's units are powers of 1024 too.
_QUANTITY: Final = re.compile(r"\s*([1-9][0-9]*)([KMGTP])i\s*")
_VARIABLE: Final = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_FOLDER: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*:/|/)[^ ]*")
PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
RESTART_POLICIES: Final = ("Never", "OnFailure", "OnInfrastructureFailure", "Always")
# The API server ignores an unknown source, and the volume then becomes an emptyDir.
_VOLUME_SOURCES: Final = (
    "awsElasticBlockStore azureDisk azureFile cephfs cinder configMap csi downwardAPI emptyDir ephemeral fc flexVolume "
    "flocker gcePersistentDisk gitRepo glusterfs hostPath image iscsi nfs persistentVolumeClaim photonPersistentDisk "
    "portworxVolume projected quobyte rbd scaleIO secret storageos vsphereVolume"
)
# Spark mounts a Secret as the volume `<name>-volume`, whose name has at most 63 characters and no dots.
_LONGEST_MOUNTED_SECRET: Final = 56


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return types.read_flag(value) is not None


def _check_memory(path: str, value: object) -> list[Problem]:
    quantity = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    hint = f". Spark writes it as {quantity[1]}{quantity[2].lower()}" if quantity else ""
    return [replace(problem, message=problem.message + hint) for problem in _SIZE(path, value)]


def _is_duration(value: object) -> bool:
    if isinstance(value, str):
        return _SECONDS.fullmatch(value.strip()) is not None
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    return isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and 0 <= seconds < 1e12


def _is_cluster(name: str) -> bool:
    namespace, slash, cluster = name.rpartition("/")
    return (not slash or names.is_namespace(namespace)) and find_name_problem(cluster, CLUSTER_IDENTITY) is None


def _is_label_value(value: object) -> bool:
    return value == "" or names.is_label_value(str(value))


def _is_key(key: object) -> bool:
    return is_pending(key) or names.is_label_key(str(key))


def _is_reserved(label: object) -> bool:
    # `find_unsupported` of a dialect reports its own reserved labels.
    return label in RESERVED_LABELS or str(label).startswith(LABEL_TASK.removesuffix("task"))


def _is_variable(name: object) -> bool:
    return isinstance(name, str) and _VARIABLE.fullmatch(name) is not None


def _find_toleration_problem(value: Mapping[str, Any]) -> str | None:
    """Return the problem that the API server would report."""
    if any(is_pending(part) for part in value.values() if part is not None):
        return None
    exists = value.get("operator") == "Exists"
    if not exists and not value.get("key"):
        return "key is required, unless operator is Exists"
    if exists and value.get("value"):
        return "value cannot be set if operator is Exists"
    if value.get("tolerationSeconds") is not None and value.get("effect") != "NoExecute":
        return "tolerationSeconds requires the effect NoExecute"
    return None


def _find_secret_problem(value: Mapping[str, Any]) -> str | None:
    name, path = value.get("name"), value.get("path")
    if path is None:
        return "needs env, path or both" if value.get("env") is None else None
    if is_pending(name) or (len(str(name)) <= _LONGEST_MOUNTED_SECRET and names.is_namespace(str(name))):
        return None
    return (
        f"the Secret {name!r} cannot be mounted as files (path): Spark names the volume after the Secret, so the name "
        f"must have at most {_LONGEST_MOUNTED_SECRET} characters, only lowercase letters, digits and '-'"
    )


def _find_volume_problem(value: Mapping[str, Any]) -> str | None:
    given = [name for name in ("claim", "size", "source") if value.get(name) is not None]
    if len(given) != 1:
        return "needs exactly one of claim, size and source"
    if (given == ["size"]) != (value.get("storage_class") is not None):
        return "size and storage_class must be set together: Spark creates claims of that size and class"
    return None


def _find_limit_problem(value: Mapping[str, Any]) -> str | None:
    known = {name: int(str(value[name])) for name in ("min", "max", "initial") if not is_pending(value.get(name))}
    low, high = known.get("min", 0), known.get("max")
    if high is not None and high < max(low, 1):
        return f"max must be at least 1 and at least min, not {high}"
    initial = known.get("initial", low)
    if initial < low or (high is not None and initial > high):
        return f"initial must be between min and max, not {initial}"
    return None


def _find_restart_problem(value: Mapping[str, Any]) -> str | None:
    # The backoff is also the delay of the task's retries.
    if value.get("policy") != "Never" or value.get("attempts") is None:
        return None
    return "attempts cannot be set with the policy Never, which restarts nothing"


def _find_scheduler_problem(value: Mapping[str, Any]) -> str | None:
    name = value.get("name")
    if value.get("queue") is None or is_pending(name) or name in (types.VOLCANO, types.YUNIKORN):
        return None
    return f"queue is supported for {types.VOLCANO!r} and {types.YUNIKORN!r}, not for the scheduler {name!r}"


def _find_template_problem(value: Mapping[str, Any]) -> str | None:
    spec = value.get("spec")
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    return None if is_pending(containers) or isinstance(containers, (list, tuple)) else "spec.containers must be a list"


def _check_template_file(path: str, value: object) -> list[Problem]:
    name = str(value)
    if "\n" in name or name.endswith(FILE_EXTENSIONS):
        return []
    return [Problem(path, f"must be an object, or the path of a YAML or JSON file, not {name!r}{advise_suffix(name)}")]


_ANY: Final = instance_of(object, "must be a value")
FLAG: Final = satisfies(_is_flag, "must be True or False")
_OBJECT: Final = instance_of(OBJECT, "must be an object")
_SCALARS: Final = (str, int, float)
_TEXTS: Final = and_(_OBJECT, each_value(instance_of(_SCALARS, "must be a string")))
_SCALAR: Final = "must be a string, a number, true or false"
_DURATION: Final = satisfies(_is_duration, "must be a number of seconds or a timedelta")
_NAME: Final = text(names.is_object_name, "must be the name of an object", f": {names.OBJECT_RULE}")
_MOUNT: Final = {
    "path": matches("/[^:]*", "must be an absolute path, such as /data"),
    "pods": satisfies(lambda value: value in types.PODS, f"must be one of {', '.join(map(repr, types.PODS))}"),
}
_VARIABLE_RULE: Final = "is not a valid name of an environment variable"
_VARIABLES: Final = and_(
    instance_of(
        OBJECT,
        "must be an object that maps environment variables to keys of the Secret, such as {'DB_PASSWORD': 'password'}",
    ),
    each_key(_is_variable, _VARIABLE_RULE),
    each_value(text(names.is_data_key, "must be a key of a Secret")),
)
_ONE_SOURCE: Final = "must be an object with one volume source, such as {'emptyDir': {}}"
_SOURCE: Final = and_(
    instance_of(OBJECT, _ONE_SOURCE),
    follows(lambda value: None if len(value) == 1 else _ONE_SOURCE),
    each_key(lambda name: name in _VOLUME_SOURCES.split() or is_pending(name), "is not a volume source of Kubernetes"),
    each_value(_OBJECT),
)
_VOLUME: Final[Mapping[str, Check]] = {
    "name": matches("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", "must be at most 63 lowercase letters, digits and '-'"),
    **_MOUNT,
    "claim": _NAME,
    "size": matches(r"[1-9][0-9]*(\.[0-9]+)?(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E)", "must be a size, such as 50Gi"),
    "storage_class": _NAME,
    "source": _SOURCE,
    "read_only": FLAG,
    "sub_path": matches(r"(?s)(?!/)(?!(.*/)?\.\.(/|\Z)).+", "must be a relative path without '..', such as data/2026"),
}
_TOLERATION: Final[Mapping[str, Check]] = {
    "key": _ANY,
    "operator": one_of("Equal", "Exists", "Lt", "Gt", ""),
    "value": _ANY,
    "effect": one_of("NoSchedule", "PreferNoSchedule", "NoExecute", ""),
    "tolerationSeconds": satisfies(is_integer, "must be an integer"),
}
_TEMPLATE: Final[Mapping[str, Check]] = {
    "apiVersion": _ANY,
    "kind": satisfies(lambda kind: kind == "Pod", "must be Pod"),
    "metadata": _OBJECT,
    "spec": _OBJECT,
}
_LIMITS: Final = dict.fromkeys(("min", "max", "initial"), integer(0))
_TIMEOUTS: Final = dict.fromkeys(("driver_start", "driver_ready", "executor_start", "termination"), _DURATION)
_SCHEDULER: Final[Mapping[str, Check]] = {
    "name": _NAME,
    "queue": text(names.is_label_value, "must be the name of a queue, such as root.data", f": {names.LABEL_RULE}"),
}
_RESTARTS: Final = {"policy": one_of(*RESTART_POLICIES), "attempts": integer(0), "backoff": _DURATION}


def is_python_package(text: str) -> bool:
    """Return whether a text can be a requirement of pip, and cannot be coordinates of Maven."""
    return re.fullmatch(r"\w[\w.-]*(\[[\w.,-]*\])?([=<>!~]=?[^:/]*)?", text.strip()) is not None


def _check_sql(path: str, value: object) -> list[Problem]:
    if not isinstance(value, str):
        return [Problem(path, f"must be SQL text or the path of a .sql file, not {type(value).__name__}")]
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:/.*\.sql\Z", value):
        return [Problem(path, f"must be the path of a local file, not the URL {mask_user(value)}")]
    return [] if value.strip() else [Problem(path, "contains no statement")]


DURATION: Final = _DURATION
STRING: Final = satisfies(_is_text, "must be a string")
NON_EMPTY: Final = matches(r"(?s).*\S.*", "must be a string")
MEMORY: Final = _check_memory
FOLDER: Final = matches(_FOLDER.pattern, "must be the URL of a folder, such as s3a://logs/spark-events")
CLUSTER: Final = name_of("a SparkCluster, or <namespace>/<name>", _is_cluster)
FILES: Final = instance_of((list, tuple, str), "must be a list")
REPOSITORIES: Final = each_word(_FOLDER.fullmatch, "must be the URL of a repository")
PULL_SECRETS: Final = each_word(names.is_object_name, "is not the name of a Secret")
PYTHON_ADVICE: Final = ". For a Python package, see docs/guides/python-dependencies.md"
PACKAGES: Final = each_word(
    re.compile(r"[^:/\s,]+([:/][^:/\s,]+){2}").fullmatch,
    "must have the form <group>:<artifact>:<version>",
    lambda word: PYTHON_ADVICE if is_python_package(word) else "",
)
EXCLUSIONS: Final = each_word(re.compile(r"[^:/\s,]+:[^:/\s,]+").fullmatch, "must have the form <group>:<artifact>")
_AS_JSON: Final = ". Pass None, objects and lists as JSON text, for example json.dumps(value) or {{ value | tojson }}"
ARGUMENTS: Final = each(instance_of((*_SCALARS, Pending), _SCALAR, _AS_JSON))
SQL: Final = choose(_is_text, _check_sql, each(optional(_check_sql), "must be SQL text or a list of texts"))
_SQL_VALUE: Final = optional(instance_of((*_SCALARS, Pending), _SCALAR, ". Write a date or a decimal as text"))
SQL_PARAMETERS: Final = choose(
    lambda value: isinstance(value, (list, tuple)),
    each(_SQL_VALUE),
    and_(
        instance_of(OBJECT, "must be an object of named values, or a list"),
        each_key(lambda key: isinstance(key, str) and (is_pending(key) or key.isidentifier()), "is not a name"),
        each_value(_SQL_VALUE),
    ),
)
PROPERTIES: Final = and_(
    instance_of(OBJECT, "must be an object of Spark properties"),
    each_key(lambda key: isinstance(key, str), "must be a string: put the names of properties in quotes"),
    each_value(instance_of(_SCALARS, _SCALAR, ". Write a list as a string with commas")),
)
ANNOTATIONS: Final = and_(_TEXTS, each_key(_is_key, f"is not a valid key: {names.KEY_RULE}"))
_LABEL_VALUE: Final = satisfies(_is_label_value, "must be a label value", f": {names.LABEL_RULE}")
SELECTOR: Final = and_(ANNOTATIONS, each_value(_LABEL_VALUE))
LABELS: Final = and_(SELECTOR, each_key(lambda key: not _is_reserved(key), "is reserved: choose another label"))
SPOT_CLOUDS: Final = tuple(SPOT_LABELS)
SPOT: Final = choose(
    _is_text,
    one_of(*SPOT_CLOUDS),
    and_(SELECTOR, follows(lambda value: None if len(value) == 1 else "must be one label, such as {'spot': 'true'}")),
)
ENVIRONMENT: Final = and_(_TEXTS, each_key(lambda key: is_pending(key) or _is_variable(key), _VARIABLE_RULE))
SECRETS: Final = each_group(types.Secret, {"name": _NAME, "env": _VARIABLES, **_MOUNT}, _find_secret_problem)
CONFIG_MAPS: Final = each_group(types.ConfigMap, {"name": _NAME, **_MOUNT})
VOLUMES: Final = each_group(types.Volume, _VOLUME, _find_volume_problem)
TOLERATIONS: Final = each(
    optional(and_(_OBJECT, record(_TOLERATION), follows(_find_toleration_problem))),
    "must be a list of objects, such as [{'key': 'spot', 'operator': 'Exists'}]",
)
TEMPLATE: Final = choose(
    _is_text,
    _check_template_file,
    and_(
        instance_of(OBJECT, "must be an object, or the path of a file"),
        record(_TEMPLATE),
        follows(_find_template_problem),
    ),
)
ALLOCATION: Final = choose(_is_flag, _ANY, group(types.DynamicAllocation, _LIMITS, _find_limit_problem))
TIMEOUTS: Final = group(types.Timeouts, _TIMEOUTS)
RESTART_POLICY: Final = choose(
    _is_text,
    satisfies(
        lambda word: word in RESTART_POLICIES, f"must be one of {', '.join(RESTART_POLICIES)}, or a RestartPolicy"
    ),
    group(types.RestartPolicy, _RESTARTS, _find_restart_problem),
)
SCHEDULER: Final = choose(_is_text, _NAME, group(types.Scheduler, _SCHEDULER, _find_scheduler_problem))
KUEUE_QUEUE: Final = name_of("a LocalQueue", names.is_namespace, f": {names.NAMESPACE_RULE}")
KUEUE_PRIORITY: Final = name_of("a WorkloadPriorityClass", names.is_namespace, f": {names.NAMESPACE_RULE}")
