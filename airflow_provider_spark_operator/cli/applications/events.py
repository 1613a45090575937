"""`spark-operator events`: the Kubernetes Events of an application and its pods."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Final

from ...core.kubernetes.json_object import JsonObject
from ...core.report.summary import has_ended
from ...core.report.timeline import build_timeline
from ...follow.access.requests import read_present
from ...follow.access.snapshot import Snapshot, read_snapshot
from ...kube.client import KubeClient
from ...kube.errors import TRANSIENT
from ...kube.resources import EVENTS
from ..base.errors import CommandError, ExitCode, print_note, report_failures
from ..options.cluster_access import ClusterOptions, TaskOptions
from ..options.declaration import Parameter
from ..options.options import TABLE, EventOutput, OptionalName
from ..output.output import ResourceList
from ..output.tables import Table, build_columns, print_table
from ..views.event_rows import TITLES, build_event_row, style_type
from .named_applications import run_with_application

# Airflow's role permits to list Events, but not to watch them.
_PAUSE_SECONDS: Final = 2.0
# The items of a list have no kind.
_EVENT: Final = {"apiVersion": "v1", "kind": "Event"}
_WIDTHS: Final = (9, 7, 20, 30, 0)


def run(
    access: ClusterOptions,
    wanted: TaskOptions,
    name: OptionalName = None,
    follow: Annotated[bool, Parameter("-f --follow", "print new events until the application has ended")] = False,
    output: EventOutput = TABLE,
) -> ExitCode:
    """List the Kubernetes Events of an application and its pods, the oldest first.

    Kubernetes deletes Events after an hour by default. Events of deleted driver pods are included. Events of deleted
    executor pods usually cannot be found, because the names of these pods have a random prefix.

    Without a name, the options of the task select the newest application that the task has submitted.

    Examples:
        # Events of an application and its pods in the current namespace
        spark-operator events pi

        # Print new events until the application has ended
        spark-operator events pi -f
    """
    if follow and output != TABLE:
        raise CommandError(f"--follow prints a table only: it cannot be combined with -o {output}", ExitCode.INVALID)
    return run_with_application(
        access, name, wanted, lambda client, name: _follow(client, name) if follow else _list(client, name, output)
    )


async def _list(client: KubeClient, name: str, output: str) -> ExitCode:
    snapshot = await read_snapshot(client, name)
    events = _require_events(snapshot)
    now = client.get_time()
    if output != TABLE:
        _print_resources(events, output)
        return report_failures(snapshot.refusals)
    print_table(TITLES, [build_event_row(one, now) for one in events], {"TYPE": style_type})
    if not events:
        print_note(f"no events found for {snapshot.reference}")
    if build_timeline(snapshot.resource, now, all_pods=snapshot.pods, events=events).has_lost_executors:
        print_note(
            "could not find the Events of the executors: Spark has deleted their pods, and the names of "
            "these pods are not known"
        )
    return report_failures(snapshot.refusals)


def _print_resources(events: Sequence[JsonObject], output: str) -> None:
    printer = ResourceList(output)
    printer.print([{**_EVENT, **event} for event in events])
    printer.finish()


async def _follow(client: KubeClient, name: str) -> ExitCode:
    """Print Events that are new or happened again, until the application has ended or was deleted."""
    printer = Table(build_columns(("TIME", *TITLES[1:]), {"TYPE": style_type}, _WIDTHS))
    snapshot, shown = await read_snapshot(client, name), set[tuple[str, str]]()
    while True:
        events = [event for event in _require_events(snapshot) if _identify(event) not in shown]
        printer.print([build_event_row(event, None) for event in events])
        shown |= {_identify(event) for event in events}
        if has_ended(snapshot.progress):
            return ExitCode.SUCCESS
        await asyncio.sleep(_PAUSE_SECONDS)
        try:
            if await read_present(client, snapshot.reference) is None:
                print_note(f"{snapshot.reference} was deleted")
                return ExitCode.SUCCESS
            snapshot = await read_snapshot(client, name)
        except TRANSIENT as error:
            print_note(f"{error}; retrying")


def _require_events(snapshot: Snapshot) -> list[JsonObject]:
    """Return the Events.

    Raises:
        Forbidden: Events may not be listed.
    """
    if snapshot.events is None:
        raise next(error for error in snapshot.refusals if error.resource == EVENTS.qualified_name)
    return snapshot.events


def _identify(event: JsonObject) -> tuple[str, str]:
    metadata = event["metadata"]
    return str(metadata.get("uid")), str(metadata.get("resourceVersion"))
