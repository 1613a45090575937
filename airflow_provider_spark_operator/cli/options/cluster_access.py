"""The options that select a cluster and tasks, and the client for the cluster."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeAlias

from ...kube.client import KubeClient
from ...kube.connection import ClusterAccess, open_client
from ..base.errors import ExitCode
from ..base.signals import GRACE_SECONDS, run_until_signal
from .declaration import OptionGroup
from .options import Context, DagId, Kubeconfig, Namespace, RunId, TaskId
from .selection import TaskFilter


def _build_access(context: Context = None, kubeconfig: Kubeconfig = None, namespace: Namespace = None) -> ClusterAccess:
    return ClusterAccess(kubeconfig=kubeconfig, context=context, namespace=namespace)


def _build_filter(dag: DagId = None, task: TaskId = None, run: RunId = None) -> TaskFilter:
    return TaskFilter(dag, task, run)


ClusterOptions: TypeAlias = Annotated[ClusterAccess, OptionGroup(_build_access)]
"""The options that select a cluster and a namespace."""

TaskOptions: TypeAlias = Annotated[TaskFilter, OptionGroup(_build_filter)]
"""The options that select applications by the task that submitted them."""


def run_with_client(access: ClusterAccess, main: Callable[[KubeClient], Coroutine[Any, Any, ExitCode]]) -> ExitCode:
    """Open a client, run a coroutine with it until it ends or a signal cancels it, and close the client.

    Args:
        access: The options `--kubeconfig`, `--context` and `--namespace`. The rules of kubectl apply to the others:
            `KUBECONFIG`, `~/.kube/config`, its current context and the namespace of that context, or the service
            account of the pod. `client.default_namespace` is the resulting namespace.
        main: Creates the coroutine.

    Returns:
        The result of the coroutine, or INTERRUPTED after a signal.

    Raises:
        ConfigurationError: The configuration of the client is missing or invalid.
        KubeError: A request failed.
    """

    async def run() -> ExitCode:
        async with await open_client(access) as client:
            return await main(client)

    return run_until_signal(run, after_sigterm=ExitCode.INTERRUPTED, grace_seconds=GRACE_SECONDS)
