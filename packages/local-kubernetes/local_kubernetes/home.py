"""The home directory of a local cluster."""

import errno
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from local_kubernetes import remover

_LOCK = "lock"
_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600
_OF_ONE_RUN = ("pods", "kubeconfig", "ca.crt", "server.crt", "server.key")


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
        descriptor = os.open(home / _LOCK, os.O_RDWR | os.O_CREAT, _PRIVATE_FILE)
    try:
        _lock(descriptor, home)
        with _translate_errors(home):
            _remove_leftovers(home)
        try:
            yield home
        finally:
            _remove_leftovers(home)
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
    if home.is_dir() and not (home / _LOCK).exists() and any(home.iterdir()):
        raise UnusableHome(f"{home} is not empty and was not created by a local cluster. Choose another folder")
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(_PRIVATE_FOLDER)


def _lock(descriptor: int, home: Path) -> None:
    """Lock the directory until this process ends, for whatever reason."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        raise LocalClusterError(
            f"another local cluster runs in {home} (process {holder or 'unknown'}); stop it, or choose another folder"
        ) from error
    os.ftruncate(descriptor, 0)
    with _translate_errors(home / _LOCK):
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


def _remove_leftovers(home: Path) -> None:
    for name in _OF_ONE_RUN:
        path = home / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
