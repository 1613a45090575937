"""Forward the web interface of a resource until the resource ends or the command is interrupted."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from airflow_provider_spark_operator.cli.errors import CommandError, print_error, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.local_port import FindPort, serve_port
from airflow_provider_spark_operator.follow.errors import ApplicationDeleted
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.watch import WatchHub
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.resources import PODS


@dataclass(frozen=True)
class Interface:
    """The web interface of an application or a SparkCluster.

    Attributes:
        title: What it is, for messages.
        reference: The resource.
        find: Finds its pod.
        usual: The local port to use by default.
        is_over: Whether a content of the resource means that the interface never comes back.
        describe: Describes the pod behind the interface in a content of the resource. A change is printed.
        find_other: Says where the interface is if the API cannot forward ports.
    """

    title: str
    reference: ApplicationReference
    find: FindPort
    usual: int
    is_over: Callable[[dict[str, Any]], bool]
    describe: Callable[[dict[str, Any]], str]
    find_other: Callable[[], Awaitable[str]]


async def forward(client: KubeClient, interface: Interface, port: int | None) -> ExitCode:
    """Print the local address of an interface, and forward connections.

    The resource is watched through outages of the API. Each connection looks for the pod anew.

    Args:
        client: The client of the cluster.
        interface: The interface.
        port: The local port. See `serve_port`.

    Returns:
        SUCCESS after the end of the resource, and after an interrupt, as of `kubectl port-forward`.

    Raises:
        CommandError: The port cannot be used, or the API cannot forward ports.
        KubeError: The API rejected the watch, or could not be reached for a long time.
    """
    await _require_port_forwarding(client, interface)
    hub = WatchHub(client)
    try:
        async with serve_port(client, interface.find, port, interface.usual) as address:
            print(f"Forwarding {address} to {interface.title} of {interface.reference}", flush=True)
            await _wait_for_end(hub, interface)
    except ApplicationDeleted:
        print_error(f"{interface.reference} was deleted")
        return ExitCode.INFRASTRUCTURE_FAILED
    except asyncio.CancelledError:
        return ExitCode.SUCCESS
    finally:
        await hub.close()
    print_note(f"{interface.reference} has ended, and {interface.title} with it")
    return ExitCode.SUCCESS


async def _require_port_forwarding(client: KubeClient, interface: Interface) -> None:
    """Check that the API serves `pods/portforward`, which a local cluster lacks.

    Raises:
        CommandError: The API does not serve it.
    """
    try:
        is_served = await client.is_served(PODS, "portforward")
    except Forbidden:  # the first connection reports the missing permission
        return
    if not is_served:
        problem = f"could not forward {interface.title} of {interface.reference}: the API has no pods/portforward"
        raise CommandError(f"{problem}. {await interface.find_other()}", ExitCode.API_FAILED)


async def _wait_for_end(hub: WatchHub, interface: Interface) -> None:
    described = ""
    async with aclosing(hub.follow(interface.reference)) as contents:
        async for content in contents:
            if interface.is_over(content):
                return
            if (current := interface.describe(content)) != described:
                described = current
                print_note(described)
