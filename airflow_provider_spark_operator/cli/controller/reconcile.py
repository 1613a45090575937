"""`spark-operator reconcile`: run the controller."""

import asyncio
import inspect
from collections import Counter
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from errno import EACCES, EADDRINUSE
from typing import Any

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import NAMESPACE_RULE, is_namespace
from ...core.kubernetes.ownership import LeaseReference, find_owner
from ...core.spark.installation import advise_installation
from ...core.states.states import ApplicationState
from ...follow.access.versions import require_version
from ...kube.client import KubeClient
from ...kube.connection import ClusterAccess, open_client
from ...kube.errors import Forbidden, NotFound
from ...kube.resources import NAMESPACES, SPARK_APPLICATIONS, SPARK_CLUSTERS, ResourceType
from ...reconcile.controller import REPEATED_WRITES, Controller
from ...reconcile.objects.cache import key_of
from ...reconcile.objects.limits import RequestLimiter
from ...reconcile.objects.scope import EveryNamespace, NamedNamespaces, Scope, SelectedNamespaces, describe
from ...reconcile.ownership.claims import is_settled, read_state
from ...reconcile.ownership.election import Elector, create_identity, elect
from ...reconcile.reload import Mark, SettingsFile, follow_settings, read_mark
from ...reconcile.serving.http_server import StallMonitor, choose_address, serve_health
from ...reconcile.serving.metrics import Metrics, serve_metrics
from ...reconcile.settings.settings import ControllerSettings, SettingsError, replace_settings, resolve_lease
from ..base.errors import CommandError, ExitCode, print_note
from ..base.signals import GRACE_SECONDS, run_until_signal
from ..files.documents import STANDARD_INPUT
from ..files.settings_file import read_settings
from ..output.log_records import configure_logs
from .controller_options import ControllerOptions

_WEBHOOK_PORT = 9443
_PORT_ERRORS = (EACCES, EADDRINUSE)


def run(**options: Any) -> ExitCode:
    """Run the controller for SparkApplications and SparkClusters on a cluster without an operator.

    The controller prints one line `ready ...` when its caches are filled. SIGTERM ends it.

    Examples:
        # Run the controller for the current namespace
        spark-operator reconcile

        # Watch two namespaces, and serve probes and metrics
        spark-operator reconcile --namespaces spark-jobs,spark-tests --health-port 8081 --metrics-port 8080

        # List the resources that do not belong to the controller with this Lease
        spark-operator reconcile --all-namespaces --lease spark-operator/spark-operator --check
    """
    return run_controller(ControllerOptions(**options))


# The command line is built from the signature.
run.__signature__ = inspect.signature(ControllerOptions)  # type: ignore[attr-defined]


def run_controller(options: ControllerOptions) -> ExitCode:
    """Run the controller until a signal ends it.

    Raises:
        CommandError: The settings are invalid, or a port cannot be used.
        ConfigurationError: The configuration of the client is missing or invalid.
        KubeError: The resources could not be listed.
    """
    for flag, value in (("--webhook-port", options.webhook_port), ("--webhook-address", options.webhook_address)):
        if value is not None and options.webhook is None:
            raise CommandError(f"{flag}: requires --webhook NAME", ExitCode.INVALID)
    mark = read_mark(options.config) if options.config else None
    settings = _read_settings(options)
    configure_logs(options.log_format)
    # The flags are checked before the first request to the cluster.
    scope = _find_scope(options)
    if options.check:
        return run_until_signal(lambda: _check(options, settings, scope))
    return run_until_signal(lambda: _reconcile(options, settings, scope, mark), grace_seconds=GRACE_SECONDS)


async def _check(options: ControllerOptions, settings: ControllerSettings, scope: Scope | None) -> ExitCode:
    access = ClusterAccess(kubeconfig=options.kubeconfig, context=options.context)
    async with await open_client(access) as client:
        await require_version(client, SPARK_APPLICATIONS)
        chosen = _Scopes(scope, NamedNamespaces((client.default_namespace,))).choose(settings)
        return await check(client, chosen, resolve_lease(settings.election, chosen, client.default_namespace))


