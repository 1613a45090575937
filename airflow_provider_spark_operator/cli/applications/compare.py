"""`spark-operator compare`: show two applications side by side."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from difflib import SequenceMatcher
from typing import Annotated, Final

from ...core.compose.manifest import build_manifest
from ...core.convert.document import convert_document
from ...core.dialects.progress import ExecutorState
from ...core.kubernetes.json_object import JsonObject, change_texts
from ...core.kubernetes.names import ANNOTATION_TTL_AFTER_SUCCESS
from ...core.kubernetes.pods import get_object, get_text, list_objects
from ...core.kubernetes.times import format_duration
from ...core.log.root_cause import explain_cause
from ...core.log.secrets import hide_secrets
from ...core.parameters.arguments import DEFAULT_TTL_SECONDS, TTL_AFTER_SUCCESS_SECONDS
from ...core.states.states import RUNNING
from ...follow.submission.stamp import annotations_of
from ...kube.client import KubeClient
from ..base.errors import ExitCode, report_failures
from ..base.object_names import require_application
from ..options.assignment import format_path
from ..options.cluster_access import ClusterOptions
from ..options.completers import complete_applications
from ..options.declaration import Parameter
from ..options.options import DagId, ReportFormat, ReportOutput, RunIds, TaskId
from ..options.selection import TaskFilter
from ..output.output import format_value
from ..output.section_printer import SectionPrinter
from ..views.application_columns import describe_outcome, format_optional, style_cell
from ..views.description import LOST_EXECUTORS, Description, build_document, read_description
from .named_applications import run_with_applications

_TITLES: Final = ("", "FIRST", "SECOND")
_DEFAULT_LIVES: Final = {str(1000 * seconds) for seconds in (DEFAULT_TTL_SECONDS, TTL_AFTER_SUCCESS_SECONDS)}


def _declare(which: str) -> Parameter:
    return Parameter(f"{which.upper()}", f"name of the {which} application", require_application, complete_applications)


def run(
    access: ClusterOptions,
    first: Annotated[str | None, _declare("first")] = None,
    second: Annotated[str | None, _declare("second")] = None,
    dag: DagId = None,
    task: TaskId = None,
    runs: RunIds = None,
    output: ReportOutput = ReportFormat.TEXT,
) -> ExitCode:
    """Show two applications side by side: outcome, durations, states, executors, and the fields that differ.

    Without names, the options of the task select the two newest applications that the task has submitted, or the
    newest of each of two runs.

    The paths of fields are those of --set. If the applications have different API groups, that of Kubeflow's operator
    is converted first. The exit code does not depend on the result.

    Examples:
        # Why was the second run slower?
        spark-operator compare pi report

        # What changed between the last two runs of a task of Airflow?
        spark-operator compare --dag sales --task load

        # The fields whose values differ, for a script
        spark-operator compare pi report -o json | jq .differences
    """
    ids: Sequence[str | None] = runs or [None]
    wanted = [TaskFilter(dag, task, ids[position]) for position in (0, -1)]
    names = [name for name in (first, second) if name]
    return run_with_applications(access, names, wanted, lambda client, found: _compare(client, found, output))


async def _compare(client: KubeClient, names: Sequence[str], output: ReportFormat) -> ExitCode:
    both = await asyncio.gather(*(read_description(client, name) for name in names))
    differences = [one for one in _find_differences(*_read_specs(*both)) if not _is_default_life(both, *one[1:])]
    if output is ReportFormat.JSON:
        first, second = map(build_document, both)
        fields = [{"path": path, "first": one, "second": other} for path, one, other in differences]
        print(format_value({"first": first, "second": second, "differences": fields}, output), end="")
    else:
        _print(both, differences)
    refusals = {str(error): error for one in both for error in one.snapshot.refusals}
    return report_failures([*refusals.values()])


def _print(both: list[Description], differences: list[tuple[str, object, object]]) -> None:
    printer = SectionPrinter()
    printer.print_pairs([(title, _identify(one)) for title, one in zip(_TITLES[1:], both, strict=True)])
    printer.print_heading("Runs")
    first, second = (_summarize(one) for one in both)
    printer.print_comparison(_TITLES, [(title, first[title], second[title]) for title in first], style_cell)
    if any(one.timeline.has_lost_executors for one in both):
        printer.print_lines([LOST_EXECUTORS])
    printer.print_heading("Time in each state")
    first, second = (_measure_states(one) for one in both)
    states = dict.fromkeys([*first, *second])
    printer.print_comparison(_TITLES, [(state, first.get(state, ""), second.get(state, "")) for state in states])
    printer.print_heading("Verdicts")
    for title, one in zip(_TITLES[1:], both, strict=True):
        printer.print_lines(
            [f"{title}: {one.verdict.sentence}", *([f"  Cause: {explain_cause(one.cause)}"] if one.cause else [])]
        )
    printer.print_heading("Fields that differ")
    if differences:
        rows = [_build_row(path, _format(one), _format(other)) for path, one, other in differences]
        printer.print_comparison(("PATH", *_TITLES[1:]), rows)
    else:
        printer.print_lines(["none: both run the same specification"])


def _identify(one: Description) -> str:
    task = one.timeline.summary.task
    return f"{one.timeline.summary.name}, run {task.run_id}" if task else one.timeline.summary.name


def _summarize(one: Description) -> dict[str, str]:
    """Return the row of each title."""
    summary, timeline = one.timeline.summary, one.timeline
    running = [s.begin for a in timeline.attempts[-1:] for s in a.states if s.apache_state in RUNNING and s.begin]
    waited = running[0] - timeline.begin if running and timeline.begin else None
    most = max((count for _, count in timeline.counts), default=0)
    failed = sum(span.state is ExecutorState.FAILED for span in timeline.executors)
    return {
        "Created": f"{summary.created.astimezone():%Y-%m-%d %H:%M:%S %Z}" if summary.created else "",
        "Outcome": describe_outcome(summary) or summary.state,
        "Duration": format_optional(summary.duration),
        "Until it ran": format_optional(waited),
        "Attempts": str(summary.attempts),
        "Executors requested": str(summary.executors.wanted or ""),
        "Executors at once": "not known" if timeline.has_lost_executors else str(most),
        "Executors that failed": "not known" if timeline.has_lost_executors else str(failed),
        "Image": one.image,
    }


def _measure_states(one: Description) -> dict[str, str]:
    """Return how long the application was in each state, over all attempts that are known."""
    seconds: dict[str, timedelta] = {}
    for attempt in one.timeline.attempts:
        for state in attempt.states:
            end = state.end or (one.timeline.end if one.timeline.is_live else None)
            if state.begin and end:
                seconds[state.state] = seconds.get(state.state, timedelta()) + (end - state.begin)
    return {state: format_duration(lasted) for state, lasted in seconds.items()}


def _read_specs(first: Description, second: Description) -> tuple[object, object]:
    resources = [build_manifest(one.snapshot.resource) for one in (first, second)]
    if len({str(one["apiVersion"]).partition("/")[0] for one in resources}) > 1:
        resources = [convert_document(one)[0].document or one for one in resources]
    return _replace_names(resources[0]), _replace_names(resources[1])


def _replace_names(resource: JsonObject) -> object:
    """Return the specification without the names of the application and its ConfigMaps, which differ in each run."""
    spec = get_object(resource.get("spec"))
    maps = [get_text(each.get("name")) for each in list_objects(spec.get("configMapSpecs"))]
    names = {name: f"ConfigMap {number}" for number, name in enumerate(maps, start=1)}
    names[get_text(get_object(resource.get("metadata")).get("name"))] = "the application"
    return change_texts(spec, lambda text: names.get(text, text))


def _find_differences(
    first: object, second: object, path: tuple[str | int, ...] = ("spec",)
) -> Iterator[tuple[str, object, object]]:
    """Yield the path and both values of each field that differs, without secrets; None for a field that is not set."""
    if first == second:
        return
    if isinstance(first, Mapping | None) and isinstance(second, Mapping | None):
        one, other = first or {}, second or {}
        if one or other:
            for key in dict.fromkeys([*one, *other]):
                yield from _find_differences(one.get(key), other.get(key), (*path, key))
            return
    name = str(path[-1])
    shown = hide_secrets(first, name), hide_secrets(second, name)
    # An entry such as a variable of a container is secret because of its name, so that secrets stay in their list.
    pairs = _pair_objects(first, second) if shown == (first, second) else []
    for index, (left, right) in enumerate(pairs):
        yield from _find_differences(left, right, (*path, index))
    if not pairs:
        yield format_path(path), *shown


def _pair_objects(first: object, second: object) -> list[tuple[object, object]]:
    """Return the pairs of two lists of objects with the same length; none for all other values."""
    if not isinstance(first, list) or not isinstance(second, list) or len(first) != len(second):
        return []
    return list(zip(first, second, strict=True)) if all(isinstance(one, Mapping) for one in first + second) else []


def _is_default_life(both: Sequence[Description], first: object, second: object) -> bool:
    """Return whether values are the two default times to live: Airflow shortens the first after a success."""
    return {str(first), str(second)} == _DEFAULT_LIVES and any(
        ANNOTATION_TTL_AFTER_SUCCESS in annotations_of(one.snapshot.resource) for one in both
    )


def _build_row(path: str, first: str, second: str) -> tuple[str, str, str]:
    """Return the row of a field. Of texts with several lines, it has the first line that differs."""
    one, other = first.splitlines(), second.splitlines()
    if max(len(one), len(other)) <= 1 or not (one and other):
        return path, first, second
    changes = [each for each in SequenceMatcher(None, one, other, autojunk=False).get_opcodes() if each[0] != "equal"]
    if not changes:  # only the ends of the lines differ
        return path, first, second
    count = sum(max(end - start, to - begin) for _, start, end, begin, to in changes)
    _, start, end, begin, to = changes[0]
    what = "1 line differs" if count == 1 else f"{count} lines differ"
    return f"{path}: {what}", "".join(one[start:end][:1]).strip(), "".join(other[begin:to][:1]).strip()


def _format(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
