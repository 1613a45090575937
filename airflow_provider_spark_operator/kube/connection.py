"""From a kubeconfig, or from inside a pod, to an open `KubeClient`."""

import hashlib
import json
import os
import secrets
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import yaml

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.credentials import Credentials
from airflow_provider_spark_operator.kube.endpoint import Access, Unusable, tls_context
from airflow_provider_spark_operator.kube.errors import ConfigurationError
from airflow_provider_spark_operator.kube.kubeconfig import Document, Malformed, choose, open_choice, read_files
from airflow_provider_spark_operator.kube.plugins import ask
from airflow_provider_spark_operator.kube.service_account import open_service_account
from airflow_provider_spark_operator.kube.transport import CallObserver, RequestGate, RetryPolicy, Transport

# An object is at most 1.5 MiB; a smaller buffer would make aiohttp stop and go inside one event.
_READ_BUFFER = 2 * 1024 * 1024
# A peer that vanished without a word is noticed after a minute: 30 s of silence, then 3 probes.
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPALIVE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}


@dataclass(frozen=True, eq=False)
class ClusterAccess:
    """Which cluster, and as whom.

    The first that is given wins: `in_cluster`, `kubeconfig_document`, `kubeconfig`, the files of
    $KUBECONFIG, `~/.kube/config` where it exists, the service account of the pod we run in.

    Attributes:
        kubeconfig: A file, or several joined by the path separator as in $KUBECONFIG.
        kubeconfig_document: The content of one; never shown by `repr`.
        in_cluster: Use the service account of the pod.
        context: Of the kubeconfig; None for its current context.
        namespace: The default namespace; None for that of the context or pod.
        verify_ssl: False accepts any certificate.
        tcp_keepalive: Probe silent connections.
    """

    kubeconfig: Path | str | None = None
    kubeconfig_document: Mapping[str, Any] | None = field(default=None, repr=False)
    in_cluster: bool = False
    context: str | None = None
    namespace: str | None = None
    verify_ssl: bool = True
    tcp_keepalive: bool = True

    @property
    def key(self) -> str:
        """Equal for equal access, to share clients by; holds a digest in place of secrets."""
        document = self.kubeconfig_document
        digest = hashlib.sha256(json.dumps(document, sort_keys=True, default=str).encode()).hexdigest()
        parts = (
            str(self.kubeconfig or ""),
            digest if document is not None else "",
            self.in_cluster,
            self.context,
            self.namespace,
            self.verify_ssl,
            self.tcp_keepalive,
        )
        return json.dumps(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterAccess) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


async def open_client(
    access: ClusterAccess,
    *,
    retry: RetryPolicy | None = None,
    observer: CallObserver | None = None,
    gate: RequestGate | None = None,
    field_manager: str | None = None,
) -> KubeClient:
    """Read the configuration and make a client; nothing is sent yet.

    Args:
        access: Which cluster.
        retry: Other than the default for requests that fail in passing.
        observer: Told of every request and its answer, for metrics.
        gate: What every request has to pass.
        field_manager: See `KubeClient`.

    Raises:
        ConfigurationError: The configuration is missing, wrong, or names what does not exist.
    """
    with ExitStack() as key_files:
        found = await _open(access, key_files)
        endpoint = found.endpoint if access.verify_ssl else replace(found.endpoint, verify_ssl=False)
        tls = tls_context(endpoint)
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=0,  # each follower of a log holds one; a limit would leave requests waiting behind them
            ssl=tls,
            socket_factory=_keepalive_socket if access.tcp_keepalive else None,
        ),
        # Go's rule, so kubectl's: no proxy of the environment stands between us and our own machine.
        trust_env=not _is_loopback(endpoint.server),
        read_bufsize=_READ_BUFFER,
    )
    transport = Transport(
        session,
        endpoint.server,
        Credentials(found.headers, found.reload, reload_on_time=found.reload_on_time),
        proxy=endpoint.proxy,
        tls_server_name=endpoint.tls_server_name,
        retry=retry,
        observer=observer,
        gate=gate,
    )
    return KubeClient(transport, access.namespace or endpoint.namespace or "default", field_manager=field_manager)


