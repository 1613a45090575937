"""Read what Spark did from its event log, line by line. The content is untrusted: wrong values count as 0."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from ..compose.memory import parse_mebibytes
from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from ..kubernetes.pods import get_object, get_text
from .metrics import Counts, Peak, Skew, Source, SparkMetrics, Work, find_settings
from .ui_answers import find_worst, is_memory_loss, read_number, read_peak

_BEGIN: Final = b'{"Event":"SparkListener'
LONGEST_LINE: Final = 2**20
"""The longest line that is read, in bytes."""
# The end of the year 9999.
_LATEST: Final = 253_402_300_799_000


class EventLog:
    """The figures of an event log, as far as it was read."""

    def __init__(self) -> None:
        self._readers: Mapping[str, Callable[[Mapping[str, object]], None]] = {
            "EnvironmentUpdate": self._read_environment,
            "ExecutorAdded": self._read_executor,
            "ExecutorRemoved": self._read_removal,
            "StageSubmitted": self._read_stage,
            "StageCompleted": self._read_completion,
            "TaskEnd": self._read_task,
            "ApplicationEnd": self._read_end,
        }
        self._task_cores = 1
        self._executors: dict[str, tuple[int, int, int]] = {}  # cores, begin and end
        self._times: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        self._descriptions: dict[int, str] = {}
        self._stages, self._tasks, self._work, self._spilled = Counts(), Counts(), Work(), 0
        self._skew: Skew | None = None
        self._peaks: dict[str, Peak] = {}
        self._heaps: dict[str, int] = {}
        self._settings: tuple[str, ...] = ()
        self._latest = 0
        self._has_ended = False

    def add(self, line: bytes) -> None:
        """Read a line. Lines that are not known, or not valid, are ignored.

        Args:
            line: The line.
        """
        if not line.startswith(_BEGIN) or len(line) > LONGEST_LINE:
            return
        name = line[len(_BEGIN) : len(_BEGIN) + 30].partition(b'"')[0].decode("ascii", "replace")
        if name not in self._readers:
            return
        try:
            event = get_object(json.loads(line))
        except (ValueError, RecursionError):
            return
        self._readers[name](event)

    def build(self) -> SparkMetrics | None:
        """Return the figures. None if the log does not reach the end of the application."""
        if not self._has_ended:
            return None
        known = [
            (cores // self._task_cores, begin, end or self._latest) for cores, begin, end in self._executors.values()
        ]
        lives = [(slots, max(0, end - begin)) for slots, begin, end in known if slots]
        time = datetime.fromtimestamp(self._latest / 1000, UTC)
        return SparkMetrics(
            Source.EVENT_LOG,
            time,
            self._stages,
            self._tasks,
            replace(
                self._work,
                slot_millis=sum(slots * life for slots, life in lives),
                alive_millis=sum(life for _, life in lives),
            ),
            self._spilled,
            self._skew,
            self._peaks,
            self._heaps,
            self._settings,
        )

    def _read_environment(self, event: Mapping[str, object]) -> None:
        properties = get_object(event.get("Spark Properties"))
        self._settings = find_settings(properties)
        for role in (ROLE_DRIVER, ROLE_EXECUTOR):
            heap = parse_mebibytes(get_text(properties.get(f"spark.{role}.memory"))[:20] or "1g")
            self._heaps |= {role: heap} if heap else {}
        cores = get_text(properties.get("spark.task.cpus"))
        self._task_cores = max(1, int(cores)) if cores.isdecimal() and len(cores) < 5 else 1

    def _read_executor(self, event: Mapping[str, object]) -> None:
        cores = read_number(get_object(event.get("Executor Info")).get("Total Cores"))
        self._executors[get_text(event.get("Executor ID"))] = (cores, self._note_time(event.get("Timestamp")), 0)

    def _read_removal(self, event: Mapping[str, object]) -> None:
        name = get_text(event.get("Executor ID"))
        cores, begin, _ = self._executors.get(name, (0, 0, 0))
        self._executors[name] = (cores, begin, self._note_time(event.get("Timestamp")))
        losses = self._work.memory_losses + is_memory_loss(event.get("Removed Reason"))
        self._work = replace(self._work, memory_losses=losses)

    def _read_stage(self, event: Mapping[str, object]) -> None:
        stage, properties = get_object(event.get("Stage Info")), get_object(event.get("Properties"))
        tasks = read_number(stage.get("Number of Tasks"))
        self._descriptions[read_number(stage.get("Stage ID"))] = get_text(properties.get("spark.job.description"))
        self._stages = replace(self._stages, total=self._stages.total + 1)
        self._tasks = replace(self._tasks, total=self._tasks.total + tasks)

    def _read_completion(self, event: Mapping[str, object]) -> None:
        stage = get_object(event.get("Stage Info"))
        failed = "Failure Reason" in stage
        known = self._stages
        done = known.done + (not failed)
        self._stages = Counts(done, max(known.total, done), known.failed + failed)
        number = read_number(stage.get("Stage ID"))
        times = sorted(self._times.pop((number, read_number(stage.get("Stage Attempt ID"))), []))
        name = self._descriptions.pop(number, "") or get_text(stage.get("Stage Name"))
        if len(times) > 1 and not failed:
            skew = Skew(number, name, times[-1], times[len(times) // 2])
            self._skew = find_worst(self._skew, skew)

    def _read_task(self, event: Mapping[str, object]) -> None:
        info, metrics = get_object(event.get("Task Info")), get_object(event.get("Task Metrics"))
        read, write = get_object(metrics.get("Shuffle Read Metrics")), get_object(metrics.get("Shuffle Write Metrics"))
        begin, end = self._note_time(info.get("Launch Time")), self._note_time(info.get("Finish Time"))
        self._work = Work(
            self._work.task_millis + max(0, end - begin),
            0,
            self._work.gc_millis + read_number(metrics.get("JVM GC Time")),
            self._work.shuffle_read
            + read_number(read.get("Remote Bytes Read"))
            + read_number(read.get("Local Bytes Read")),
            self._work.shuffle_written + read_number(write.get("Shuffle Bytes Written")),
            memory_losses=self._work.memory_losses,
        )
        self._spilled += read_number(metrics.get("Disk Bytes Spilled"))
        role = ROLE_DRIVER if info.get("Executor ID") == "driver" else ROLE_EXECUTOR
        self._peaks[role] = self._peaks.get(role, Peak()) | read_peak(get_object(event.get("Task Executor Metrics")))
        succeeded = get_object(event.get("Task End Reason")).get("Reason") == "Success"
        known = self._tasks
        failed = known.failed + (info.get("Failed") is True)
        self._tasks = Counts(known.done + succeeded, max(known.total, known.done + succeeded), failed)
        if succeeded:
            stage = (read_number(event.get("Stage ID")), read_number(event.get("Stage Attempt ID")))
            self._times[stage].append(read_number(metrics.get("Executor Run Time")))

    def _read_end(self, event: Mapping[str, object]) -> None:
        self._note_time(event.get("Timestamp"))
        self._has_ended = True

    def _note_time(self, value: object) -> int:
        time = min(read_number(value), _LATEST)
        self._latest = max(self._latest, time)
        return time
