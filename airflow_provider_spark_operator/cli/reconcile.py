"""`spark-operator reconcile`: run the controller."""

import argparse
import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace

from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.logs import configure_logs
from airflow_provider_spark_operator.cli.settings_file import read_settings
from airflow_provider_spark_operator.cli.signals import run_until_signalled
from airflow_provider_spark_operator.cli.webhook import webhook
from airflow_provider_spark_operator.follow.versions import require_version
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from airflow_provider_spark_operator.reconcile.controller import Controller
from airflow_provider_spark_operator.reconcile.health import serve_health
from airflow_provider_spark_operator.reconcile.metrics import Metrics, serve_metrics
from airflow_provider_spark_operator.reconcile.scope import (
    EveryNamespace,
    NamedNamespaces,
    Scope,
    SelectedNamespaces,
    describe,
)
from airflow_provider_spark_operator.reconcile.settings import ControllerSettings

_WEBHOOK_PORT = 9443


def run(options: argparse.Namespace) -> ExitCode:
    """Run until a signal ends it.

    Raises:
        CommandError: the settings or a port cannot be used.
        ConfigurationError: no way to the cluster.
        KubeError: what is to be watched cannot be listed.
    """
    if options.webhook_port is not None and options.webhook is None:
        raise CommandError("--webhook-port: needs --webhook NAME, which says whose webhooks", ExitCode.INVALID)
    settings = _settings(options)
    scope = _scope(options)
    configure_logs(options.log_format)
    return run_until_signalled(lambda: _reconcile(options, settings, scope))


async def _reconcile(options: argparse.Namespace, settings: ControllerSettings, scope: Scope | None) -> ExitCode:
    access = ClusterAccess(kubeconfig=options.kubeconfig, context=options.context)
    async with AsyncExitStack() as stack:
        metrics = Metrics()
        client = await stack.enter_async_context(await open_client(access, observer=metrics.count_call))
        # Fields that an older definition drops, such as the counters of restarts, are what the controller goes by.
        await require_version(client, SPARK_APPLICATIONS)
        scope = scope or settings.scope or NamedNamespaces((client.default_namespace,))
        controller = Controller(client, scope, settings, metrics=metrics)
        words = ["ready", f"namespaces={describe(scope)}", f"server={client.server}"]
        if options.health_port is not None:
            health = _health(options.health_port, controller)
            words.append(f"health-port={await _listen(stack, health, '--health-port', options.health_port)}")
        if options.metrics_port is not None:
            page = serve_metrics(options.metrics_port, metrics)
            words.append(f"metrics-port={await _listen(stack, page, '--metrics-port', options.metrics_port)}")
        if options.webhook is not None:
            port = _WEBHOOK_PORT if options.webhook_port is None else options.webhook_port
            server = webhook(port, client, options.webhook)
            words.append(f"webhook-port={await _listen(stack, server, '--webhook-port', port)}")
        await controller.run(lambda: print(*words, flush=True))
    return ExitCode.SUCCESS


def _health(port: int, controller: Controller) -> AbstractAsyncContextManager[int]:
    # Whoever answers has an event loop that turns: that is all there is to being alive.
    alive = asyncio.get_running_loop().is_running
    return serve_health(port, is_healthy=alive, is_ready=lambda: controller.is_ready)


async def _listen(stack: AsyncExitStack, server: AbstractAsyncContextManager[int], flag: str, wanted: int) -> int:
    try:
        return await stack.enter_async_context(server)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CommandError(f"{flag} {wanted}: cannot be listened on: {reason}", ExitCode.INVALID) from None


def _settings(options: argparse.Namespace) -> ControllerSettings:
    settings = read_settings(options.config)
    return replace(settings, workers=options.workers) if options.workers else settings


def _scope(options: argparse.Namespace) -> Scope | None:
    """What the flags say to watch; None if they say nothing."""
    if options.all_namespaces:
        return EveryNamespace()
    if options.namespace_selector:
        return SelectedNamespaces(options.namespace_selector)
    if options.namespaces is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for name in options.namespaces.split(",") if name.strip()))
    if not names:
        raise CommandError("--namespaces: names no namespace", ExitCode.INVALID)
    return NamedNamespaces(names)
