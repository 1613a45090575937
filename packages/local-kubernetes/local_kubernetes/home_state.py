"""Read and delete the state of a cluster in another process, from its home directory."""

import fcntl
import os
import re
import shutil
import stat
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from .home import LOCK_FILE, OF_ONE_RUN, LocalClusterError, UnusableHome, acquire_lock

# The entries of a home directory that remain after the end of the cluster. The node and the journal create them.
_REMAINING = ("logs", "claims", "cache", "journal", "journal-wal", "journal-shm", "journal.new", "journal.new-wal")
_DAMAGED_JOURNAL = re.compile(r"journal\.damaged-[0-9]+(-wal)?")
_LOCK_BYTES = 32
_CONTENT = re.compile(rb"([0-9]+\n)?")


@dataclass(frozen=True)
class HomeState:
    """The state of a home directory.

    Attributes:
        home: The absolute path of the directory.
        exists: Whether a local cluster has created the directory.
        is_running: Whether a cluster runs in the directory.
        process: The process id of the cluster that runs; None if no cluster runs, or the cluster has not written the
            id yet.
    """

    home: Path
    exists: bool = False
    is_running: bool = False
    process: int | None = None


def read_home(home: Path) -> HomeState:
    """Return the state of a home directory. A directory that does not exist, or is empty, has no cluster.

    Raises:
        UnusableHome: The directory was not created by a local cluster, or could not be read.
    """
    home = home.absolute()
    lock = _open_lock(home)
    if lock is None:
        return HomeState(home)
    with lock:
        # The lock is shared, so that two commands that read the state at the same time do not disturb each other.
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return HomeState(home, exists=True, is_running=True, process=_read_process(lock))
    return HomeState(home, exists=True)


def remove_home(home: Path) -> bool:
    """Delete the state of a stopped cluster, and the directory unless it is a symbolic link.

    Returns:
        Whether there was a directory of a local cluster.

    Raises:
        UnusableHome: The directory was not created by a local cluster, or contains files that no cluster creates.
        LocalClusterError: A cluster runs in the directory, or a file could not be deleted.
    """
    home = home.absolute()
    lock = _open_lock(home)
    if lock is None:
        return False
    with lock:
        if not acquire_lock(lock.fileno()):
            holder = _read_process(lock) or "unknown"
            raise LocalClusterError(f"a local cluster runs in {home} (process {holder}). Stop it first")
        try:
            _delete(home)
        except OSError as error:
            raise LocalClusterError(
                f"could not delete {error.filename or home}: {error.strerror or error}. Delete it yourself"
            ) from error
    return True


def _open_lock(home: Path) -> FileIO | None:
    """Return the lock file; None if the directory does not exist or is empty."""
    try:
        if not home.exists() or (home.is_dir() and not any(home.iterdir())):
            return None
        descriptor = os.open(home / LOCK_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise _build_foreign_error(home) from None
        raise UnusableHome(f"could not read {home}: {error.strerror or error}") from error
    lock = FileIO(descriptor)
    if stat.S_ISREG(os.fstat(descriptor).st_mode) and _CONTENT.fullmatch(os.pread(descriptor, _LOCK_BYTES, 0)):
        return lock
    lock.close()
    raise _build_foreign_error(home)


def _build_foreign_error(home: Path) -> UnusableHome:
    return UnusableHome(f"{home} was not created by a local cluster. Choose the folder of a local cluster")


def _read_process(lock: FileIO) -> int | None:
    text = os.pread(lock.fileno(), _LOCK_BYTES, 0).strip()
    return int(text) if text else None


def _delete(home: Path) -> None:
    entries = sorted(home.iterdir())
    foreign = [entry.name for entry in entries if not _is_entry(entry.name)]
    if foreign:
        raise UnusableHome(
            f"{home} contains files that no local cluster creates: {', '.join(foreign)}. Move them, or delete the "
            "folder yourself"
        )
    # The lock comes last: without it, the rest would not be recognized as the state of a cluster.
    for entry in sorted(entries, key=lambda each: each.name == LOCK_FILE):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    if not home.is_symlink():
        home.rmdir()


def _is_entry(name: str) -> bool:
    return name in (LOCK_FILE, *OF_ONE_RUN, *_REMAINING) or _DAMAGED_JOURNAL.fullmatch(name) is not None
