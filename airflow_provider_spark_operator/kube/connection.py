"""From a kubeconfig, or from inside a pod, to an open `KubeClient`."""

import hashlib
import json
import os
import secrets
import shutil
import socket
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import yaml
from kubernetes.aio import config as kubernetes_config
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import kube_config

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.credentials import Credentials
from airflow_provider_spark_operator.kube.errors import ConfigurationError
from airflow_provider_spark_operator.kube.transport import CallObserver, RequestGate, RetryPolicy, Transport

_POD_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
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
    configuration = Configuration()
    with ExitStack() as key_files:
        loaded = await _load(access, configuration, key_files)
        if not access.verify_ssl:
            configuration.verify_ssl = False
        tls = _tls(configuration)
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=0,  # each follower of a log holds one; a limit would leave requests waiting behind them
            ssl=tls,
            socket_factory=_keepalive_socket if access.tcp_keepalive else None,
        ),
        # Go's rule, so kubectl's: no proxy of the environment stands between us and our own machine.
        trust_env=not _is_loopback(configuration.host),
        read_bufsize=_READ_BUFFER,
    )
    transport = Transport(
        session,
        configuration.host,
        Credentials(configuration, loaded.reload, reload_on_time=loaded.reload_on_time),
        proxy=configuration.proxy,
        tls_server_name=configuration.tls_server_name,
        retry=retry,
        observer=observer,
        gate=gate,
    )
    return KubeClient(transport, access.namespace or loaded.namespace or "default", field_manager=field_manager)


@dataclass(frozen=True)
class _Loaded:
    namespace: str | None
    reload: Callable[[], Awaitable[None]]
    reload_on_time: bool


async def _load(access: ClusterAccess, configuration: Configuration, key_files: ExitStack) -> _Loaded:
    """Fill in `configuration`; the files that it names last as long as `key_files`."""
    if not access.in_cluster:
        if access.kubeconfig_document is not None:
            return await _load_document(access, dict(access.kubeconfig_document), configuration, key_files)
        paths = _kubeconfig_paths(access)
        if paths is not None:
            return await _load_files(access, paths, configuration, key_files)
        if "KUBERNETES_SERVICE_HOST" not in os.environ:
            raise ConfigurationError(
                "no Kubernetes cluster is configured: $KUBECONFIG is not set, ~/.kube/config does not exist "
                "and this is no pod; name a kubeconfig"
            )
    return _load_in_cluster(configuration)


def _kubeconfig_paths(access: ClusterAccess) -> str | None:
    """The files to read, joined as in $KUBECONFIG, or None where nobody names any and none is there."""
    named = str(access.kubeconfig or os.environ.get("KUBECONFIG") or "")
    if not named:
        usual = Path.home() / ".kube" / "config"
        return str(usual) if usual.is_file() else None
    files = [Path(part).expanduser() for part in named.split(os.pathsep) if part]
    if not any(file.is_file() for file in files):
        source = "" if access.kubeconfig else " ($KUBECONFIG)"
        raise ConfigurationError(f"kubeconfig {named}{source} does not exist")
    return os.pathsep.join(str(file) for file in files)


async def _load_files(access: ClusterAccess, paths: str, configuration: Configuration, key_files: ExitStack) -> _Loaded:
    # persist_config would write a refreshed token into a file that is the user's, not ours.
    return await _load_kubeconfig(
        f"kubeconfig {paths}",
        access,
        configuration,
        key_files,
        lambda folder: kubernetes_config.load_kube_config(
            config_file=paths,
            context=access.context,
            client_configuration=configuration,
            persist_config=False,
            temp_file_path=folder,
        ),
    )


async def _load_document(
    access: ClusterAccess, document: dict[str, Any], configuration: Configuration, key_files: ExitStack
) -> _Loaded:
    return await _load_kubeconfig(
        "the given kubeconfig",
        access,
        configuration,
        key_files,
        lambda folder: kubernetes_config.load_kube_config_from_dict(
            document, context=access.context, client_configuration=configuration, temp_file_path=folder
        ),
    )