async def _open(access: ClusterAccess, key_files: ExitStack) -> Access:
    """Read the configuration; the files that the endpoint names last as long as `key_files`."""
    if not access.in_cluster:
        if access.kubeconfig_document is not None:
            return await _open_kubeconfig("the given kubeconfig", access, access.kubeconfig_document, key_files)
        paths = _kubeconfig_paths(access)
        if paths is not None:
            return await _open_kubeconfig(f"kubeconfig {paths}", access, paths, key_files)
        if "KUBERNETES_SERVICE_HOST" not in os.environ:
            raise ConfigurationError(
                "no Kubernetes cluster is configured: $KUBECONFIG is not set, ~/.kube/config does not exist "
                "and this is no pod; name a kubeconfig"
            )
    try:
        return open_service_account()
    except Unusable as error:
        raise ConfigurationError(f"the service account of this pod is not usable: {error}") from error


def _kubeconfig_paths(access: ClusterAccess) -> str | None:
    """The files to read, joined as in $KUBECONFIG, or None where nobody names any and none is there."""
    named = str(access.kubeconfig or os.environ.get("KUBECONFIG") or "")
    if not named:
        usual = Path.home() / ".kube" / "config"
        return str(usual) if usual.is_file() else None
    files = [Path(os.path.expanduser(part)) for part in named.split(os.pathsep) if part]  # noqa: PTH111 - Path raises without a home
    if not any(file.is_file() for file in files):
        source = "" if access.kubeconfig else " ($KUBECONFIG)"
        raise ConfigurationError(f"kubeconfig {named}{source} does not exist")
    return os.pathsep.join(str(file) for file in files)


async def _open_kubeconfig(
    title: str, access: ClusterAccess, source: str | Mapping[str, Any], key_files: ExitStack
) -> Access:
    with _explained(title, access.context):
        documents = read_files(source) if isinstance(source, str) else [Document(source, Path())]
        choice = choose(documents, access.context)
        if choice.asks:
            found = await ask(source, choice.context, key_files, _name_of_private_folder)
        else:
            found = open_choice(choice, key_files, _name_of_private_folder)
    _check_server(title, found.endpoint.server)
    if found.endpoint.proxy:
        _check_proxy(title, found.endpoint.proxy)
    return found


def _name_of_private_folder() -> Path:
    return Path(tempfile.gettempdir(), f"spark-operator-{secrets.token_hex(16)}")


def _check_server(title: str, server: str) -> None:
    is_address = _is_address(server)
    # What is no address may hold its password anywhere.
    if "@" in (urlsplit(server).netloc if is_address else server):
        raise ConfigurationError(
            f"{title}: the server's address holds a user name or password: take it out of the address, "
            "and give the credentials under users"
        )
    if not is_address:
        raise ConfigurationError(f"{title}: the server {server!r} is no address: it must begin with https://")


def _check_proxy(title: str, proxy: str) -> None:
    if not _is_address(proxy):  # not shown: it may hold a password
        raise ConfigurationError(
            f"{title}: the proxy-url of its cluster must begin with http:// or https://, and name a host"
        )


def _is_address(url: str) -> bool:
    try:
        address = urlsplit(url)
    except ValueError:
        return False
    return address.scheme in ("http", "https") and bool(address.hostname)


@contextmanager
def _explained(title: str, context: str | None) -> Iterator[None]:
    """Turn whatever reading a kubeconfig raises into a `ConfigurationError`."""
    where = f"{title} (context {context})" if context else title
    try:
        yield
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark else ""
        raise ConfigurationError(f"{title} is no YAML{place}") from error
    except OSError as error:
        raise ConfigurationError(f"{title} cannot be read: {error.strerror or error}") from error
    except Malformed as error:
        raise ConfigurationError(f"{where} does not have the form of a kubeconfig: {error}") from error
    except Unusable as error:
        raise ConfigurationError(f"{where} is not usable: {error}") from error
    except Exception as error:
        # What the official loader does not foresee comes as Python has it: TypeError, KeyError, AttributeError, …
        raise ConfigurationError(
            f"{where} does not have the form of a kubeconfig ({type(error).__name__}: {error})"
        ) from error


def _keepalive_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, *_ = address
    connection = socket.socket(family, kind, protocol)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():  # Linux and macOS name the first one differently
        option = getattr(socket, name, None)
        if option is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
    return connection


def _is_loopback(server: str) -> bool:
    host = urlsplit(server).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
