"""A real API server, a proxy that injects faults, the controller as a process, and a scripted node."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import yaml

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import NAMESPACES
from airflow_provider_spark_operator.reconcile.objects.cache import ObjectKey
from tests.controller import ControllerProcess
from tests.reliability.node import ScriptedNode, wait_for_service_account
from tests.reliability.proxy import Proxy
from tests.reliability.scripts import TrackedApplication, find_endings

from control_plane import ControlPlane, Server, build_kubeconfig

DEADLINE = 600
_QUICK = {
    "reconcileIntervalSeconds": 2,
    "missingDriverGracePeriodSeconds": 2,
    "missingDriverRequeueIntervalSeconds": 0.1,
    "firstRetrySeconds": 0.05,
}


@dataclass
class Harness:
    """The servers, the controller and the namespaces of a test.

    Attributes:
        plane: The control plane.
        client: Client that bypasses the proxy.
        proxy: The proxy through which the controller reaches the API server.
        controller: The controller, which is not started yet.
        node: The node that runs the pods of the controller.
        namespace: The namespace of this test.
        others: More namespaces of this test, if requested.
        folder: Folder for files.
    """

    plane: ControlPlane
    client: KubeClient
    proxy: Proxy
    controller: ControllerProcess
    node: ScriptedNode
    namespace: str
    others: tuple[str, ...]
    folder: Path

    def track(self, name: str) -> TrackedApplication:
        """Return the application with this name."""
        return TrackedApplication(self.client, self.node, ObjectKey(self.namespace, name))

    async def submit(self, names: Iterable[str]) -> list[TrackedApplication]:
        """Submit applications concurrently."""
        applications = [self.track(name) for name in names]
        await asyncio.gather(*(each.submit() for each in applications))
        return applications

    async def wait_until_completed(self, applications: Iterable[TrackedApplication]) -> None:
        """Wait until all applications have completed, then check each of them."""
        applications = list(applications)
        try:
            async with asyncio.timeout(DEADLINE):
                await asyncio.gather(*(each.wait_until_completed() for each in applications))
        except TimeoutError:
            unfinished = [await each.describe_progress() for each in applications if not each.is_over]
            raise AssertionError(f"not over after {DEADLINE} s: {'; '.join(unfinished)}") from None
        for each in applications:
            each.check()


@asynccontextmanager
async def open_harness(plane: ControlPlane, folder: Path, *words: str, others: int = 0) -> AsyncIterator[Harness]:
    """Open a harness with a new namespace and `others` more; `words` are more options of the controller."""
    names = [f"reliability-{secrets.token_hex(3)}" for _ in range(1 + others)]
    async with AsyncExitStack() as stack:
        access = ClusterAccess(kubeconfig_document=build_kubeconfig(plane.server))
        client = await stack.enter_async_context(await open_client(access))
        for name in names:
            await client.create(NAMESPACES, {"metadata": {"name": name}}, None)
            stack.push_async_callback(_drop_namespace, client, name)
        for name in names:
            await wait_for_service_account(client, name)
        proxy = await stack.enter_async_context(Proxy(plane.server).run())
        node = ScriptedNode(client, find_endings)
        await stack.enter_async_context(node.run())
        controller = build_controller(folder, proxy.url, plane.token, "--namespaces", ",".join(names), *words)
        stack.push_async_callback(controller.kill)
        yield Harness(plane, client, proxy, controller, node, names[0], tuple(names[1:]), folder)


async def _drop_namespace(client: KubeClient, name: str) -> None:
    with suppress(NotFound):
        await client.delete(NAMESPACES, name, None)


def build_controller(folder: Path, url: str, token: str, *words: str) -> ControllerProcess:
    """Build a controller with short intervals and its own folder, which reaches the API at `url`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kubeconfig").write_text(yaml.safe_dump(build_kubeconfig(Server("proxy", url, token))))
    (folder / "settings.yaml").write_text(yaml.safe_dump(_QUICK))
    options = ("--kubeconfig", str(folder / "kubeconfig"), "--config", str(folder / "settings.yaml"))
    return ControllerProcess(folder, (*options, *words))
