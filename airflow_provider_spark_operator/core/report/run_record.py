"""The record of a run: a timeline, its totals and its verdict as bounded JSON.

docs/reference/run-record.md contains its JSON schema. Increase the version if a member changes its meaning or is
removed. An additional member keeps the version.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil
from typing import Final

from ..dialects.progress import ExecutorState, get_log_lines
from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from ..verdict.verdict import Outcome, Verdict
from .attempts import Attempt, StateSpan
from .pod_spans import PodSpan, count_unknown_executors
from .prices import PriceTable
from .record_values import cut_text, drop_unknown, fit, format_time, limit_number, measure, round_amount
from .recorded_cause import find_recorded_cause
from .resources import Resources
from .timeline import Mark, Timeline, describe_losses
from .timeline_rows import choose_tone, number_missing
from .totals import Totals, Usage, compute_totals
from .waits import Wait

VERSION: Final = 1
LARGEST: Final = 32 * 1024
"""The size of the largest record in bytes, as JSON in ASCII: `json.dumps(record)`."""
MAX_EXECUTORS: Final = 100
MAX_COUNTS: Final = 60
# The bytes of the lists. Together with the texts and numbers, they leave a quarter of the record to the executors.
_ATTEMPTS: Final = 9000
_STATES: Final = 3000
_WAITS: Final = 3000
_MARKS: Final = 2000
_MISSING: Final = 1800
MAX_TRIES: Final = 10
"""How many earlier tries of a task are kept."""
LONGEST_TRIES: Final = 4500
"""The bytes for the earlier tries of the task, which the task adds."""
MAX_TEXT: Final = 300
"""The greatest length of most texts, in bytes."""
_RESERVED: Final = LONGEST_TRIES + 2 * MAX_TEXT
_WORD: Final = 64
_NAME: Final = 256
_SENTENCE: Final = 1500
_GIB: Final = 2**30


def build_record(
    timeline: Timeline,
    *,
    verdict: Verdict | None = None,
    cause: str | None = None,
    waiting: str | None = None,
    unread: Mapping[str, str] | None = None,
    prices: PriceTable | None = None,
    spark: JsonObject | None = None,
    report: JsonObject | None = None,
) -> JsonObject:
    """Return the record of a run: JSON of at most 32 KiB, whatever the timeline contains.

    Unknown values are absent. Texts are cut and have no secrets that their names show. Of more than 100 executors, and
    of executors that do not fit, only the numbers by state remain.

    Args:
        timeline: The timeline.
        verdict: The judgement on the run. Defaults to that of the summary.
        cause: The cause of a failure in the log. Defaults to the one in the lines that the status contains.
        waiting: What the application waits for now. None if it waits for nothing, or if this is not known.
        unread: Why parts of the record could not be read, by part: `pods`, `events`, `log`, `spark`.
        prices: The prices, from which the cost is computed. None if it is not computed.
        spark: What Spark did, see `core.spark_metrics.metrics.build_metrics`. None if it was not measured.
        report: What the job reported, see `JobReport.to_json`. None if it reported nothing.
    """
    totals, summary = compute_totals(timeline, prices), timeline.summary
    judged = verdict or summary.verdict
    if cause is None and judged.has_cause_in_log:
        cause = find_recorded_cause(get_log_lines(summary.progress))
    attempts = fit(map(_build_attempt, reversed(timeline.attempts)), _ATTEMPTS)[::-1]
    marks = fit(map(_build_mark, reversed(timeline.marks)), _MARKS)[::-1]
    missing = fit(_list_missing(timeline, totals, len(attempts), unread or {}), _MISSING)
    record = {
        "version": VERSION,
        "application": _build_application(timeline),
        "state": cut_text(summary.state, _WORD),
        "live": timeline.is_live,
        **drop_unknown(
            {
                "begin": _format(timeline.begin),
                "end": format_time(timeline.end),
                "verdict": _build_verdict(judged, cause),
                "waiting": cut_text(waiting or "", 2 * MAX_TEXT),
                "losses": cut_text(describe_losses(timeline), 2 * MAX_TEXT),
                "attempts": attempts,
                "waits": fit(map(_build_wait, timeline.waits), _WAITS),
                "marks": marks,
                "requests": _build_requests(timeline),
                "executorCounts": [[format_time(at), number] for at, number in _thin(timeline.counts)],
                "missing": missing,
                "spark": spark,
                "report": report,
            }
        ),
        "totals": _build_totals(timeline, totals, unread or {}, prices),
    }
    return record | _build_executors(timeline, LARGEST - _RESERVED - measure(record))


def _format(time: datetime | None) -> str | None:
    return format_time(time) if time else None


def _build_application(timeline: Timeline) -> JsonObject:
    summary, task = timeline.summary, timeline.summary.task
    return drop_unknown(
        {
            "apiVersion": cut_text(summary.api_version, 2 * _WORD),
            "kind": "SparkApplication",
            "name": cut_text(summary.name, _NAME),
            "namespace": cut_text(summary.namespace, 2 * _WORD),
            "uid": cut_text(timeline.uid, _WORD),
            "team": cut_text(timeline.team, _WORD),
            "applicationId": cut_text(summary.progress.application_id or "", 2 * _WORD),
            "task": task
            and drop_unknown(
                {
                    "dagId": cut_text(task.dag_id, _NAME),
                    "taskId": cut_text(task.task_id, _NAME),
                    "runId": cut_text(task.run_id, _NAME),
                    "mapIndex": cut_text(task.map_index, _WORD),
                    "tryNumber": cut_text(task.try_number, _WORD),
                }
            ),
        }
    )


def _build_verdict(verdict: Verdict, cause: str | None) -> JsonObject:
    return drop_unknown(
        {
            "outcome": str(verdict.outcome),
            "failureKind": verdict.failure_kind and str(verdict.failure_kind),
            "reason": cut_text(verdict.reason, _WORD),
            "sentence": cut_text(verdict.sentence, _SENTENCE),
            "retryWorthy": verdict.retry_worthy if verdict.outcome is Outcome.FAILED else None,
            "cause": cut_text(cause or "", _SENTENCE // 2),
            "outOfMemory": list(verdict.out_of_memory),
        }
    )


def _build_attempt(attempt: Attempt) -> JsonObject:
    states = fit(map(_build_state, reversed(attempt.states)), _STATES)[::-1]
    members = drop_unknown(
        {
            "begin": _format(attempt.begin),
            "end": _format(attempt.end),
            "driver": _build_pod(attempt.driver) if attempt.driver else None,
        }
    )
    return {"number": limit_number(attempt.number), **members, "states": states}


def _build_state(state: StateSpan) -> JsonObject:
    return drop_unknown(
        {
            "state": cut_text(state.state, _WORD),
            "phase": str(choose_tone(state.apache_state)),
            "begin": _format(state.begin),
            "end": _format(state.end),
            "reason": cut_text(state.reason or "", _WORD),
            "message": cut_text(state.message or "", MAX_TEXT),
        }
    )


def _build_pod(span: PodSpan, usual: Resources | None = None) -> JsonObject:
    """Return the life of a pod, with its requests unless these are the usual ones of its role."""
    return drop_unknown(
        {
            "name": cut_text(span.name, _NAME),
            "state": str(span.state),
            "scheduled": _format(span.scheduled),
            "start": _format(span.begin),
            "ready": _format(span.ready),
            "end": _format(span.end),
            "exit": cut_text(span.detail, MAX_TEXT),
            "node": cut_text(span.node, _NAME),
            **(_build_resources(span.requested) if span.requested and span.requested != usual else {}),
        }
    )


def _build_resources(amount: Resources) -> JsonObject:
    return {"cores": round_amount(amount.cores), "memoryGiB": round_amount(amount.memory / _GIB)}


def _build_requests(timeline: Timeline) -> JsonObject:
    return {
        role: {**_build_resources(amount), "source": "specification" if role in timeline.estimated else "pod"}
        for role, amount in timeline.requests.items()
    }


def _build_wait(wait: Wait) -> JsonObject:
    return drop_unknown(
        {
            "kind": str(wait.kind),
            "role": wait.role,
            "begin": format_time(wait.begin),
            "end": _format(wait.end),
            "pods": len(wait.pods) or None,
            "text": cut_text(wait.text, MAX_TEXT),
        }
    )


def _build_mark(mark: Mark) -> JsonObject:
    return {"time": format_time(mark.time), "kind": str(mark.kind), "text": cut_text(mark.text, MAX_TEXT)}


def _thin(counts: Sequence[tuple[datetime, int]]) -> list[tuple[datetime, int]]:
    """Return at most 60 of the numbers: the largest of each part of the run, and the last one."""
    size = max(1, ceil((len(counts) - 1) / (MAX_COUNTS - 1)))
    parts = [counts[start : start + size] for start in range(0, len(counts) - 1, size)]
    return [max(part, key=lambda count: count[1]) for part in parts] + list(counts[-1:])


def _build_totals(timeline: Timeline, totals: Totals, unread: Collection[str], prices: PriceTable | None) -> JsonObject:
    numbers: dict[str, JsonObject] = {}
    for role, usage in totals.usage.items():
        unseen = role == ROLE_EXECUTOR and (timeline.has_lost_executors or "pods" in unread)
        if usage.pods or not (usage.uncounted or unseen):
            numbers[role] = _build_usage(usage)
    return drop_unknown(
        {
            "seconds": _count_seconds(totals.duration),
            "waitingSeconds": _count_seconds(totals.waiting),
            "waitingShare": _round_share(totals.waiting_share),
            "executors": {str(state): number for state, number in totals.executors.items()},
            "executorsAtOnce": max((number for _, number in timeline.counts), default=None),
            "requested": numbers,
            "cost": _build_cost(numbers, totals, prices) if prices else None,
        }
    )


def _build_cost(roles: Iterable[str], totals: Totals, prices: PriceTable) -> JsonObject | None:
    """Return the cost of the roles whose requests and prices are known, and their sum."""
    known = {role: totals.usage[role] for role in roles}
    costs = {role: usage.cost for role, usage in known.items() if not usage.pods or usage.unpriced < usage.pods}
    if not costs:
        return None
    amounts = {role: round_amount(cost) for role, cost in costs.items()}
    if any(price.is_spot for price in prices.prices):
        amounts["spot"] = round_amount(sum((known[role].spot_cost for role in costs), Decimal()))
    return {"amount": round_amount(sum(costs.values(), Decimal())), "currency": prices.currency, **amounts}


def _build_usage(usage: Usage) -> JsonObject:
    return {
        "coreHours": round_amount(usage.core_hours),
        "gibHours": round_amount(usage.gib_hours),
        "pods": usage.pods,
        **drop_unknown({"waitingShare": _round_share(usage.waiting_share)}),
    }


def _round_share(share: Decimal | None) -> float | None:
    return None if share is None else round(float(share), 4)


def _count_seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else limit_number(round(duration.total_seconds(), 3))


def _list_missing(timeline: Timeline, totals: Totals, shown: int, unread: Mapping[str, str]) -> Iterator[JsonObject]:
    """Yield what the record does not contain, and why."""
    for what, why in unread.items():
        yield _miss(cut_text(what, _WORD), cut_text(why, MAX_TEXT))
    if numbers := number_missing(timeline):
        yield _miss("attempts", cut_text(f"the status no longer contains attempt {numbers}", MAX_TEXT))
    if shown < len(timeline.attempts):
        yield _miss("attempts", f"only the latest {shown} of {len(timeline.attempts)} attempts fit the record")
    yield from _list_unknown_executors(timeline)
    for role in (ROLE_DRIVER, ROLE_EXECUTOR):
        if role not in timeline.requests:
            yield _miss(f"requests.{role}", "no pod shows them, and the specification contains an invalid size")
        usage = totals.usage[role]
        if usage.uncounted:
            pods = f"{usage.uncounted} of {usage.pods + usage.uncounted} pods"
            yield _miss(f"totals.requested.{role}", f"the start, the end or the requests of {pods} are unknown")
        if usage.inexact:
            why = f"the ends of {usage.inexact} of {usage.pods} pods are not exact; the amounts are the least possible"
            yield _miss(f"totals.requested.{role}", why)
        if usage.unpriced:
            unpriced = f"{usage.unpriced} of {usage.pods} pods"
            why = f"no price matches {unpriced}, or their nodeSelector or node is unknown"
            yield _miss(f"totals.cost.{role}", why)


def _list_unknown_executors(timeline: Timeline) -> Iterator[JsonObject]:
    if timeline.has_lost_executors:
        yield _miss("executors", "no pod or Event shows the executors, whose pods Spark deletes at the end")
    elif number := count_unknown_executors(timeline.executors):
        yield _miss("executors", f"no pod or Event shows {number} earlier executors, whose pods were deleted")
    logged = (span for span in timeline.executors if not span.uid and span.begin and span.end)
    if late := sum(span.scheduled is None and span.begin == span.ready for span in logged):
        yield _miss("executors", f"no Event shows the start of {late} executors; they count since their registration")


def _miss(what: str, why: str) -> JsonObject:
    return {"what": what, "why": why}


def _build_executors(timeline: Timeline, most: int) -> JsonObject:
    """Return the executors that fit, failed ones first if not all do, and the numbers of the others by state."""
    spans, usual = timeline.executors, timeline.requests.get(ROLE_EXECUTOR)
    first = sorted(range(len(spans)), key=lambda index: spans[index].state is not ExecutorState.FAILED)[:MAX_EXECUTORS]
    # 300 bytes are more than the names of both members and the numbers of five states need.
    kept = fit((_build_pod(spans[index], usual) for index in first), most - 300)
    entries = dict(zip(first, kept, strict=False))
    others = Counter(str(span.state) for index, span in enumerate(spans) if index not in entries)
    return drop_unknown({"executors": [entries[index] for index in sorted(entries)], "otherExecutors": dict(others)})
