"""Read the answers of the REST API of a Spark UI. Their content is untrusted: wrong values count as 0."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from ..kubernetes.pods import get_number, get_object, get_text, list_objects
from ..kubernetes.times import read_time
from .metrics import Counts, Peak, Skew, Work

QUANTILES: Final = "0.5,1.0"
"""The quantiles of a summary of tasks: the median and the largest value."""

_OFF_HEAP: Final = ("JVMOffHeapMemory", "DirectPoolMemory", "MappedPoolMemory")
_OTHER: Final = ("ProcessTreePythonRSSMemory", "ProcessTreeOtherRSSMemory")


def read_number(value: object) -> int:
    """Return a number of an answer as an integer from 0 on. Other values are 0."""
    return int(get_number(value) or 0)


def read_jobs(answer: object) -> tuple[Counts, Counts]:
    """Return the numbers of stages and of tasks in the list of jobs, without those that Spark skipped."""
    total: Counter[str] = Counter()
    for job in list_objects(answer):
        for name, value in job.items():
            if name.startswith("num"):
                total[name] += read_number(value)
        stages = job.get("stageIds")
        total["stages"] += len(stages) if isinstance(stages, list) else 0
    done = total["numCompletedStages"]
    stages_total = max(done, total["stages"] - total["numSkippedStages"])
    tasks_total = max(total["numCompletedTasks"], total["numTasks"] - total["numSkippedTasks"])
    return (
        Counts(done, stages_total, total["numFailedStages"]),
        Counts(total["numCompletedTasks"], tasks_total, total["numFailedTasks"]),
    )


def read_executors(answer: object, now: datetime) -> tuple[Work, dict[str, Peak]]:
    """Return the work of the executors, and the largest memory by role, from the list of all executors.

    Args:
        answer: The list, with executors that ended.
        now: The time of the answer.

    Returns:
        The work, in which the time of tasks that have not ended is unknown, see `add_running_tasks`; and the memory.
    """
    work, peaks = Work(), dict[str, Peak]()
    for one in list_objects(answer):
        role = ROLE_DRIVER if one.get("id") == "driver" else ROLE_EXECUTOR
        peaks[role] = peaks.get(role, Peak()) | read_peak(get_object(one.get("peakMemoryMetrics")))
        slots = read_number(one.get("maxTasks"))
        if slots:  # a driver runs tasks only with a local master
            life = _measure_life(one, now)
            work = Work(
                work.task_millis + read_number(one.get("totalDuration")),
                work.slot_millis + slots * life,
                work.gc_millis + read_number(one.get("totalGCTime")),
                work.shuffle_read + read_number(one.get("totalShuffleRead")),
                work.shuffle_written + read_number(one.get("totalShuffleWrite")),
                unknown_tasks=work.unknown_tasks + read_number(one.get("activeTasks")),
                alive_millis=work.alive_millis + life,
                longest_millis=max(work.longest_millis, life),
            )
    losses = sum(is_memory_loss(one.get("removeReason")) for one in list_objects(answer))
    return replace(work, memory_losses=losses), peaks


def add_running_tasks(work: Work, answer: object, now: datetime) -> Work:
    """Return the work with the time of the tasks that have not ended, as far as the list of active stages shows them.

    Args:
        work: The work.
        answer: The list, with the running tasks of each stage. Spark shows them from 3.2 on.
        now: The time of the list of executors. Tasks that ended since then have no time; later ones do not count.
    """
    tasks = [task for stage in list_objects(answer) for task in get_object(stage.get("tasks")).values()]
    times = (_read_spark_time(get_object(task).get("launchTime")) for task in tasks)
    begins = [time for time in times if time and time <= now]
    millis = sum(int((now - begin).total_seconds() * 1000) for begin in begins)
    return replace(work, running_millis=millis, unknown_tasks=max(0, work.unknown_tasks - len(begins)))


def is_memory_loss(reason: object) -> bool:
    """Return whether Spark names memory as the cause, or a possible cause, of the end of an executor.

    Spark writes `exit code 52(JVM OOM)` and `exit code 137(SIGKILL, possible container OOM)`.
    """
    return "OOM" in get_text(reason)


def read_peak(metrics: Mapping[str, object]) -> Peak:
    """Return the memory in a set of executor metrics."""
    jvm, heap = read_number(metrics.get("ProcessTreeJVMRSSMemory")), read_number(metrics.get("JVMHeapMemory"))
    off_heap, other = (sum(read_number(metrics.get(name)) for name in names) for names in (_OFF_HEAP, _OTHER))
    return Peak(heap, off_heap, jvm + other, other)


def _measure_life(executor: Mapping[str, object], now: datetime) -> int:
    begin = _read_spark_time(executor.get("addTime"))
    end = _read_spark_time(executor.get("removeTime")) or now
    return max(0, int((end - begin).total_seconds() * 1000)) if begin else 0


def _read_spark_time(value: object) -> datetime | None:
    return read_time(get_text(value).replace("GMT", "Z"))


@dataclass(frozen=True)
class StageEntry:
    """A stage that completed.

    Attributes:
        stage: Its number.
        attempt: The number of its attempt.
        name: The description that the program gave it, or else Spark's name for it.
        tasks: The number of its tasks.
        span_millis: From the start of its first task to its end: no task lasted longer.
    """

    stage: int
    attempt: int
    name: str
    tasks: int
    span_millis: int


def read_stages(answer: object) -> tuple[int, list[StageEntry]]:
    """Return the bytes that were spilled to disks, and the stages that completed."""
    spilled, completed = 0, list[StageEntry]()
    for one in list_objects(answer):
        spilled += read_number(one.get("diskBytesSpilled"))
        begin = _read_spark_time(one.get("firstTaskLaunchedTime"))
        end = _read_spark_time(one.get("completionTime"))
        if one.get("status") == "COMPLETE" and begin and end:
            lasted = max(0, int((end - begin).total_seconds() * 1000))
            number, attempt = read_number(one.get("stageId")), read_number(one.get("attemptId"))
            tasks = read_number(one.get("numTasks"))
            name = get_text(one.get("description")) or get_text(one.get("name"))
            completed.append(StageEntry(number, attempt, name, tasks, lasted))
    return spilled, completed


def choose_stages(
    completed: Iterable[StageEntry], known: frozenset[tuple[int, int]], worst: Skew | None, most: int
) -> Sequence[StageEntry]:
    """Return the stages whose tasks to read: the longest ones that can be more skewed than the worst known stage.

    Args:
        completed: The stages that completed.
        known: The numbers and attempts of stages whose tasks were read.
        worst: The most skewed stage that is known.
        most: How many stages to return at most.
    """
    least = worst.excess if worst else 0
    candidates = [
        one for one in completed if one.tasks > 1 and one.span_millis > least and (one.stage, one.attempt) not in known
    ]
    return sorted(candidates, key=lambda one: one.span_millis, reverse=True)[:most]


def read_skew(answer: object, stage: StageEntry) -> Skew | None:
    """Return the skew of a stage from the summary of its tasks. None if the summary does not show it.

    Args:
        answer: The summary, with the quantiles of `QUANTILES`.
        stage: The stage.
    """
    times = get_object(answer).get("executorRunTime")
    if not isinstance(times, list) or len(times) != len(QUANTILES.split(",")):
        return None
    median, longest = map(read_number, times)
    return Skew(stage.stage, stage.name, longest, min(median, longest))


def find_worst(known: Skew | None, found: Skew | None) -> Skew | None:
    """Return the more skewed of two stages."""
    return max((one for one in (known, found) if one), key=lambda one: one.excess, default=None)
