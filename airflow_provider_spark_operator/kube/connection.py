"""Open a `KubeClient` from a kubeconfig, the service account of a pod, or a managed cluster of a cloud."""

import asyncio
import json
import os
import re
import secrets
import socket
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from .call import CallObserver, RequestCheck, RequestGate
from .checked_connector import CheckedConnector
from .client import KubeClient
from .credentials import Credentials
from .endpoint import Access, Fingerprint, InvalidEndpoint, build_tls_context, digest, open_service_account
from .endpoint import compute_fingerprint as compute_service_account_fingerprint
from .errors import ConfigurationError, NoClusterConfigured
from .failed_requests import RequestRetryPolicy
from .kubeconfig import Choice, Document, Malformed, choose, open_choice, read_kubeconfigs
from .link import Link, Links
from .managed_cluster import ClusterLocation, ManagedCluster
from .plugins import ask_plugin
from .transport import Transport
from .yaml_text import YamlError, describe_position

# An object has at most 1.5 MiB. A smaller buffer would make aiohttp pause within one event.
_READ_BUFFER = 2 * 1024 * 1024
# An origin that does not answer must not delay the requests that wait for a new configuration.
_ORIGIN_SECONDS = 10.0
# A task without a reference may be garbage-collected while it runs.
_running_reads: "set[asyncio.Future[ClusterAccess]]" = set()
_BLANK = re.compile(r"\s")
# A lost peer is noticed after a minute: 30 s of silence, then 3 probes.
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPALIVE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}


