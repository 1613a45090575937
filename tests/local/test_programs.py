import os
import subprocess
from pathlib import Path

import pytest

from airflow_provider_spark_operator.local.java import Java
from airflow_provider_spark_operator.local.programs import (
    MASTER,
    WORKER,
    is_started_by,
    prepare_java_home,
    write_daemon_scripts,
)


@pytest.fixture
def spark_home(tmp_path: Path) -> Path:
    """A Spark home whose own script prints that it was called."""
    for name, text in (("bin/load-spark-env.sh", "export LOADED=yes"), ("sbin/spark-daemon.sh", 'echo own "$@"')):
        path = tmp_path / "spark home" / name
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    return tmp_path / "spark home"


def test_scripts_start_a_daemon_and_report_its_status(tmp_path: Path, spark_home: Path) -> None:
    go = tmp_path / "go"
    waits = f'echo "$LOADED" "$@"; while [ ! -e "{go}" ]; do sleep 0.05; done'
    commands = {WORKER: ["sh", "-c", waits, "name", "--host", "a b"]}
    scripts = write_daemon_scripts(tmp_path / "a folder", spark_home, commands)
    script = (
        f'"{scripts["start-worker.sh"]}" spark://it:7077 && '
        f'"{scripts["spark-daemon.sh"]}" status {WORKER.main_class} 1 && touch "{go}" && '
        f'while "{scripts["spark-daemon.sh"]}" status {WORKER.main_class} 1; do sleep 0.05; done; echo ended'
    )

    run = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60, check=True)

    assert run.stdout == "yes --host a b spark://it:7077\nended\n"


def test_other_daemons_use_the_script_of_spark(tmp_path: Path, spark_home: Path) -> None:
    scripts = write_daemon_scripts(tmp_path / "folder", spark_home, {MASTER: ["true"]})

    run = subprocess.run([scripts["spark-daemon.sh"], "stop", "Other", "1"], capture_output=True, text=True, check=True)

    assert run.stdout == "own stop Other 1\n"


def test_command_names_the_daemon_that_it_starts() -> None:
    words = ["bash", "-c", "/opt/spark/sbin/start-master.sh && sleep 1"]

    assert is_started_by(MASTER, words)
    assert not is_started_by(WORKER, words)


def test_java_with_the_module_keeps_its_home(tmp_path: Path) -> None:
    java = Java(tmp_path / "java", 17, frozenset({"java.base", "jdk.incubator.vector"}))

    assert prepare_java_home(java, tmp_path / "home") == java.home


def test_option_for_a_missing_module_is_dropped(tmp_path: Path) -> None:
    program = tmp_path / "the java" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    program.chmod(0o755)
    home = prepare_java_home(Java(tmp_path / "the java", 25, frozenset({"java.base"})), tmp_path / "home")

    words = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Da=b c", "", "Main", "--flag"]
    run = subprocess.run([home / "bin" / "java", *words], capture_output=True, text=True, check=True, env=os.environ)

    assert run.stdout == "-Xmx1g|-Da=b c||Main|--flag|"
