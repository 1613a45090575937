"""Act on the applications that a command line names, one result line for each."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Annotated, TypeAlias

from ...core.kubernetes.json_object import JsonObject
from ...follow.access.find import find_application, list_served_kinds
from ...follow.access.reference import ApplicationReference
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, KubeError
from ...kube.resources import ResourceType
from ..base.errors import CommandError, print_error
from ..base.exit_codes import ExitCode
from ..base.object_names import require_applications
from ..options.completers import complete_applications
from ..options.declaration import Parameter

# Requests that run at the same time.
_CONCURRENT = 8

Found: TypeAlias = tuple[ApplicationReference, JsonObject]
Find: TypeAlias = Callable[[KubeClient, str], Awaitable[tuple[JsonObject, ResourceType]]]
Act: TypeAlias = Callable[[ApplicationReference, JsonObject], Awaitable[str]]


ApplicationNames: TypeAlias = Annotated[
    list[str],
    Parameter("NAME…", "names of the applications", check=require_applications, complete=complete_applications),
]


def format_name(reference: ApplicationReference) -> str:
    """Return the name of an application as kubectl prints it: `sparkapplication.spark.apache.org/pi`."""
    return f"{reference.resource.kind.lower()}.{reference.resource.group}/{reference.name}"


async def list_applications(
    client: KubeClient, namespace: str | None, selector: str | None, refusals: list[Forbidden] | None = None
) -> list[Found]:
    """List the applications of every API group that the cluster serves.

    Args:
        client: The client of the cluster.
        namespace: The namespace. None for all namespaces.
        selector: Selects applications by their labels. None for all applications.
        refusals: Receives the errors of API groups that are not permitted. None if every group is needed.

    Raises:
        KubeError: The API rejected a request or could not be reached.
    """

    async def list_kind(kind: ResourceType) -> list[Found]:
        try:
            found = await client.list(kind, namespace, label_selector=selector)
        except Forbidden as error:
            if refusals is None:
                raise
            refusals.append(error)
            return []
        return [(ApplicationReference.of(item, kind), item) for item in found.items]

    lists = await asyncio.gather(*map(list_kind, await list_served_kinds(client)))
    return [one for found in lists for one in found]


async def act_on_names(client: KubeClient, names: Sequence[str], act: Act, find: Find = find_application) -> ExitCode:
    """Find resources by their names in the namespace of the client, and call a function for each.

    A failure is reported, and the others continue.

    Args:
        client: The client of the cluster.
        names: The names.
        act: Called with each resource. Returns what was done, for example `deleted`.
        find: Reads a resource by its name. By default, the resources are applications.

    Returns:
        The exit code of the first failure; success if there is none.
    """

    async def find_and_act(name: str) -> str:
        resource, kind = await find(client, name)
        return await _act_and_describe(act, ApplicationReference.of(resource, kind), resource)

    return await _gather_results([partial(find_and_act, name) for name in names])


async def act_on_applications(found: Sequence[Found], act: Act) -> ExitCode:
    """Call a function for each application. See `act_on_names`."""
    return await _gather_results([partial(_act_and_describe, act, *one) for one in found])


async def _act_and_describe(act: Act, reference: ApplicationReference, resource: JsonObject) -> str:
    return f"{format_name(reference)} {await act(reference, resource)}"


async def _gather_results(actions: Sequence[Callable[[], Awaitable[str]]]) -> ExitCode:
    """Run actions, some at the same time, and print their results in order."""
    slots = asyncio.Semaphore(_CONCURRENT)

    async def run(action: Callable[[], Awaitable[str]]) -> str | KubeError | CommandError:
        async with slots:
            try:
                return await action()
            except (KubeError, CommandError) as error:
                return error

    exit_code = ExitCode.SUCCESS
    tasks = [asyncio.create_task(run(action)) for action in actions]
    try:
        for task in tasks:
            result = await task
            if isinstance(result, str):
                print(result, flush=True)
                continue
            print_error(str(result))
            exit_code = exit_code or (result.exit_code if isinstance(result, CommandError) else ExitCode.API_FAILED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return exit_code
