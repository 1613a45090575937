"""`spark-operator describe`: everything that the cluster knows about one application."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from ...core.dialects.dialect import dialect_of
from ...core.dialects.progress import Phase
from ...core.kubernetes.names import LABEL_TASK
from ...core.kubernetes.pods import get_object, get_status, get_text, list_objects
from ...core.kubernetes.times import format_duration
from ...core.log.driver_log import redact
from ...core.log.line_levels import LineLevels
from ...core.log.root_cause import explain_cause
from ...core.log.secrets import hide_arguments
from ...core.report.summary import ApplicationSummary
from ...core.report.timeline import Timeline, describe_losses
from ...core.report.timeline_rows import number_missing
from ...core.verdict.verdict import FailureKind, Outcome, Verdict
from ...follow.ending.evidence import Evidence
from ...kube.client import KubeClient
from ...kube.errors import NotFound
from ..base.errors import ExitCode, report_failures
from ..base.program_name import format_command
from ..base.styles import style_level, style_state
from ..options.cluster_access import ClusterOptions, TaskOptions
from ..options.options import OptionalName, ReportFormat, ReportOutput
from ..output.output import format_value
from ..output.section_printer import SectionPrinter
from ..views.application_columns import (
    describe_executors,
    describe_message,
    describe_outcome,
    describe_state,
    format_optional,
    style_cell,
)
from ..views.connect_servers import describe_connect_server
from ..views.description import Description, build_document, read_description
from ..views.event_rows import TITLES, build_event_row, style_type
from .named_applications import run_with_application

_MAX_ROWS: Final = 20
_LOST: Final = "not known: no pod or Event shows them"


def run(
    access: ClusterOptions, wanted: TaskOptions, name: OptionalName = None, output: ReportOutput = ReportFormat.TEXT
) -> ExitCode:
    """Describe an application: verdict, attempts and states, executors, conditions, Events and the driver's log.

    Without a name, the options of the task select the newest application that the task has submitted.

    If the application failed, the description contains the cause and the last lines of the driver's log. If you lack a
    permission, the command leaves out the section that needs it, and names the permission.

    Examples:
        # Why did the application fail?
        spark-operator describe pi

        # Whether to retry, for a script: not if the program failed, or if a retry would certainly fail again
        spark-operator describe pi -o json | jq '.verdict | .retryWorthy and .failureKind != "application"'

        # Why did the last run of a task of Airflow fail?
        spark-operator describe --dag sales --task load
    """
    return run_with_application(access, name, wanted, lambda client, name: _describe(client, name, output))


async def _describe(client: KubeClient, name: str, output: ReportFormat) -> ExitCode:
    try:
        description = await read_description(client, name)
    except NotFound:
        if await describe_connect_server(client, name):
            return ExitCode.SUCCESS
        raise
    if output is ReportFormat.JSON:
        print(format_value(build_document(description), output), end="")
    else:
        _print(description)
    return report_failures(description.snapshot.refusals)


def _print(report: Description) -> None:
    printer = SectionPrinter()
    _print_summary(printer, report)
    _print_attempts(printer, report.timeline)
    _print_executors(printer, report)
    _print_conditions(printer, report)
    if report.snapshot.events is not None:
        printer.print_heading("Events")
        rows = [build_event_row(event, report.now) for event in report.snapshot.events[-_MAX_ROWS:]]
        _print_rows(printer, TITLES, rows, len(report.snapshot.events))
    if report.evidence is not None and report.verdict.outcome is Outcome.FAILED:
        printer.print_heading("Last lines of the driver's log")
        levels = LineLevels()
        printer.print_lines(
            [redact(line) for line in report.evidence.log_lines]
            or [f"not available: {_explain_missing_log(report.verdict, report.evidence)}"],
            lambda line: style_level(levels.classify(line)),
        )


def _explain_missing_log(verdict: Verdict, evidence: Evidence) -> str:
    return (evidence.log_problem or "empty") if verdict.had_driver else "no driver was created"


def _print_summary(printer: SectionPrinter, report: Description) -> None:
    summary, verdict, resource = report.timeline.summary, report.verdict, report.snapshot.resource
    is_failed = verdict.outcome is Outcome.FAILED
    spec = get_object(resource.get("spec"))
    outcome = f"{verdict.outcome} ({verdict.failure_kind})" if verdict.failure_kind else describe_outcome(summary)
    pairs = [
        ("Name", summary.name),
        ("Namespace", summary.namespace),
        ("API version", summary.api_version),
        ("Labels", _format_labels(resource)),
        ("Airflow task", _describe_task(summary)),
        ("State", describe_state(summary)),
        ("Message", describe_message(summary)),
        ("Outcome", outcome),
        ("Verdict", "" if verdict.outcome is Outcome.WAITING else verdict.sentence),
        ("Cause", explain_cause(report.cause)),
        ("Waiting", report.wait or ""),
        ("Retry", _describe_retry(verdict) if is_failed else ""),
        ("Attempts", str(summary.attempts)),
        ("Executors", _LOST if report.timeline.has_lost_executors else describe_executors(summary)),
        ("Losses", describe_losses(report.timeline)),
        ("Created", _format_time(summary.created, report.now)),
        ("Ended", _format_time(summary.ended, report.now)),
        ("Duration", format_optional(summary.duration)),
        ("Suspended", "yes" if summary.is_suspended else ""),
        ("Queue", summary.queue),
        ("Application", _describe_program(spec)),
        ("Image", report.image),
        ("Application id", summary.progress.application_id or ""),
        ("Driver pod", report.driver),
        ("Spark UI", _describe_ui(report)),
    ]
    styles = {
        "State": style_cell(describe_state(summary)),
        "Outcome": style_state(str(verdict.outcome)),
        "Cause": "red",
        "Waiting": "yellow",
    }
    printer.print_pairs(pairs, styles)


def _print_attempts(printer: SectionPrinter, timeline: Timeline) -> None:
    printer.print_heading("States")
    rows = []
    if timeline.missing_attempts:
        rows.append((number_missing(timeline), "", "unknown", "", "the status no longer contains these attempts"))
    for attempt in timeline.attempts:
        for state in attempt.states:
            end = state.end or (timeline.end if timeline.is_live else None)
            lasted = format_duration(end - state.begin) if end and state.begin else ""
            since = format_duration(state.begin - timeline.begin) if state.begin and timeline.begin else ""
            rows.append((str(attempt.number), f"+{since}" if since else "", state.state, lasted, state.message or ""))
    titles = ("ATTEMPT", "AT", "STATE", "LASTED", "MESSAGE")
    printer.print_table(titles, rows, {"STATE": style_state})


def _print_executors(printer: SectionPrinter, report: Description) -> None:
    spans = report.timeline.executors
    if not spans:
        return
    printer.print_heading("Executors")
    begin = report.timeline.begin
    rows = [
        (
            span.name,
            str(span.state),
            f"+{format_duration(span.begin - begin)}" if span.begin and begin else "",
            format_optional((span.end or report.timeline.end) - span.begin if span.begin else None),
            span.detail,
        )
        for span in spans[-_MAX_ROWS:]
    ]
    _print_rows(printer, ("NAME", "STATE", "AT", "LASTED", "DETAIL"), rows, len(spans))


def _print_conditions(printer: SectionPrinter, report: Description) -> None:
    drivers = report.drivers
    conditions = list_objects(get_status(drivers[-1]).get("conditions")) if drivers else []
    if not conditions:
        return
    printer.print_heading("Conditions of the driver pod")
    keys = ("type", "status", "reason", "message")
    rows = [[get_text(condition.get(key)) for key in keys] for condition in conditions]
    printer.print_table([key.upper() for key in keys], rows)


def _print_rows(printer: SectionPrinter, titles: Sequence[str], rows: Sequence[Sequence[str]], count: int) -> None:
    if not rows:
        printer.print_lines(["none"])
        return
    if count > len(rows):
        printer.print_lines([f"the last {len(rows)} of {count}:"])
    printer.print_table(titles, rows, {"TYPE": style_type, "STATE": style_state})


def _describe_ui(report: Description) -> str:
    """Return the URL of the Spark UI, or the command that shows it; empty if the driver does not run."""
    resource = report.snapshot.resource
    if url := dialect_of(resource.get("apiVersion")).read_ui_url(resource):
        return url
    if report.timeline.summary.progress.phase is not Phase.RUNNING:
        return ""
    return format_command("forward", report.snapshot.reference.name, report.snapshot.reference.namespace)


def _describe_retry(verdict: Verdict) -> str:
    """Return what a retry would do after a failure."""
    if not verdict.retry_worthy:
        return "would fail again: change the application first"
    if verdict.failure_kind is FailureKind.APPLICATION:
        return "would run the same program again, and helps only if the cause was temporary"
    return "can succeed: the program did not cause the failure"


def _describe_task(summary: ApplicationSummary) -> str:
    task = summary.task
    if task is None:
        return ""
    parts = (
        str(task),
        f"run {task.run_id}" if task.run_id else "",
        f"try {task.try_number}" if task.try_number else "",
    )
    return ", ".join(part for part in parts if part)


def _describe_program(spec: object) -> str:
    fields = get_object(spec)
    words = [
        get_text(fields.get(key)) for key in ("mainClass", "jars", "pyFiles", "sparkRFiles", "mainApplicationFile")
    ]
    arguments = fields.get("driverArgs") or fields.get("arguments")
    words += [str(word) for word in arguments] if isinstance(arguments, list) else []
    return " ".join(word for word in hide_arguments(words) if word)


def _format_labels(resource: dict[str, object]) -> str:
    labels = get_object(get_object(resource.get("metadata")).get("labels"))
    # "Airflow task" shows the task; the value of its label is a hash.
    return ", ".join(f"{key}={value}" for key, value in labels.items() if key != LABEL_TASK)


def _format_time(time: datetime | None, now: datetime) -> str:
    return f"{time.astimezone():%Y-%m-%d %H:%M:%S %Z} ({format_duration(now - time)} ago)" if time else ""
