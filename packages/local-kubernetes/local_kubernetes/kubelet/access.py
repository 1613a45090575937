"""How containers reach the API server."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ApiAccess:
    """How containers reach the API server.

    Args:
        url: its address, `https://127.0.0.1:PORT`.
        ca_file: the certificate that signed the server's.
        token: the bearer token.
    """

    url: str
    ca_file: Path
    token: str
