"""Read the event log of an application on a worker, with Airflow's object storage."""

import re
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextvars import copy_context
from itertools import islice
from threading import Thread
from typing import BinaryIO

from airflow.sdk import ObjectStoragePath
from fsspec.compression import compr

from ..airflow_compat import mask_secrets
from ..core.spark_metrics.event_log import LONGEST_LINE, EventLog
from ..core.spark_metrics.metrics import SparkMetrics

_MAX_BYTES = 256 * 2**20
_MAX_SECONDS = 30.0
_LIMITS = f"reading the event log takes more than {_MAX_BYTES >> 20} MiB or {_MAX_SECONDS:g} s"
_MAX_FILES = 1000
_PIECE = 2**20
_CODECS = ("", ".zstd", ".lz4", ".snappy", ".lzf")
# How Spark names files after an application.
_REPLACED = (re.compile(r"[ :/]"), re.compile(r"[.${}'\"]"))
_NUMBER = re.compile(r"events_(\d{1,9})_")


class EventLogUnavailable(Exception):
    """The event log was not read. The message is the cause, without secrets."""


def read_event_log(folder: str, application_id: str) -> SparkMetrics:
    """Return what Spark did, from the event log of an application that ended.

    Args:
        folder: The URL of the folder with event logs, with the id of the connection.
        application_id: Spark's id of the attempt.

    Raises:
        EventLogUnavailable: The event log does not exist, is not readable, is too large, or is not complete.
    """
    found: Future[SparkMetrics] = Future()
    # A storage that stalls cannot be interrupted. The daemon thread then remains until the process of the task ends,
    # which does not wait for it.
    arguments = (found, folder, application_id, time.monotonic() + _MAX_SECONDS)
    Thread(target=copy_context().run, args=(_complete, *arguments), name="event log", daemon=True).start()
    try:
        return found.result(timeout=_MAX_SECONDS)
    except TimeoutError:
        raise EventLogUnavailable(_LIMITS) from None


def _complete(found: "Future[SparkMetrics]", folder: str, application_id: str, deadline: float) -> None:
    try:
        found.set_result(_read(folder, application_id, deadline))
    except EventLogUnavailable as error:
        found.set_exception(error)
    except Exception as error:  # each kind of storage has its own errors
        cause = mask_secrets(str(error) or type(error).__name__)
        problem = EventLogUnavailable(f"could not read the event log in {mask_secrets(folder)}: {cause}")
        problem.__cause__ = error
        found.set_exception(problem)


def _read(folder: str, application_id: str, deadline: float) -> SparkMetrics:
    log = EventLog()
    for line in _read_lines(_list_files(folder, application_id), deadline):
        log.add(line)
    metrics = log.build()
    if metrics is None:
        raise EventLogUnavailable("the event log does not reach the end of the application")
    return metrics


def _list_files(folder: str, application_id: str) -> list[ObjectStoragePath]:
    """Return the files of an event log in their order: one file, or the parts in a folder."""
    name = _REPLACED[1].sub("_", _REPLACED[0].sub("-", application_id)).lower()
    root = ObjectStoragePath(folder.rstrip("/"))
    parts = root / f"eventlog_v2_{name}"
    if parts.is_dir():
        found = ((_NUMBER.match(path.name), path) for path in islice(parts.iterdir(), _MAX_FILES))
        if numbered := {int(match[1]): path for match, path in found if match}:
            return [numbered[number] for number in sorted(numbered)]
    for codec in _CODECS:
        file = root / f"{name}{codec}"
        if file.is_file():
            return [file]
    raise EventLogUnavailable(
        f"{mask_secrets(folder)} contains no event log of {application_id}. Check spark.eventLog.enabled and "
        "spark.eventLog.dir"
    )


def _read_lines(files: list[ObjectStoragePath], deadline: float) -> Iterator[bytes]:
    size = 0
    for file in files:
        rest = b""
        with file.open("rb") as raw:  # type: ignore[no-untyped-call]
            stream = _decompress(raw, file.suffix)
            while piece := stream.read(_PIECE):
                size += len(piece)
                if size > _MAX_BYTES or time.monotonic() > deadline:
                    raise EventLogUnavailable(_LIMITS)
                *lines, rest = (rest + piece).split(b"\n")
                yield from lines
                rest = rest if len(rest) <= LONGEST_LINE else b" "  # the rest of the line is no event
        yield rest


def _decompress(raw: BinaryIO, suffix: str) -> BinaryIO:
    if suffix not in _CODECS[1:]:
        return raw
    opener = compr.get(suffix[1:]) if suffix == ".zstd" else None
    if opener is None:
        raise EventLogUnavailable(
            f"the event log is compressed with {suffix[1:]}. Set spark.eventLog.compress to false"
            + (", or install backports.zstd on the workers" if suffix == ".zstd" else "")
        )
    stream: BinaryIO = opener(raw, mode="rb")
    return stream