@dataclass(frozen=True, eq=False)
class ClusterAccess:
    """The cluster to access, and the identity to use.

    The first configuration that is set is used: `managed`, `in_cluster`, `kubeconfig_document`, `kubeconfig`, the
    files of $KUBECONFIG, `~/.kube/config` if it exists, the service account of the pod.

    Attributes:
        kubeconfig: A file, or several files joined by the path separator as in $KUBECONFIG.
        kubeconfig_document: The content of a kubeconfig. `repr` does not show it.
        in_cluster: Use the service account of the pod.
        managed: A cluster whose address and tokens come from a cloud.
        context: The context of the kubeconfig. If None, its current context is used.
        namespace: The default namespace. If None, the namespace of the context or pod is used.
        verify_ssl: Whether to verify the server's certificate.
        tcp_keepalive: Whether to probe silent connections.
        origin: The origin of these settings, for messages, such as `connection 'spark'`. Empty if there is none.
        reread: Reads the settings again from their origin. None if they cannot change.
    """

    kubeconfig: Path | str | None = None
    kubeconfig_document: Mapping[str, Any] | None = field(default=None, repr=False)
    in_cluster: bool = False
    managed: ManagedCluster | None = None
    context: str | None = None
    namespace: str | None = None
    verify_ssl: bool = True
    tcp_keepalive: bool = True
    origin: str = ""
    reread: "Reread | None" = field(default=None, repr=False)

    @property
    def source(self) -> str:
        """A key of the origin, which stays equal if the settings there change."""
        return self.origin or self.key

    @property
    def key(self) -> str:
        """A key that is equal for equal settings. It contains a digest instead of secrets."""
        document = self.kubeconfig_document
        parts = (
            str(self.kubeconfig or ""),
            digest(dict(document)) if document is not None else "",
            self.in_cluster,
            self.managed.key if self.managed is not None else "",
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


Reread: TypeAlias = Callable[[], Awaitable[ClusterAccess]]


@dataclass(frozen=True)
class AccessConfiguration:
    """The current content of a kubeconfig or of the service account of a pod, or the address of a managed cluster.

    Attributes:
        title: The name of the configuration, for messages.
        source: The files, joined as in $KUBECONFIG, or the content of a kubeconfig. None if there is no kubeconfig.
        choice: The entries that the context selects. None if there is no kubeconfig.
        fingerprint: Digests of the content.
        renewal: What to do if the API server rejects the credentials.
        location: The address of a managed cluster. None for another configuration.
    """

    title: str
    source: str | Mapping[str, Any] | None
    choice: Choice | None
    fingerprint: Fingerprint
    renewal: str
    location: ClusterLocation | None = None


async def open_client(
    access: ClusterAccess,
    *,
    retry: RequestRetryPolicy | None = None,
    observer: CallObserver | None = None,
    gate: RequestGate | None = None,
    check: RequestCheck | None = None,
    field_manager: str | None = None,
) -> KubeClient:
    """Read the configuration and create a client. Nothing is sent yet.

    The client reads the configuration again when the API server is unreachable or answers 401.

    Args:
        access: The cluster and the identity.
        retry: The retry policy for requests that fail temporarily. If None, the default policy is used.
        observer: Called after every request, for metrics.
        gate: Awaited before every request.
        check: Called before the connection for a request is opened, and again when it is open.
        field_manager: See `KubeClient`.

    Raises:
        ConfigurationError: The configuration is missing, invalid, or refers to a missing file.
    """

    async def reopen(failed: Link, rejected: bool) -> Link | None:
        latest = await reread(access)
        configuration = await read_configuration(latest, again=True)
        # `Credentials` asks the plugin for a new token. A new certificate of the plugin requires a new TLS context.
        asks = configuration.choice is not None and configuration.choice.needs_plugin
        has_new_certificate = rejected and asks and not await failed.credentials.get_headers()
        if configuration.fingerprint == failed.fingerprint and not has_new_certificate:
            return None
        return (await _open_link(latest, configuration))[0]

    link, namespace = await _open_link(access, await read_configuration(access))
    transport = Transport(Links(link, reopen), retry=retry, observer=observer, gate=gate, check=check)
    return KubeClient(transport, access.namespace or namespace or "default", field_manager=field_manager)


async def reconnect(client: KubeClient, access: ClusterAccess) -> None:
    """Reconnect the client with the current configuration. Requests in progress finish on the old connection.

    Raises:
        ConfigurationError: See `open_client`. The client is not changed.
    """
    link, _ = await _open_link(access, await read_configuration(access))
    await client.links.replace(link)


async def read_configuration(access: ClusterAccess, *, again: bool = False) -> AccessConfiguration:
    """Read the configuration, without running a credential plugin.

    Args:
        access: The cluster and the identity.
        again: Read the address of a managed cluster again, because the API server at the known address failed.

    Raises:
        ConfigurationError: See `open_client`.
    """
    settings = (access.namespace, access.verify_ssl, access.tcp_keepalive)
    managed = access.managed
    if managed is not None:
        location = await managed.find_location(again=again)
        _check_server(managed.title, location.server)
        fingerprint = managed.compute_fingerprint(location, *settings)
        return AccessConfiguration(managed.title, None, None, fingerprint, managed.renewal, location)
    source = None if access.in_cluster else _find_kubeconfig(access)
    place = f", {access.origin}" if access.origin else ""
    if source is None:
        title = "the service account of this pod"
        fingerprint = compute_service_account_fingerprint(*settings)
        return AccessConfiguration(title, None, None, fingerprint, f"renew the token of {title}{place}")
    title = f"kubeconfig {source}" if isinstance(source, str) else "the given kubeconfig"
    with _translate_errors(title, access.context):
        documents = read_kubeconfigs(source) if isinstance(source, str) else [Document(source, Path())]
        choice = choose(documents, access.context)
        renewal = f"{choice.renewal} in {title} (context {choice.context}){place}"
        return AccessConfiguration(title, source, choice, choice.compute_fingerprint(*settings), renewal)


async def reread(access: ClusterAccess) -> ClusterAccess:
    """Read the settings again from their origin.

    Raises:
        ConfigurationError: The origin could not be read, and the settings name no files that may have changed.
    """
    if access.reread is None:
        return access
    reading = asyncio.ensure_future(access.reread())
    _running_reads.add(reading)
    reading.add_done_callback(_forget)
    try:
        async with asyncio.timeout(_ORIGIN_SECONDS):
            # Never cancelled: Airflow's connection to its supervisor breaks if a request is interrupted.
            return await asyncio.shield(reading)
    except Exception as error:
        if access.kubeconfig_document is None:
            return access  # the files that it names may have changed
        raise ConfigurationError(f"could not reload {access.origin}: {str(error) or type(error).__name__}") from error


def _forget(reading: "asyncio.Future[ClusterAccess]") -> None:
    _running_reads.discard(reading)
    if not reading.cancelled():
        reading.exception()  # otherwise asyncio would log the exception as never retrieved


async def _open_link(access: ClusterAccess, configuration: AccessConfiguration) -> tuple[Link, str | None]:
    """Open a link, and return it with the default namespace of its configuration."""
    with ExitStack() as key_files:
        found = await _open(access, configuration, key_files)
        endpoint = found.endpoint if access.verify_ssl else replace(found.endpoint, verify_ssl=False)
        # Without TLS, the authorities of the system are not read, which takes tens of milliseconds.
        needs_tls = not endpoint.server.lower().startswith("http:") or endpoint.authority_file or endpoint.authority
        tls = build_tls_context(endpoint) if needs_tls or endpoint.certificate_file else endpoint.verify_ssl
    session = aiohttp.ClientSession(
        connector=CheckedConnector(
            limit=0,  # each follower of a log holds a connection; other requests must not wait for them
            ssl=tls,
            socket_factory=_open_keepalive_socket if access.tcp_keepalive else None,
        ),
        read_bufsize=_READ_BUFFER,
    )
    # Like kubectl, ignore the proxies of the environment for loopback addresses.
    proxy = endpoint.proxy or (None if is_loopback(endpoint.server) else find_proxy(endpoint.server))
    link = Link(
        session,
        endpoint.server,
        Credentials(found.headers, found.reload, reload_on_time=found.reload_on_time),
        configuration.fingerprint,
        proxy=proxy,
        tls_server_name=endpoint.tls_server_name,
        renewal=configuration.renewal,
    )
    return link, endpoint.namespace


async def _open(access: ClusterAccess, configuration: AccessConfiguration, key_files: ExitStack) -> Access:
    """Open the configuration. The key files that the endpoint names exist as long as `key_files` is open."""
    title, source, choice = configuration.title, configuration.source, configuration.choice
    if access.managed is not None and configuration.location is not None:
        return await access.managed.open(configuration.location)
    if source is None or choice is None:
        try:
            return open_service_account()
        except InvalidEndpoint as error:
            raise ConfigurationError(f"{title} cannot be used: {error}") from error
    with _translate_errors(title, access.context):
        if choice.needs_plugin:
            found = await ask_plugin(source, choice.context, key_files, _choose_private_folder)
        else:
            found = open_choice(choice, key_files, _choose_private_folder)
    _check_server(title, found.endpoint.server)
    if found.endpoint.proxy:
        _check_proxy(title, found.endpoint.proxy)
    return found


def _find_kubeconfig(access: ClusterAccess) -> str | Mapping[str, Any] | None:
    """Return the files or the content of a kubeconfig. Return None for the service account of the pod."""
    if access.kubeconfig_document is not None:
        return access.kubeconfig_document
    paths = _find_kubeconfig_paths(access)
    if paths is None and "KUBERNETES_SERVICE_HOST" not in os.environ:
        raise NoClusterConfigured(
            "no Kubernetes cluster is configured: $KUBECONFIG is not set, ~/.kube/config does not exist "
            "and the process does not run in a pod. Set a kubeconfig"
        )
    return paths


def _find_kubeconfig_paths(access: ClusterAccess) -> str | None:
    """Return the files to read, joined as in $KUBECONFIG. Return None if there are none."""
    named = str(access.kubeconfig or os.environ.get("KUBECONFIG") or "")
    if not named:
        usual = Path(os.path.expanduser("~/.kube/config"))  # noqa: PTH111 - Path raises without a home
        return str(usual) if usual.is_file() else None
    files = [Path(os.path.expanduser(part)) for part in named.split(os.pathsep) if part]  # noqa: PTH111 - Path raises without a home
    if not any(file.is_file() for file in files):
        source = "" if access.kubeconfig else " ($KUBECONFIG)"
        problem = "is not a file" if any(file.exists() for file in files) else "does not exist"
        raise ConfigurationError(f"kubeconfig {named}{source} {problem}")
    return os.pathsep.join(str(file) for file in files)


def _choose_private_folder() -> Path:
    return Path(tempfile.gettempdir(), f"spark-operator-{secrets.token_hex(16)}")


def _check_server(title: str, server: str) -> None:
    is_address = _is_address(server)
    # An invalid address may contain a password in any place.
    if "@" in (urlsplit(server).netloc if is_address else server):
        raise ConfigurationError(
            f"{title}: the address of the server contains a user name or password. Remove them "
            "from the address, and add the credentials under users"
        )
    if not is_address:
        raise ConfigurationError(
            f"{title}: the server {server!r} is not a valid URL. It must have the form https://HOST:PORT"
        )


def _check_proxy(title: str, proxy: str) -> None:
    if not _is_address(proxy):  # the proxy is not shown, because it may contain a password
        raise ConfigurationError(
            f"{title}: the proxy-url of the cluster must begin with http:// or https:// and contain a host"
        )


def _is_address(url: str) -> bool:
    try:
        address = urlsplit(url)
        host = address.hostname or ""
        host.encode("idna")  # each label of a host name has 1 to 63 characters
        is_port = address.port is None or address.port > 0
    except ValueError:
        return False
    return address.scheme in ("http", "https") and bool(host) and is_port and not _BLANK.search(host)


@contextmanager
def _translate_errors(title: str, context: str | None) -> Iterator[None]:
    """Translate every exception of reading a kubeconfig into a `ConfigurationError`."""
    where = f"{title} (context {context})" if context else title
    try:
        yield
    except YamlError as error:
        position = describe_position(error)
        place = f": error in {position}" if position else ""
        raise ConfigurationError(f"{title} is not valid YAML{place}") from error
    except OSError as error:
        raise ConfigurationError(f"could not read {title}: {error.strerror or error}") from error
    except Malformed as error:
        raise ConfigurationError(f"{where} is not a valid kubeconfig: {error}") from error
    except InvalidEndpoint as error:
        raise ConfigurationError(f"{where} cannot be used: {error}") from error
    except Exception as error:
        # The official loader raises arbitrary exceptions such as TypeError, KeyError and AttributeError for invalid
        # content.
        raise ConfigurationError(f"{where} is not a valid kubeconfig ({type(error).__name__}: {error})") from error


def _open_keepalive_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, *_ = address
    connection = socket.socket(family, kind, protocol)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():  # Linux and macOS have different names for the first option
        option = getattr(socket, name, None)
        if option is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
    return connection


def find_proxy(url: str) -> str | None:
    """Return the proxy of the environment for a URL, None if there is none."""
    # `trust_env` of aiohttp would search for it, and for credentials in ~/.netrc, in two threads for each request.
    parts = urlsplit(url)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


def is_loopback(server: str) -> bool:
    """Return whether a URL leads to this machine."""
    host = urlsplit(server).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
