"""What Spark did in one attempt of an application: progress, time of tasks, data and memory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from ..kubernetes.json_object import JsonObject, KubernetesObject
from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from ..kubernetes.pods import get_object
from ..report.record_values import cut_text, drop_unknown, format_time, limit_number
from ..spark.spark_conf import DYNAMIC_ALLOCATION_KEY

LONGEST: Final = 2900
"""The size of the largest result of `build_metrics` in bytes, as JSON in ASCII."""
OTHER_MEMORY: Final = frozenset({"spark.memory.offHeap.enabled", "spark.executor.pyspark.memory"})
"""Properties that give an executor memory in addition to its heap and its overhead."""
_SETTINGS: Final = (*sorted(OTHER_MEMORY), DYNAMIC_ALLOCATION_KEY)
_LONGEST_NAME: Final = 200
_SUBJECTS: Final = {ROLE_DRIVER: "the driver", ROLE_EXECUTOR: "an executor"}
_LEAST_EXCESS: Final = 1000  # milliseconds
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


class Source(StrEnum):
    """Where the figures were read."""

    UI = "ui"
    EVENT_LOG = "eventLog"


@dataclass(frozen=True)
class Counts:
    """The number of stages or tasks, as far as Spark knows them.

    Attributes:
        done: The number that succeeded.
        total: The number that is known so far, without skipped ones.
        failed: The number that failed.
    """

    done: int = 0
    total: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Work:
    """The work of all executors.

    Attributes:
        task_millis: The time of the tasks that ended.
        slot_millis: The time of the executors, times the tasks that each can run at once.
        gc_millis: The part of the time of the tasks in which the JVM collected garbage.
        shuffle_read: Bytes of shuffle data that were read.
        shuffle_written: Bytes of shuffle data that were written.
        running_millis: The time of the tasks that have not ended, so far.
        unknown_tasks: The number of tasks that have not ended and whose time is not known.
        memory_losses: The number of executors that ran out of memory, or were killed possibly because of it.
        alive_millis: The time of the executors, from their registration on.
        longest_millis: The time of the executor that lived longest.
    """

    task_millis: int = 0
    slot_millis: int = 0
    gc_millis: int = 0
    shuffle_read: int = 0
    shuffle_written: int = 0
    running_millis: int = 0
    unknown_tasks: int = 0
    memory_losses: int = 0
    alive_millis: int = 0
    longest_millis: int = 0

    @property
    def busy(self) -> tuple[int, int]:
        """The least and the greatest possible time of all tasks. A task of unknown time ran as long as an executor."""
        least = min(self.slot_millis, self.task_millis + self.running_millis)
        return least, min(self.slot_millis, least + self.unknown_tasks * self.longest_millis)


@dataclass(frozen=True)
class Peak:
    """The largest memory of any process of one role, in bytes. 0 if it was not measured.

    Attributes:
        heap: The heap of the JVM.
        off_heap: The memory of the JVM outside of its heap: classes, compiled code and buffers.
        resident: The memory of the JVM, Python and other processes, which Linux reports.
        other: The part of `resident` without the JVM.
    """

    heap: int = 0
    off_heap: int = 0
    resident: int = 0
    other: int = 0

    def __or__(self, more: "Peak") -> "Peak":
        """Return the larger of each amount."""
        return Peak(
            max(self.heap, more.heap),
            max(self.off_heap, more.off_heap),
            max(self.resident, more.resident),
            max(self.other, more.other),
        )


@dataclass(frozen=True)
class Skew:
    """The stage whose longest task exceeded the median by the longest time.

    Attributes:
        stage: The number of the stage.
        name: The name of the stage, which comes from the program.
        longest: The time of the longest task, in milliseconds.
        median: The median of the times of the tasks, in milliseconds.
    """

    stage: int
    name: str
    longest: int
    median: int

    @property
    def excess(self) -> int:
        """By how much the longest task exceeded the median, in milliseconds."""
        return self.longest - self.median

    @property
    def is_notable(self) -> bool:
        """Whether the longest task is longer than twice the median, and at least a second longer."""
        return self.longest > 2 * self.median and self.excess >= _LEAST_EXCESS


@dataclass(frozen=True)
class SparkMetrics:
    """What Spark did.

    Attributes:
        source: Where the figures were read.
        time: When they were true.
        stages: The stages.
        tasks: The tasks.
        work: The work of the executors.
        spilled: Bytes that were spilled to disks.
        skew: The most skewed stage. None if no stage has several tasks.
        peaks: The largest memory by role.
        heaps: The configured size of the heap by role, in MiB.
        settings: The properties that are in effect, of those that prevent suggestions, see `find_settings`.
    """

    source: Source
    time: datetime
    stages: Counts = Counts()
    tasks: Counts = Counts()
    work: Work = Work()
    spilled: int = 0
    skew: Skew | None = None
    peaks: Mapping[str, Peak] = field(default_factory=dict)
    heaps: Mapping[str, int] = field(default_factory=dict)
    settings: tuple[str, ...] = ()


def find_settings(properties: Mapping[str, object]) -> tuple[str, ...]:
    """Return the Spark properties of other memory and of dynamic allocation that are in effect."""
    return tuple(name for name in _SETTINGS if str(properties.get(name, "")).lower() not in ("", "0", "false"))


def build_metrics(metrics: SparkMetrics) -> JsonObject:
    """Return the member `spark` of the record of a run: JSON of at most `LONGEST` bytes."""
    work, skew = metrics.work, metrics.skew
    idle, at_most = _compute_idle_shares(work)
    return {
        "source": str(metrics.source),
        "time": format_time(metrics.time),
        "stages": _build_counts(metrics.stages),
        "tasks": _build_counts(metrics.tasks),
        "taskSeconds": _build_seconds(work.task_millis),
        "executorSeconds": _build_seconds(work.slot_millis),
        "aliveSeconds": _build_seconds(work.alive_millis),
        "gcSeconds": _build_seconds(work.gc_millis),
        "shuffleReadBytes": limit_number(work.shuffle_read),
        "shuffleWriteBytes": limit_number(work.shuffle_written),
        "spilledBytes": limit_number(metrics.spilled),
        **drop_unknown(
            {
                "skew": skew
                and {
                    "stage": limit_number(skew.stage),
                    "name": cut_text(skew.name, _LONGEST_NAME),
                    "longestSeconds": _build_seconds(skew.longest),
                    "medianSeconds": _build_seconds(skew.median),
                },
                "memory": {
                    role: memory
                    for role in (ROLE_DRIVER, ROLE_EXECUTOR)
                    if (memory := _build_memory(metrics.peaks.get(role, Peak()), metrics.heaps.get(role, 0)))
                },
                "memoryLosses": limit_number(work.memory_losses) or None,
                "idleShare": idle,
                "idleShareAtMost": None if at_most == idle else at_most,
                "settings": list(metrics.settings),
                "facts": [
                    {"name": name, "text": text}
                    for name, text in (("progress", describe_progress(metrics)), *_list_facts(metrics))
                ],
            }
        ),
    }


def _compute_idle_shares(work: Work) -> tuple[float | None, float | None]:
    """Return the least and the greatest possible part of the time of the executors in which no task ran."""
    if not work.slot_millis:
        return None, None
    least, most = work.busy
    return round(1 - most / work.slot_millis, 4), round(1 - least / work.slot_millis, 4)


def _build_counts(counts: Counts) -> JsonObject:
    members = {"done": counts.done, "total": counts.total, "failed": counts.failed}
    return {name: limit_number(number) for name, number in members.items()}


def _build_seconds(millis: int) -> float:
    return limit_number(millis) / 1000


def _build_memory(peak: Peak, heap: int) -> JsonObject:
    sizes = {
        "heapMiB": heap,
        "peakHeapMiB": _to_mebibytes(peak.heap),
        "peakOffHeapMiB": _to_mebibytes(peak.off_heap),
        "peakRssMiB": _to_mebibytes(peak.resident),
        "peakOtherMiB": _to_mebibytes(peak.other),
    }
    return {name: limit_number(size) for name, size in sizes.items() if size} if peak != Peak() else {}


def _to_mebibytes(size: int) -> int:
    return -(-size // 2**20)  # rounded up


def read_peaks(record: KubernetesObject) -> dict[str, Peak]:
    """Return the largest memory by role from the record of a run."""
    memory = get_object(get_object(record.get("spark")).get("memory"))
    return {role: _read_peak(get_object(memory[role])) for role in _SUBJECTS if role in memory}


def _read_peak(sizes: Mapping[str, object]) -> Peak:
    values = [sizes.get(name) for name in ("peakHeapMiB", "peakOffHeapMiB", "peakRssMiB", "peakOtherMiB")]
    return Peak(*(size * 2**20 if isinstance(size, int) else 0 for size in values))


def describe_progress(metrics: SparkMetrics) -> str:
    """Return the progress in a few words, for the log of a task."""
    stages, tasks = metrics.stages, metrics.tasks
    failed = f" ({tasks.failed} failed)" if tasks.failed else ""
    return f"stages {stages.done}/{stages.total}, tasks {tasks.done}/{tasks.total}{failed}"


def describe_metrics(metrics: SparkMetrics) -> str:
    """Return the figures in one line, for the log of a task."""
    facts = [f"{name}: {text}" for name, text in _list_facts(metrics)]
    time = [] if metrics.source is Source.EVENT_LOG else [f"read at {metrics.time:%H:%M:%S} UTC"]
    return "; ".join((describe_progress(metrics), *facts, *time))


def _list_facts(metrics: SparkMetrics) -> Iterator[tuple[str, str]]:
    """Yield the figures with their names."""
    work, skew = metrics.work, metrics.skew
    if work.slot_millis:
        low, high = (_format_share(millis, work.slot_millis) for millis in work.busy)
        yield "executors busy", f"{low if low == high else f'{low} to {high}'} of the time"
    if work.task_millis:
        yield "garbage collection", f"{_format_share(work.gc_millis, work.task_millis)} of the time of tasks"
    yield "shuffle", f"{format_bytes(work.shuffle_read)} read, {format_bytes(work.shuffle_written)} written"
    yield "spilled to disks", format_bytes(metrics.spilled)
    if work.memory_losses:
        yield "executors lost, probably out of memory", str(work.memory_losses)
    if skew and skew.is_notable:
        longest, median = skew.longest / 1000, skew.median / 1000
        name = cut_text(skew.name, _LONGEST_NAME)
        yield "most skewed stage", f"{skew.stage} ({name}), longest task {longest:.1f} s, median {median:.1f} s"
    for role, peak in metrics.peaks.items():
        heap = metrics.heaps.get(role)
        if peak.heap:
            limit = f" of {format_bytes(heap * 2**20)}" if heap else ""
            yield f"largest heap of {_SUBJECTS[role]}", f"{format_bytes(peak.heap)}{limit}"
        if peak.resident:
            yield f"largest memory of {_SUBJECTS[role]}", format_bytes(peak.resident)


def _format_share(part: int, whole: int) -> str:
    return f"{100 * min(part, whole) // whole} %"


def format_bytes(size: float) -> str:
    """Return a number of bytes with the unit that suits it: `1.5 GiB`."""
    unit = 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{size} B"
