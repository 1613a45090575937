"""The options that several verbs have, each declared once. Annotate a parameter of `run` with the alias.

The callbacks check values as they are parsed. A failure is a usage error that names the option.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

import typer

from ...core.kubernetes.kubernetes_names import (
    NAMESPACE_RULE,
    OBJECT_RULE,
    is_label_selector,
    is_namespace,
    is_object_name,
)
from ..base.object_names import require_application, require_cluster
from .completers import complete_applications, complete_clusters, complete_contexts, complete_namespaces

CLUSTER_PANEL = "Cluster options"
"""The heading of the options that select a cluster and a namespace."""


def require_text(value: str | None) -> str | None:
    """Return the value of an option.

    Raises:
        typer.BadParameter: The value is empty.
    """
    if value == "":
        raise typer.BadParameter("must not be empty")
    return value


def require_lease(value: str | None) -> str | None:
    """Return the name of a Lease, with or without a namespace.

    Raises:
        typer.BadParameter: The name is invalid.
    """
    if value is not None:
        namespace, slash, name = value.rpartition("/")
        if not is_object_name(name) or (slash and not is_namespace(namespace)):
            raise typer.BadParameter(f"invalid Lease {value!r}: must be NAME or NAMESPACE/NAME; {OBJECT_RULE}")
    return value


def _require(is_valid: Callable[[str], bool], what: str, rule: str) -> Callable[[str | None], str | None]:
    def check(value: str | None) -> str | None:
        if value is not None and not is_valid(value):
            raise typer.BadParameter(f"invalid {what} {value!r}: {rule}")
        return value

    return check


require_namespace = _require(is_namespace, "namespace", NAMESPACE_RULE)
require_label_selector = _require(
    is_label_selector, "label selector", "use the syntax of `kubectl -l`, for example team=a"
)

Context: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--context",
        metavar="NAME",
        callback=require_text,
        autocompletion=complete_contexts,
        help="context of the kubeconfig (default: the current context)",
        rich_help_panel=CLUSTER_PANEL,
    ),
]

Kubeconfig: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        callback=require_text,
        help="kubeconfig file (default: KUBECONFIG, then ~/.kube/config, then the service account of the pod)",
        rich_help_panel=CLUSTER_PANEL,
    ),
]

Namespace: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "-n",
        "--namespace",
        metavar="NAMESPACE",
        callback=require_namespace,
        autocompletion=complete_namespaces,
        help="namespace (default: the namespace of the context)",
        rich_help_panel=CLUSTER_PANEL,
    ),
]

AllNamespaces: TypeAlias = Annotated[
    bool, typer.Option("-A", "--all-namespaces", help="all namespaces", rich_help_panel=CLUSTER_PANEL)
]


def _declare_selector(selected: str) -> Any:
    """Declare `--selector`. `selected`: the resources that have the labels, for the help."""
    return typer.Option(
        "-l",
        "--selector",
        metavar="SELECTOR",
        callback=require_label_selector,
        help=f"only {selected} with these labels, for example team=a,stage!=test",
    )


Selector: TypeAlias = Annotated[str | None, _declare_selector("resources")]
PodSelector: TypeAlias = Annotated[str | None, _declare_selector("pods")]

ApplicationName: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        callback=require_application,
        autocompletion=complete_applications,
        help="name of the application",
    ),
]


ClusterName: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        callback=require_cluster,
        autocompletion=complete_clusters,
        help="name of the SparkCluster",
    ),
]


class DocumentFormat(StrEnum):
    """The formats of verbs that print manifests."""

    YAML = "yaml"
    JSON = "json"


DocumentOutput: TypeAlias = Annotated[
    DocumentFormat, typer.Option("-o", "--output", metavar="yaml|json", help="format of the output")
]


class ReportFormat(StrEnum):
    """The formats of verbs that print lines for people, or the same for programs."""

    TEXT = "text"
    JSON = "json"


ReportOutput: TypeAlias = Annotated[
    ReportFormat, typer.Option("-o", "--output", metavar="text|json", help="format of the output")
]


class LogFormat(StrEnum):
    """The formats of log messages."""

    TEXT = "text"
    JSON = "json"


LogFormatOption: TypeAlias = Annotated[
    LogFormat, typer.Option("--log-format", metavar="text|json", help="format of log messages")
]

LOCAL_HOME = ".spark-local"

LocalHome: TypeAlias = Annotated[
    str,
    typer.Option("--home", metavar="DIR", callback=require_text, help="folder for the state of the local cluster"),
]

ImageRules: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--image",
        metavar="PATTERN=RUNTIME",
        help="how to run containers whose image matches PATTERN: `spark` runs the installed Spark; `process` runs the "
        "command of the container as a local process. Can be repeated. These rules take precedence over the "
        "default rules, which `spark-operator local images` lists",
    ),
]


def _declare_format(known: Sequence[str], description: str) -> Any:
    """Return the option `-o`, which accepts these formats."""

    def check(value: str) -> str:
        if value.startswith("jsonpath"):
            raise typer.BadParameter("jsonpath is not supported: use json with jq, or kubectl")
        if value not in known:
            raise typer.BadParameter(f"invalid format {value!r}: must be {', '.join(known)}")
        return value

    return typer.Option(
        "-o",
        "--output",
        metavar="FORMAT",
        callback=check,
        autocompletion=lambda: [*known],
        help=description,
    )


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

DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="check and print what would be deleted, and delete nothing")
]
