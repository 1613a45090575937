"""The parameters that set fields of an application, and their checks.

A parameter may be a template expression, or not be known yet (`PENDING`). It is checked once it is known.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from posixpath import normpath
from typing import Any, Final, TypeAlias

from ..kubernetes.names import LABEL_QUEUE_NAME
from ..kubernetes.problems import Problem
from ..spark.spark_conf import DYNAMIC_ALLOCATION_KEY, IMAGE_KEY, uses_dynamic_allocation
from ..spark.spot import SPOT_LABELS
from . import parameter_checks as checks
from .declaration import Form, Panel, declare, read_declarations
from .parameter_types import (
    PODS_ALL,
    PODS_DRIVER,
    PODS_EXECUTORS,
    YUNIKORN,
    ConfigMap,
    DynamicAllocation,
    RestartPolicy,
    Scheduler,
    Secret,
    Timeouts,
    Volume,
    is_in,
    read_flag,
)
from .pending import is_pending
from .validators import integer, mask_user, name_of, one_of, optional

_VERSION_IN_TAG = re.compile(r":v?([0-9]+\.[0-9]+\.[0-9]+)[^/:@]*(?:@[^/]*)?\Z")
_FOLDER = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^ ]")
MEMORY_KEYS: Final = (
    "spark.driver.memory",
    "spark.driver.memoryOverhead",
    "spark.executor.memory",
    "spark.executor.memoryOverhead",
)


_Entries: TypeAlias = Sequence[Mapping[str, Any]]
_Problems: TypeAlias = dict[str, Problem]


@dataclass(frozen=True)
class Parameters:
    """Values that override fields of a document; None leaves the field of the document unchanged.

    The declaration of a parameter contains its check, its meaning, and its option on the command line.
    """

    image: str | None = declare(
        checks.STRING, Form.TEXT, Panel.PROGRAM, "IMAGE", "container image of driver and executors"
    )
    spark_version: str | None = declare(
        checks.STRING, Form.TEXT, Panel.PROGRAM, "VERSION", "Spark version of the image, for example 4.3.0"
    )
    py_file: str | None = declare(
        checks.STRING, Form.TEXT, Panel.PROGRAM, "FILE", "Python script: a local file or a URI"
    )
    arguments: Sequence[object] | None = declare(
        checks.ARGUMENTS, Form.WORDS, Panel.PROGRAM, "ARGUMENT…", "arguments of the program"
    )
    sql: Sequence[str] | str | None = declare(
        checks.SQL, Form.TEXT, Panel.PROGRAM, "TEXT", "SQL statements, or a .sql file with statements"
    )
    sql_parameters: Mapping[str, object] | Sequence[object] | None = declare(
        checks.SQL_PARAMETERS,
        Form.MAP,
        Panel.PROGRAM,
        "NAME=VALUE",
        "text that replaces the marker :NAME in SQL statements",
        flag="--sql-parameter",
    )
    main_class: str | None = declare(
        checks.STRING,
        Form.TEXT,
        Panel.PROGRAM,
        "CLASS",
        "main class of a Java or Scala program; the first file of --jars must contain it",
    )
    jars: Sequence[str] | str | None = declare(
        checks.FILES,
        Form.FILES,
        Panel.PROGRAM,
        "FILE,…",
        "jars for driver and executors; with --main-class, the first one contains the program",
    )
    py_files: Sequence[str] | str | None = declare(
        checks.FILES, Form.FILES, Panel.PROGRAM, "FILE,…", "Python files and archives that the script imports"
    )
    files: Sequence[str] | str | None = declare(
        checks.FILES, Form.FILES, Panel.PROGRAM, "FILE,…", "files for driver and executors"
    )
    packages: Sequence[str] | str | None = declare(
        checks.PACKAGES, Form.LIST, Panel.PROGRAM, "G:A:V,…", "coordinates of Maven packages"
    )
    exclude_packages: Sequence[str] | str | None = declare(
        checks.EXCLUSIONS, Form.LIST, Panel.PROGRAM, "G:A,…", "dependencies of --packages to leave out"
    )
    repositories: Sequence[str] | str | None = declare(
        checks.REPOSITORIES, Form.LIST, Panel.PROGRAM, "URL,…", "further Maven repositories"
    )
    driver_cores: int | str | None = declare(
        integer(1), Form.TEXT, Panel.RESOURCES, "N", "cores of the driver (Spark's default: 1)"
    )
    driver_memory: str | None = declare(
        checks.MEMORY, Form.TEXT, Panel.RESOURCES, "SIZE", "memory of the driver (Spark's default: 1g)"
    )
    executor_cores: int | str | None = declare(
        integer(1), Form.TEXT, Panel.RESOURCES, "N", "cores of each executor (Spark's default: 1)"
    )
    executor_memory: str | None = declare(
        checks.MEMORY, Form.TEXT, Panel.RESOURCES, "SIZE", "memory of each executor (Spark's default: 1g)"
    )
    executor_instances: int | str | None = declare(
        integer(0), Form.TEXT, Panel.RESOURCES, "N", "number of executors (Spark's default: 2)"
    )
    dynamic_allocation: DynamicAllocation | Mapping[str, object] | bool | str | None = declare(
        checks.ALLOCATION,
        Form.GROUP,
        Panel.RESOURCES,
        "KEY=N,…",
        "let Spark choose the number of executors: true, false, or any of min=N, max=N and initial=N",
    )
    executors_on_spot: Mapping[str, object] | str | None = declare(
        checks.SPOT,
        Form.GROUP,
        Panel.RESOURCES,
        "CLOUD",
        "run the executors on spot nodes, and the driver on others: aks, eks, gke, karpenter, or {label: value}",
        words=checks.SPOT_CLOUDS,
    )
    executor_recovery: bool | str | None = declare(
        checks.FLAG,
        Form.TEXT,
        Panel.RESOURCES,
        "true|false",
        "let each executor run one task at a time: true; never: false (by default, Spark decides)",
    )
    executor_resize: timedelta | float | str | None = declare(
        checks.DURATION, Form.GROUP, Panel.RESOURCES, "SECONDS", "how often Spark raises the memory of busy executors"
    )
    cluster: str | None = declare(
        checks.CLUSTER, Form.TEXT, Panel.RESOURCES, "[NS/]NAME", "SparkCluster whose workers run the executors"
    )
    conf: Mapping[str, object] | None = declare(checks.PROPERTIES, Form.MAP, Panel.SPARK, "KEY=VALUE", "Spark property")
    event_log_dir: str | None = declare(checks.FOLDER, Form.TEXT, Panel.SPARK, "URL", "folder of the event logs")
    proxy_user: str | None = declare(checks.NON_EMPTY, Form.TEXT, Panel.SPARK, "USER", "user that Spark impersonates")
    service_account: str | None = declare(
        name_of("a ServiceAccount"), Form.TEXT, Panel.PODS, "NAME", "service account of the driver"
    )
    labels: Mapping[str, object] | None = declare(
        checks.LABELS, Form.MAP, Panel.PODS, "KEY=VALUE", "label of the application and its pods"
    )
    annotations: Mapping[str, object] | None = declare(
        checks.ANNOTATIONS, Form.MAP, Panel.PODS, "KEY=VALUE", "annotation of the application and its pods"
    )
    env_vars: Mapping[str, object] | None = declare(
        checks.ENVIRONMENT, Form.MAP, Panel.PODS, "NAME=VALUE", "environment variable of driver and executors"
    )
    secrets: Sequence[Secret | Mapping[str, object]] | None = declare(
        checks.SECRETS,
        Form.GROUPS,
        Panel.PODS,
        "name=S,…",
        "mount a Secret as files (path=DIR), or read environment variables from it (env.VARIABLE=KEY); "
        "pods=driver: only in the driver; pods=executors: only in the executors",
    )
    config_maps: Sequence[ConfigMap | Mapping[str, object]] | None = declare(
        checks.CONFIG_MAPS,
        Form.GROUPS,
        Panel.PODS,
        "name=C,path=DIR",
        "mount a ConfigMap as files; pods=driver: only in the driver; pods=executors: only in the executors",
    )
    volumes: Sequence[Volume | Mapping[str, object]] | None = declare(
        checks.VOLUMES,
        Form.GROUPS,
        Panel.PODS,
        "name=V,path=DIR,…",
        "mount a volume: an existing claim (claim=NAME), new claims (size=50Gi,storage_class=NAME), or another "
        "source (source.emptyDir={}); optional: read_only, sub_path and pods",
    )
    node_selector: Mapping[str, object] | None = declare(
        checks.SELECTOR, Form.MAP, Panel.PODS, "KEY=VALUE", "run the pods only on nodes with this label"
    )
    tolerations: Sequence[Mapping[str, object]] | None = declare(
        checks.TOLERATIONS,
        Form.GROUPS,
        Panel.PODS,
        "key=K,…",
        "toleration with the fields of Kubernetes, for example key=spot,operator=Exists",
    )
    priority_class: str | None = declare(
        name_of("a PriorityClass"), Form.TEXT, Panel.PODS, "NAME", "PriorityClass of the pods"
    )
    image_pull_policy: str | None = declare(
        one_of(*checks.PULL_POLICIES),
        Form.TEXT,
        Panel.PODS,
        "POLICY",
        "when nodes pull the image: Always, IfNotPresent or Never",
        words=checks.PULL_POLICIES,
    )
    image_pull_secrets: Sequence[str] | str | None = declare(
        checks.PULL_SECRETS, Form.LIST, Panel.PODS, "NAME,…", "Secrets with credentials of the registry"
    )
    driver_template: Mapping[str, object] | str | None = declare(
        checks.TEMPLATE, Form.FILE, Panel.PODS, "FILE", "YAML file with a pod template of the driver"
    )
    executor_template: Mapping[str, object] | str | None = declare(
        checks.TEMPLATE, Form.FILE, Panel.PODS, "FILE", "YAML file with a pod template of the executors"
    )
    restart_policy: RestartPolicy | Mapping[str, object] | str | None = declare(
        checks.RESTART_POLICY,
        Form.GROUP,
        Panel.LIFECYCLE,
        "POLICY",
        "restarts: Never, OnFailure, OnInfrastructureFailure or Always; or policy=OnFailure,attempts=3,backoff=30s",
        words=checks.RESTART_POLICIES,
    )
    timeouts: Timeouts | Mapping[str, object] | None = declare(
        checks.TIMEOUTS,
        Form.GROUP,
        Panel.LIFECYCLE,
        "KEY=DURATION,…",
        "time limits of the phases of an attempt: driver_start, driver_ready, executor_start and termination",
    )
    kueue_queue: str | None = declare(
        checks.KUEUE_QUEUE,
        Form.TEXT,
        Panel.QUEUE,
        "NAME",
        "LocalQueue of Kueue that admits the application",
        flag="--queue",
    )
    kueue_priority: str | None = declare(
        checks.KUEUE_PRIORITY, Form.TEXT, Panel.QUEUE, "NAME", "WorkloadPriorityClass of Kueue", flag="--priority"
    )
    scheduler: Scheduler | Mapping[str, object] | str | None = declare(
        checks.SCHEDULER,
        Form.GROUP,
        Panel.QUEUE,
        "NAME",
        "scheduler of the pods: volcano, yunikorn or another; or name=yunikorn,queue=root.data",
    )

    def find_problems(self, *, alone: bool = False) -> list[Problem]:
        """Return the problems that can be found before templates are rendered.

        Args:
            alone: Whether there is no document that the parameters override.
        """
        # DAG files run these checks for each task: only what the task sets may cost time.
        given = {name: value for name in NAMES if (value := getattr(self, name)) is not None}
        found = [problem for name, value in given.items() for problem in _CHECKS[name](name, value)]
        if not found and not given.keys().isdisjoint(("secrets", "config_maps", "volumes")):
            found += self._find_conflicts()
        found += filter(None, (self._find_script_problem(), self._find_limit_problem(), self._find_queue_problem()))
        found += filter(None, (self._find_executor_problem(),))
        if alone and all(one is None for one in (self.py_file, self.py_files, self.main_class, self.sql)):
            found.append(Problem("", "no program is given: set application, py_file, sql, or main_class with jars"))
        elif alone and not found:
            priorities = (self._find_priority_problem(), self._find_exclusion_problem())
            found += filter(None, (self._find_version_problem(), self._find_instances_problem(), *priorities))
        return found

    @property
    def properties(self) -> dict[str, str]:
        """The Spark properties of `conf` as strings."""
        return {key: _format_property(value) for key, value in (self.conf or {}).items() if value is not None}

    @property
    def has_no_executors(self) -> bool:
        """Whether `executor_instances` is 0."""
        return self.executor_instances is not None and str(self.executor_instances).strip() == "0"

    def _find_conflicts(self) -> list[Problem]:
        """Return the names and paths that one pod would get twice. The values have no other problems."""
        groups = [_list_known_parts(values) for values in (self.secrets, self.config_maps, self.volumes)]
        variables = _get_parts(self.env_vars, dict)
        # Most tasks have no conflict, even if each pod gets everything.
        if not _list_conflicts(variables, *groups):
            return []
        found: dict[str, Problem] = {}
        for role in (PODS_DRIVER, PODS_EXECUTORS):
            entries = [[entry for entry in group if is_in(entry.get("pods") or PODS_ALL, role)] for group in groups]
            found |= _list_conflicts(variables, *entries)
        return list(found.values())

    def _find_script_problem(self) -> Problem | None:
        if self.sql is not None:
            others = [name for name in ("py_file", "main_class", "arguments") if getattr(self, name) is not None]
            return Problem("sql", f"cannot be set together with {', '.join(others)}") if others else None
        if self.sql_parameters is not None:
            return Problem("sql_parameters", "has no effect without sql: set sql")
        if self.py_file is None or self.main_class is None:
            return None
        return Problem("main_class", "cannot be set together with py_file: an application runs a script or a class")

    def _find_version_problem(self) -> Problem | None:
        if self.spark_version is not None or not isinstance(self.conf, Mapping | None):
            return None
        image = (self.conf or {}).get(IMAGE_KEY) if self.image is None else self.image
        if image is not None and (is_pending(image) or find_version_in_tag(str(image))):
            return None
        reason = f"the tag of {image} does not start with the version" if image else "no image is set"
        advice = "Set spark_version, or an image whose tag starts with the version, such as spark:4.3.0"
        return Problem("spark_version", f"is required, because {reason}. {advice}")

    def _find_instances_problem(self) -> Problem | None:
        """Return the problem with 0 executors, which Spark accepts only with dynamic allocation."""
        if not self.has_no_executors or not isinstance(self.conf, Mapping | None):
            return None
        allocation = self.dynamic_allocation
        if allocation is not None and read_flag(allocation) is not False:
            return None
        conf = self.conf or {}
        enabled = conf.get(DYNAMIC_ALLOCATION_KEY)
        if (enabled is not None and is_pending(enabled)) or uses_dynamic_allocation(conf):
            return None
        return Problem("executor_instances", "must be at least 1, or set dynamic_allocation")

    def _find_limit_problem(self) -> Problem | None:
        """Return the problem with more executors than dynamic allocation permits: the driver of Spark would fail."""
        allocation = self.dynamic_allocation
        parts = _get_parts(allocation, DynamicAllocation)
        numbers = [str(number).strip() for number in (self.executor_instances, parts.get("max"))]
        if not all(number.isdecimal() for number in numbers) or int(numbers[0]) <= int(numbers[1]):
            return None
        return Problem("executor_instances", f"must be at most {numbers[1]}, the max of dynamic_allocation")

    def _find_queue_problem(self) -> Problem | None:
        """Return the problem with a label that would replace the queue of YuniKorn."""
        scheduler = _get_parts(self.scheduler, Scheduler)
        labels = self.labels if isinstance(self.labels, Mapping) else {}
        if scheduler.get("name") != YUNIKORN or scheduler.get("queue") is None or "queue" not in labels:
            return None
        return Problem("labels", "the label `queue` is also set by the parameter `scheduler`: set only one of the two")

    def _find_executor_problem(self) -> Problem | None:
        """Return the problem with executors that the cluster or the version of Spark does not support."""
        if self.executors_on_spot is not None and self.cluster is not None:
            return Problem("executors_on_spot", "cannot be set together with cluster, whose workers run the executors")
        spot, selector = self.executors_on_spot, self.node_selector
        labels = SPOT_LABELS.get(spot.strip(), ())[:1] if isinstance(spot, str) else _get_parts(spot, Mapping)
        if not _get_parts(selector, Mapping).keys().isdisjoint(labels):
            return Problem("node_selector", "sets the label of executors_on_spot for all pods: remove it here")
        given = [name for name in ("executor_recovery", "executor_resize") if getattr(self, name) is not None]
        tag = find_version_in_tag(self.image) if isinstance(self.image, str) else None
        version = next((each for each in (self.spark_version, tag) if isinstance(each, str)), "")
        numbers = [int(each) for each in version.split(".")[:2] if each.isdecimal()]
        return (
            Problem(given[0], f"requires Spark 4.2, not {version}") if given and numbers and numbers < [4, 2] else None
        )

    def _find_exclusion_problem(self) -> Problem | None:
        """Return the problem with dependencies to leave out if there are no packages."""
        if self.exclude_packages is None or self.packages is not None or self.conf is not None:
            return None
        return Problem("exclude_packages", "has no effect without packages: set packages")

    def _find_priority_problem(self) -> Problem | None:
        """Return the problem with a priority without a queue, which has no effect."""
        labels = self.labels if self.labels is not None else {}
        if (
            self.kueue_priority is None
            or self.kueue_queue is not None
            or is_pending(labels)
            or LABEL_QUEUE_NAME in labels
        ):
            return None
        return Problem("kueue_priority", "has no effect without a queue: set kueue_queue")


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


DECLARATIONS: Final = read_declarations(Parameters)
NAMES: Final = tuple(DECLARATIONS)
_CHECKS: Final = {name: optional(declaration.check) for name, declaration in DECLARATIONS.items()}


def select_names(*forms: Form) -> tuple[str, ...]:
    """Return the names of the parameters with one of the forms."""
    return tuple(name for name, declaration in DECLARATIONS.items() if declaration.form in forms)


STRUCTURED: Final = select_names(Form.LIST, Form.MAP, Form.GROUP, Form.GROUPS)
"""The parameters whose values are objects or lists of values."""


def split_list(value: Sequence[str] | str | None) -> list[str]:
    """Return the entries of a list, which may be a string with commas."""
    entries = value.split(",") if isinstance(value, str) else value or ()
    return [str(entry).strip() for entry in entries if str(entry).strip()]


def find_version_in_tag(image: str | None) -> str | None:
    """Return the Spark version in the tag of an image; None if there is none."""
    found = _VERSION_IN_TAG.search(image or "")
    return found[1] if found else None


def find_folder_problem(name: str, url: object) -> Problem | None:
    """Return the problem with `upload_to` or `download_from`; None if it is valid, not set or not known yet."""
    if url is None or is_pending(url) or (isinstance(url, str) and _FOLDER.match(url)):
        return None
    return Problem(name, f"must be the URL of a folder, such as s3://bucket/jobs, not {mask_user(repr(url))}")


def _format_property(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