async def _reconcile(
    options: ControllerOptions, settings: ControllerSettings, scope: Scope | None, mark: Mark | None
) -> ExitCode:
    access = ClusterAccess(kubeconfig=options.kubeconfig, context=options.context)
    async with AsyncExitStack() as stack:
        metrics = Metrics()
        client = await stack.enter_async_context(await open_client(access, observer=metrics.requests.count_call))
        # An older definition drops fields that the controller depends on, such as the counters of restarts.
        await require_version(client, SPARK_APPLICATIONS)
        scopes = _Scopes(scope, NamedNamespaces((client.default_namespace,)))
        chosen = scopes.choose(settings)
        lease = resolve_lease(settings.election, chosen, client.default_namespace)
        words = ["ready", f"namespaces={describe(chosen)}", f"server={client.server}", f"lease={lease}"]
        elector = Elector(client, lease, create_identity(), settings.election.terms)
        leadership = await stack.enter_async_context(elect(elector))
        limiter = RequestLimiter(settings.requests)
        # The resources are managed through a separate client, which rejects writes while another controller leads.
        managing = await open_client(
            access,
            retry=REPEATED_WRITES,
            observer=metrics.requests.count_call,
            gate=limiter.gate,
            check=leadership.check,
            field_manager=lease.field_manager,
        )
        await stack.enter_async_context(managing)
        controller = Controller(managing, chosen, settings, metrics=metrics, leadership=leadership, lease=lease)

        def apply(changed: ControllerSettings) -> None:
            limiter.limit = changed.requests
            controller.apply(changed, scopes.choose(changed))

        if options.config and options.config != STANDARD_INPUT:
            file = SettingsFile(options.config, mark, settings, lambda: _reread_settings(options), apply, metrics)
            await stack.enter_async_context(follow_settings(file))
        words += await _serve(options, stack, client, controller, metrics)
        await controller.run(lambda: print(*words, flush=True))
    return ExitCode.SUCCESS


@dataclass(frozen=True)
class _Scopes:
    """The namespaces to watch: those of the flags, else of the settings, else the default."""

    flags: Scope | None
    default: Scope

    def choose(self, settings: ControllerSettings) -> Scope:
        """Return the namespaces to watch with these settings."""
        return self.flags or settings.scope or self.default


async def _serve(
    options: ControllerOptions, stack: AsyncExitStack, client: KubeClient, controller: Controller, metrics: Metrics
) -> list[str]:
    """Start the servers that the flags ask for. Return the words for the `ready` line."""
    words = []
    monitor = StallMonitor(metrics.observe_stall)
    measuring = asyncio.create_task(monitor.run())
    stack.callback(measuring.cancel)
    if options.health_port is not None:
        address = options.health_address or choose_address()
        health = _serve_health(options.health_port, address, controller, monitor)
        words.append(await _listen(stack, health, "health", options.health_port, options.health_address))
    if options.metrics_port is not None:
        page = serve_metrics(options.metrics_port, metrics, options.metrics_address or choose_address())
        words.append(await _listen(stack, page, "metrics", options.metrics_port, options.metrics_address))
    if options.webhook is not None:
        port = _WEBHOOK_PORT if options.webhook_port is None else options.webhook_port
        server = open_webhook(port, options.webhook_address or choose_address(), client, options.webhook)
        words.append(await _listen(stack, server, "webhook", port, options.webhook_address))
    return words


def _serve_health(
    port: int, address: str, controller: Controller, monitor: StallMonitor
) -> AbstractAsyncContextManager[int]:
    # A process that answers has a running event loop. It needs nothing else to be healthy.
    alive = asyncio.get_running_loop().is_running
    return serve_health(
        port, address=address, is_healthy=alive, is_ready=lambda: controller.is_ready and not monitor.has_stalled
    )


async def _listen(
    stack: AsyncExitStack, server: AbstractAsyncContextManager[int], name: str, port: int, address: str | None
) -> str:
    """Start a server on the port and the address of its flags. Return the word for the `ready` line."""
    try:
        return f"{name}-port={await stack.enter_async_context(server)}"
    except OSError as error:
        kind, value = ("port", port) if address is None or error.errno in _PORT_ERRORS else ("address", address)
        reason = f"could not listen on the {kind}: {error.strerror or error}"
        raise CommandError(f"--{name}-{kind} {value}: {reason}", ExitCode.INVALID) from None


def _read_settings(options: ControllerOptions) -> ControllerSettings:
    """Return the settings of the file, overridden by the flags."""
    namespace, _, name = (options.lease or "").rpartition("/")
    given = {
        "workers": options.workers,
        "kueue": options.kueue,
        "takeover.take_over": options.take_over,
        "election.lease_name": name,
        "election.lease_namespace": namespace,
    }
    return replace_settings(read_settings(options.config), {path: value for path, value in given.items() if value})


