"""The parameters that set fields of an application: their declarations, checks and options on the command line.

A parameter may be a template expression, or not be known yet (`PENDING`). It is checked once it is known.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from ..kubernetes.problems import Problem
from . import parameter_checks as checks
from . import parameter_types
from .parameter_types import is_pending
from .validators import Check, integer, mask_user, name_of, one_of

_KEY: Final = "declaration"
_VERSION_IN_TAG = re.compile(r":v?([0-9]+\.[0-9]+\.[0-9]+)[^/:@]*(?:@[^/]*)?\Z")
_FOLDER = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^ ]")
MEMORY_KEYS: Final = (
    "spark.driver.memory",
    "spark.driver.memoryOverhead",
    "spark.executor.memory",
    "spark.executor.memoryOverhead",
)


class Form(StrEnum):
    """How the value of a parameter is written: in Airflow as an object of Python, on the command line as text."""

    TEXT = "text"
    FILES = "files"
    """Names of files, separated by commas or in repeated options."""
    LIST = "list"
    """Entries, separated by commas or in repeated options."""
    MAP = "map"
    """KEY=VALUE in repeated options."""
    GROUP = "group"
    """One object: `key=value,key=value` or YAML in braces. A plain text stays a text."""
    GROUPS = "groups"
    """Objects in repeated options."""
    FILE = "file"
    """The name of a file with the value."""
    WORDS = "words"
    """The words after the options."""


class Panel(StrEnum):
    """The headings of the options in the help of the command line."""

    PROGRAM = "Program"
    RESOURCES = "Resources of the pods"
    SPARK = "Spark"
    PODS = "Settings of the pods"
    LIFECYCLE = "Lifecycle"
    QUEUE = "Queues and schedulers"


@dataclass(frozen=True)
class Declaration:
    """The check, the form and the option of a parameter.

    Attributes:
        check: The check of a value that is known.
        form: How the value is written.
        panel: The heading of the option.
        metavar: The name of the value in the help.
        help: The meaning of the parameter.
        flag: The option. If empty, the option is the name of the parameter with hyphens instead of underscores.
        words: The words that a shell completes.
    """

    check: Check
    form: Form
    panel: Panel
    metavar: str
    help: str
    flag: str = ""
    words: tuple[str, ...] = ()


def declare(
    check: Check, form: Form, panel: Panel, metavar: str, meaning: str, *, flag: str = "", words: tuple[str, ...] = ()
) -> Any:
    """Return the field of a parameter. Its default is None. See `Declaration`."""
    return field(default=None, metadata={_KEY: Declaration(check, form, panel, metavar, meaning, flag, words)})


def read_declarations(parameters: type) -> Mapping[str, Declaration]:
    """Return the declarations of the fields by their names."""
    return {one.name: one.metadata[_KEY] for one in fields(parameters)}


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
    dynamic_allocation: parameter_types.DynamicAllocation | Mapping[str, object] | bool | str | None = declare(
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
    secrets: Sequence[parameter_types.Secret | Mapping[str, object]] | None = declare(
        checks.SECRETS,
        Form.GROUPS,
        Panel.PODS,
        "name=S,…",
        "mount a Secret as files (path=DIR), or read environment variables from it (env.VARIABLE=KEY); "
        "pods=driver: only in the driver; pods=executors: only in the executors",
    )
    config_maps: Sequence[parameter_types.ConfigMap | Mapping[str, object]] | None = declare(
        checks.CONFIG_MAPS,
        Form.GROUPS,
        Panel.PODS,
        "name=C,path=DIR",
        "mount a ConfigMap as files; pods=driver: only in the driver; pods=executors: only in the executors",
    )
    volumes: Sequence[parameter_types.Volume | Mapping[str, object]] | None = declare(
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
    restart_policy: parameter_types.RestartPolicy | Mapping[str, object] | str | None = declare(
        checks.RESTART_POLICY,
        Form.GROUP,
        Panel.LIFECYCLE,
        "POLICY",
        "restarts: Never, OnFailure, OnInfrastructureFailure or Always; or policy=OnFailure,attempts=3,backoff=30s",
        words=checks.RESTART_POLICIES,
    )
    timeouts: parameter_types.Timeouts | Mapping[str, object] | None = declare(
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
    scheduler: parameter_types.Scheduler | Mapping[str, object] | str | None = declare(
        checks.SCHEDULER,
        Form.GROUP,
        Panel.QUEUE,
        "NAME",
        "scheduler of the pods: volcano, yunikorn or another; or name=yunikorn,queue=root.data",
    )

    @property
    def properties(self) -> dict[str, str]:
        """The Spark properties of `conf` as strings."""
        return {key: _format_property(value) for key, value in (self.conf or {}).items() if value is not None}

    @property
    def has_no_executors(self) -> bool:
        """Whether `executor_instances` is 0."""
        return self.executor_instances is not None and str(self.executor_instances).strip() == "0"


DECLARATIONS: Final = read_declarations(Parameters)
NAMES: Final = tuple(DECLARATIONS)


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
