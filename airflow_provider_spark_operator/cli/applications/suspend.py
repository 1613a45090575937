"""`spark-operator suspend`: suspend applications."""

import asyncio
from collections.abc import Sequence

from ...core.dialects.dialect import dialect_of, read_progress
from ...core.dialects.progress import Phase
from ...core.kubernetes.json_object import JsonObject
from ...core.verdict.obstacles import ignores_suspension
from ...follow.access.reference import ApplicationReference
from ...follow.submission.stop import SuspensionNotSupported, set_suspended
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ..base.errors import CommandError, ExitCode
from ..options.cluster_access import ClusterOptions, run_with_client
from .named_applications import ApplicationNames, act_on_names

# An operator reacts within a second, unless it is overloaded.
REACTION_SECONDS = 15.0


def run(access: ClusterOptions, names: ApplicationNames) -> ExitCode:
    """Suspend applications: the operator deletes their pods.

    If an application has no driver yet, the operator creates none until the application is resumed.

    After `resume`, the program starts again from its beginning, in a new attempt. The suspension does not count as a
    restart. An application that has ended cannot be suspended. The command fails, and changes nothing, if the
    CustomResourceDefinition in the cluster has no `spec.suspend`. If a driver runs, the command waits up to 15 s until
    the operator stops it, and fails if the operator ignores the field.

    Examples:
        # Stop the driver of an application until it is resumed
        spark-operator suspend pi
    """
    return run_with_client(access, lambda client: set_all_suspended(client, names, suspended=True))


async def set_all_suspended(client: KubeClient, names: Sequence[str], *, suspended: bool) -> ExitCode:
    """Suspend or resume applications, and print the result for each.

    Args:
        client: The client of the cluster.
        names: The names of the applications, in the namespace of the client.
        suspended: Whether to suspend them.
    """

    async def change(reference: ApplicationReference, resource: JsonObject) -> str:
        action, done = ("suspend", "suspended") if suspended else ("resume", "resumed")
        seen = read_progress(resource)
        if seen.phase is Phase.ENDED:
            raise CommandError(f"could not {action} {reference}: it has ended in state {seen.state}", ExitCode.INVALID)
        if dialect_of(resource.get("apiVersion")).is_suspended(resource) is suspended:
            return f"unchanged: it is {'already' if suspended else 'not'} suspended"
        try:
            stored = await set_suspended(client, reference, suspended=suspended)
        except SuspensionNotSupported as error:
            raise CommandError(f"could not {action} {reference}: {error}", ExitCode.INVALID) from None
        if suspended:
            await _await_reaction(client, reference, stored)
        return done

    return await act_on_names(client, names, change)


async def _await_reaction(client: KubeClient, reference: ApplicationReference, resource: JsonObject) -> None:
    """Wait until the operator stops the driver of an application that was suspended.

    Raises:
        CommandError: The driver still runs after `REACTION_SECONDS`. Old releases of operators ignore the field.
        KubeError: The API rejected the request or could not be reached.
    """
    deadline, backoff = asyncio.get_running_loop().time() + REACTION_SECONDS, Backoff(first=0.2, longest=2.0)
    while ignores_suspension(read_progress(resource), resource, settled=True):
        if asyncio.get_running_loop().time() >= deadline:
            raise CommandError(
                f"{reference} still runs {REACTION_SECONDS:.0f} s after spec.suspend was set: its operator is slow, or "
                "ignores the field. Delete the application to stop it",
                ExitCode.TIMED_OUT,
            )
        await asyncio.sleep(backoff.next())
        resource = await client.get(reference.resource, reference.name, reference.namespace)
