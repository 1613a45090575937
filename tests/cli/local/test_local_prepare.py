"""`local prepare` writes the archive of Spark's classes once, or reports the cause in one sentence."""

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.local import local_prepare
from airflow_provider_spark_operator.local import archive_writer
from airflow_provider_spark_operator.local.java import Java, JavaMissing
from tests.cli.verbs import Verbs


@pytest.fixture
def fake_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Return a function that writes the program of a fake Java. The archive is in the folder of the test."""
    program = tmp_path / "java" / "bin" / "java"
    program.parent.mkdir(parents=True)

    async def find_java() -> Java:
        return Java(tmp_path / "java", 17, frozenset())

    monkeypatch.setattr(local_prepare, "find_java", find_java)
    monkeypatch.setattr(local_prepare, "build_archive_path", lambda java, home: tmp_path / "cache" / "spark.jsa")

    def write(script: str) -> None:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    return write


RECORD = """
for word in "$@"; do case $word in -XX:ArchiveClassesAtExit=*) echo classes >"${word#*=}";; esac; done
"""


def test_prepare_writes_the_archive_and_prints_its_path(
    fake_java: Callable[[str], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_java(RECORD)
    assert main(["local", "prepare"]) == 0
    archive = tmp_path / "cache" / "spark.jsa"
    assert capsys.readouterr().out.strip() == str(archive)
    assert archive.read_text() == "classes\n"
    assert list(archive.parent.iterdir()) == [archive]


def test_prepare_keeps_an_existing_archive(fake_java: Callable[[str], None], tmp_path: Path) -> None:
    fake_java(RECORD)
    assert main(["local", "prepare"]) == 0
    fake_java("exit 1")
    assert main(["local", "prepare"]) == 0


def test_prepare_without_an_archive_prints_the_last_line_of_java(
    fake_java: Callable[[str], None], run_verb: Verbs
) -> None:
    fake_java("echo out of memory >&2; exit 1")
    assert "did not write an archive: out of memory" in run_verb("local prepare", 5).err.splitlines()[-1]


def test_prepare_ends_with_4_if_spark_does_not_end_in_time(
    fake_java: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    monkeypatch.setattr(archive_writer, "_SECONDS", 1)
    fake_java("exec sleep 600")
    assert run_verb("local prepare", 4).err.splitlines()[-1] == "spark-operator: error: Spark did not end within 1 s"


def test_prepare_without_java_prints_what_to_install(monkeypatch: pytest.MonkeyPatch, run_verb: Verbs) -> None:
    async def no_java() -> None:
        raise JavaMissing("no Java 17 or newer was found: install one")

    monkeypatch.setattr(local_prepare, "find_java", no_java)
    assert "no Java 17 or newer was found" in run_verb("local prepare", 5).err
