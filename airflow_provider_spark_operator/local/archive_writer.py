"""Write the archive of Spark's classes by running a program that uses them."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from .software import SparkInstallation
from .spark import build_recording_command

_PROGRAM = Path(__file__).with_name("recorded_program.py")
_SECONDS = 300


class ArchiveError(Exception):
    """The archive could not be written. The message is one sentence with the cause."""


class ArchiveTimedOut(ArchiveError):
    """Spark did not end in time."""


async def write_archive(spark: SparkInstallation, archive: Path) -> None:
    """Run Spark once, and write the archive of the classes that it loaded.

    Args:
        spark: The Spark and the Java to run.
        archive: The path of the archive. Its folder is created if it does not exist.

    Raises:
        ArchiveTimedOut: Spark did not end in time.
        ArchiveError: Spark did not write an archive, or the file could not be written.
    """
    last_line = "Java did not start"
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
            unfinished = Path(folder) / archive.name
            last_line = await _run_spark(spark, unfinished, Path(folder))
            unfinished.replace(archive)
    except FileNotFoundError:
        java = f"Java {spark.java.major} in {spark.java.home}"
        raise ArchiveError(f"{java} did not write an archive: {last_line}") from None
    except OSError as error:
        raise ArchiveError(f"could not write {archive}: {error.strerror or error}") from None


async def _run_spark(spark: SparkInstallation, archive: Path, folder: Path) -> str:
    """Run the program. Return the last line of its standard error."""
    command = build_recording_command(spark, archive, ("--master", "local[2]", str(_PROGRAM)))
    environment = {
        **os.environ,
        "SPARK_HOME": str(spark.home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": str(spark.home.parent),
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
        _, errors = await asyncio.wait_for(process.communicate(), _SECONDS)
    except TimeoutError:
        raise ArchiveTimedOut(f"Spark did not end within {_SECONDS} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return (errors.decode(errors="replace").strip().splitlines() or ["no output"])[-1]
