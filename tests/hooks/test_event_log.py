"""Event logs in a folder, in the layouts of Spark, and those that are not read."""

from pathlib import Path
from threading import Event

import pytest
from fsspec.compression import compr

from airflow_provider_spark_operator.hooks import event_log
from airflow_provider_spark_operator.hooks.event_log import EventLogUnavailable, read_event_log
from tests.core.spark_metrics.test_event_log import LOG

CONTENT = b"\n".join(LOG) + b"\n"


def test_log_in_one_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "spark-47_x").write_bytes(CONTENT)

    assert read_event_log(f"file://{tmp_path}/", "spark-47.X").tasks.done == 5


def test_parts_of_a_rolling_log_are_read_in_their_order(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_pi-0"
    folder.mkdir()
    (folder / "appstatus_pi-0").touch()
    for number in range(len(LOG)):
        (folder / f"events_{number + 1}_pi-0").write_bytes(LOG[number] + b"\n")

    assert read_event_log(f"file://{tmp_path}", "pi-0").stages.total == 2


@pytest.mark.parametrize(
    ("name", "content", "cause"),
    [
        ("other", CONTENT, "contains no event log of pi-0. Check spark.eventLog.enabled and spark.eventLog.dir"),
        ("pi-0", CONTENT[:-100], "does not reach the end of the application"),
        ("pi-0.lz4", CONTENT, "compressed with lz4. Set spark.eventLog.compress to false$"),
    ],
)
def test_log_that_cannot_be_read_has_a_cause(tmp_path: Path, name: str, content: bytes, cause: str) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(EventLogUnavailable, match=cause):
        read_event_log(f"file://{tmp_path}", "pi-0")


def test_missing_codec_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pi-0.zstd").write_bytes(b"")
    monkeypatch.delitem(compr, "zstd", raising=False)

    with pytest.raises(EventLogUnavailable, match=r"or install backports\.zstd on the workers"):
        read_event_log(f"file://{tmp_path}", "pi-0")


def test_codec_of_fsspec_reads_a_compressed_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip

    (tmp_path / "pi-0.zstd").write_bytes(gzip.compress(CONTENT))
    monkeypatch.setitem(compr, "zstd", lambda raw, mode: gzip.GzipFile(fileobj=raw, mode=mode))

    assert read_event_log(f"file://{tmp_path}", "pi-0").tasks.done == 5


@pytest.mark.parametrize(("limit", "value"), [("_MAX_BYTES", 100), ("_MAX_SECONDS", -1.0)])
def test_large_or_slow_log_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: float
) -> None:
    (tmp_path / "pi-0").write_bytes(CONTENT)
    monkeypatch.setattr(event_log, limit, value)

    with pytest.raises(EventLogUnavailable, match="takes more than"):
        read_event_log(f"file://{tmp_path}", "pi-0")


def test_storage_that_stalls_delays_the_task_until_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pi-0").write_bytes(CONTENT)
    stalled = Event()
    monkeypatch.setattr(event_log, "_decompress", lambda *_: stalled.wait())
    monkeypatch.setattr(event_log, "_MAX_SECONDS", 0.2)
    try:
        with pytest.raises(EventLogUnavailable, match="takes more than"):
            read_event_log(f"file://{tmp_path}", "pi-0")
    finally:
        stalled.set()


def test_lines_across_pieces_are_read_and_endless_lines_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pi-0").write_bytes(b"x" * 5_000_000 + b"\n" + CONTENT)
    monkeypatch.setattr(event_log, "_PIECE", 1000)

    assert read_event_log(f"file://{tmp_path}", "pi-0").tasks.done == 5


def test_storage_that_fails_has_a_cause() -> None:
    with pytest.raises(EventLogUnavailable, match="could not read the event log in nowhere://bucket: "):
        read_event_log("nowhere://bucket", "pi-0")
