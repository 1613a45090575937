"""A local cluster with the controller on it, as `local up` and `local run` need it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.crds import custom_resource_definitions
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import AlreadyExists
from airflow_provider_spark_operator.kube.resources import SERVICE_ACCOUNTS
from airflow_provider_spark_operator.local.runtime import spark_images
from airflow_provider_spark_operator.reconcile.controller import Controller
from airflow_provider_spark_operator.reconcile.election import Elector, elect
from airflow_provider_spark_operator.reconcile.lease import LeaseReference
from airflow_provider_spark_operator.reconcile.managers import Identity
from airflow_provider_spark_operator.reconcile.scope import EveryNamespace
from airflow_provider_spark_operator.reconcile.settings import ControllerSettings
from local_kubernetes.cluster import LocalCluster, LocalClusterError
from local_kubernetes.home import UnusableHome
from local_kubernetes.kubelet.images import ImageRule

# The account that the Apache operator's chart gives to drivers: its users' documents name it.
WORKLOAD_SERVICE_ACCOUNT = "spark"

# Other controllers see by this Lease that the one of the local cluster is alive. The holder has a fixed name: a folder
# has one cluster at a time, so the cluster that follows a killed one need not wait until the Lease expires.
LEASE = LeaseReference("kube-system", "spark-operator-local")
_HOLDER = "local-cluster"

Result = TypeVar("Result")


@dataclass(frozen=True)
class RunningCluster:
    """A local cluster that is ready: its kubeconfig, a client, and the controller at work."""

    kubeconfig: Path
    client: KubeClient
    controller: "asyncio.Task[None]"

    async def beside(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run `work` for as long as the controller lives; what ends the controller ends the work."""
        task = asyncio.create_task(work)
        try:
            await asyncio.wait({task, self.controller}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await self.controller
                raise CommandError("the controller has stopped", ExitCode.INFRASTRUCTURE_FAILED)
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
    """Start a cluster in the folder `home`, and take it down at the end, with every process in it.

    With `keep`, its objects stay in the folder, and those of the last such cluster there are back. With `repair`,
    damaged records among them are dropped, after a copy has been kept. With `take_over`, the controller also manages
    resources that another controller managed last.

    Raises:
        CommandError: it cannot be started.
    """
    try:
        async with (
            LocalCluster(
                home, custom_resource_definitions(), images=images or spark_images(), keep=keep, repair=repair
            ) as cluster,
            await open_client(ClusterAccess(kubeconfig=cluster.kubeconfig)) as client,
            _run_controller(client, cluster.kubeconfig, take_over=take_over) as controller,
        ):
            await _create_workload_account(client)
            yield RunningCluster(cluster.kubeconfig, client, controller)
    except UnusableHome as error:
        raise CommandError(f"--home: {error}", ExitCode.INVALID) from None
    except LocalClusterError as error:
        raise CommandError(str(error), ExitCode.INFRASTRUCTURE_FAILED) from None


async def _create_workload_account(client: KubeClient) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": WORKLOAD_SERVICE_ACCOUNT}}
    with suppress(AlreadyExists):  # it was kept
        await client.create(SERVICE_ACCOUNTS, account, client.default_namespace)


@asynccontextmanager
async def _run_controller(
    client: KubeClient, kubeconfig: Path, *, take_over: bool
) -> AsyncIterator["asyncio.Task[None]"]:
    """Run the controller, which leaves to other controllers what they manage, as `reconcile` does."""
    settings = ControllerSettings()
    settings = replace(settings, takeover=replace(settings.takeover, take_over=take_over))
    identity = Identity(settings.decisions.operator_name, LEASE)
    access = ClusterAccess(kubeconfig=kubeconfig)
    ready = asyncio.Event()
    async with (
        elect(Elector(client, LEASE, _HOLDER, settings.election.terms)) as leadership,
        await open_client(access, gate=leadership.gate, field_manager=identity.field_manager) as managing,
    ):
        controller = Controller(managing, EveryNamespace(), settings, leadership=leadership, identity=identity)
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
