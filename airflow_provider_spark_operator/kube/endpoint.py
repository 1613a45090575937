"""Where an API server is, and what is needed to speak with it: what every kind of configuration comes down to."""

import hashlib
import json
import shutil
import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from airflow_provider_spark_operator.kube.errors import ConfigurationError


class Unusable(Exception):
    """A configuration that is missing something or says what cannot be; str() says what, without its subject."""


@dataclass(frozen=True)
class Endpoint:
    """An API server, and who we are to it.

    Attributes:
        server: `https://host:port`, with a path where the API stands behind one.
        namespace: the default one of the configuration, None where it names none.
        authority_file: PEM; None for those of the system, unless there is `authority`.
        authority: the same as text.
        certificate_file: ours, PEM; may be gone when the endpoint has been opened.
        key_file: of our certificate; None where that holds it.
        verify_ssl: False accepts any certificate.
        tls_server_name: expected in the server's certificate in place of the host.
        proxy: its URL.
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
    """Digests of a configuration's content, files included. They reveal no secret.

    Attributes:
        place: Of everything that says which cluster is meant, and how to connect to it.
        credentials: Of everything that says who connects.
    """

    place: str
    credentials: str


def digest(*parts: object) -> str:
    """A digest that is equal for equal content."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def digest_files(files: Iterable[Path | None]) -> list[str | None]:
    """The digest of each file's content; None for a file that cannot be read."""
    return [_digest_file(file) for file in files]


def _digest_file(file: Path | None) -> str | None:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest() if file else None
    except OSError:  # opening the configuration reports it
        return None


@dataclass(frozen=True)
class Access:
    """An endpoint with its headers of authentication.

    Attributes:
        endpoint: where.
        headers: the headers as they are known now.
        reload: reads again what they come from.
        reload_on_time: whether that is cheap enough to be done every minute.
    """

    endpoint: Endpoint
    headers: Callable[[], Awaitable[Mapping[str, str]]]
    reload: Callable[[], Awaitable[None]]
    reload_on_time: bool


class Headers:
    """Headers of authentication that come from a place where they may change.

    Args:
        read: reads them there.
    """

    def __init__(self, read: Callable[[], Mapping[str, str]]) -> None:
        self._read = read
        self._known = read()

    async def read_known(self) -> Mapping[str, str]:
        """Return the headers of the last read."""
        return self._known

    async def reload(self) -> None:
        """Read them again; errors as those of `read`, and they stay as they are."""
        self._known = self._read()


def build_tls_context(endpoint: Endpoint) -> ssl.SSLContext:
    """The TLS settings of an endpoint.

    Raises:
        ConfigurationError: a certificate cannot be read.
    """
    try:
        context = ssl.create_default_context(cafile=endpoint.authority_file, cadata=endpoint.authority)
        if endpoint.certificate_file:
            context.load_cert_chain(endpoint.certificate_file, keyfile=endpoint.key_file)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise ConfigurationError(
            f"could not read the certificate authority or client certificate for {endpoint.server}: {error}"
        ) from error
    # Certificate authorities made by older tools lack extensions that Python 3.13 began to insist on.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not endpoint.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


@contextmanager
def create_private_folder(folder: Path) -> Iterator[None]:
    """Have a folder that nobody else can read, for keys, which Python's TLS and the official loader want as files."""
    folder.mkdir(mode=0o700)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)
