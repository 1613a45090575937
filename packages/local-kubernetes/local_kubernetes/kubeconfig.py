"""The kubeconfig of a cluster, and the copy of it at the path that the user names."""

import base64
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import yaml

LOOPBACK = "127.0.0.1"
ANSWER_SECONDS = 5.0
"""Time within which a running cluster answers, in seconds."""


_LARGEST_FILE = 100_000


class UnusableKubeconfig(Exception):
    """The kubeconfig could not be written to the path that the user named."""


_EXTENSION = "local-kubernetes"


def render_kubeconfig(home: Path, server: str, ca_file: Path, token: str) -> str:
    """Return the text of a kubeconfig.

    Args:
        home: The folder of the cluster.
        server: The URL of the API server.
        ca_file: The file with the certificate of the authority that signed the server's certificate.
        token: The token of the user.
    """
    authority = base64.b64encode(ca_file.read_bytes()).decode()
    cluster = {
        "server": server,
        "certificate-authority-data": authority,
        "extensions": [{"name": _EXTENSION, "extension": {"home": home.absolute().as_uri()}}],
    }
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "local", "cluster": cluster}],
        "users": [{"name": "local", "user": {"token": token}}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": "local", "namespace": "default"}}],
        "current-context": "local",
    }
    return yaml.safe_dump(document, sort_keys=False)


def find_home(kubeconfig: Path, server: str | None = None) -> Path | None:
    """Return the folder of the cluster whose kubeconfig this file is; None if it is not that of a local cluster.

    Args:
        kubeconfig: The file.
        server: The URL that the API server must have. None for any.
    """
    try:
        cluster = _read_cluster(kubeconfig)
        if server not in (None, cluster["server"]):
            return None
        homes = [each["extension"]["home"] for each in cluster["extensions"] if each["name"] == _EXTENSION]
        return Path(os.fsdecode(unquote_to_bytes(urlsplit(homes[0]).path)))
    except (OSError, ValueError, LookupError, TypeError, yaml.YAMLError):
        return None


def check_kubeconfig(path: Path, command: str) -> None:
    """Check, before the cluster starts, that its kubeconfig can be written to a path.

    Args:
        path: The path that the user named.
        command: The command that runs the cluster; only a file that it wrote is replaced.

    Raises:
        UnusableKubeconfig: The folder is missing or not writable, the file may be the user's own, or it belongs to a
            cluster that is running.
    """
    folder = path.absolute().parent
    if not folder.is_dir():
        problem = f"the folder {folder} does not exist"
    elif not os.access(folder, os.W_OK | os.X_OK):
        problem = f"the folder {folder} is not writable"
    elif not _is_replaceable(path, command):
        raise UnusableKubeconfig(f"{path}: exists and was not written by this command; name another file")
    else:
        _refuse_running_cluster(path)
        return
    raise UnusableKubeconfig(f"{path}: {problem}. Choose an existing folder that you can write")


@contextmanager
def publish_kubeconfig(source: Path, copy: Path | None, command: str) -> Iterator[Path]:
    """Copy the kubeconfig, readable by its owner only; delete the copy at the end, unless another cluster replaced it.

    Args:
        source: The kubeconfig in the home of the cluster.
        copy: The path that the user named. If None, no copy is written.
        command: The command that runs the cluster; the first line of the copy names it.

    Yields:
        The path that users need: of the copy, or of the source if there is no copy.

    Raises:
        UnusableKubeconfig: The copy could not be written, or belongs to a cluster that is running.
    """
    if copy is None:
        yield source
        return
    _refuse_running_cluster(copy)  # again: another cluster may have started since the first check
    content = f"{_mark(command)}; it is deleted when that ends.\n{source.read_text(encoding='utf-8')}"
    try:
        copy.unlink(missing_ok=True)
        descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise _build_write_error(copy, error) from None
    # While the file stays open, no file that replaces it can have the same inode.
    try:
        try:
            with os.fdopen(os.dup(descriptor), "w", encoding="utf-8") as stream:
                stream.write(content)
        except OSError as error:
            raise _build_write_error(copy, error) from None
        yield copy
    finally:
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), copy.stat()):
                copy.unlink()
        os.close(descriptor)


def _refuse_running_cluster(path: Path) -> None:
    server = _find_running_server(path)
    if server is not None:
        raise UnusableKubeconfig(
            f"{path}: belongs to the local cluster that runs at {server}. End that cluster, or choose another file"
        )


def _find_running_server(path: Path) -> str | None:
    """Return the URL of the API server in a kubeconfig if that server answers on this machine."""
    try:
        cluster = _read_cluster(path)
        server = str(cluster["server"])
        url = urlsplit(server)
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode("ascii")
        if url.hostname != LOOPBACK or url.port is None:
            return None
        return server if _is_answering(url.port, ssl.create_default_context(cadata=authority)) else None
    except (OSError, ValueError, LookupError, TypeError, yaml.YAMLError):
        return None


def _read_cluster(path: Path) -> Any:
    # Reading a pipe would take its content from the program that the user wants to read it.
    if not path.is_file() or path.stat().st_size > _LARGEST_FILE:
        raise ValueError("no local cluster has written this file")
    return yaml.safe_load(path.read_text(encoding="utf-8"))["clusters"][0]["cluster"]


def _is_answering(port: int, tls: ssl.SSLContext) -> bool:
    """Return whether a server on this machine proves that it is the server of a kubeconfig.

    Each cluster has its own certificate authority, so another program that uses the port later fails the handshake.
    A suspended or very busy cluster accepts the connection without an answer; it counts as running.
    """
    try:
        with (
            socket.create_connection((LOOPBACK, port), ANSWER_SECONDS) as connection,
            tls.wrap_socket(connection, server_hostname=LOOPBACK),
        ):
            return True
    except TimeoutError:
        return True
    except OSError:
        return False


def _build_write_error(copy: Path, error: OSError) -> UnusableKubeconfig:
    return UnusableKubeconfig(f"{copy}: cannot be written: {error.strerror}")


def _is_replaceable(path: Path, command: str) -> bool:
    try:
        return not path.exists() or path.read_text(encoding="utf-8").startswith(_mark(command))
    except (OSError, UnicodeDecodeError):
        return False


def _mark(command: str) -> str:
    return f"# Written by `{command}`"
