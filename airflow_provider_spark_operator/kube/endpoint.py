"""The address of an API server and the settings to connect to it, also those of the service account of a pod."""

import hashlib
import json
import os
import shutil
import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .errors import ConfigurationError


class InvalidEndpoint(Exception):
    """A configuration that is incomplete or invalid. The message does not name the configuration."""


@dataclass(frozen=True)
class Endpoint:
    """An API server, and the identity to use.

    Attributes:
        server: The address `https://host:port`, with a path if the API has one.
        namespace: The default namespace of the configuration. None if it has none.
        authority_file: The file of certificate authorities in PEM format. None for those of the system or
            `authority`.
        authority: The certificate authorities as PEM text.
        certificate_file: The file of the client certificate in PEM format. It may be deleted after the connection
            is opened.
        key_file: The file of the key of the client certificate. None if the certificate file contains the key.
        verify_ssl: Whether to verify the server's certificate.
        tls_server_name: The name to expect in the server's certificate instead of the host.
        proxy: The URL of the proxy.
    """

    server: str
    namespace: str | None = None
    authority_file: str | None = None
    authority: str | None = field(default=None, repr=False)
    certificate_file: str | None = None
    key_file: str | None = None
    verify_ssl: bool = True
    tls_server_name: str | None = None
    proxy: str | None = None


@dataclass(frozen=True)
class Fingerprint:
    """Digests of the content of a configuration and its files. They reveal no secret.

    Attributes:
        connection: The digest of everything that determines the cluster and how to connect to it.
        credentials: The digest of the credentials.
    """

    connection: str
    credentials: str


def digest(*parts: object) -> str:
    """Return a digest that is equal for equal content."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def digest_files(files: Iterable[Path | None]) -> list[str | None]:
    """Return the digest of each file's content. None for a file that cannot be read."""
    return [_digest_file(file) for file in files]


def _digest_file(file: Path | None) -> str | None:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest() if file else None
    except OSError:  # opening the configuration reports the error
        return None


@dataclass(frozen=True)
class Access:
    """An endpoint with its authentication headers.

    Attributes:
        endpoint: The endpoint.
        headers: Returns the current headers.
        reload: Reloads the source of the headers.
        reload_on_time: Whether to reload every minute.
    """

    endpoint: Endpoint
    headers: Callable[[], Awaitable[Mapping[str, str]]]
    reload: Callable[[], Awaitable[None]]
    reload_on_time: bool


class Headers:
    """Authentication headers from a source that may change.

    Args:
        read: Reads the source.
    """

    def __init__(self, read: Callable[[], Mapping[str, str]]) -> None:
        self._read = read
        self._known = read()

    async def read_known(self) -> Mapping[str, str]:
        """Return the headers of the last read."""
        return self._known

    async def reload(self) -> None:
        """Read the source again. If `read` raises, the headers do not change."""
        self._known = self._read()


def build_tls_context(endpoint: Endpoint) -> ssl.SSLContext:
    """Build the TLS settings of an endpoint.

    Raises:
        ConfigurationError: A certificate could not be read.
    """
    try:
        context = ssl.create_default_context(cafile=endpoint.authority_file, cadata=endpoint.authority)
        if endpoint.certificate_file:
            context.load_cert_chain(endpoint.certificate_file, keyfile=endpoint.key_file)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise ConfigurationError(
            f"could not read the certificate authority or client certificate for {endpoint.server}: {error}"
        ) from error
    # Certificate authorities of older tools lack extensions that Python 3.13 requires by default.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not endpoint.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


@contextmanager
def create_private_folder(folder: Path) -> Iterator[None]:
    """Create a folder that only this user can read, for keys that must be in files."""
    folder.mkdir(mode=0o700)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_HOST = "KUBERNETES_SERVICE_HOST"
_PORT = "KUBERNETES_SERVICE_PORT"


def open_service_account(folder: Path = FOLDER) -> Access:
    """Open the access of the service account of this pod.

    Raises:
        InvalidEndpoint: The process does not run in a pod, or the token is not mounted.
    """
    host, port = os.environ.get(_HOST), os.environ.get(_PORT)
    if not host or not port:
        raise InvalidEndpoint(f"${_HOST} and ${_PORT} are not set")
    authority, namespace = folder / "ca.crt", folder / "namespace"
    # The kubelet replaces the token long before it expires.
    headers = Headers(lambda: _read_authentication(folder / "token"))
    if not authority.is_file():
        raise InvalidEndpoint(f"the file {authority} does not exist")
    endpoint = Endpoint(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        namespace=namespace.read_text().strip() if namespace.is_file() else None,
        authority_file=str(authority),
    )
    return Access(endpoint, headers.read_known, headers.reload, reload_on_time=True)


def compute_fingerprint(*settings: object, folder: Path = FOLDER) -> Fingerprint:
    """Return digests of everything that `open_service_account` reads, and of `settings`."""
    files = digest_files([folder / "ca.crt", folder / "namespace"])
    return Fingerprint(
        connection=digest(os.environ.get(_HOST), os.environ.get(_PORT), files, *settings),
        credentials=digest(digest_files([folder / "token"])),
    )


def _read_authentication(file: Path) -> dict[str, str]:
    try:
        token = file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise InvalidEndpoint(f"could not read the token {file}: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise InvalidEndpoint(f"the token {file} is not UTF-8 text") from None
    if not token:
        raise InvalidEndpoint(f"the token {file} is empty")
    return {"Authorization": f"Bearer {token}"}
