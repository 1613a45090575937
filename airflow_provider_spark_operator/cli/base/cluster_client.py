"""Run a verb with a client for the cluster."""

from collections.abc import Callable, Coroutine
from typing import Any

from ...kube.client import KubeClient
from ...kube.connection import ClusterAccess, open_client
from .errors import ExitCode
from .signals import GRACE_SECONDS, run_until_signal


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
