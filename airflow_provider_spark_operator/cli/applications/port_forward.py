"""Forward the web interface of a resource until the resource ends or the command is interrupted."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from ...follow.access.errors import ApplicationDeleted
from ...follow.access.reference import ApplicationReference
from ...follow.watching.watch import WatchHub
from ...kube.client import KubeClient
from ...kube.errors import Forbidden
from ...kube.resources import PODS
from ..base.errors import CommandError, print_error, print_note
from ..base.exit_codes import ExitCode
from .local_port import FindPort, Unavailable, serve_port


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
        find_address: Finds the address of the interface on this machine, for a local cluster, whose API cannot forward
            ports. Raises Unavailable with advice if the address is not known.
    """

    title: str
    reference: ApplicationReference
    find: FindPort
    usual: int
    is_over: Callable[[dict[str, Any]], bool]
    describe: Callable[[dict[str, Any]], str]
    find_address: Callable[[], Awaitable[str]]


async def forward(client: KubeClient, interface: Interface, port: int | None) -> ExitCode:
    """Print the local address of an interface, and forward connections.

    The resource is watched through outages of the API. Each connection looks for the pod anew.

    Args:
        client: The client of the cluster.
        interface: The interface.
        port: The local port. See `serve_port`.

    Returns:
        SUCCESS after the end of the resource, and after an interrupt, as of `kubectl port-forward`. In a local cluster,
        SUCCESS at once, because the interface is on this machine.

    Raises:
        CommandError: The port cannot be used, or the API cannot forward ports and the address is not known.
        KubeError: The API rejected the watch, or could not be reached for a long time.
    """
    if not await _can_forward(client):
        return await _print_address(interface)
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
    print_note(f"{interface.reference} has ended, so {interface.title} is no longer available")
    return ExitCode.SUCCESS


async def _can_forward(client: KubeClient) -> bool:
    """Return whether the API serves `pods/portforward`, which a local cluster lacks."""
    try:
        return await client.is_served(PODS, "portforward")
    except Forbidden:  # the first connection reports the missing permission
        return True


async def _print_address(interface: Interface) -> ExitCode:
    """Print the address of an interface that is on this machine already.

    Raises:
        CommandError: The address is not known.
    """
    try:
        address = await interface.find_address()
    except Unavailable as error:
        problem = f"could not forward {interface.title} of {interface.reference}: the API has no pods/portforward"
        raise CommandError(f"{problem}. {error}", ExitCode.API_FAILED) from None
    print(address, flush=True)
    print_note(f"{interface.title} of {interface.reference} is on this machine, so nothing needs to be forwarded")
    return ExitCode.SUCCESS


async def _wait_for_end(hub: WatchHub, interface: Interface) -> None:
    described = ""
    async with aclosing(hub.follow(interface.reference)) as contents:
        async for content in contents:
            if interface.is_over(content):
                return
            if (current := interface.describe(content)) != described:
                described = current
                print_note(described)
