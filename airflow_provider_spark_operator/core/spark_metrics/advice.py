"""Suggest smaller requests, from what Spark used in the last runs of a task.

A suggestion is never below the measured peak plus `MARGIN`, and never follows from less than `LEAST_RUNS` runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from ..kubernetes.json_object import JsonObject, KubernetesObject
from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from ..kubernetes.pods import get_object, get_text, list_objects
from ..report.record_values import drop_unknown
from ..verdict.verdict import Outcome
from .metrics import Source

LEAST_RUNS: Final = 3
"""The number of runs without which nothing is suggested."""
MAX_RUNS: Final = 10
"""The number of runs that count at most, the latest ones."""
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
    """Return what a run used, for `advise`. None if it did not succeed, or if Spark was not measured.

    Args:
        record: The final record of the run.
    """
    spark, totals = get_object(record.get("spark")), get_object(record.get("totals"))
    if not spark or record.get("live") or get_object(record.get("verdict")).get("outcome") != Outcome.SUCCEEDED:
        return None
    pods = [*list_objects(record.get("executors")), *(get_object(one.get("driver")) for one in _list_attempts(record))]
    memory, requests = get_object(spark.get("memory")), get_object(record.get("requests"))
    run: JsonObject = {
        "executors": _read_number(totals.get("executorsAtOnce")),
        "taskSeconds": _read_number(spark.get("taskSeconds")),
        # The Spark UI does not show the time of tasks that had not ended at the last sample.
        "executorSeconds": _read_number(spark.get("executorSeconds")) if spark.get("source") == Source.EVENT_LOG else 0,
        "spilledBytes": _read_number(spark.get("spilledBytes")),
        "outOfMemory": any("OOMKilled" in get_text(pod.get("exit")) for pod in pods),
    }
    for role in (ROLE_DRIVER, ROLE_EXECUTOR):
        sizes = {name: _read_number(get_object(memory.get(role)).get(name)) for name in _SIZES}
        sizes["podMiB"] = int(_read_number(get_object(requests.get(role)).get("memoryGiB")) * 1024)
        run[role] = drop_unknown({name: size or None for name, size in sizes.items()})
    return run


def _list_attempts(record: KubernetesObject) -> list[Mapping[str, object]]:
    return list_objects(record.get("attempts"))


def _read_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return value if 0 <= value < 2**53 else 0


def advise(runs: Iterable[KubernetesObject]) -> list[Advice]:
    """Return at most three suggestions. None if a run could need what it did not use.

    Args:
        runs: What the runs of one task used, see `measure_run`. The latest is the last one.
    """
    latest = [*runs][-MAX_RUNS:]
    found = (_advise_memory(latest, ROLE_EXECUTOR), _advise_executors(latest), _advise_memory(latest, ROLE_DRIVER))
    return [advice for advice in found if advice is not None]


def _advise_memory(runs: Sequence[KubernetesObject], role: str) -> Advice | None:
    """Suggest a smaller heap if the processes outside of the heap certainly fit the overhead, which stays."""
    sizes = [{name: _read_number(get_object(run.get(role)).get(name)) for name in (*_SIZES, "podMiB")} for run in runs]
    heap = sizes[-1]["heapMiB"] if sizes else 0
    same = [(run, size) for run, size in zip(runs, sizes, strict=True) if size["heapMiB"] == heap]
    peak = max((size["peakHeapMiB"] for _, size in same), default=0)
    overhead = int(sizes[-1]["podMiB"] - heap) if sizes else 0
    # Only the metrics of the process tree show the memory of Python.
    is_measured = all(size["peakHeapMiB"] and size["peakRssMiB"] for _, size in same)
    outside = max((size["peakOffHeapMiB"] + size["peakOtherMiB"] for _, size in same), default=0)
    had_need = any(run.get("outOfMemory") or (role == ROLE_EXECUTOR and run.get("spilledBytes")) for run, _ in same)
    needed = max(_SMALLEST, ceil(peak * MARGIN / _STEP) * _STEP)
    is_enough = needed <= heap * (1 - _LEAST_SAVING) and outside * MARGIN <= overhead
    if len(same) < LEAST_RUNS or had_need or not is_measured or not is_enough:
        return None
    subject, parameter = ("executors", "executor_memory") if role == ROLE_EXECUTOR else ("the driver", "driver_memory")
    keep = f", with conf={{'spark.{role}.memoryOverhead': '{overhead}m'}}" if overhead > _SMALLEST_OVERHEAD else ""
    figures = (
        f"{subject} used at most {peak / 1024:.1f} of {heap / 1024:.1f} GiB of heap over the last {len(same)} runs"
    )
    return Advice(parameter, f"{figures}: {parameter}='{_format_size(needed)}'{keep}")


def _format_size(mebibytes: int) -> str:
    return f"{mebibytes}m" if mebibytes % 1024 else f"{mebibytes // 1024}g"


def _advise_executors(runs: Sequence[KubernetesObject]) -> Advice | None:
    """Suggest fewer executors if none of the runs with the same number kept them busy."""
    number = _read_number(runs[-1].get("executors")) if runs else 0
    same = [run for run in runs if run.get("executors") == number]
    shares = [
        _read_number(run.get("taskSeconds")) / seconds
        for run in same
        if (seconds := _read_number(run.get("executorSeconds")))
    ]
    busy = max(shares, default=1.0)
    needed = max(1, ceil(number * busy * MARGIN))
    if len(shares) < max(LEAST_RUNS, len(same)) or needed > number * (1 - _LEAST_SAVING):
        return None
    figures = (
        f"{number:.0f} executors were busy at most {ceil(100 * busy)} % of the time over the last {len(same)} runs"
    )
    return Advice("executor_instances", f"{figures}: executor_instances={needed}")
