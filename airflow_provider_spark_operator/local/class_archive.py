"""An archive of Spark's classes, from which a JVM starts in half the processor time; made once, on request.

It lies in the Python environment that Spark is installed in, so that it goes with it. A JVM that finds the
archive unfit (another class path, another build) ignores it: nothing depends on it but speed.
"""

import hashlib
import sys
from pathlib import Path

from airflow_provider_spark_operator.local.java import Java

# From this version on, a cache holds linked classes and profiles as well, and one run makes it.
_FIRST_WITH_AHEAD_OF_TIME_CACHE = 25


def build_archive_path(java: Java, spark_home: Path, folder: Path | None = None) -> Path:
    """Where the archive for exactly this Java and this Spark is, or would be.

    Args:
        java: The runtime.
        spark_home: The folder whose `jars` are the class path.
        folder: Of all archives; by default in this Python environment.
    """
    jars = "\n".join(f"{jar.name} {jar.stat().st_size}" for jar in sorted((spark_home / "jars").glob("*.jar")))
    image = java.home / "lib" / "modules"
    state = f"{java.home} {java.major} {image.stat().st_mtime_ns if image.exists() else 0} {spark_home} {jars}"
    digest = hashlib.sha256(state.encode()).hexdigest()[:16]
    folder = folder or Path(sys.prefix) / "var" / "cache" / "airflow-provider-spark-operator"
    return folder / f"spark-java{java.major}-{digest}.jsa"


def build_recording_options(java: Java, archive: Path) -> tuple[str, ...]:
    """The JVM options that write the archive when the program ends."""
    if java.major >= _FIRST_WITH_AHEAD_OF_TIME_CACHE:
        return (f"-XX:AOTCacheOutput={archive}",)
    return (f"-XX:ArchiveClassesAtExit={archive}",)


def build_starting_options(java: Java, archive: Path) -> tuple[str, ...]:
    """The JVM options that start from the archive, and say nothing where it does not fit."""
    option = "AOTCache" if java.major >= _FIRST_WITH_AHEAD_OF_TIME_CACHE else "SharedArchiveFile"
    return (f"-XX:{option}={archive}", "-Xlog:disable")
