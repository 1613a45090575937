"""Act on the applications that a command line names, one result line for each."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Annotated, Any, TypeAlias

from ...core.kubernetes.json_object import JsonObject
from ...core.report.summary import read_task
from ...follow.access.find import find_application, list_served_kinds
from ...follow.access.reference import ApplicationReference
from ...kube.client import KubeClient
from ...kube.connection import ClusterAccess
from ...kube.errors import Forbidden, KubeError
from ...kube.resources import ResourceType
from ..base.errors import CommandError, ExitCode, advise_permissions, print_error, print_note, report_failures
from ..base.object_names import require_applications
from ..options.cluster_access import run_with_client
from ..options.completers import complete_applications
from ..options.declaration import Parameter
from ..options.options import ResultFormat
from ..options.selection import TaskFilter
from ..output.output import print_resource
from ..views.application_end import Wait, wait_and_report

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


def print_accepted(body: JsonObject, output: ResultFormat, done: str) -> ExitCode:
    """Print a manifest that the API server has checked.

    Args:
        body: The manifest.
        output: The format. A text is printed as YAML.
        done: What was not done, for example `created`.
    """
    print_resource(body, ResultFormat.YAML if output is ResultFormat.TEXT else output)
    print_note(f"the API server accepts the application; nothing was {done}")
    return ExitCode.SUCCESS


async def report_submission(
    client: KubeClient, reference: ApplicationReference, done: str, output: ResultFormat, waiting: Wait | None
) -> ExitCode:
    """Print an application that was submitted, and wait for its end if the user wants that.

    Args:
        client: The client of the cluster.
        reference: The application.
        done: What was done, for example `created`.
        output: The format. A text is printed only if the command does not wait.
        waiting: How to wait. None to return at once.
    """
    if output is ResultFormat.NAME:
        print(format_name(reference), flush=True)
    elif output is not ResultFormat.TEXT:
        print_resource(await client.get(reference.resource, reference.name, reference.namespace), output)
    elif waiting is None:
        print(f"{format_name(reference)} {done}")
    if waiting is None:
        return ExitCode.SUCCESS
    print_note(f"{reference} {done}")
    return await wait_and_report(client, reference, waiting)


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


def run_with_application(
    access: ClusterAccess,
    name: str | None,
    wanted: TaskFilter,
    work: Callable[[KubeClient, str], Coroutine[Any, Any, ExitCode]],
) -> ExitCode:
    """Open a client, and run a function on one application: the named one, or the newest one of a task.

    If an API group is not permitted, the newest application of the other groups is chosen. The missing permission is
    reported, and the exit code is not 0.

    Args:
        access: How to reach the cluster.
        name: The name of the application. None to select it by its task.
        wanted: The task. Empty if there is a name.
        work: Called with the client and the name, perhaps with the API group.

    Raises:
        CommandError: There is neither a name nor a task, or there are both, or the task has no application.
    """
    names = [name] if name else []
    return run_with_applications(access, names, [wanted], lambda client, found: work(client, found[0]))


def run_with_applications(
    access: ClusterAccess,
    names: Sequence[str],
    wanted: Sequence[TaskFilter],
    work: Callable[[KubeClient, Sequence[str]], Coroutine[Any, Any, ExitCode]],
) -> ExitCode:
    """Open a client, and run a function on a number of applications. See `run_with_application`.

    Args:
        access: How to reach the cluster.
        names: The names of the applications. Empty to select them by their tasks.
        wanted: The task of each application. If two have the same task, the newest application comes last.
        work: Called with the client and the names, perhaps with the API group.

    Raises:
        CommandError: There are neither enough names nor tasks, or there are both, or a task has no other application.
    """
    if bool(names) is any(wanted) or len(names) not in (0, len(wanted)):
        what = "the name of an application" if len(wanted) == 1 else f"the names of {len(wanted)} applications"
        raise CommandError(f"give either {what}, or at least one of --dag, --task and --run", ExitCode.INVALID)

    async def find_and_work(client: KubeClient) -> ExitCode:
        refusals: list[Forbidden] = []
        try:
            exit_code = await work(client, names or await _find_newest(client, wanted, refusals))
        finally:
            failure = report_failures(refusals)
        return exit_code or failure

    return run_with_client(access, find_and_work)


async def _find_newest(client: KubeClient, wanted: Sequence[TaskFilter], refusals: list[Forbidden]) -> list[str]:
    """Return the name, with the API group, of the newest application of each task. Add groups that are not permitted.

    Raises:
        CommandError: A task has none.
    """
    found = await list_applications(client, client.default_namespace, None, refusals)
    newest = sorted(found, key=lambda one: (one[1]["metadata"]["creationTimestamp"], one[0].name), reverse=True)
    names: list[str] = []
    for task in reversed(wanted):
        selected = [format_name(one) for one, body in newest if task.accepts(read_task(body["metadata"]))]
        others = [name for name in selected if name not in names]
        if not others:
            what, place = "other application" if selected else "application", f"namespace {client.default_namespace}"
            raise CommandError(describe_absence(what, str(task), place, task, found), ExitCode.API_FAILED)
        names.insert(0, others[0])
    return names


def describe_absence(what: str, conditions: str, place: str, task: TaskFilter, found: Sequence[Found]) -> str:
    """Return that no application meets conditions, how many others there are, and which task the user may have meant.

    Args:
        what: What does not exist, for example `application`.
        conditions: The conditions as on the command line.
        place: Where the applications are.
        task: The task in the conditions.
        found: All applications.
    """
    others = f" ({len(found)} {'other' if len(found) == 1 else 'others'})" if found else ""
    advice = task.suggest(read_task(body["metadata"]) for _, body in found)
    return f"no {what} with {conditions} in {place}{others}{advice}"


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

    exit_code, failures = ExitCode.SUCCESS, list[Exception]()
    tasks = [asyncio.create_task(run(action)) for action in actions]
    try:
        for task in tasks:
            result = await task
            if isinstance(result, str):
                print(result, flush=True)
                continue
            print_error(str(result))
            failures.append(result)
            exit_code = exit_code or (result.exit_code if isinstance(result, CommandError) else ExitCode.API_FAILED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    advise_permissions(failures)
    return exit_code
