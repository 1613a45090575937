"""The archive of Spark's classes is specific to a Java and a Spark."""

from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_spark_operator.local.class_archive import (
    build_archive_path,
    build_recording_options,
    build_starting_options,
)
from airflow_provider_spark_operator.local.java import Java
from airflow_provider_spark_operator.local.software import SparkInstallation
from airflow_provider_spark_operator.local.spark import build_recording_command


@pytest.fixture
def java(tmp_path: Path) -> Java:
    (tmp_path / "java" / "lib").mkdir(parents=True)
    (tmp_path / "java" / "lib" / "modules").write_text("")
    return Java(tmp_path / "java", 17, frozenset())


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "spark" / "jars" / "spark-core.jar").write_text("core")
    return tmp_path / "spark"


def test_same_java_and_spark_have_the_same_archive(java: Java, spark: Path, tmp_path: Path) -> None:
    assert build_archive_path(java, spark, tmp_path) == build_archive_path(java, spark, tmp_path)
    assert build_archive_path(java, spark, tmp_path).parent == tmp_path


def test_other_java_has_another_archive(java: Java, spark: Path, tmp_path: Path) -> None:
    assert build_archive_path(java, spark, tmp_path) != build_archive_path(replace(java, major=21), spark, tmp_path)


def test_other_jar_has_another_archive(java: Java, spark: Path, tmp_path: Path) -> None:
    before = build_archive_path(java, spark, tmp_path)
    (spark / "jars" / "extra.jar").write_text("extra")
    assert build_archive_path(java, spark, tmp_path) != before


@pytest.mark.parametrize(
    ("major", "recorded", "started"),
    [
        (17, "-XX:ArchiveClassesAtExit=/a.jsa", "-XX:SharedArchiveFile=/a.jsa"),
        (25, "-XX:AOTCacheOutput=/a.jsa", "-XX:AOTCache=/a.jsa"),
    ],
)
def test_each_java_gets_its_own_options(java: Java, major: int, recorded: str, started: str) -> None:
    java = replace(java, major=major)
    assert build_recording_options(java, Path("/a.jsa")) == (recorded,)
    assert build_starting_options(java, Path("/a.jsa")) == (started, "-Xlog:disable")


def test_archive_has_the_class_path_of_containers(java: Java, spark: Path) -> None:
    command = build_recording_command(
        SparkInstallation(spark, java), Path("/a.jsa"), ["--master", "local[2]", "job.py"]
    )
    assert command[command.index("-cp") + 1] == f"{spark}/jars/*"
    assert command[-4:] == ["org.apache.spark.deploy.SparkSubmit", "--master", "local[2]", "job.py"]
