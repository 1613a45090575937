"""The Spark and the Java that stand in for the contents of a Spark image."""

import asyncio
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_spark_operator.local.class_archive import archive_path
from airflow_provider_spark_operator.local.java import Java, find_java, with_archive


class SparkMissing(Exception):
    """Spark is not installed; the message says what to install."""


@dataclass(frozen=True)
class SparkRuntime:
    """Spark on this machine.

    Args:
        home: the folder of the `pyspark` package, which is a Spark home.
        java: the Java to run it on.
        class_archive: the archive of Spark's classes to start from, where one has been made.
    """

    home: Path
    java: Java
    class_archive: Path | None = None


class SparkSoftware:
    """Finds Spark and Java when the first container needs them, and remembers what it found.

    Args:
        cache: a folder for what makes Java start sooner; made when needed.
    """

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._found: SparkRuntime | None = None
        self._search = asyncio.Lock()

    async def runtime(self) -> SparkRuntime:
        """What to run Spark with.

        Raises:
            SparkMissing: Spark is not installed.
            JavaMissing: there is no Java that it runs on.
        """
        async with self._search:
            if self._found is None:
                home = find_spark()
                java = await find_java()
                archive = archive_path(java, home)
                if archive.exists():
                    self._found = SparkRuntime(home, java, archive)
                else:
                    self._cache.mkdir(parents=True, exist_ok=True)
                    self._found = SparkRuntime(home, await with_archive(java, self._cache))
            return self._found


def find_spark() -> Path:
    """The Spark home of the `pyspark` package beside this one; raises SparkMissing if there is none."""
    package = importlib.util.find_spec("pyspark")
    for folder in (package.submodule_search_locations or ()) if package else ():
        if (Path(folder) / "jars").is_dir():
            return Path(folder)
    raise SparkMissing("Spark is not installed: install it with pip install 'airflow-provider-spark-operator[local]'")
