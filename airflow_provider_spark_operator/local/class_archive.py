"""An archive of Spark's classes, with which a JVM needs half the processor time to start.

`spark-operator local prepare` writes the archive into the Python environment that contains Spark. A JVM with another
class path or build ignores the archive. Without the archive, Spark only starts slower.
"""

import hashlib
import sys
from pathlib import Path

from .java import Java

# From this version on, Java has a cache that also contains linked classes and profiles. One run writes it.
_FIRST_WITH_AHEAD_OF_TIME_CACHE = 25


def build_archive_path(java: Java, spark_home: Path, folder: Path | None = None) -> Path:
    """Return the path of the archive for a Java and a Spark, whether the archive exists or not.

    Args:
        java: The Java runtime.
        spark_home: The Spark home, whose `jars` are the class path.
        folder: The folder of all archives; by default a cache folder in this Python environment.
    """
    jars = "\n".join(f"{jar.name} {jar.stat().st_size}" for jar in sorted((spark_home / "jars").glob("*.jar")))
    image = java.home / "lib" / "modules"
    state = f"{java.home} {java.major} {image.stat().st_mtime_ns if image.exists() else 0} {spark_home} {jars}"
    digest = hashlib.sha256(state.encode()).hexdigest()[:16]
    folder = folder or Path(sys.prefix) / "var" / "cache" / "airflow-provider-spark-operator"
    return folder / f"spark-java{java.major}-{digest}.jsa"


def build_recording_options(java: Java, archive: Path) -> tuple[str, ...]:
    """Return the JVM options that write the archive when the program ends."""
    if java.major >= _FIRST_WITH_AHEAD_OF_TIME_CACHE:
        return (f"-XX:AOTCacheOutput={archive}",)
    return (f"-XX:ArchiveClassesAtExit={archive}",)


def build_starting_options(java: Java, archive: Path) -> tuple[str, ...]:
    """Return the JVM options that use the archive, without a warning if the JVM ignores it."""
    option = "AOTCache" if java.major >= _FIRST_WITH_AHEAD_OF_TIME_CACHE else "SharedArchiveFile"
    return (f"-XX:{option}={archive}", "-Xlog:disable")
