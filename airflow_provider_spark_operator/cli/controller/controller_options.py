"""The options of `spark-operator reconcile`."""

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated, Any

import typer

from ...reconcile.serving.http_server import EVERYWHERE
from ..base.object_names import require_object_name
from ..options.options import (
    Context,
    Kubeconfig,
    LogFormat,
    LogFormatOption,
    require_label_selector,
    require_lease,
    require_text,
)

_SCOPE = "Namespaces"
_ELECTION = "Several controllers"
_SERVERS = "Servers"
_MAX_PORT = 65535
_MAX_WORKERS = 10_000


def _require_address(value: str | None) -> str | None:
    """Return the address of a server.

    Raises:
        typer.BadParameter: The address is invalid.
    """
    if value is not None and value != EVERYWHERE:
        try:
            ip_address(value)
        except ValueError:
            raise typer.BadParameter("must be an IP address, or * for all interfaces") from None
    return value


def _declare_port(content: str, *, default: str) -> Any:
    return typer.Option(
        metavar="N",
        min=0,
        max=_MAX_PORT,
        help=f"serve {content} on this port; 0 selects a free port (default: {default})",
        rich_help_panel=_SERVERS,
    )


def _declare_address(content: str) -> Any:
    return typer.Option(
        metavar="IP",
        callback=_require_address,
        help=f"serve {content} on this address; * for all interfaces (default: * in a pod, otherwise 127.0.0.1)",
        rich_help_panel=_SERVERS,
    )


@dataclass(frozen=True, kw_only=True)
class ControllerOptions:
    """The options of `reconcile`, from which typer derives the command line. None means that an option is not given."""

    kubeconfig: Kubeconfig = None
    context: Context = None
    namespaces: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="watch these namespaces (default: watchedNamespaces in the settings, or the current namespace)",
            rich_help_panel=_SCOPE,
        ),
    ] = None
    namespace_selector: Annotated[
        str | None,
        typer.Option(
            metavar="S",
            callback=require_label_selector,
            help="watch the namespaces that match this label selector",
            rich_help_panel=_SCOPE,
        ),
    ] = None
    all_namespaces: Annotated[
        bool, typer.Option("--all-namespaces", help="watch all namespaces", rich_help_panel=_SCOPE)
    ] = False
    config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            callback=require_text,
            help="read the settings from a YAML file, or from a .properties file of the Apache operator "
            "(default: none)",
        ),
    ] = None
    health_port: Annotated[int | None, _declare_port("/healthz and /readyz", default="do not serve")] = None
    health_address: Annotated[str | None, _declare_address("the probes")] = None
    metrics_port: Annotated[int | None, _declare_port("Prometheus metrics at /metrics", default="do not serve")] = None
    metrics_address: Annotated[str | None, _declare_address("the metrics")] = None
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=_MAX_WORKERS,
            help="maximum number of resources that are reconciled at the same time (default: the number in the "
            "settings, or 50)",
        ),
    ] = None
    leader_elect: Annotated[
        bool,
        typer.Option(
            "--leader-elect",
            help="without effect: every controller holds a Lease",
            hidden=True,
        ),
    ] = False
    lease: Annotated[
        str | None,
        typer.Option(
            metavar="[NAMESPACE/]NAME",
            callback=require_lease,
            help="Lease of this controller; of several replicas, the one that holds it manages resources (default: "
            "the Lease in the settings, or spark-operator-lease in the first of --namespaces or the current namespace)",
            rich_help_panel=_ELECTION,
        ),
    ] = None
    take_over: Annotated[
        bool,
        typer.Option(
            "--take-over",
            help="take over resources of other controllers, even of controllers that may still be running",
            rich_help_panel=_ELECTION,
        ),
    ] = False
    kueue: Annotated[
        bool,
        typer.Option(
            "--kueue",
            help="let Kueue queue the resources that have the label kueue.x-k8s.io/queue-name; Kueue must be installed "
            "(default: kueueEnabled in the settings, or off)",
        ),
    ] = False
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="list the resources that belong to other controllers, and exit; the exit code is 1 if there are "
            "any. Give the --lease of your controller, so that its own resources are left out",
            rich_help_panel=_ELECTION,
        ),
    ] = False
    webhook: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            callback=require_object_name,
            help="serve the webhooks of this ValidatingWebhookConfiguration (default: none)",
            rich_help_panel=_SERVERS,
        ),
    ] = None
    webhook_port: Annotated[int | None, _declare_port("the webhooks", default="9443")] = None
    webhook_address: Annotated[str | None, _declare_address("the webhooks")] = None
    log_format: LogFormatOption = LogFormat.TEXT