async def _load_kubeconfig(
    title: str,
    access: ClusterAccess,
    configuration: Configuration,
    key_files: ExitStack,
    load: Callable[[str | None], Awaitable[Any]],
) -> _Loaded:
    with _explained(title, access.context):
        folder = _name_of_private_folder()
        key_files.enter_context(_private(folder))
        loader = await load(folder)
    _check_server(title, configuration.host)
    user: Any = getattr(loader, "_user", None)  # the loader tells what it found only by its private field
    has_plugin = user is not None and "exec" in user
    # It logs and swallows the failure of a credential plugin, and would go on as an anonymous user.
    if has_plugin and not configuration.api_key and not configuration.cert_file:
        command = user["exec"].safe_get("command")
        raise ConfigurationError(
            f"{title}: the credential plugin {command!r} gave no credentials; run it by hand to see why"
        )

    async def reload() -> None:
        with _private(folder):
            await loader.load_and_set(configuration)

    return _Loaded(
        loader.current_context["context"].get("namespace"),
        reload,
        reload_on_time=not has_plugin or hasattr(loader, "exec_plugin_expiry"),
    )


def _name_of_private_folder() -> str | None:
    """None where nothing can be written: most kubeconfigs need no file."""
    try:
        return str(Path(tempfile.gettempdir(), f"spark-operator-{secrets.token_hex(16)}"))
    except FileNotFoundError:
        return None


@contextmanager
def _private(folder: str | None) -> Iterator[None]:
    """Have a folder that nobody else can read, for the keys that the official loader insists on having as files.

    It keeps them until Python exits, which a process that is killed, or leaves by `os._exit`, never does.
    """
    if folder is None:
        yield
        return
    Path(folder).mkdir(mode=0o700)
    try:
        yield
    finally:
        # It would name the file again, wherever it meets the same content.
        known = getattr(kube_config, "_temp_files", {})
        for content in [content for content, file in known.items() if Path(file).parent == Path(folder)]:
            del known[content]
        shutil.rmtree(folder, ignore_errors=True)


def _check_server(title: str, server: str) -> None:
    try:
        address = urlsplit(server)
        is_address = address.scheme in ("http", "https") and bool(address.hostname)
    except ValueError:
        is_address = False
    # What is no address may hold its password anywhere.
    if "@" in (address.netloc if is_address else server):
        raise ConfigurationError(
            f"{title}: the server's address holds a user name or password: take it out of the address, "
            "and give the credentials under users"
        )
    if not is_address:
        raise ConfigurationError(f"{title}: the server {server!r} is no address: it must begin with https://")


@contextmanager
def _explained(title: str, context: str | None) -> Iterator[None]:
    """Turn whatever the official loader raises into a `ConfigurationError`."""
    where = f"{title} (context {context})" if context else title
    try:
        yield
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark else ""
        raise ConfigurationError(f"{title} is no YAML{place}") from error
    except OSError as error:
        raise ConfigurationError(f"{title} cannot be read: {error.strerror or error}") from error
    except kubernetes_config.ConfigException as error:
        raise ConfigurationError(f"{where} is not usable: {error}") from error
    except Exception as error:
        # What the loader does not foresee comes as Python has it: TypeError, KeyError, AttributeError, …
        raise ConfigurationError(
            f"{where} does not have the form of a kubeconfig ({type(error).__name__}: {error})"
        ) from error


def _load_in_cluster(configuration: Configuration) -> _Loaded:
    def load() -> None:
        kubernetes_config.load_incluster_config(client_configuration=configuration)

    async def reload() -> None:
        load()

    try:
        load()
    except kubernetes_config.ConfigException as error:
        raise ConfigurationError(f"the service account of this pod is not usable: {error}") from error
    namespace = _POD_NAMESPACE_FILE.read_text().strip() if _POD_NAMESPACE_FILE.is_file() else None
    # The loader's own hook reads the token file every minute.
    return _Loaded(namespace, reload, reload_on_time=False)


def _tls(configuration: Configuration) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
        if configuration.cert_file:
            context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    except (ssl.SSLError, OSError) as error:
        raise ConfigurationError(
            f"the certificate authority or client certificate for {configuration.host} cannot be read: {error}"
        ) from error
    # Certificate authorities made by older tools lack extensions that Python 3.13 began to insist on.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


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
