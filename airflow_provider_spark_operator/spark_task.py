"""Messages from a Spark job to its task: `from spark_task import report`.

A script that imports this module gets it from the task: the file is shipped with the script. It needs nothing but
Python 3.8. Each message is a line of the driver's log. The termination message of the driver's container has the latest
values, and outlives the log. Outside Kubernetes, the job only prints the lines.
"""

from __future__ import annotations  # for Python 3.8

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

MARKER = "spark-task "
"""The beginning of a line with a message."""
KEY = "spark-task"
"""The member of the termination message with the report."""
MESSAGE_VARIABLE = "SPARK_TASK_MESSAGE_FILE"
MESSAGE_FILE = "/dev/termination-log"
MESSAGE_BYTES = 4096
MAX_NAMES = 50
STOP_VARIABLE = "SPARK_TASK_STOP_FILE"
STOP_FILE = "/opt/spark-task/stop"
_MAX_LINES = 1000
_POLL_SECONDS = 5
_QUERY_SECONDS = 30.0
_PROGRESS_SECONDS = 5.0
_FRAME = 120  # bytes of the members and signs around the entries
_LONGEST_NAME = 64
_LONGEST_TEXT = 200


class Report:
    """The report of a job. If it cannot be written, the job continues. Several threads may call the methods."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._checks: dict[str, dict[str, object]] = {}
        self._metadata: dict[str, object] = {}
        self._others: dict[str, object] = {}
        self._progress: float | None = None
        self._printed = float("-inf")
        self._lines = 0
        self._omitted: set[str] = set()

    def metadata(self, **values: object) -> None:
        """Report facts about the result, for example `rows=12`. A later value replaces an earlier one.

        Args:
            **values: Texts, numbers, booleans or None. Other values are converted to text.
        """
        for name, value in values.items():
            self._put(self._metadata, "metadata", name, _convert(value))

    def check(self, name: str, passed: object, detail: str = "") -> bool:
        """Report whether the result meets an expectation, and return it. A failed check can fail the task.

        Args:
            name: The expectation, for example "not_empty".
            passed: Whether it is met.
            detail: What was found, for people.
        """
        outcome: dict[str, object] = {"passed": bool(passed)}
        if detail:
            outcome["detail"] = _convert(str(detail))
        self._put(self._checks, "checks", name, outcome)
        return bool(passed)

    def progress(self, share: float) -> None:
        """Report how much is done, from 0 to 1. At most one value per five seconds is printed."""
        with self._lock:
            self._progress = round(min(1.0, max(0.0, float(share))), 4)
            if self._progress == 1.0 or time.monotonic() >= self._printed + _PROGRESS_SECONDS:
                self._printed = time.monotonic()
                self._print({"progress": self._progress})
                self.save()

    def stop_requested(self) -> bool:
        """Return whether `spark-operator stop`, or a task that starts a new version, asks the job to end."""
        try:
            return bool(Path(os.environ.get(STOP_VARIABLE, STOP_FILE)).read_text().strip())
        except OSError:  # outside Kubernetes, or without the volume
            return False

    def run(self, *queries: Any) -> None:
        """Wait until a streaming query ends or a stop is requested, then stop all queries. Report their progress.

        Args:
            *queries: The queries, as `start()` and `toTable()` return them.

        Raises:
            StreamingQueryException: A query has failed.
        """
        seen: dict[str, dict[str, Any]] = {}
        while all(query.isActive for query in queries) and not self.stop_requested():
            for query in queries:
                self._report_query(query, seen)
            queries[0].awaitTermination(_POLL_SECONDS)
        for query in queries:
            query.stop()
        for query in queries:
            query.awaitTermination()

    def _report_query(self, query: Any, seen: dict[str, dict[str, Any]]) -> None:
        """Report a query that has completed a batch or waits for data, but not one that works on a batch."""
        name, progress = str(query.name or query.id)[:_LONGEST_NAME], query.lastProgress
        batch, rows = (None, None) if progress is None else (progress["batchId"], progress["numInputRows"])
        before = seen.get(name, {"batch": None, "first": None, "printed": float("-inf")})
        is_first = batch is not None and before["batch"] is None
        first = query.recentProgress[0]["batchId"] if is_first else before["first"]
        is_due = is_first or time.monotonic() >= before["printed"] + _QUERY_SECONDS
        if is_due and (batch != before["batch"] or not query.status["isTriggerActive"]):
            seen[name] = {"batch": batch, "first": first, "printed": time.monotonic()}
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            self._print({"queries": {name: {"batch": batch, "first": first, "rows": rows, "time": now}}})

    def save(self, **others: object) -> None:
        """Write the report into the termination message, as far as it fits.

        Args:
            **others: Other members of the message, which come first.
        """
        path = Path(os.environ.get(MESSAGE_VARIABLE, MESSAGE_FILE))
        with self._lock:
            if MESSAGE_VARIABLE not in os.environ and not path.exists():  # outside Kubernetes
                return
            self._others.update(others)
            text = first = json.dumps(self._others)
            if len(first) + _FRAME < MESSAGE_BYTES:
                text = json.dumps({**self._others, KEY: self._fit(MESSAGE_BYTES - len(first) - _FRAME)})
            try:
                path.write_text(text)
            except OSError as error:
                sys.stderr.write(f"could not write the report of the job to {path}: {error}\n")

    def _put(self, known: dict[str, Any], kind: str, name: str, value: object) -> None:
        name = str(name)[:_LONGEST_NAME]
        with self._lock:
            if name in known and known[name] == value:
                return
            if name not in known and len(known) >= MAX_NAMES:
                if len(self._omitted) < _MAX_LINES:
                    self._omitted.add(name)
                return
            known[name] = value
            if self._lines < _MAX_LINES:
                self._lines += 1
                self._print({kind: {name: value}})
            self.save()

    def _print(self, message: dict[str, Any]) -> None:
        sys.stdout.write(f"{MARKER}{json.dumps(message)}\n")
        sys.stdout.flush()

    def _fit(self, room: int) -> dict[str, Any]:
        """Return the report in at most `room` bytes of JSON: failed checks first, then the others, then metadata."""
        summary: dict[str, Any] = {"checks": {}, "metadata": {}}
        checks = sorted(self._checks.items(), key=lambda item: bool(item[1]["passed"]))
        entries = [("checks", *item) for item in checks] + [("metadata", *item) for item in self._metadata.items()]
        for kind, name, value in entries:
            size = len(json.dumps({name: value}))
            if size <= room:
                summary[kind][name] = value
                room -= size
        return {**summary, "progress": self._progress, "total": len(entries) + len(self._omitted)}


def _convert(value: Any) -> str | int | float | bool | None:
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, float) and value - value != 0:  # not a number, or infinite: JSON has no such values
        return str(value)
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):  # Python refuses to write a very long number as decimal text
        return value if abs(value) < 2**_LONGEST_TEXT else hex(value)[:_LONGEST_TEXT] + "…"
    text = str(value)
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"


report = Report()
"""The report of this job."""
