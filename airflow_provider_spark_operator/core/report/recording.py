"""When the record of a run is stored while the application runs, and how a task completes it at its end."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Final

from ..kubernetes import pods
from ..kubernetes.json_object import JsonObject, KubernetesObject
from ..states import reasons
from ..verdict.verdict import FailureKind, Outcome
from .record_values import cut_text, drop_unknown, fit, measure
from .report_rows import AMOUNT_GAPS
from .run_record import LARGEST, LONGEST_TRIES, MAX_TEXT

WRITE_SECONDS: Final = 10.0
"""The shortest time between two records of one task."""

READ_SECONDS: Final = 60.0
"""The shortest time between two lists of pods for the record of one task."""

WRITES_PER_SECOND: Final = 20
"""How many records one process stores per second at most."""

_LONGEST_PAUSE: Final = 300.0
"""The longest pause after records that could not be stored, in seconds."""

_LONGEST_SENTENCE: Final = 200  # of an earlier try, in bytes


@dataclass
class RecordingSchedule:
    """When one record is stored, and when pods are read for it. Times are seconds of a monotonic clock."""

    _has_change: bool = False
    _written: float = -inf
    _read: float = -inf

    def note_change(self) -> None:
        """Note that the record differs from the stored one."""
        self._has_change = True

    def note_read(self, now: float) -> None:
        """Note that the pods were read, for the record or for another purpose."""
        self._read = now

    def note_write(self, now: float) -> None:
        """Note that the record is about to be stored."""
        self._has_change, self._written = False, now

    def is_write_due(self, now: float) -> bool:
        """Return whether to store the record now."""
        return self._has_change and now >= self._written + WRITE_SECONDS

    def is_read_due(self, now: float) -> bool:
        """Return whether to read the pods of a running application now."""
        return now >= self._read + READ_SECONDS

    def find_next(self, now: float, *, is_running: bool) -> float:
        """Return when to check again at the latest.

        Args:
            now: The time.
            is_running: Whether the application runs, so that its pods are read.
        """
        read = max(self._read + READ_SECONDS, now + 1) if is_running else now + WRITE_SECONDS
        return min(read, max(self._written + WRITE_SECONDS, now)) if self._has_change else read


def find_pause(failures: int) -> float:
    """Return the pause before the next record of a process, in seconds.

    Args:
        failures: How many records in a row could not be stored.
    """
    if failures == 0:
        return 1 / WRITES_PER_SECOND
    return min(WRITE_SECONDS * 2.0 ** min(failures - 1, 10), _LONGEST_PAUSE)


def close_record(record: KubernetesObject, sentence: str, *, is_over_budget: bool = False) -> JsonObject:
    """Return the record of a run that its task no longer follows.

    Args:
        record: The latest record.
        sentence: What happened.
        is_over_budget: Whether the task has ended the application because of its budget. Otherwise the outcome is not
            known.
    """
    verdict: JsonObject = {"outcome": str(Outcome.UNKNOWN), "sentence": cut_text(sentence, MAX_TEXT)}
    if is_over_budget:
        facts = {"failureKind": str(FailureKind.BUDGET), "reason": reasons.BUDGET_EXCEEDED, "retryWorthy": False}
        verdict |= {"outcome": str(Outcome.FAILED), **facts}
    gap = {"what": "end", "why": f"no task saw it; the totals are as of {pods.get_text(record.get('end'))}"}
    missing = [gap, *pods.list_objects(record.get("missing"))]
    closed = {key: value for key, value in record.items() if key != "waiting"}
    return closed | {"live": False, "verdict": verdict, "missing": missing}


def summarize_try(record: KubernetesObject, try_number: int) -> JsonObject:
    """Return what later tries record about a try.

    Args:
        record: The final record of the try.
        try_number: The number of the try, from 1.
    """
    verdict, totals = pods.get_object(record.get("verdict")), pods.get_object(record.get("totals"))
    sentence = _cut_cause(pods.get_text(verdict.get("sentence")))
    gaps = [pods.get_text(gap.get("what")) for gap in pods.list_objects(record.get("missing"))]
    judged = {key: verdict[key] for key in ("outcome", "failureKind", "reason", "outOfMemory") if key in verdict}
    return drop_unknown(
        {
            "tryNumber": try_number,
            "begin": record.get("begin"),
            "end": record.get("end"),
            "verdict": judged | ({"sentence": sentence} if sentence else {}),
            "requests": _read_memory(pods.get_object(record.get("requests"))),
            "requested": totals.get("requested"),
            "cost": totals.get("cost"),
            "missing": sorted({gap for gap in gaps if gap in AMOUNT_GAPS}),
        }
    )


def _read_memory(requests: KubernetesObject) -> JsonObject:
    """Return the requests of memory by role, which a retry can increase."""
    sizes = {role: pods.get_number(pods.get_object(requests.get(role)).get("memoryGiB")) for role in requests}
    return {role: {"memoryGiB": size} for role, size in sizes.items() if size is not None}


def _cut_cause(sentence: str) -> str:
    """Return the sentence of a verdict in 200 bytes. What to do is its last part, which stays whole if it can."""
    cause, separator, advice = sentence.rpartition("; ")
    room = _LONGEST_SENTENCE - measure(separator + advice) + 2
    if measure(sentence) - 2 <= _LONGEST_SENTENCE or not separator or room < _LONGEST_SENTENCE // 4:
        return cut_text(sentence, _LONGEST_SENTENCE)
    return f"{cut_text(cause, room)}{separator}{cut_text(advice, _LONGEST_SENTENCE)}"


def add_tries(
    record: KubernetesObject, tries: Collection[Mapping[str, object]], try_number: int, problem: str = ""
) -> JsonObject:
    """Return a record with the earlier tries of its task, and with the numbers of those that were not recorded.

    Args:
        record: The record of a try.
        tries: The summaries of earlier tries, oldest first, see `summarize_try`.
        try_number: The number of the try.
        problem: Why earlier tries are not recorded. Empty if they are.
    """
    latest = fit(map(dict, reversed([*tries])), LONGEST_TRIES)[::-1]
    missing = _list_unrecorded([each.get("tryNumber") for each in latest], try_number)
    added: JsonObject = drop_unknown({"earlierTries": latest})
    if missing:
        why = problem or f"the record of {missing} was not stored, or is not kept any more"
        added["missing"] = [
            *pods.list_objects(record.get("missing")),
            {"what": "earlierTries", "why": cut_text(why, MAX_TEXT)},
        ]
    return {**record, **added}


def shrink(record: KubernetesObject) -> JsonObject:
    """Return a record of at most 32 KiB, with fewer executors if it was extended too much.

    Args:
        record: The record.
    """
    executors, others = pods.list_objects(record.get("executors")), dict(pods.get_object(record.get("otherExecutors")))
    shrunk = dict(record)
    while executors and measure(shrunk) > LARGEST:
        state = pods.get_text(executors.pop().get("state"))
        known = others.get(state)
        others[state] = (known if isinstance(known, int) else 0) + 1
        shrunk |= {"executors": executors, "otherExecutors": others}
    return shrunk


def _list_unrecorded(recorded: Iterable[object], try_number: int) -> str:
    known = {number for number in recorded if isinstance(number, int)}
    unknown = [number for number in range(1, try_number) if number not in known]
    if not unknown:
        return ""
    return f"try {unknown[0]}" if len(unknown) == 1 else f"{len(unknown)} earlier tries"
