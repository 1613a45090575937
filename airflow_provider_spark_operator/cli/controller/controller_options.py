"""The options of `spark-operator reconcile`."""

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated

import click

from ...reconcile.serving.http_server import EVERYWHERE
from ..base.object_names import require_object_name
from ..options import options
from ..options.declaration import Parameter

_SCOPE = "Namespaces"
_ELECTION = "Several controllers"
_SERVERS = "Servers"
_MAX_PORT = 65535
_MAX_WORKERS = 10_000


def _require_address(value: str) -> str:
    """Return the address of a server.

    Raises:
        click.BadParameter: The address is invalid.
    """
    if value != EVERYWHERE:
        try:
            ip_address(value)
        except ValueError:
            raise click.BadParameter("must be an IP address, or * for all interfaces") from None
    return value


def _declare_port(name: str, content: str, *, default: str) -> Parameter:
    return Parameter(
        f"--{name}-port N",
        f"serve {content} on this port; 0 selects a free port (default: {default})",
        at_least=0,
        at_most=_MAX_PORT,
        panel=_SERVERS,
    )


def _declare_address(name: str, content: str) -> Parameter:
    return Parameter(
        f"--{name}-address IP",
        f"serve {content} on this address; * for all interfaces (default: * in a pod, otherwise 127.0.0.1)",
        check=_require_address,
        panel=_SERVERS,
    )


@dataclass(frozen=True, kw_only=True)
class ControllerOptions:
    """The options of `reconcile`, as on the command line. None means that an option is not given."""

    kubeconfig: options.Kubeconfig = None
    context: options.Context = None
    namespaces: Annotated[
        str | None,
        Parameter(
            "--namespaces A,B",
            "watch these namespaces (default: watchedNamespaces in the settings, or the current namespace)",
            panel=_SCOPE,
        ),
    ] = None
    namespace_selector: Annotated[
        str | None,
        Parameter(
            "--namespace-selector S",
            "watch the namespaces that match this label selector",
            check=options.require_label_selector,
            panel=_SCOPE,
        ),
    ] = None
    all_namespaces: Annotated[bool, Parameter("--all-namespaces", "watch all namespaces", panel=_SCOPE)] = False
    config: Annotated[
        str | None,
        Parameter(
            "--config FILE",
            "read the settings from a YAML file, or from a .properties file of the Apache operator (default: none)",
            check=options.require_text,
        ),
    ] = None
    health_port: Annotated[int | None, _declare_port("health", "/healthz and /readyz", default="do not serve")] = None
    health_address: Annotated[str | None, _declare_address("health", "the probes")] = None
    metrics_port: Annotated[
        int | None, _declare_port("metrics", "Prometheus metrics at /metrics", default="do not serve")
    ] = None
    metrics_address: Annotated[str | None, _declare_address("metrics", "the metrics")] = None
    workers: Annotated[
        int | None,
        Parameter(
            "--workers N",
            "maximum number of resources that are reconciled at the same time (default: the number in the "
            "settings, or 50)",
            at_least=1,
            at_most=_MAX_WORKERS,
        ),
    ] = None
    leader_elect: Annotated[
        bool, Parameter("--leader-elect", "without effect: every controller holds a Lease", is_hidden=True)
    ] = False
    lease: Annotated[
        str | None,
        Parameter(
            "--lease [NAMESPACE/]NAME",
            "Lease of this controller; of several replicas, the one that holds it manages resources (default: "
            "the Lease in the settings, or spark-operator-lease in the first of --namespaces or the current namespace)",
            check=options.require_lease,
            panel=_ELECTION,
        ),
    ] = None
    take_over: Annotated[
        bool,
        Parameter(
            "--take-over",
            "take over resources of other controllers, even of controllers that may still be running",
            panel=_ELECTION,
        ),
    ] = False
    kueue: Annotated[
        bool,
        Parameter(
            "--kueue",
            "let Kueue queue the resources that have the label kueue.x-k8s.io/queue-name; Kueue must be installed "
            "(default: kueueEnabled in the settings, or off)",
        ),
    ] = False
    check: Annotated[
        bool,
        Parameter(
            "--check",
            "list the resources that belong to other controllers, and exit; the exit code is 1 if there are "
            "any. Give the --lease of your controller, so that its own resources are left out",
            panel=_ELECTION,
        ),
    ] = False
    webhook: Annotated[
        str | None,
        Parameter(
            "--webhook NAME",
            "serve the webhooks of this ValidatingWebhookConfiguration (default: none)",
            check=require_object_name,
            panel=_SERVERS,
        ),
    ] = None
    webhook_port: Annotated[int | None, _declare_port("webhook", "the webhooks", default="9443")] = None
    webhook_address: Annotated[str | None, _declare_address("webhook", "the webhooks")] = None
    log_format: options.LogFormatOption = options.LogFormat.TEXT
