"""Find the Spark and the Java that replace the contents of a Spark image."""

import asyncio
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from local_kubernetes.kubelet.node.runtime import StartError

from ..core.spark.installation import advise_installation
from .class_archive import build_archive_path
from .java import Java, find_java, with_archive


class SparkMissing(StartError):
    """Spark is not installed. The message says what to install."""


@dataclass(frozen=True)
class SparkInstallation:
    """A Spark on this machine.

    Args:
        home: The folder of the `pyspark` package, which is a Spark home.
        java: The Java that runs Spark.
        class_archive: The archive of Spark's classes, if it exists.
    """

    home: Path
    java: Java
    class_archive: Path | None = None


class SparkSoftware:
    """Finds Spark and Java when the first container needs them, and caches the result."""

    def __init__(self) -> None:
        self._found: dict[Path, SparkInstallation] = {}
        self._search = asyncio.Lock()

    async def find(self, cache: Path) -> SparkInstallation:
        """Return the Spark that runs containers.

        Args:
            cache: The folder for an archive of Java's classes. It is created if it is needed.

        Raises:
            SparkMissing: Spark is not installed.
            JavaMissing: There is no Java that can run Spark.
        """
        async with self._search:
            if cache not in self._found:
                self._found[cache] = await _find(cache)
            return self._found[cache]


async def _find(cache: Path) -> SparkInstallation:
    home = find_spark()
    java = await find_java()
    archive = _find_archive(java, home)
    if archive is not None:
        return SparkInstallation(home, java, archive)
    _make_folder(cache)
    return SparkInstallation(home, await with_archive(java, cache))


def _find_archive(java: Java, home: Path) -> Path | None:
    archive = build_archive_path(java, home)
    return archive if archive.exists() else None


def _make_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)


def find_spark() -> Path:
    """Return the Spark home of the installed `pyspark` package; raise SparkMissing if there is none."""
    package = importlib.util.find_spec("pyspark")
    for folder in (package.submodule_search_locations or ()) if package else ():
        if (Path(folder) / "jars").is_dir():
            return Path(folder)
    raise SparkMissing(f"Spark is not installed: {advise_installation('local')}")
