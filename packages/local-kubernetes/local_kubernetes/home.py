"""The home directory of a local cluster."""

import errno
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from . import remover

LOCK_FILE = "lock"
_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600
OF_ONE_RUN = ("pods", "credentials", "kubeconfig", "ca.crt", "server.crt", "server.key")
"""The entries of the directory that are deleted when the cluster ends."""
_LOCK_ATTEMPTS = 10
_LOCK_PAUSE = 0.02


_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class LocalClusterError(Exception):
    """The local cluster cannot run; the message is one sentence with the cause and the remedy."""


class UnusableHome(LocalClusterError):
    """The given directory cannot be the home of a local cluster."""


@contextmanager
def lock_home(home: Path) -> Iterator[Path]:
    """Create the directory with access for its owner only, and lock it; delete the secrets in it at the end.

    Yields:
        The absolute path of the directory.

    Raises:
        LocalClusterError: Another cluster has locked it, another user owns it, or it is not writable.
    """
    home = home.absolute()
    try:
        _claim(home)
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise _build_write_error(home, error) from error
        raise UnusableHome(
            f"could not use {home} as the folder of a local cluster: {_describe_error(error)}. Choose another folder"
        ) from error
    with _translate_errors(home):
        descriptor = os.open(home / LOCK_FILE, os.O_RDWR | os.O_CREAT, _PRIVATE_FILE)
    try:
        _lock(descriptor, home)
        with _translate_errors(home):
            _remove_leftovers(home)
        try:
            yield home
        finally:
            _remove_leftovers(home)
            with suppress(OSError):
                os.ftruncate(descriptor, 0)  # the process id may belong to another process later
    finally:
        os.close(descriptor)


@contextmanager
def create_temporary_home() -> Iterator[Path]:
    """Create a directory for one run; it is deleted when this process ends, for whatever reason.

    Yields:
        A path that does not exist yet, in a directory that only its owner can read.

    Raises:
        LocalClusterError: The directory could not be created.
    """
    with ExitStack() as stack:
        with _translate_errors(Path(tempfile.gettempdir())):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="local-kubernetes-"))
            command = (sys.executable, "-I", "-S", remover.__file__, folder)
            process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603  a fixed command
        stack.enter_context(process)  # leaving the context closes the pipe and waits
        yield Path(folder) / "cluster"


def write_private(path: Path, content: str) -> None:
    """Write a file that only its owner can read.

    Raises:
        LocalClusterError: The file could not be written.
    """
    with _translate_errors(path):
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Turn an OSError about a file into an error with a sentence for the user."""
    try:
        yield
    except OSError as error:
        raise _build_write_error(path, error) from error


def _describe_error(error: OSError) -> str:
    if isinstance(error, FileExistsError):
        return "it is a file, not a folder"
    if isinstance(error, NotADirectoryError):
        return "a part of its path is a file, not a folder"
    return (error.strerror or str(error)).lower()


def _build_write_error(path: Path, error: OSError) -> LocalClusterError:
    advice = "Free some space, or choose another folder" if error.errno in _NO_SPACE else "Choose another folder"
    return LocalClusterError(f"could not write {error.filename or path}: {error.strerror or error}. {advice}")


def _claim(home: Path) -> None:
    """Create the directory, or accept one that an earlier cluster created: files of the user must never be deleted."""
    if home.is_dir() and not (home / LOCK_FILE).exists() and any(home.iterdir()):
        raise UnusableHome(f"{home} is not empty and was not created by a local cluster. Choose another folder")
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(_PRIVATE_FOLDER)


def _lock(descriptor: int, home: Path) -> None:
    """Lock the directory until this process ends, for whatever reason."""
    if not acquire_lock(descriptor):
        holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        raise LocalClusterError(
            f"another local cluster runs in {home} (process {holder or 'unknown'}); stop it, or choose another folder"
        )
    if not _is_same_file(descriptor, home / LOCK_FILE):
        raise LocalClusterError(f"{home} was deleted while the local cluster started. Start the cluster again")
    os.ftruncate(descriptor, 0)
    with _translate_errors(home / LOCK_FILE):
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


def acquire_lock(descriptor: int) -> bool:
    """Lock a file, and return whether that succeeded. A process that reads the state holds the lock for a moment."""
    for _ in range(_LOCK_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(_LOCK_PAUSE)
        else:
            return True
    return False


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _remove_leftovers(home: Path) -> None:
    for name in OF_ONE_RUN:
        path = home / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
