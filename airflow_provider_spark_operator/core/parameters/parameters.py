"""The parameters that set fields of an application, and their checks.

A parameter may be a template expression, or not be known yet (`PENDING`). It is checked once it is known.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final

from ..kubernetes.identity import CLUSTER_IDENTITY, find_name_problem
from ..kubernetes.kubernetes_names import is_namespace
from ..kubernetes.names import LABEL_QUEUE_NAME
from ..kubernetes.problems import Problem
from ..spark.spark_conf import DYNAMIC_ALLOCATION_KEY, IMAGE_KEY, uses_dynamic_allocation
from .parameter_checks import CHECKS, find_conflicts, mask_user
from .parameter_types import YUNIKORN, ConfigMap, DynamicAllocation, RestartPolicy, Scheduler, Secret, Timeouts, Volume
from .parameter_values import read_flag
from .pending import advise_native, is_pending

_MEMORY = re.compile(r"[1-9][0-9]*(k|m|g|t|p|kb|mb|gb|tb|pb)\Z", re.IGNORECASE)
_NUMBER = re.compile(r"(0|[1-9][0-9]*)\Z")
_VERSION_IN_TAG = re.compile(r":v?([0-9]+\.[0-9]+\.[0-9]+)[^/:@]*(?:@[^/]*)?\Z")
_FOLDER = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^ ]")
MEMORY_KEYS: Final = (
    "spark.driver.memory",
    "spark.driver.memoryOverhead",
    "spark.executor.memory",
    "spark.executor.memoryOverhead",
)
# Parameters that are integers, with the smallest value of each.
_NUMBERS = (("driver_cores", 1), ("executor_cores", 1), ("executor_instances", 0))
_MEMORIES = ("driver_memory", "executor_memory")
_LISTS = ("jars", "py_files", "files", "arguments")
_TEXTS = ("image", "main_class", "py_file", "spark_version")


@dataclass(frozen=True)
class Parameters:
    """Values that override fields of a document; None leaves the field of the document unchanged.

    Attributes:
        image: Container image of driver and executors.
        main_class: Main class; it is in one of `jars`.
        py_file: URI of the Python script.
        jars: URIs of jars. For a class, the first is the jar of the application.
        py_files: URIs of Python files and archives next to the script. Without `py_file` the first is the script.
        files: URIs of files for driver and executors.
        arguments: Arguments of the program.
        conf: Spark properties. A property whose value is None is left out.
        spark_version: Spark version of the image, for example "4.3.0".
        service_account: Service account of the driver.
        driver_cores: Number of cores of the driver.
        driver_memory: Memory of the driver, for example "4g".
        executor_cores: Number of cores of each executor.
        executor_memory: Memory of each executor, for example "4g".
        executor_instances: Number of executors.
        cluster: Name of a SparkCluster, or `<namespace>/<name>`, whose workers run the executors.
        labels: Labels of the application and its pods.
        annotations: Annotations of the application and its pods.
        env_vars: Environment variables of driver and executors.
        secrets: Secrets as environment variables or files. As the next two, typed or as objects.
        config_maps: ConfigMaps as files.
        volumes: Volumes with their mounts.
        node_selector: Labels of the nodes of the pods.
        tolerations: Tolerations of the pods.
        priority_class: PriorityClass of the pods.
        image_pull_policy: When nodes pull the image.
        image_pull_secrets: Names of Secrets with credentials of a registry.
        packages: Coordinates of Maven packages.
        exclude_packages: Coordinates of dependencies of `packages` to leave out.
        repositories: URLs of further Maven repositories.
        driver_template: Pod template of the driver: an object, or the text of a file.
        executor_template: Pod template of the executors: an object, or the text of a file.
        dynamic_allocation: Whether Spark chooses the number of executors, or within which limits.
        event_log_dir: URL of the folder of event logs.
        timeouts: Limits of the phases of an attempt.
        restart_policy: Restarts by the operator, as a policy or with details.
        proxy_user: User that Spark impersonates.
        kueue_queue: LocalQueue of Kueue in which the application waits for admission.
        kueue_priority: WorkloadPriorityClass of the application in its queue.
        scheduler: Scheduler of the pods, as a name or with its queue.
    """

    image: str | None = None
    main_class: str | None = None
    py_file: str | None = None
    jars: Sequence[str] | str | None = None
    py_files: Sequence[str] | str | None = None
    files: Sequence[str] | str | None = None
    arguments: Sequence[object] | None = None
    conf: Mapping[str, object] | None = None
    spark_version: str | None = None
    service_account: str | None = None
    driver_cores: int | str | None = None
    driver_memory: str | None = None
    executor_cores: int | str | None = None
    executor_memory: str | None = None
    executor_instances: int | str | None = None
    cluster: str | None = None
    labels: Mapping[str, object] | None = None
    annotations: Mapping[str, object] | None = None
    env_vars: Mapping[str, object] | None = None
    secrets: Sequence[Secret | Mapping[str, object]] | None = None
    config_maps: Sequence[ConfigMap | Mapping[str, object]] | None = None
    volumes: Sequence[Volume | Mapping[str, object]] | None = None
    node_selector: Mapping[str, object] | None = None
    tolerations: Sequence[Mapping[str, object]] | None = None
    priority_class: str | None = None
    image_pull_policy: str | None = None
    image_pull_secrets: Sequence[str] | str | None = None
    packages: Sequence[str] | str | None = None
    exclude_packages: Sequence[str] | str | None = None
    repositories: Sequence[str] | str | None = None
    driver_template: Mapping[str, object] | str | None = None
    executor_template: Mapping[str, object] | str | None = None
    dynamic_allocation: DynamicAllocation | Mapping[str, object] | bool | str | None = None
    event_log_dir: str | None = None
    timeouts: Timeouts | Mapping[str, object] | None = None
    restart_policy: RestartPolicy | Mapping[str, object] | str | None = None
    proxy_user: str | None = None
    kueue_queue: str | None = None
    kueue_priority: str | None = None
    scheduler: Scheduler | Mapping[str, object] | str | None = None

    def find_problems(self, *, alone: bool = False) -> list[Problem]:
        """Return the problems that can be found before templates are rendered.

        Args:
            alone: Whether there is no document that the parameters override.
        """
        # DAG files run these checks for each task: only what the task sets may cost time.
        given = {name: value for name in NAMES if (value := getattr(self, name)) is not None}
        found = [_find_text_problem(name, given[name]) for name in _TEXTS if name in given]
        found += [_find_number_problem(name, given[name], least) for name, least in _NUMBERS if name in given]
        found += [_find_memory_problem(name, given[name]) for name in _MEMORIES if name in given]
        found += [_find_list_problem(name, given[name]) for name in _LISTS if name in given]
        found += [self._find_script_problem(), find_cluster_problem(self.cluster), _find_conf_problem(self.conf)]
        found += self._find_pod_problems(given)
        found += [self._find_limit_problem(), self._find_queue_problem()]
        if alone and self.py_file is None and self.py_files is None and self.main_class is None:
            found.append(Problem("", "no program is given: set application, py_file, or main_class with jars"))
        elif alone and not any(found):
            found += [self._find_version_problem(), self._find_instances_problem(), self._find_priority_problem()]
            found.append(self._find_exclusion_problem())
        return [problem for problem in found if problem]

    @property
    def properties(self) -> dict[str, str]:
        """The Spark properties of `conf` as strings."""
        return {key: _format_property(value) for key, value in (self.conf or {}).items() if value is not None}

    @property
    def has_no_executors(self) -> bool:
        """Whether `executor_instances` is 0."""
        return self.executor_instances is not None and str(self.executor_instances).strip() == "0"

    def _find_pod_problems(self, given: Mapping[str, object]) -> list[Problem]:
        known = [name for name in given if name in CHECKS and not is_pending(given[name])]
        found = [problem for name in known for problem in CHECKS[name](name, given[name])]
        if found or not any(name in known for name in ("secrets", "config_maps", "volumes")):
            return found
        env_vars = None if is_pending(self.env_vars) else self.env_vars
        return find_conflicts(env_vars, self.secrets, self.config_maps, self.volumes)

    def _find_script_problem(self) -> Problem | None:
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


def _get_parts(value: object, kind: type) -> Mapping[str, object]:
    """Return the parts of a value that groups settings. Empty if it is not of the type, nor an object."""
    return value if isinstance(value, Mapping) else vars(value) if isinstance(value, kind) else {}


NAMES: Final = tuple(one.name for one in fields(Parameters))
# The parameters whose values are objects or lists.
STRUCTURED: Final = (
    *("labels", "annotations", "env_vars", "secrets", "config_maps", "volumes", "node_selector", "tolerations"),
    *("image_pull_secrets", "packages", "exclude_packages", "repositories"),
    *("dynamic_allocation", "timeouts", "restart_policy", "scheduler"),
)


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


def find_cluster_problem(cluster: object) -> Problem | None:
    """Return the problem with the name of a SparkCluster; None if it is valid or not known yet."""
    if is_pending(cluster) or (isinstance(cluster, str) and _is_cluster(cluster.strip())):
        return None
    return Problem("cluster", f"must be the name of a SparkCluster, or <namespace>/<name>, not {cluster!r}")


def _is_cluster(text: str) -> bool:
    namespace, slash, name = text.rpartition("/")
    return (not slash or is_namespace(namespace)) and find_name_problem(name, CLUSTER_IDENTITY) is None


def _find_number_problem(name: str, value: object, minimum: int) -> Problem | None:
    if is_pending(value):
        return None
    written = str(value).strip()
    if not isinstance(value, (bool, float)) and _NUMBER.match(written) and int(written) >= minimum:
        return None
    return Problem(name, f"must be an integer of {minimum} or more, not {value!r}")


def _find_memory_problem(name: str, value: object) -> Problem | None:
    if is_pending(value) or (isinstance(value, str) and _MEMORY.match(value.strip())):
        return None
    return Problem(name, f"must be a size with its unit, such as 512m or 4g, not {value!r}")


def _find_text_problem(name: str, value: object) -> Problem | None:
    if is_pending(value) or isinstance(value, str):
        return None
    return Problem(name, f"must be a string, not {value!r}")


def _find_conf_problem(conf: object) -> Problem | None:
    # Messages do not contain the values, because some are secrets.
    if is_pending(conf):
        return None
    if not isinstance(conf, Mapping):
        message = f"must be an object of Spark properties, but is of type {type(conf).__name__}{advise_native(conf)}"
        return Problem("conf", message)
    numbers = ", ".join(repr(key) for key in conf if not isinstance(key, str))
    if numbers:
        return Problem("conf", f"the names of properties must be strings, not {numbers}: put the names in quotes")
    wrong = [key for key, value in conf.items() if not (is_pending(value) or isinstance(value, (str, int, float)))]
    if not wrong:
        return None
    names = ", ".join(map(str, wrong))
    return Problem(
        "conf", f"the value of {names} must be a string, a number, true or false. Write a list as a string with commas"
    )


def _find_list_problem(name: str, value: object) -> Problem | None:
    if name == "arguments" and isinstance(value, (list, tuple)):
        return _find_argument_problem(value)
    if is_pending(value) or isinstance(value, (list, tuple)) or (isinstance(value, str) and name != "arguments"):
        return None
    return Problem(name, f"must be a list, not {value!r}{advise_native(value)}")


def _find_argument_problem(arguments: Sequence[object]) -> Problem | None:
    for position, entry in enumerate(arguments):
        if entry is None or not (is_pending(entry) or isinstance(entry, (str, int, float))):
            message = f"must be a string, a number, true or false, but is of type {type(entry).__name__}"
            advice = "Pass None, objects and lists as JSON text, for example json.dumps(value) or {{ value | tojson }}"
            return Problem(f"arguments[{position}]", f"{message}. {advice}")
    return None


def _format_property(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
