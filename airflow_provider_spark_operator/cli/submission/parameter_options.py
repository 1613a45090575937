"""The parameters of the Airflow operator as options of the command line, declared in one table."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, Final

import click

from ...core.parameters.parameters import split_list
from ...kube.yaml_text import YamlError, load_all
from ..base.ages import parse_duration
from ..files.documents import read_text
from ..options.declaration import Parameter

PROGRAM_PANEL: Final = "Program"
RESOURCES_PANEL: Final = "Resources of the pods"
PODS_PANEL: Final = "Settings of the pods"
SPARK_PANEL: Final = "Spark"
LIFECYCLE_PANEL: Final = "Lifecycle"
QUEUE_PANEL: Final = "Queues and schedulers"


class Form(StrEnum):
    """How the value of a parameter is written on the command line."""

    TEXT = "text"
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


@dataclass(frozen=True)
class ParameterOption:
    """A parameter as an option.

    Attributes:
        name: The name of the parameter.
        panel: The heading in the help.
        form: How the value is written.
        metavar: The name of the value in the help.
        help: The description.
        convert: Converts values of an object, by their keys.
        flag: The option. If empty, the option is the name of the parameter with hyphens instead of underscores.
    """

    name: str
    panel: str
    form: Form
    metavar: str
    help: str
    convert: Mapping[str, Callable[[str], object]] = field(default_factory=dict)
    flag: str = ""

    @property
    def option(self) -> str:
        """The option."""
        return self.flag or f"--{self.name.replace('_', '-')}"


def _read_seconds(text: str) -> object:
    return parse_duration(text).total_seconds()


_DURATIONS: Final = dict.fromkeys(
    ("driver_start", "driver_ready", "executor_start", "termination", "backoff"), _read_seconds
)
_P = ParameterOption
OPTIONS: Final = (
    _P("image", PROGRAM_PANEL, Form.TEXT, "IMAGE", "container image of driver and executors"),
    _P("spark_version", PROGRAM_PANEL, Form.TEXT, "VERSION", "Spark version of the image, for example 4.3.0"),
    _P("py_file", PROGRAM_PANEL, Form.TEXT, "FILE", "Python script: a local file or a URI"),
    _P(
        "main_class",
        PROGRAM_PANEL,
        Form.TEXT,
        "CLASS",
        "main class of a Java or Scala program; the first file of --jars must contain it",
    ),
    _P(
        "jars",
        PROGRAM_PANEL,
        Form.LIST,
        "FILE,…",
        "jars for driver and executors; with --main-class, the first one contains the program",
    ),
    _P("py_files", PROGRAM_PANEL, Form.LIST, "FILE,…", "Python files and archives that the script imports"),
    _P("files", PROGRAM_PANEL, Form.LIST, "FILE,…", "files for driver and executors"),
    _P("packages", PROGRAM_PANEL, Form.LIST, "G:A:V,…", "coordinates of Maven packages"),
    _P("exclude_packages", PROGRAM_PANEL, Form.LIST, "G:A,…", "dependencies of --packages to leave out"),
    _P("repositories", PROGRAM_PANEL, Form.LIST, "URL,…", "further Maven repositories"),
    _P("driver_cores", RESOURCES_PANEL, Form.TEXT, "N", "cores of the driver"),
    _P("driver_memory", RESOURCES_PANEL, Form.TEXT, "SIZE", "memory of the driver, for example 4g"),
    _P("executor_cores", RESOURCES_PANEL, Form.TEXT, "N", "cores of each executor"),
    _P("executor_memory", RESOURCES_PANEL, Form.TEXT, "SIZE", "memory of each executor, for example 4g"),
    _P("executor_instances", RESOURCES_PANEL, Form.TEXT, "N", "number of executors"),
    _P(
        *("dynamic_allocation", RESOURCES_PANEL, Form.GROUP, "KEY=N,…"),
        "let Spark choose the number of executors: true, false, or any of min=N, max=N and initial=N",
    ),
    _P("cluster", RESOURCES_PANEL, Form.TEXT, "[NS/]NAME", "SparkCluster whose workers run the executors"),
    _P("conf", SPARK_PANEL, Form.MAP, "KEY=VALUE", "Spark property"),
    _P("event_log_dir", SPARK_PANEL, Form.TEXT, "URL", "folder of the event logs"),
    _P("proxy_user", SPARK_PANEL, Form.TEXT, "USER", "user that Spark impersonates"),
    _P("service_account", PODS_PANEL, Form.TEXT, "NAME", "service account of the driver"),
    _P("labels", PODS_PANEL, Form.MAP, "KEY=VALUE", "label of the application and its pods"),
    _P("annotations", PODS_PANEL, Form.MAP, "KEY=VALUE", "annotation of the application and its pods"),
    _P("env_vars", PODS_PANEL, Form.MAP, "NAME=VALUE", "environment variable of driver and executors"),
    _P(
        *("secrets", PODS_PANEL, Form.GROUPS, "name=S,…"),
        "mount a Secret as files (path=DIR), or read environment variables from it (env.VARIABLE=KEY); "
        "pods=driver: only in the driver; pods=executors: only in the executors",
    ),
    _P(
        *("config_maps", PODS_PANEL, Form.GROUPS, "name=C,path=DIR"),
        "mount a ConfigMap as files; pods=driver: only in the driver; pods=executors: only in the executors",
    ),
    _P(
        *("volumes", PODS_PANEL, Form.GROUPS, "name=V,path=DIR,…"),
        "mount a volume: an existing claim (claim=NAME), new claims (size=50Gi,storage_class=NAME), or another "
        "source (source.emptyDir={}); optional: read_only, sub_path and pods",
    ),
    _P("node_selector", PODS_PANEL, Form.MAP, "KEY=VALUE", "run the pods only on nodes with this label"),
    _P(
        *("tolerations", PODS_PANEL, Form.GROUPS, "key=K,…"),
        "toleration with the fields of Kubernetes, for example key=spot,operator=Exists",
        {"tolerationSeconds": int},
    ),
    _P("priority_class", PODS_PANEL, Form.TEXT, "NAME", "PriorityClass of the pods"),
    _P(
        "image_pull_policy", PODS_PANEL, Form.TEXT, "POLICY", "when nodes pull the image: Always, IfNotPresent or Never"
    ),
    _P("image_pull_secrets", PODS_PANEL, Form.LIST, "NAME,…", "Secrets with credentials of the registry"),
    _P("driver_template", PODS_PANEL, Form.FILE, "FILE", "YAML file with a pod template of the driver"),
    _P("executor_template", PODS_PANEL, Form.FILE, "FILE", "YAML file with a pod template of the executors"),
    _P(
        *("restart_policy", LIFECYCLE_PANEL, Form.GROUP, "POLICY"),
        "restarts: Never, OnFailure, OnInfrastructureFailure or Always; or policy=OnFailure,attempts=3,backoff=30s",
        _DURATIONS,
    ),
    _P(
        *("timeouts", LIFECYCLE_PANEL, Form.GROUP, "KEY=DURATION,…"),
        "time limits of the phases of an attempt: driver_start, driver_ready, executor_start and termination",
        _DURATIONS,
    ),
    _P(
        "kueue_queue", QUEUE_PANEL, Form.TEXT, "NAME", "LocalQueue of Kueue that admits the application", flag="--queue"
    ),
    _P("kueue_priority", QUEUE_PANEL, Form.TEXT, "NAME", "WorkloadPriorityClass of Kueue", flag="--priority"),
    _P(
        *("scheduler", QUEUE_PANEL, Form.GROUP, "NAME"),
        "scheduler of the pods: volcano, yunikorn or another; or name=yunikorn,queue=root.data",
    ),
)
# `arguments` are the words after the file.
_REPEATED: Final = frozenset({Form.LIST, Form.MAP, Form.GROUPS})


def add_parameter_options(
    before: str, names: Collection[str] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate the function `run` of a verb: replace its last parameter, `**parameters`, by the options of the table.

    The command line is built from the signature.

    Args:
        before: The parameter of `run` that follows the options in the help.
        names: The parameters to add. If None, all.
    """

    def decorate(run: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(run)
        own = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for each in signature.parameters.values()
            if each.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        position = list(signature.parameters).index(before)
        options = [_build_parameter(option) for option in OPTIONS if names is None or option.name in names]
        parameters = [*own[:position], *options, *own[position:]]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return decorate


def _build_parameter(option: ParameterOption) -> inspect.Parameter:
    is_repeated = option.form in _REPEATED
    text = f"{option.help}; can be repeated" if is_repeated else option.help
    declared = Parameter(f"{option.option} {option.metavar}", text, check=partial(_check, option), panel=option.panel)
    annotation: object = list[str] | None if is_repeated else str | None
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[annotation, declared]
    )


