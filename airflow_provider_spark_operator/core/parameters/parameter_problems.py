"""The problems of the parameters of an application: of each parameter, and of those that depend on each other."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from posixpath import normpath
from typing import Any, Final, TypeAlias

from ..kubernetes.names import LABEL_QUEUE_NAME
from ..kubernetes.problems import Problem
from ..spark.spark_conf import DYNAMIC_ALLOCATION_KEY, IMAGE_KEY, uses_dynamic_allocation
from ..spark.spot import SPOT_LABELS
from . import parameter_types
from .parameter_types import is_pending
from .parameters import DECLARATIONS, NAMES, Parameters, find_version_in_tag
from .validators import optional

_CHECKS: Final = {name: optional(declaration.check) for name, declaration in DECLARATIONS.items()}
_Entries: TypeAlias = Sequence[Mapping[str, Any]]
_Problems: TypeAlias = dict[str, Problem]


def find_problems(parameters: Parameters, *, alone: bool = False) -> list[Problem]:
    """Return the problems that can be found before templates are rendered.

    Args:
        parameters: The parameters.
        alone: Whether there is no document that the parameters override.
    """
    # DAG files run these checks for each task: only what the task sets may cost time.
    given = {name: value for name in NAMES if (value := getattr(parameters, name)) is not None}
    found = [problem for name, value in given.items() for problem in _CHECKS[name](name, value)]
    if not found and not given.keys().isdisjoint(("secrets", "config_maps", "volumes")):
        found += _find_conflicts(parameters)
    found += filter(None, (find_problem(parameters) for find_problem in _RULES))
    programs = (parameters.py_file, parameters.py_files, parameters.main_class, parameters.sql)
    if alone and all(one is None for one in programs):
        found.append(Problem("", "no program is given: set application, py_file, sql, or main_class with jars"))
    elif alone and not found:
        found += filter(None, (find_problem(parameters) for find_problem in _RULES_ALONE))
    return found


def _find_conflicts(parameters: Parameters) -> list[Problem]:
    """Return the names and paths that one pod would get twice. The values have no other problems."""
    groups = [_list_known_parts(values) for values in (parameters.secrets, parameters.config_maps, parameters.volumes)]
    variables = _get_parts(parameters.env_vars, dict)
    # Most tasks have no conflict, even if each pod gets everything.
    if not _list_conflicts(variables, *groups):
        return []
    found: dict[str, Problem] = {}
    for role in (parameter_types.PODS_DRIVER, parameter_types.PODS_EXECUTORS):
        entries = [
            [entry for entry in group if parameter_types.is_in(entry.get("pods") or parameter_types.PODS_ALL, role)]
            for group in groups
        ]
        found |= _list_conflicts(variables, *entries)
    return list(found.values())


def _find_script_problem(parameters: Parameters) -> Problem | None:
    if parameters.sql is not None:
        others = [name for name in ("py_file", "main_class", "arguments") if getattr(parameters, name) is not None]
        return Problem("sql", f"cannot be set together with {', '.join(others)}") if others else None
    if parameters.sql_parameters is not None:
        return Problem("sql_parameters", "has no effect without sql: set sql")
    if parameters.py_file is None or parameters.main_class is None:
        return None
    return Problem("main_class", "cannot be set together with py_file: an application runs a script or a class")


def _find_version_problem(parameters: Parameters) -> Problem | None:
    if parameters.spark_version is not None or not isinstance(parameters.conf, Mapping | None):
        return None
    image = (parameters.conf or {}).get(IMAGE_KEY) if parameters.image is None else parameters.image
    if image is not None and (is_pending(image) or find_version_in_tag(str(image))):
        return None
    reason = f"the tag of {image} does not start with the version" if image else "no image is set"
    advice = "Set spark_version, or an image whose tag starts with the version, such as spark:4.3.0"
    return Problem("spark_version", f"is required, because {reason}. {advice}")


def _find_instances_problem(parameters: Parameters) -> Problem | None:
    """Return the problem with 0 executors, which Spark accepts only with dynamic allocation."""
    if not parameters.has_no_executors or not isinstance(parameters.conf, Mapping | None):
        return None
    allocation = parameters.dynamic_allocation
    if allocation is not None and parameter_types.read_flag(allocation) is not False:
        return None
    conf = parameters.conf or {}
    enabled = conf.get(DYNAMIC_ALLOCATION_KEY)
    if (enabled is not None and is_pending(enabled)) or uses_dynamic_allocation(conf):
        return None
    return Problem("executor_instances", "must be at least 1, or set dynamic_allocation")


def _find_limit_problem(parameters: Parameters) -> Problem | None:
    """Return the problem with more executors than dynamic allocation permits: the driver of Spark would fail."""
    allocation = parameters.dynamic_allocation
    parts = _get_parts(allocation, parameter_types.DynamicAllocation)
    numbers = [str(number).strip() for number in (parameters.executor_instances, parts.get("max"))]
    if not all(number.isdecimal() for number in numbers) or int(numbers[0]) <= int(numbers[1]):
        return None
    return Problem("executor_instances", f"must be at most {numbers[1]}, the max of dynamic_allocation")


def _find_queue_problem(parameters: Parameters) -> Problem | None:
    """Return the problem with a label that would replace the queue of YuniKorn."""
    scheduler = _get_parts(parameters.scheduler, parameter_types.Scheduler)
    labels = parameters.labels if isinstance(parameters.labels, Mapping) else {}
    if scheduler.get("name") != parameter_types.YUNIKORN or scheduler.get("queue") is None or "queue" not in labels:
        return None
    return Problem("labels", "the label `queue` is also set by the parameter `scheduler`: set only one of the two")


def _find_executor_problem(parameters: Parameters) -> Problem | None:
    """Return the problem with executors that the cluster or the version of Spark does not support."""
    if parameters.executors_on_spot is not None and parameters.cluster is not None:
        return Problem("executors_on_spot", "cannot be set together with cluster, whose workers run the executors")
    spot, selector = parameters.executors_on_spot, parameters.node_selector
    labels = SPOT_LABELS.get(spot.strip(), ())[:1] if isinstance(spot, str) else _get_parts(spot, Mapping)
    if not _get_parts(selector, Mapping).keys().isdisjoint(labels):
        return Problem("node_selector", "sets the label of executors_on_spot for all pods: remove it here")
    given = [name for name in ("executor_recovery", "executor_resize") if getattr(parameters, name) is not None]
    tag = find_version_in_tag(parameters.image) if isinstance(parameters.image, str) else None
    version = next((each for each in (parameters.spark_version, tag) if isinstance(each, str)), "")
    numbers = [int(each) for each in version.split(".")[:2] if each.isdecimal()]
    return Problem(given[0], f"requires Spark 4.2, not {version}") if given and numbers and numbers < [4, 2] else None


def _find_exclusion_problem(parameters: Parameters) -> Problem | None:
    """Return the problem with dependencies to leave out if there are no packages."""
    if parameters.exclude_packages is None or parameters.packages is not None or parameters.conf is not None:
        return None
    return Problem("exclude_packages", "has no effect without packages: set packages")


def _find_priority_problem(parameters: Parameters) -> Problem | None:
    """Return the problem with a priority without a queue, which has no effect."""
    labels = parameters.labels if parameters.labels is not None else {}
    if (
        parameters.kueue_priority is None
        or parameters.kueue_queue is not None
        or is_pending(labels)
        or LABEL_QUEUE_NAME in labels
    ):
        return None
    return Problem("kueue_priority", "has no effect without a queue: set kueue_queue")


_RULES: Final = (_find_script_problem, _find_limit_problem, _find_queue_problem, _find_executor_problem)
# A document can contain what these rules miss.
_RULES_ALONE: Final = (
    _find_version_problem,
    _find_instances_problem,
    _find_priority_problem,
    _find_exclusion_problem,
)


def _get_parts(value: object, kind: type) -> Mapping[str, Any]:
    """Return the parts of a value that groups settings. Empty if it is not of the type, nor an object."""
    return value if isinstance(value, Mapping) else vars(value) if isinstance(value, kind) else {}


def _list_known_parts(values: Sequence[object] | None) -> list[Mapping[str, Any]]:
    """Return the parts of each entry, if the parts that can conflict are known."""
    known = [] if is_pending(values) else [_get_parts(entry, object) for entry in values or () if not is_pending(entry)]
    set_parts = [[parts.get(name) for name in ("name", "path", "pods", "env") if parts.get(name)] for parts in known]
    return [parts for parts, given in zip(known, set_parts, strict=True) if not any(map(is_pending, given))]


def _list_conflicts(variables: Iterable[str], secrets: _Entries, config_maps: _Entries, volumes: _Entries) -> _Problems:
    """Return the problem of each name and path that these entries contain twice."""
    found: _Problems = {}
    for path in _list_repeated(
        [normpath(one["path"]) for one in (*secrets, *config_maps, *volumes) if one.get("path")]
    ):
        found[path] = Problem("", f"secrets, config_maps and volumes mount {path} twice: choose other paths")
    for name in _list_repeated([entry["name"] for entry in volumes]):
        found[name] = Problem("volumes", f"{name} is given twice: choose other names")
    for variable in _list_repeated([*variables, *(name for entry in secrets for name in entry.get("env") or ())]):
        found[variable] = Problem("", f"env_vars and secrets set {variable} twice: remove one of them")
    return found


def _list_repeated(values: Sequence[str]) -> list[str]:
    if len(set(values)) == len(values):
        return []
    return [value for value, number in Counter(values).items() if number > 1]
