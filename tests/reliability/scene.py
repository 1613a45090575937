"""A real API server, a way to it that may go wrong, the controller as a process, and a node that tests script."""

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
from airflow_provider_spark_operator.reconcile.cache import ObjectKey
from tests.controller import ControllerProcess
from tests.reliability.lives import TrackedApplication, find_endings
from tests.reliability.node import ScriptedNode
from tests.reliability.proxy import Proxy

from control_plane import ControlPlane, Server, kubeconfig_of

DEADLINE = 600
_QUICK = {
    "reconcileIntervalSeconds": 2,
    "missingDriverGracePeriodSeconds": 2,
    "missingDriverRequeueIntervalSeconds": 0.1,
    "firstRetrySeconds": 0.05,
}


@dataclass
class Scene:
    """What a test has.

    Attributes:
        plane: the control plane.
        client: the way to it past any fault.
        proxy: the controller's way to it.
        controller: not started yet.
        node: runs what the controller creates.
        namespace: of this test alone.
        others: more such namespaces, where asked for.
        folder: for files.
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
        """The application of that name."""
        return TrackedApplication(self.client, self.node, ObjectKey(self.namespace, name))

    async def submit(self, names: Iterable[str]) -> list[TrackedApplication]:
        """Hand in applications, all at once."""
        lives = [self.track(name) for name in names]
        await asyncio.gather(*(each.submit() for each in lives))
        return lives

    async def wait_until_completed(self, lives: Iterable[TrackedApplication]) -> None:
        """Wait for the end of all; then each must have gone as it should have."""
        lives = list(lives)
        try:
            async with asyncio.timeout(DEADLINE):
                await asyncio.gather(*(each.wait_until_completed() for each in lives))
        except TimeoutError:
            unfinished = [each.describe_progress() for each in lives if not each.is_over]
            raise AssertionError(f"not over after {DEADLINE} s: {'; '.join(unfinished)}") from None
        for each in lives:
            each.check()


@asynccontextmanager
async def open_scene(plane: ControlPlane, folder: Path, *words: str, others: int = 0) -> AsyncIterator[Scene]:
    """A scene in a new namespace, or several; `words` are more options for the controller."""
    names = [f"reliability-{secrets.token_hex(3)}" for _ in range(1 + others)]
    async with AsyncExitStack() as stack:
        access = ClusterAccess(kubeconfig_document=kubeconfig_of(plane.server))
        client = await stack.enter_async_context(await open_client(access))
        for name in names:
            await client.create(NAMESPACES, {"metadata": {"name": name}}, None)
            stack.push_async_callback(_drop_namespace, client, name)
        proxy = await stack.enter_async_context(Proxy(plane.server).run())
        node = ScriptedNode(client, find_endings)
        await stack.enter_async_context(node.run())
        controller = build_controller(folder, proxy.url, plane.token, "--namespaces", ",".join(names), *words)
        stack.push_async_callback(controller.kill)
        yield Scene(plane, client, proxy, controller, node, names[0], tuple(names[1:]), folder)


async def _drop_namespace(client: KubeClient, name: str) -> None:
    with suppress(NotFound):
        await client.delete(NAMESPACES, name, None)


def build_controller(folder: Path, url: str, token: str, *words: str) -> ControllerProcess:
    """A controller with a folder of its own, which is impatient and reaches the API at `url`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kubeconfig").write_text(yaml.safe_dump(kubeconfig_of(Server("proxy", url, token))))
    (folder / "settings.yaml").write_text(yaml.safe_dump(_QUICK))
    options = ("--kubeconfig", str(folder / "kubeconfig"), "--config", str(folder / "settings.yaml"))
    return ControllerProcess(folder, (*options, *words))
