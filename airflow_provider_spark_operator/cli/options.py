"""The options that several verbs have, each declared once. Annotate a parameter of `run` with the alias.

The callbacks check values as they are parsed. A failure is a usage error that names the option.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, TypeAlias

import typer

from airflow_provider_spark_operator.cli.jsonpath import InvalidTemplate, parse_template
from airflow_provider_spark_operator.core.kubernetes_names import (
    NAMESPACE_RULE,
    OBJECT_RULE,
    is_label_selector,
    is_namespace,
    is_object_name,
)

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


def _require(is_valid: Callable[[str], bool], what: str, rule: str) -> Callable[[str | None], str | None]:
    def check(value: str | None) -> str | None:
        if value is not None and not is_valid(value):
            raise typer.BadParameter(f"invalid {what} {value!r}: {rule}")
        return value

    return check


Context: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--context",
        metavar="NAME",
        callback=require_text,
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
        callback=_require(is_namespace, "namespace", NAMESPACE_RULE),
        help="namespace (default: the namespace of the context)",
        rich_help_panel=CLUSTER_PANEL,
    ),
]

AllNamespaces: TypeAlias = Annotated[
    bool, typer.Option("-A", "--all-namespaces", help="all namespaces", rich_help_panel=CLUSTER_PANEL)
]

Selector: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "-l",
        "--selector",
        metavar="SELECTOR",
        callback=_require(is_label_selector, "label selector", "use the syntax of `kubectl -l`, for example team=a"),
        help="only resources with these labels, for example team=a,stage!=test",
    ),
]

ApplicationName: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="NAME", callback=_require(is_object_name, "object name", OBJECT_RULE), help="name of the application"
    ),
]


class DocumentFormat(StrEnum):
    """The formats of verbs that print manifests."""

    YAML = "yaml"
    JSON = "json"


DocumentOutput: TypeAlias = Annotated[
    DocumentFormat, typer.Option("-o", "--output", metavar="yaml|json", help="format of the output")
]


def _check_format(value: str) -> str:
    if value.startswith(JSONPATH):
        try:
            parse_template(value.removeprefix(JSONPATH))
        except InvalidTemplate as error:
            raise typer.BadParameter(f"invalid template: {error}") from None
    elif value not in RESOURCE_FORMATS:
        raise typer.BadParameter(
            f"invalid format {value!r}: must be {', '.join(RESOURCE_FORMATS)} or {JSONPATH}TEMPLATE"
        )
    return value


TABLE = "table"
JSONPATH = "jsonpath="
RESOURCE_FORMATS = (TABLE, "wide", "json", "yaml", "name")

Output: TypeAlias = Annotated[
    str,
    typer.Option(
        "-o",
        "--output",
        metavar="FORMAT",
        callback=_check_format,
        autocompletion=lambda: [*RESOURCE_FORMATS, JSONPATH],
        help="format of the output: table, wide, json, yaml, name or jsonpath=TEMPLATE",
    ),
]
"""The format of verbs that print resources. Pass the value to `cli.output`."""
