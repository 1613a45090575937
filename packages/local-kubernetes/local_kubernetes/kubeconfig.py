"""A copy of the cluster's kubeconfig where the user asked for it, while the cluster runs."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class UnusableKubeconfig(Exception):
    """The kubeconfig could not be written to the path that the user named."""


def check_kubeconfig(path: Path, command: str) -> None:
    """Check, before the cluster starts, that its kubeconfig can be written to a path.

    Args:
        path: The path that the user named.
        command: The command that runs the cluster; only a file that it wrote is replaced.

    Raises:
        UnusableKubeconfig: The folder is missing or not writable, or the file may be the user's own.
    """
    folder = path.absolute().parent
    if not folder.is_dir():
        problem = f"the folder {folder} does not exist"
    elif not os.access(folder, os.W_OK | os.X_OK):
        problem = f"the folder {folder} is not writable"
    elif not _is_replaceable(path, command):
        raise UnusableKubeconfig(f"{path}: exists and was not written by this command; name another file")
    else:
        return
    raise UnusableKubeconfig(f"{path}: {problem}. Choose an existing folder that you can write")


@contextmanager
def publish_kubeconfig(source: Path, copy: Path | None, command: str) -> Iterator[Path]:
    """Copy the kubeconfig, readable by its owner only; delete the copy at the end, unless another cluster replaced it.

    Args:
        source: The kubeconfig in the home of the cluster.
        copy: The path that the user named; None for no copy.
        command: The command that runs the cluster; the first line of the copy names it.

    Yields:
        The path that users need: of the copy, or of the source if there is no copy.

    Raises:
        UnusableKubeconfig: The copy could not be written.
    """
    if copy is None:
        yield source
        return
    content = f"{_mark(command)}; it is deleted when that ends.\n{source.read_text(encoding='utf-8')}"
    try:
        copy.unlink(missing_ok=True)
        descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise _unwritable(copy, error) from None
    # The file stays open: as long as it is, no file that replaces it can have the same inode.
    try:
        try:
            with os.fdopen(os.dup(descriptor), "w", encoding="utf-8") as stream:
                stream.write(content)
        except OSError as error:
            raise _unwritable(copy, error) from None
        yield copy
    finally:
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), copy.stat()):
                copy.unlink()
        os.close(descriptor)


def _unwritable(copy: Path, error: OSError) -> UnusableKubeconfig:
    return UnusableKubeconfig(f"{copy}: cannot be written: {error.strerror}")


def _is_replaceable(path: Path, command: str) -> bool:
    try:
        return not path.exists() or path.read_text(encoding="utf-8").startswith(_mark(command))
    except (OSError, UnicodeDecodeError):
        return False


def _mark(command: str) -> str:
    return f"# Written by `{command}`"
