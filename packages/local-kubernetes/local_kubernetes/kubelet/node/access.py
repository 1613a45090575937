"""Access of containers to the API server."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ApiAccess:
    """The address and credentials with which containers reach the API server.

    Args:
        url: Address of the API server, `https://127.0.0.1:PORT`.
        ca_file: File with the certificate of the authority that signed the server's certificate.
        token: Bearer token.
    """

    url: str
    ca_file: Path
    token: str