def _reread_settings(options: ControllerOptions) -> ControllerSettings:
    try:
        return _read_settings(options)
    except CommandError as error:
        raise SettingsError(str(error)) from None


def _find_scope(options: ControllerOptions) -> Scope | None:
    """Return the scope that the flags set; None if no flag sets one."""
    given = {
        "--namespaces": options.namespaces is not None,
        "--namespace-selector": options.namespace_selector is not None,
        "--all-namespaces": options.all_namespaces,
    }
    first, *others = [option for option, is_given in given.items() if is_given] or [""]
    if others:
        raise CommandError(f"{others[0]}: not allowed with {first}", ExitCode.INVALID)
    if options.all_namespaces:
        return EveryNamespace()
    if options.namespace_selector:
        return SelectedNamespaces(options.namespace_selector)
    if options.namespaces is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for name in options.namespaces.split(",") if name.strip()))
    if not names:
        raise CommandError("--namespaces: must name at least one namespace", ExitCode.INVALID)
    for name in names:
        if not is_namespace(name):
            raise CommandError(f"--namespaces: invalid namespace {name!r}: {NAMESPACE_RULE}", ExitCode.INVALID)
    return NamedNamespaces(names)


_NONE = "not claimed"
_SETTLED = "released, nothing due"


async def check(client: KubeClient, scope: Scope, lease: LeaseReference) -> ExitCode:
    """Print each resource in scope that another controller manages, then the number of resources of each controller.

    Settled applications are counted separately, because no controller has to do anything for them.

    Args:
        client: The client of the cluster.
        scope: The namespaces.
        lease: The Lease of this controller.

    Raises:
        KubeError: The resources could not be listed.
    """
    totals: Counter[str] = Counter()
    own = str(lease)
    for kind in (SPARK_APPLICATIONS, SPARK_CLUSTERS):
        for namespace in await _list_namespaces(client, scope):
            for item in await _list_resources(client, kind, namespace):
                owner = _SETTLED if is_settled(item) else find_owner(item) or _NONE
                totals[owner] += 1
                if owner not in (own, _NONE, _SETTLED):
                    print(f"{kind.plural}/{key_of(item)} {read_state(item) or ApplicationState.SUBMITTED} {owner}")
    for owner, number in sorted(totals.items()):
        print(f"{number} {'this controller, ' if owner == own else ''}{owner}")
    return ExitCode.CHECK_FAILED if totals.keys() - {own, _NONE, _SETTLED} else ExitCode.SUCCESS


async def _list_namespaces(client: KubeClient, scope: Scope) -> tuple[str | None, ...]:
    match scope:
        case NamedNamespaces(names):
            return names
        case SelectedNamespaces(selector):
            listed = await client.list(NAMESPACES, label_selector=selector)
            return tuple(item["metadata"]["name"] for item in listed.items)
    return (None,)


async def _list_resources(client: KubeClient, kind: ResourceType, namespace: str | None) -> list[JsonObject]:
    try:
        return (await client.list(kind, namespace)).items
    except NotFound:
        return []  # the definition of a kind and the namespace may be missing
    except Forbidden:
        if kind is SPARK_APPLICATIONS:
            raise
        print_note(f"{kind.plural} are left out: the permission to list them is missing")
        return []


def open_webhook(port: int, address: str, client: KubeClient, configuration: str) -> AbstractAsyncContextManager[int]:
    """Return a context that serves the webhooks of a ValidatingWebhookConfiguration; it yields the port.

    Args:
        port: The port to listen on; 0 for a free one.
        address: The IP address to listen on, or `*` for all interfaces.
        client: The client for the cluster, which writes the certificate into the configuration.
        configuration: The name of the ValidatingWebhookConfiguration.

    Raises:
        CommandError: The package for certificates is not installed.
    """
    try:
        # This module needs `cryptography`, which only the extra `webhook` installs. `reconcile` works without it.
        from ...reconcile.webhook import serve_webhook  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise CommandError(
            f"--webhook: missing package {error.name}. To install it, {advise_installation('webhook')}",
            ExitCode.INVALID,
        ) from None
    return serve_webhook(port, client, configuration, address=address)
