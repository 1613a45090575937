"""`spark-operator local prepare`: Spark's classes in a form from which the local cluster's JVMs start sooner."""

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

from airflow_provider_spark_operator.cli.errors import CommandError, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.signals import run_until_signal
from airflow_provider_spark_operator.local.class_archive import archive_path
from airflow_provider_spark_operator.local.java import JavaMissing, find_java
from airflow_provider_spark_operator.local.software import SparkInstallation, SparkMissing, find_spark
from airflow_provider_spark_operator.local.spark import build_recording_command

_EXAMPLE = "examples/src/main/python/pi.py"
_SECONDS = 300


def run(_options: argparse.Namespace) -> ExitCode:
    """Make the archive for the Java that the local cluster would use, unless it is there; print its path.

    Raises:
        CommandError: Spark or Java is missing, the run fails, or the archive cannot be written.
    """
    return run_until_signal(_prepare, after_sigterm=ExitCode.INTERRUPTED)


async def _prepare() -> ExitCode:
    try:
        runtime = SparkInstallation(find_spark(), await find_java())
    except (SparkMissing, JavaMissing) as error:
        raise CommandError(str(error), ExitCode.INFRASTRUCTURE_FAILED) from None
    archive = archive_path(runtime.java, runtime.home)
    if not archive.exists():
        print_note(f"running Spark once on Java {runtime.java.major}")
        await _record(runtime, archive)
    print(archive)
    return ExitCode.SUCCESS


async def _record(runtime: SparkInstallation, archive: Path) -> None:
    last_words = "it did not start"
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
            unfinished = Path(folder) / archive.name
            last_words = await _run_spark(runtime, unfinished, Path(folder))
            unfinished.replace(archive)
    except FileNotFoundError:
        where = f"Java {runtime.java.major} at {runtime.java.home}"
        raise CommandError(f"{where} made no archive: {last_words}", ExitCode.INFRASTRUCTURE_FAILED) from None
    except OSError as error:
        raise CommandError(
            f"cannot write {archive}: {error.strerror or error}", ExitCode.INFRASTRUCTURE_FAILED
        ) from None


async def _run_spark(runtime: SparkInstallation, archive: Path, folder: Path) -> str:
    """Run Spark's example; return the last line of what it said."""
    example = str(runtime.home / _EXAMPLE)
    command = build_recording_command(runtime, archive, ("--master", "local[2]", example, "4"))
    environment = {
        **os.environ,
        "SPARK_HOME": str(runtime.home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": str(runtime.home.parent),
        "PYSPARK_PYTHON": sys.executable,
    }
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, said = await asyncio.wait_for(process.communicate(), _SECONDS)
    except TimeoutError:
        raise CommandError(f"Spark had not ended after {_SECONDS} s", ExitCode.TIMED_OUT) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return (said.decode(errors="replace").strip().splitlines() or ["no output"])[-1]
