"""A local cluster for Spark: local-kubernetes with the Spark runtime, and the controller on it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from local_kubernetes.cluster import LocalCluster, LocalClusterError
from local_kubernetes.kubelet.node.images import ImageRule

from ..core.kubernetes.ownership import LOCAL_LEASE
from ..crds import build_custom_resource_definitions
from ..kube.client import KubeClient
from ..kube.connection import ClusterAccess, open_client
from ..kube.errors import AlreadyExists
from ..kube.resources import SERVICE_ACCOUNTS
from ..reconcile.controller import REPEATED_WRITES, Controller
from ..reconcile.objects.scope import EveryNamespace
from ..reconcile.ownership.election import Elector, elect
from ..reconcile.settings.settings import ControllerSettings
from .runtime import build_spark_images

# The service account that the chart of the Apache operator creates for drivers. Its users' documents name the account.
WORKLOAD_SERVICE_ACCOUNT = "spark"

# The Lease shows other controllers that the controller of the local cluster is running. The holder has a fixed
# name, so that a cluster that follows a killed one does not wait until the Lease expires. A folder has one cluster at
# a time.
_HOLDER = "local-cluster"

Result = TypeVar("Result")


@dataclass(frozen=True)
class RunningCluster:
    """A local cluster that is ready: its kubeconfig, a client, and the task that runs the controller."""

    kubeconfig: Path
    client: KubeClient
    controller: "asyncio.Task[None]"

    async def run_with_controller(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run `work` to its end, or until the controller ends.

        Raises:
            LocalClusterError: The controller ended first. If it failed, its own error is raised.
        """
        task = asyncio.create_task(work)
        try:
            await asyncio.wait({task, self.controller}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await self.controller
                raise LocalClusterError("the controller of the local cluster stopped")
            return await task
        finally:
            task.cancel()
            await asyncio.wait({task})


@asynccontextmanager
async def run_cluster(
    home: Path,
    *,
    images: Sequence[ImageRule] | None = None,
    keep: bool = False,
    repair: bool = False,
    take_over: bool = False,
) -> AsyncIterator[RunningCluster]:
    """Start a cluster and its controller; stop them, and every process of the cluster, at the end.

    Args:
        home: The directory for the state of the cluster; it is created if it does not exist.
        images: The images that the cluster can run; by default the images of `build_spark_images`.
        keep: Whether to keep the objects in the directory for the next cluster that keeps them.
        repair: Whether to drop damaged records of kept objects, after keeping a copy of them.
        take_over: Whether the controller also manages resources that belong to another controller.

    Raises:
        LocalClusterError: The cluster could not be started, or one of its parts failed.
    """
    definitions = build_custom_resource_definitions()
    async with (
        LocalCluster(home, definitions, images=images or build_spark_images(), keep=keep, repair=repair) as cluster,
        await open_client(ClusterAccess(kubeconfig=cluster.kubeconfig)) as client,
        _run_controller(client, cluster.kubeconfig, take_over=take_over) as controller,
    ):
        await _create_workload_account(client)
        yield RunningCluster(cluster.kubeconfig, client, controller)


async def _create_workload_account(client: KubeClient) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": WORKLOAD_SERVICE_ACCOUNT}}
    with suppress(AlreadyExists):  # an earlier cluster kept it
        await client.create(SERVICE_ACCOUNTS, account, client.default_namespace)


@asynccontextmanager
async def _run_controller(
    client: KubeClient, kubeconfig: Path, *, take_over: bool
) -> AsyncIterator["asyncio.Task[None]"]:
    """Run the controller until the context ends. The controller is ready when the context begins."""
    settings = ControllerSettings()
    settings = replace(settings, takeover=replace(settings.takeover, take_over=take_over))
    access = ClusterAccess(kubeconfig=kubeconfig)
    ready = asyncio.Event()
    async with (
        elect(Elector(client, LOCAL_LEASE, _HOLDER, settings.election.terms)) as leadership,
        await open_client(
            access, retry=REPEATED_WRITES, check=leadership.check, field_manager=LOCAL_LEASE.field_manager
        ) as managing,
    ):
        controller = Controller(managing, EveryNamespace(), settings, leadership=leadership, lease=LOCAL_LEASE)
        task = asyncio.create_task(controller.run(ready.set))
        became_ready = asyncio.create_task(ready.wait())
        try:
            await asyncio.wait({task, became_ready}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                await task
            yield task
        finally:
            for each in (task, became_ready):
                each.cancel()
            await asyncio.wait({task, became_ready})
