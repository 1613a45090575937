"""Suggest a smaller request, from what Spark used in the last runs of a task.

A suggested size is never below the measured peak plus `MARGIN`, and never follows from less than `LEAST_RUNS` runs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import Final

from ..kubernetes.json_object import JsonObject, KubernetesObject
from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from ..kubernetes.pods import OUT_OF_MEMORY, get_number, get_object, get_text, list_objects
from ..kubernetes.times import read_time
from ..report.record_values import drop_unknown
from ..spark.spark_conf import DYNAMIC_ALLOCATION_KEY
from ..verdict.verdict import Outcome
from .metrics import OTHER_MEMORY, Source
from .sampling import SAMPLE_SECONDS

HISTORY_KEY: Final = "spark_runs_measured"
"""The key of the XCom with what the latest runs of a task instance used."""
LEAST_RUNS: Final = 3
"""The number of runs without which nothing is suggested."""
MAX_RUNS: Final = 10
"""The number of runs that count at most, the latest ones."""
_LONGEST_HISTORY: Final = timedelta(days=90)
MARGIN: Final = 1.25
"""The factor for a measured peak."""
# A suggestion saves at least this share.
_LEAST_SAVING: Final = 0.2
# Sizes are multiples of this number of MiB. Spark does not start with a heap of less than 450 MiB.
_STEP: Final = 256
_SMALLEST: Final = 512
# Spark's smallest overhead in MiB: a smaller heap does not make it smaller.
_SMALLEST_OVERHEAD: Final = 384
_SIZES: Final = ("heapMiB", "peakHeapMiB", "peakOffHeapMiB", "peakOtherMiB", "peakRssMiB")


@dataclass(frozen=True)
class Advice:
    """A suggestion.

    Attributes:
        parameter: The parameter of the operator.
        text: The sentence, with the figures and the new value.
    """

    parameter: str
    text: str


def measure_run(record: KubernetesObject) -> JsonObject | None:
    """Return what a run used, for `advise`. None if it neither succeeded with figures nor ran out of memory.

    Args:
        record: The final record of the run, with the earlier tries of its task.
    """
    spark, totals, verdict = (get_object(record.get(name)) for name in ("spark", "totals", "verdict"))
    out_of_memory = _was_out_of_memory(record)
    has_succeeded = _is_measured(record) and verdict.get("outcome") == Outcome.SUCCEEDED
    if record.get("live") or not (has_succeeded or out_of_memory):
        return None
    memory, requests = get_object(spark.get("memory")), get_object(record.get("requests"))
    run: JsonObject = {
        "end": get_text(record.get("end")),
        "executors": _read_number(totals.get("executorsAtOnce")),
        "taskSeconds": _read_number(spark.get("taskSeconds")),
        # The last sample of the Spark UI lacks the end of the run.
        "executorSeconds": _read_number(spark.get("executorSeconds")) if spark.get("source") == Source.EVENT_LOG else 0,
        "spilledBytes": _read_number(spark.get("spilledBytes")),
        "outOfMemory": out_of_memory,
        "settings": spark.get("settings", []),
    }
    for role in (ROLE_DRIVER, ROLE_EXECUTOR):
        sizes = {name: _read_number(get_object(memory.get(role)).get(name)) for name in _SIZES}
        sizes["podMiB"] = int(_read_number(get_object(requests.get(role)).get("memoryGiB")) * 1024)
        run[role] = drop_unknown({name: size or None for name, size in sizes.items()})
    return run


def _is_measured(record: KubernetesObject) -> bool:
    """Return whether Spark was measured until shortly before the end of the run."""
    spark = get_object(record.get("spark"))
    measured, end = read_time(spark.get("time")), read_time(record.get("end"))
    if spark.get("source") == Source.EVENT_LOG:  # it is read only if it is complete
        return True
    return measured is not None and end is not None and (end - measured).total_seconds() <= 2 * SAMPLE_SECONDS


def _was_out_of_memory(record: KubernetesObject) -> bool:
    """Return whether a pod of this try or of an earlier one was out of memory. An unknown try counts as such."""
    drivers = [get_object(one.get("driver")) for one in list_objects(record.get("attempts"))]
    pods = [*list_objects(record.get("executors")), *drivers]
    verdicts = [get_object(one.get("verdict")) for one in (record, *list_objects(record.get("earlierTries")))]
    return (
        any(OUT_OF_MEMORY.search(get_text(pod.get("exit"))) for pod in pods)
        or bool(get_object(record.get("spark")).get("memoryLosses"))
        or any(verdict.get("outOfMemory") for verdict in verdicts)
        or any(gap.get("what") == "earlierTries" for gap in list_objects(record.get("missing")))
    )


def _read_number(value: object) -> float:
    return get_number(value) or 0


def choose_runs(runs: Iterable[KubernetesObject]) -> list[KubernetesObject]:
    """Return the latest runs by their end: at most `MAX_RUNS`, which ended within 90 days.

    Airflow can return the runs that a much older DAG run has kept.

    Args:
        runs: What runs of one task used, see `measure_run`, in any order.
    """
    known = {end: run for run in runs if (end := read_time(run.get("end")))}
    return [known[end] for end in sorted(known)[-MAX_RUNS:] if max(known) - end <= _LONGEST_HISTORY]


def advise(runs: Sequence[KubernetesObject]) -> Advice | None:
    """Return a suggestion. None if a run could need what it did not use.

    There is one suggestion at a time, because each change of a request also changes the need for the others.

    Args:
        runs: What the latest runs of one task used, see `choose_runs`.
    """
    if len(runs) < LEAST_RUNS or any(run.get("outOfMemory") for run in runs):
        return None
    return _advise_memory(runs, ROLE_EXECUTOR) or _advise_executors(runs) or _advise_memory(runs, ROLE_DRIVER)


def explain(runs: Sequence[KubernetesObject]) -> str:
    """Return why `advise` has no suggestion for these runs."""
    if len(runs) < LEAST_RUNS:
        return f"measured runs: {len(runs)}. At least {LEAST_RUNS} are required"
    if any(run.get("outOfMemory") for run in runs):
        return "a run was out of memory"
    sizes = [get_object(run.get(role)) for run in runs for role in (ROLE_DRIVER, ROLE_EXECUTOR)]
    if not any(size.get("peakRssMiB") for size in sizes) and not any(run.get("executorSeconds") for run in runs):
        return "not measured: set spark.executor.processTreeMetrics.enabled=true, or name an event log in spark_metrics"
    return "nothing to change"


def _advise_memory(runs: Sequence[KubernetesObject], role: str) -> Advice | None:
    """Suggest a smaller heap if the processes outside of the heap certainly fit the overhead, which stays."""
    sizes = [{name: _read_number(get_object(run.get(role)).get(name)) for name in (*_SIZES, "podMiB")} for run in runs]
    heap, number = sizes[-1]["heapMiB"], _read_number(runs[-1].get("executors"))
    same = [
        (run, size)
        for run, size in zip(runs, sizes, strict=True)
        if size["heapMiB"] == heap and _read_number(run.get("executors")) == number
    ]
    peak = max(size["peakHeapMiB"] for _, size in same)
    overhead = int(sizes[-1]["podMiB"] - heap)
    # Only the metrics of the process tree show the memory of Python.
    is_measured = all(size["peakHeapMiB"] and size["peakRssMiB"] for _, size in same)
    outside = max(size["peakOffHeapMiB"] + size["peakOtherMiB"] for _, size in same)
    had_need = role == ROLE_EXECUTOR and any(run.get("spilledBytes") or _has(run, *OTHER_MEMORY) for run, _ in same)
    needed = max(_SMALLEST, ceil(peak * MARGIN / _STEP) * _STEP)
    is_enough = needed <= heap * (1 - _LEAST_SAVING) and outside * MARGIN <= overhead
    if len(same) < LEAST_RUNS or had_need or not is_measured or not is_enough:
        return None
    subject, target = ("executors", "each executor") if role == ROLE_EXECUTOR else ("the driver", "the driver")
    parameter = f"{role}_memory"
    keep = f", with conf={{'spark.{role}.memoryOverhead': '{overhead}m'}}" if overhead > _SMALLEST_OVERHEAD else ""
    figures = (
        f"{subject} used at most {peak / 1024:.1f} of {heap / 1024:.1f} GiB of heap over the last {len(same)} runs"
    )
    saved = f"{(heap + overhead) / 1024:.2f} → {(needed + overhead) / 1024:.2f} GiB for {target}"
    return Advice(parameter, f"{figures}: {parameter}='{_format_size(needed)}'{keep} ({saved})")


def _format_size(mebibytes: int) -> str:
    return f"{mebibytes}m" if mebibytes % 1024 else f"{mebibytes // 1024}g"


def _has(run: KubernetesObject, *names: str) -> bool:
    settings = run.get("settings")
    return isinstance(settings, list) and not set(names).isdisjoint(map(get_text, settings))


def _advise_executors(runs: Sequence[KubernetesObject]) -> Advice | None:
    """Suggest fewer executors if none of the runs with the same number kept them busy, or needed their memory."""
    number = _read_number(runs[-1].get("executors"))
    same = [run for run in runs if _read_number(run.get("executors")) == number]
    shares = [
        _read_number(run.get("taskSeconds")) / seconds
        for run in same
        if (seconds := _read_number(run.get("executorSeconds")))
    ]
    busy = max(shares, default=1.0)
    needed = max(1, ceil(number * busy * MARGIN))
    had_need = any(run.get("spilledBytes") or _has(run, DYNAMIC_ALLOCATION_KEY) for run in same)
    if len(shares) < max(LEAST_RUNS, len(same)) or had_need or needed > number * (1 - _LEAST_SAVING):
        return None
    figures = (
        f"{number:.0f} executors were busy at most {ceil(100 * busy)} % of the time over the last {len(same)} runs"
    )
    return Advice("executor_instances", f"{figures}: executor_instances={needed}")
