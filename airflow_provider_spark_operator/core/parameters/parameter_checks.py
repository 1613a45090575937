"""The checks of the parameters that describe pods, packages and the lifecycle of an application.

Each part of a value that is a template expression, or not known yet, is valid. Messages do not contain the values of
environment variables and annotations, because some are secrets.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from posixpath import normpath
from typing import Any, Final, TypeAlias

from ..kubernetes.json_object import is_integer
from ..kubernetes.kubernetes_names import (
    KEY_RULE,
    LABEL_RULE,
    NAMESPACE_RULE,
    is_label_key,
    is_label_value,
    is_namespace,
    is_object_name,
)
from ..kubernetes.names import LABEL_TASK, RESERVED_LABELS
from ..kubernetes.problems import Problem
from .arguments import FILE_EXTENSIONS, advise_suffix
from .parameter_types import (
    PODS_ALL,
    PODS_DRIVER,
    PODS_EXECUTORS,
    ConfigMap,
    DynamicAllocation,
    RestartPolicy,
    Scheduler,
    Secret,
    Timeouts,
    Volume,
)
from .parameter_values import RESTART_POLICIES, find_value_problems, is_environment_name, is_in, read_flag
from .pending import advise_native, is_pending

Check: TypeAlias = Callable[[str, object], list[Problem]]
_Parts: TypeAlias = Mapping[str, Any]

_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_TOLERATION_OPERATORS: Final = ("Equal", "Exists", "Lt", "Gt")
_TOLERATION_KEYS: Final = ("key", "operator", "value", "effect", "tolerationSeconds")
_TEMPLATE_KEYS: Final = ("apiVersion", "kind", "metadata", "spec")
# `find_unsupported` of a dialect reports its own reserved labels.
_RESERVED_PREFIX: Final = LABEL_TASK.removesuffix("task")
_COORDINATES: Final = re.compile(r"[^:/\s,]+([:/][^:/\s,]+){2}\Z")
_EXCLUSION: Final = re.compile(r"[^:/\s,]+:[^:/\s,]+\Z")
_USER: Final = re.compile(r"(?<![^/\s'\"@])[^/\s'\"@]++@")
_FOLDER: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*:/|/)[^ ]*\Z")


def _check_labels(name: str, value: object) -> list[Problem]:
    found = _check_selector(name, value)
    keys = [str(key) for key in value] if isinstance(value, Mapping) else []
    reserved = [key for key in keys if key in RESERVED_LABELS or key.startswith(_RESERVED_PREFIX)]
    return found or [Problem(name, f"{key} is reserved: choose another label") for key in reserved]


def _check_selector(name: str, value: object) -> list[Problem]:
    """Check labels and the values that select them."""
    found = _check_annotations(name, value)
    if found or not isinstance(value, Mapping):
        return found
    wrong = [key for key, text in value.items() if not (is_pending(text) or text == "" or is_label_value(str(text)))]
    return [Problem(f"{name}[{key!r}]", f"{value[key]!r} is not a label value: {LABEL_RULE}") for key in wrong]


def _check_annotations(name: str, value: object) -> list[Problem]:
    return _check_texts(name, value) or [
        Problem(name, f"{key!r} is not a valid key: {KEY_RULE}")
        for key in (value if isinstance(value, Mapping) else ())
        if not is_pending(key) and not is_label_key(str(key))
    ]


def _check_environment(name: str, value: object) -> list[Problem]:
    return _check_texts(name, value) or [
        Problem(name, f"{key!r} is not a valid name of an environment variable")
        for key in (value if isinstance(value, Mapping) else ())
        if not is_pending(key) and not is_environment_name(key)
    ]


def _check_texts(name: str, value: object) -> list[Problem]:
    if not isinstance(value, Mapping):
        return [Problem(name, f"must be an object, but is of type {type(value).__name__}{advise_native(value)}")]
    wrong = [key for key, text in value.items() if not (is_pending(text) or isinstance(text, (str, int, float)))]
    return [
        Problem(f"{name}[{key!r}]", f"must be a string, but is of type {type(value[key]).__name__}") for key in wrong
    ]


def _check_tolerations(name: str, value: object) -> list[Problem]:
    found: list[Problem] = []
    for position, entry in enumerate(value if isinstance(value, (list, tuple)) else [value]):
        path = f"{name}[{position}]"
        if is_pending(entry):
            continue
        if not isinstance(entry, Mapping) or not isinstance(value, (list, tuple)):
            example = "such as [{'key': 'spot', 'operator': 'Exists'}]"
            return [Problem(name, f"must be a list of objects, {example}{advise_native(value)}")]
        unknown = [str(key) for key in entry if key not in _TOLERATION_KEYS]
        if unknown:
            keys = ", ".join(_TOLERATION_KEYS)
            found.append(Problem(path, f"unknown key {', '.join(unknown)}: the keys are {keys}"))
        for key, choices in (("operator", _TOLERATION_OPERATORS), ("effect", _EFFECTS)):
            word = entry.get(key)
            if word and not is_pending(word) and word not in choices:
                found.append(Problem(f"{path}.{key}", f"must be one of {', '.join(choices)}, not {word!r}"))
        seconds = entry.get("tolerationSeconds")
        if seconds is not None and not is_pending(seconds) and not is_integer(seconds):
            found.append(Problem(f"{path}.tolerationSeconds", f"must be an integer, not {seconds!r}"))
        found += _check_toleration_keys(path, entry)
    return found


def _check_toleration_keys(path: str, entry: Mapping[str, object]) -> list[Problem]:
    """Check the keys of a toleration that depend on each other, as the API server does."""
    if any(is_pending(part) for part in entry.values() if part is not None):
        return []
    exists = entry.get("operator") == "Exists"
    found: list[Problem] = []
    if not exists and not entry.get("key"):
        found.append(Problem(f"{path}.key", "is required, unless operator is Exists"))
    if exists and entry.get("value"):
        found.append(Problem(f"{path}.value", "cannot be set if operator is Exists"))
    if entry.get("tolerationSeconds") is not None and entry.get("effect") != "NoExecute":
        found.append(Problem(f"{path}.tolerationSeconds", "requires the effect NoExecute"))
    return found


def _check_template(name: str, value: object) -> list[Problem]:
    if isinstance(value, str):
        if "\n" in value or value.endswith(FILE_EXTENSIONS):
            return []
        return [
            Problem(name, f"must be an object, or the path of a YAML or JSON file, not {value!r}{advise_suffix(value)}")
        ]
    if not isinstance(value, Mapping):
        return [Problem(name, f"must be an object, or the path of a file, but is of type {type(value).__name__}")]
    unknown = [str(key) for key in value if key not in _TEMPLATE_KEYS]
    if unknown:
        return [Problem(name, f"unknown key {', '.join(unknown)}: a pod template has metadata and spec")]
    parts = [(key, value.get(key)) for key in ("metadata", "spec")]
    wrong = [key for key, part in parts if not (is_pending(part) or isinstance(part, Mapping))]
    found = [Problem(f"{name}.{key}", "must be an object") for key in wrong]
    kind, spec = value.get("kind"), value.get("spec")
    if kind is not None and not is_pending(kind) and kind != "Pod":
        found.append(Problem(f"{name}.kind", f"must be Pod, not {kind!r}"))
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    if containers is not None and not is_pending(containers) and not isinstance(containers, (list, tuple)):
        found.append(Problem(f"{name}.spec.containers", "must be a list"))
    return found


def _check_text(name: str, value: object) -> list[Problem]:
    return [] if isinstance(value, str) and value.strip() else [Problem(name, f"must be a string, not {value!r}")]


def _check_pull_policy(name: str, value: object) -> list[Problem]:
    if value in _PULL_POLICIES:
        return []
    return [Problem(name, f"must be one of {', '.join(_PULL_POLICIES)}, not {value!r}")]


def _check_folder(name: str, value: object) -> list[Problem]:
    if isinstance(value, str) and _FOLDER.match(value):
        return []
    given = mask_user(repr(value))
    return [Problem(name, f"must be the URL of a folder, such as s3a://logs/spark-events, not {given}")]


def _check_service_account(name: str, value: object) -> list[Problem]:
    if isinstance(value, str) and is_object_name(value):
        return []
    return [Problem(name, f"must be the name of a ServiceAccount, not {value!r}")]


def _check_priority_class(name: str, value: object) -> list[Problem]:
    if isinstance(value, str) and is_object_name(value.strip()):
        return []
    return [Problem(name, f"must be the name of a PriorityClass, not {value!r}")]


def _check_kueue_queue(name: str, value: object) -> list[Problem]:
    if isinstance(value, str) and is_namespace(value.strip()):
        return []
    return [Problem(name, f"must be the name of a LocalQueue, not {value!r}: {NAMESPACE_RULE}")]


def _check_kueue_priority(name: str, value: object) -> list[Problem]:
    if isinstance(value, str) and is_namespace(value.strip()):
        return []
    return [Problem(name, f"must be the name of a WorkloadPriorityClass, not {value!r}: {NAMESPACE_RULE}")]


def _check_scheduler(name: str, value: object) -> list[Problem]:
    if isinstance(value, str):
        return find_value_problems(name, Scheduler, {"name": value})
    return find_value_problems(name, Scheduler, value)


def _check_allocation(name: str, value: object) -> list[Problem]:
    return [] if read_flag(value) is not None else find_value_problems(name, DynamicAllocation, value)


def _check_restart_policy(name: str, value: object) -> list[Problem]:
    if not isinstance(value, str):
        return find_value_problems(name, RestartPolicy, value)
    if value in RESTART_POLICIES:
        return []
    return [Problem(name, f"must be one of {', '.join(RESTART_POLICIES)}, or a RestartPolicy, not {value!r}")]


def _check_timeouts(name: str, value: object) -> list[Problem]:
    return find_value_problems(name, Timeouts, value)


def mask_user(text: str) -> str:
    """Return the text without the user information of URLs, which may be a password."""
    return _USER.sub("***@", text)


def _check_entries(kind: type[Secret] | type[ConfigMap] | type[Volume]) -> Check:
    def check(name: str, value: object) -> list[Problem]:
        if not isinstance(value, (list, tuple)):
            message = f"must be a list of {kind.__name__}, but is of type {type(value).__name__}{advise_native(value)}"
            return [Problem(name, message)]
        return [
            problem
            for position, entry in enumerate(value)
            for problem in find_value_problems(f"{name}[{position}]", kind, entry)
        ]

    return check


def _check_list(is_valid: Callable[[str], bool], rule: str) -> Check:
    def check(name: str, value: object) -> list[Problem]:
        entries = value.split(",") if isinstance(value, str) else value
        if not isinstance(entries, (list, tuple)):
            return [Problem(name, f"must be a list, but is of type {type(value).__name__}")]
        known = [entry for entry in entries if not is_pending(entry)]
        wrong = [entry for entry in known if not (isinstance(entry, str) and is_valid(entry.strip()))]
        return [Problem(name, f"{mask_user(repr(entry))} {rule}") for entry in wrong]

    return check


# The check of each parameter. It gets the name of the parameter and its value, which is known.
CHECKS: Final[Mapping[str, Check]] = {
    "service_account": _check_service_account,
    "labels": _check_labels,
    "annotations": _check_annotations,
    "env_vars": _check_environment,
    "secrets": _check_entries(Secret),
    "config_maps": _check_entries(ConfigMap),
    "volumes": _check_entries(Volume),
    "node_selector": _check_selector,
    "tolerations": _check_tolerations,
    "priority_class": _check_priority_class,
    "image_pull_policy": _check_pull_policy,
    "image_pull_secrets": _check_list(is_object_name, "is not the name of a Secret"),
    "packages": _check_list(
        lambda entry: _COORDINATES.match(entry) is not None, "must have the form <group>:<artifact>:<version>"
    ),
    "exclude_packages": _check_list(
        lambda entry: _EXCLUSION.match(entry) is not None, "must have the form <group>:<artifact>"
    ),
    "repositories": _check_list(lambda entry: _FOLDER.match(entry) is not None, "must be the URL of a repository"),
    "driver_template": _check_template,
    "executor_template": _check_template,
    "dynamic_allocation": _check_allocation,
    "event_log_dir": _check_folder,
    "timeouts": _check_timeouts,
    "restart_policy": _check_restart_policy,
    "proxy_user": _check_text,
    "kueue_queue": _check_kueue_queue,
    "kueue_priority": _check_kueue_priority,
    "scheduler": _check_scheduler,
}


def find_conflicts(
    env_vars: Mapping[str, object] | None,
    secrets: Sequence[object] | None,
    config_maps: Sequence[object] | None,
    volumes: Sequence[object] | None,
) -> list[Problem]:
    """Return the names and paths that one pod would get twice. The values have no other problems.

    Args:
        env_vars: The parameter `env_vars`, as the next three a parameter.
        secrets: The Secrets.
        config_maps: The ConfigMaps.
        volumes: The volumes.
    """
    parts = [_select(secrets), _select(config_maps), _select(volumes)]
    # Most tasks have no conflict, even if each pod gets everything.
    if not _list_conflicts(env_vars or (), *parts):
        return []
    found: dict[str, Problem] = {}
    for role in (PODS_DRIVER, PODS_EXECUTORS):
        found |= _list_conflicts(env_vars or (), *[_select_pods(entries, role) for entries in parts])
    return list(found.values())


def _list_conflicts(
    variables: Iterable[str], secrets: Sequence[_Parts], config_maps: Sequence[_Parts], volumes: Sequence[_Parts]
) -> dict[str, Problem]:
    """Return the problem of each name and path that these entries contain twice."""
    found: dict[str, Problem] = {}
    for path in _list_repeated(
        [normpath(str(entry["path"])) for entry in [*secrets, *config_maps, *volumes] if entry.get("path")]
    ):
        found[path] = Problem("", f"secrets, config_maps and volumes mount {path} twice: choose other paths")
    for name in _list_repeated([str(entry["name"]) for entry in volumes]):
        found[name] = Problem("volumes", f"{name} is given twice: choose other names")
    for variable in _list_repeated([*variables, *(name for entry in secrets for name in entry.get("env") or ())]):
        found[variable] = Problem("", f"env_vars and secrets set {variable} twice: remove one of them")
    return found


def _select(values: Sequence[object] | None) -> list[_Parts]:
    """Return the parts of each entry, if the parts that can conflict are known."""
    known = [] if values is None or is_pending(values) else [entry for entry in values if not is_pending(entry)]
    parts = [entry if isinstance(entry, Mapping) else vars(entry) for entry in known]
    return [entry for entry in parts if not _has_pending_part(entry)]


def _select_pods(entries: Sequence[_Parts], role: str) -> list[_Parts]:
    return [entry for entry in entries if is_in(entry.get("pods") or PODS_ALL, role)]


def _has_pending_part(entry: _Parts) -> bool:
    return any(part is not None and is_pending(part) for part in map(entry.get, ("name", "path", "pods", "env")))


def _list_repeated(values: Sequence[str]) -> list[str]:
    if len(set(values)) == len(values):
        return []
    return [value for value, number in Counter(values).items() if number > 1]
