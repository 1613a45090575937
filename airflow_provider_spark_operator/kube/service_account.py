"""The service account of a pod: its token, and the address of the API server."""

import os
from pathlib import Path

from .endpoint import Access, Endpoint, Fingerprint, Headers, InvalidEndpoint, digest, digest_files

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