def _check(option: ParameterOption, value: Any) -> Any:
    if option.form is not Form.FILE:  # a file is read once, when the verb runs
        _read(option, value)
    return value


def read_parameter_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of parameters by their names, from the values of the options.

    Args:
        given: The values of the options, as click returns them. None and empty lists are left out.

    Raises:
        click.BadParameter: A value is malformed.
        DocumentError: A file cannot be read.
    """
    chosen = [(option, given[option.name]) for option in OPTIONS if given.get(option.name)]
    return {option.name: _read(option, value) for option, value in chosen}


def _read(option: ParameterOption, value: Any) -> Any:
    if value is None or value == []:
        return None
    if value == "":
        raise click.BadParameter("must not be empty")
    if option.form is Form.LIST:
        return split_list(",".join(value))
    if option.form is Form.MAP:
        return _read_map(value, option.metavar)
    if option.form is Form.GROUP:
        return _read_group(value, option) if "=" in value or value.startswith("{") else value
    if option.form is Form.GROUPS:
        return [_read_group(entry, option) for entry in value]
    return read_text(value) if option.form is Form.FILE else value


def _read_map(entries: Sequence[str], metavar: str) -> dict[str, str]:
    pairs = [entry.partition("=") for entry in entries]
    for key, sign, _ in pairs:
        if not (key and sign):
            raise click.BadParameter(f"must be {metavar}, not {key!r}")
    return {key: value for key, _, value in pairs}


def _read_group(text: str, option: ParameterOption) -> dict[str, Any]:
    if text.startswith("{"):
        return _read_flow(text)
    group: dict[str, Any] = {}
    for entry in text.split(","):
        path, sign, value = entry.partition("=")
        *parents, last = path.strip().split(".")
        if not (sign and last and all(parents)):
            raise click.BadParameter(f"must be {option.metavar}, not {text!r}")
        holder = group
        for parent in parents:
            holder = holder.setdefault(parent, {})
            if not isinstance(holder, dict):
                raise click.BadParameter(f"{parent} is given twice, as a text and as an object")
        holder[last] = _convert(last, value, option.convert)
    return group


def _convert(key: str, value: str, convert: Mapping[str, Callable[[str], object]]) -> object:
    if value == "{}":
        return {}
    try:
        return convert[key](value) if key in convert else value
    except ValueError:
        raise click.BadParameter(f"{key} must be an integer, not {value!r}") from None


def _read_flow(text: str) -> dict[str, Any]:
    try:
        (value,) = load_all(text)
    except (YamlError, ValueError, RecursionError):
        raise click.BadParameter(f"invalid YAML: {text}") from None
    if not isinstance(value, dict):
        raise click.BadParameter(f"must be an object, not {text}")
    return value
