"""`spark-operator status`: the state of an application in one line, and the verdict."""

import sys
from dataclasses import replace

from ...core.kubernetes.names import ROLE_DRIVER
from ...core.kubernetes.pods import get_status, is_pending
from ...core.kubernetes.times import format_duration
from ...core.log.driver_log import redact
from ...core.report.executors import select_pods
from ...core.report.summary import ApplicationSummary, summarize
from ...core.verdict.driver_facts import has_more_facts, read_name
from ...core.verdict.verdict import Outcome, Verdict
from ...follow.access.events import list_stops, list_warnings
from ...follow.access.find import find_application
from ...follow.access.snapshot import Snapshot, read_snapshot
from ...follow.ending.end import find_final_progress_with_pods, judge_end
from ...follow.ending.evidence import explain_failure, gather_evidence
from ...follow.narration.holds import find_lost_controller
from ...follow.narration.obstacles import describe_wait
from ...kube.client import KubeClient
from ..base.errors import ExitCode, report_failures
from ..base.program_name import format_command
from ..base.streams import paint
from ..base.styles import style_state
from ..options.cluster_access import ClusterOptions, TaskOptions
from ..options.options import TEXT, OptionalName, TextOutput
from ..output.output import clean_cell, print_resource
from ..views.application_columns import (
    describe_executors,
    describe_message,
    describe_outcome,
    describe_state,
    style_cell,
)
from .named_applications import run_with_application


def run(access: ClusterOptions, wanted: TaskOptions, name: OptionalName = None, output: TextOutput = TEXT) -> ExitCode:
    """Show the state of an application in one line, and the verdict.

    Without a name, the options of the task select the newest application that the task has submitted.

    The exit code does not depend on the state of the application: it is also 0 for a failed application. It is 3 if the
    application does not exist, or if a permission is missing. In a script, use `spark-operator wait`: it has an exit
    code for each outcome.

    With a format other than text, the command prints the application as the API returns it, and needs no permission to
    list pods. You can edit this output, and submit it under another name with `spark-operator submit`.

    Examples:
        # The state of an application in the current namespace
        spark-operator status pi

        # The state of the newest application of a task of Airflow
        spark-operator status --dag sales --task load

        # Print the application. Change the output, and submit it under another name
        spark-operator status pi -o yaml
    """
    return run_with_application(
        access,
        name,
        wanted,
        lambda client, name: _show(client, name) if output == TEXT else _print(client, name, output),
    )


async def _print(client: KubeClient, name: str, output: str) -> ExitCode:
    resource, _ = await find_application(client, name)
    print_resource(resource, output)
    return ExitCode.SUCCESS


async def _show(client: KubeClient, name: str) -> ExitCode:
    snapshot = await read_snapshot(client, name, with_events=False)
    seen, namespace = snapshot.progress, snapshot.reference.namespace
    events = await list_stops(client, namespace, seen.driver_name) if has_more_facts(seen) else []
    for pod in select_pods(snapshot.resource, snapshot.pods or (), ROLE_DRIVER):
        if is_pending(get_status(pod)):
            events += await list_warnings(client, namespace, read_name(pod))
    is_lost = await find_lost_controller(client, snapshot.resource) is not None
    summary = summarize(snapshot.resource, client.get_time(), snapshot.pods, events, controller_lost=is_lost)
    verdict, sentence = await _judge(client, snapshot, summary.verdict)
    summary = replace(summary, verdict=verdict)
    print(_describe(summary))
    resume = f"run {format_command('resume', snapshot.reference.name, snapshot.reference.namespace)}"
    wait = await describe_wait(client, snapshot.reference, snapshot.resource, resume)
    if wait is not None:
        print(paint(f"Waiting: {clean_cell(wait)}", "yellow", sys.stdout))
    if text := describe_message(summary) if verdict.outcome is Outcome.WAITING else sentence:
        print(paint(clean_cell(text), style_state(verdict.outcome), sys.stdout))
    return report_failures(snapshot.refusals)


async def _judge(client: KubeClient, snapshot: Snapshot, reported: Verdict) -> tuple[Verdict, str]:
    """Return the verdict and its sentence, with the cause that only Events or the driver's log show."""
    if reported.outcome is not Outcome.FAILED:
        return reported, reported.sentence
    seen = await find_final_progress_with_pods(client, snapshot.reference, snapshot.resource)
    evidence = await gather_evidence(client, snapshot.reference, seen or snapshot.progress)
    verdict = judge_end(seen, evidence) if seen is not None else reported
    return verdict, redact(explain_failure(verdict, evidence))


def _describe(summary: ApplicationSummary) -> str:
    """Return one line: `pi: RunningHealthy, attempt 1, 2 of 2 executors running, created 3m12s ago`."""
    outcome = describe_outcome(summary)
    state = describe_state(summary)
    coloured = [paint(clean_cell(part), style_cell(part), sys.stdout) for part in (state, outcome) if part]
    parts = [f"attempt {summary.attempts}" if summary.attempts else ""]
    if summary.verdict.outcome is Outcome.WAITING:
        parts.append(describe_executors(summary, "executors running"))
    if summary.duration is not None:
        duration = format_duration(summary.duration)
        parts.append(f"lasted {duration}" if outcome else f"created {duration} ago")
    if summary.is_suspended and not summary.is_held:
        parts.append("suspended")
    if summary.task:
        parts.append(f"task {summary.task}")
    return f"{clean_cell(summary.name)}: {', '.join([*coloured, *(clean_cell(part) for part in parts if part)])}"
