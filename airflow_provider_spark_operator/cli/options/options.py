"""The options that several verbs have, each declared once. Annotate a parameter of `run` with the alias.

The callbacks check values as they are parsed. A failure is a usage error that names the option.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, TypeAlias

import click

from ...core.kubernetes.names import NAMESPACE_RULE, OBJECT_RULE, is_label_selector, is_namespace, is_object_name
from ..base.object_names import require_application, require_cluster
from .completers import (
    complete_applications,
    complete_clusters,
    complete_contexts,
    complete_dags,
    complete_namespaces,
    complete_runs,
    complete_tasks,
)
from .declaration import Complete, Parameter

CLUSTER_PANEL = "Cluster options"
"""The heading of the options that select a cluster and a namespace."""


def require_text(value: str) -> str:
    """Return the value of an option.

    Raises:
        click.BadParameter: The value is empty.
    """
    if value == "":
        raise click.BadParameter("must not be empty")
    return value


def require_lease(value: str) -> str:
    """Return the name of a Lease, with or without a namespace.

    Raises:
        click.BadParameter: The name is invalid.
    """
    namespace, slash, name = value.rpartition("/")
    if not is_object_name(name) or (slash and not is_namespace(namespace)):
        raise click.BadParameter(f"invalid Lease {value!r}: must be NAME or NAMESPACE/NAME; {OBJECT_RULE}")
    return value


def _require(is_valid: Callable[[str], bool], what: str, rule: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if not is_valid(value):
            raise click.BadParameter(f"invalid {what} {value!r}: {rule}")
        return value

    return check


require_namespace = _require(is_namespace, "namespace", NAMESPACE_RULE)
require_label_selector = _require(
    is_label_selector, "label selector", "use the syntax of `kubectl -l`, for example team=a"
)

Context: TypeAlias = Annotated[
    str | None,
    Parameter(
        "--context NAME",
        "context of the kubeconfig (default: the current context)",
        check=require_text,
        complete=complete_contexts,
        panel=CLUSTER_PANEL,
    ),
]

Kubeconfig: TypeAlias = Annotated[
    str | None,
    Parameter(
        "--kubeconfig FILE",
        "kubeconfig file (default: KUBECONFIG, then ~/.kube/config, then the service account of the pod)",
        check=require_text,
        panel=CLUSTER_PANEL,
    ),
]

Namespace: TypeAlias = Annotated[
    str | None,
    Parameter(
        "-n --namespace NAMESPACE",
        "namespace (default: the namespace of the context)",
        check=require_namespace,
        complete=complete_namespaces,
        panel=CLUSTER_PANEL,
    ),
]

AllNamespaces: TypeAlias = Annotated[bool, Parameter("-A --all-namespaces", "all namespaces", panel=CLUSTER_PANEL)]


def _declare_selector(selected: str) -> Parameter:
    """Declare `--selector`. `selected`: the resources that have the labels, for the help."""
    return Parameter(
        "-l --selector SELECTOR",
        f"only {selected} with these labels, for example team=a,stage!=test",
        check=require_label_selector,
    )


def _require_one_or_two(values: list[str]) -> list[str]:
    if len(values) > 2:
        raise click.BadParameter("can be given at most twice")
    return [require_text(value) for value in values]


def _declare_task(usage: str, what: str, complete: Complete) -> Parameter:
    """Declare an option that selects applications by a task. `what`: the applications, for the help."""
    return Parameter(usage, f"only applications {what}; * at the end stands for any text", require_text, complete)


DagId: TypeAlias = Annotated[
    str | None, _declare_task("--dag DAG_ID", "that tasks of this DAG of Airflow have submitted", complete_dags)
]
TaskId: TypeAlias = Annotated[
    str | None,
    _declare_task("--task TASK_ID", "of this task; with [N] only those of one mapped task: load[3]", complete_tasks),
]
_RUN = _declare_task("--run RUN_ID", "of this DAG run", complete_runs)
RunId: TypeAlias = Annotated[str | None, _RUN]
RunIds: TypeAlias = Annotated[
    list[str] | None,
    replace(_RUN, help=f"{_RUN.help}; twice to name the run of each application", check=_require_one_or_two),
]


Selector: TypeAlias = Annotated[str | None, _declare_selector("resources")]
PodSelector: TypeAlias = Annotated[str | None, _declare_selector("pods")]

_NAME = Parameter("NAME", "name of the application", check=require_application, complete=complete_applications)
ApplicationName: TypeAlias = Annotated[str, _NAME]
OptionalName: TypeAlias = Annotated[str | None, _NAME]


ClusterName: TypeAlias = Annotated[
    str, Parameter("NAME", "name of the SparkCluster", check=require_cluster, complete=complete_clusters)
]


class DocumentFormat(StrEnum):
    """The formats of verbs that print manifests."""

    YAML = "yaml"
    JSON = "json"


DocumentOutput: TypeAlias = Annotated[DocumentFormat, Parameter("-o --output yaml|json", "format of the output")]


class ResultFormat(StrEnum):
    """How the result of a submission is printed."""

    TEXT = "text"
    NAME = "name"
    YAML = "yaml"
    JSON = "json"


ResultOutput: TypeAlias = Annotated[
    ResultFormat,
    Parameter(
        "-o --output text|name|yaml|json",
        "a sentence, only the name of the application, or the application (default: text; with --dry-run, yaml)",
    ),
]


class ReportFormat(StrEnum):
    """The formats of verbs that print lines for people, or the same for programs."""

    TEXT = "text"
    JSON = "json"


ReportOutput: TypeAlias = Annotated[ReportFormat, Parameter("-o --output text|json", "format of the output")]


class LogFormat(StrEnum):
    """The formats of log messages."""

    TEXT = "text"
    JSON = "json"


LogFormatOption: TypeAlias = Annotated[LogFormat, Parameter("--log-format text|json", "format of log messages")]

LOCAL_HOME = ".spark-local"

LocalHome: TypeAlias = Annotated[
    str, Parameter("--home DIR", "folder for the state of the local cluster", check=require_text)
]

ImageRules: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        "--image PATTERN=RUNTIME",
        "how to run containers whose image matches PATTERN: `spark` runs the installed Spark; `process` runs the "
        "command of the container as a local process. Can be repeated. These rules take precedence over the "
        "default rules, which `spark-operator local images` lists",
    ),
]


def _declare_format(known: Sequence[str], description: str) -> Parameter:
    """Return the option `-o`, which accepts these formats."""

    def check(value: str) -> str:
        if value.startswith("jsonpath"):
            raise click.BadParameter("jsonpath is not supported: use json with jq, or kubectl")
        if value not in known:
            raise click.BadParameter(f"invalid format {value!r}: must be {', '.join(known)}")
        return value

    return Parameter("-o --output FORMAT", description, check=check, complete=lambda *_: [*known])


TABLE = "table"
TEXT = "text"
RESOURCE_FORMATS = (TABLE, "wide", "json", "yaml", "name")
EVENT_FORMATS = (TABLE, "json", "yaml", "name")
TEXT_FORMATS = (TEXT, "json", "yaml", "name")

Output: TypeAlias = Annotated[
    str, _declare_format(RESOURCE_FORMATS, "format of the output: table, wide, json, yaml or name")
]
"""The format of verbs that print resources. Pass the value to `cli.output.output`."""

EventOutput: TypeAlias = Annotated[
    str, _declare_format(EVENT_FORMATS, "format of the output: table, json, yaml or name")
]
"""The format of `events`. Pass the value to `cli.output.output`."""

TextOutput: TypeAlias = Annotated[str, _declare_format(TEXT_FORMATS, "text, or the resource as json, yaml or name")]
"""The format of verbs that describe one resource. Pass the value, except `text`, to `cli.output.output`."""

Prices: TypeAlias = Annotated[
    str | None, Parameter("--prices FILE", "compute the cost with the prices in a JSON file", check=require_text)
]

DryRun: TypeAlias = Annotated[bool, Parameter("--dry-run", "check and print what would be deleted, and delete nothing")]
