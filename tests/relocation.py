"""A scripted cluster whose API server stops and restarts at another address with another token."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from local_kubernetes.api.server.server import ApiServer
from local_kubernetes.api.server.tls import ServerIdentity
from tests.cluster import Cluster

_SECONDS = 60.0


def shut_down(cluster: Cluster) -> None:
    """Stop the API server and keep its objects."""
    cluster._loop.run(cluster._server.stop(), timeout=_SECONDS)


@contextmanager
def relocate(cluster: Cluster, port: int = 0, identity: ServerIdentity | None = None) -> Iterator[dict[str, Any]]:
    """Serve the same objects with another token; return the kubeconfig.

    Args:
        cluster: The cluster with the objects. Its own server is stopped.
        port: The port of the new server; a free port if it is not given.
        identity: The TLS certificate, from a certificate authority that clients do not know yet.
    """
    token = secrets.token_hex()
    tls = identity.build_server_context() if identity else None
    server = ApiServer(cluster.store, cluster._kinds, token=token, tls=tls, logs=cluster.resources)
    bound = cluster._loop.run(server.start(port=port), timeout=_SECONDS)
    document = cluster.kubeconfig
    document["clusters"][0]["cluster"] = {"server": f"http{'s' if tls else ''}://127.0.0.1:{bound}"}
    if identity:
        document["clusters"][0]["cluster"]["certificate-authority"] = str(identity.ca_file)
    document["users"][0]["user"]["token"] = token
    try:
        yield document
    finally:
        cluster._loop.run(server.stop(), timeout=_SECONDS)
