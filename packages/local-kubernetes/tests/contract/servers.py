"""The two compared servers: the local one, in this process, and a real kube-apiserver."""

import base64
import secrets
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from local_kubernetes.api.kinds.kinds import NAMESPACES
from local_kubernetes.api.requests.requests import WriteOptions
from local_kubernetes.api.server.resources import create
from local_kubernetes.api.server.server import ApiServer
from local_kubernetes.api.server.tls import issue_identity
from local_kubernetes.api.store.registry import KindRegistry
from local_kubernetes.api.store.store import Store

from api.conftest import RecordedLogs
from control_plane import Server, build_unverified_context


@asynccontextmanager
async def run_local_server(folder: Path | None = None) -> AsyncIterator[Server]:
    """Run a local API server without a node; with TLS if a directory for its certificates is given."""
    store = Store()
    kinds = KindRegistry(store)
    served = kinds.find("", "v1", NAMESPACES.plural)
    for name in ("default", "kube-system"):
        create(store, served, None, {"metadata": {"name": name}}, WriteOptions())
    token = secrets.token_urlsafe(16)
    identity = issue_identity(folder) if folder else None
    tls = identity.build_server_context() if identity else None
    server = ApiServer(store, kinds, token=token, tls=tls, logs=RecordedLogs())
    port = await server.start()
    try:
        scheme = "https" if tls else "http"
        yield Server("local", f"{scheme}://127.0.0.1:{port}", token, build_unverified_context() if tls else None)
    finally:
        await server.stop()


def read_server(kubeconfig: Path) -> Server:
    """Return the server in the current context of a kubeconfig, with its token or client certificate."""
    document = yaml.safe_load(kubeconfig.read_text())
    context = _find_named(document, "contexts", document["current-context"])["context"]
    cluster = _find_named(document, "clusters", context["cluster"])["cluster"]
    user = _find_named(document, "users", context["user"])["user"]
    return Server("kubernetes", cluster["server"], user.get("token"), _build_tls(cluster, user, kubeconfig.parent))


def _build_tls(cluster: dict[str, Any], user: dict[str, Any], folder: Path) -> ssl.SSLContext:
    if cluster.get("insecure-skip-tls-verify"):
        context = build_unverified_context()
    else:
        context = ssl.create_default_context(cadata=_read_content(cluster, "certificate-authority", folder))
    certificate = _read_content(user, "client-certificate", folder)
    if certificate:
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(f"{certificate}\n{_read_content(user, 'client-key', folder)}")
            file.flush()
            context.load_cert_chain(file.name)
    return context


def _read_content(entry: dict[str, Any], key: str, folder: Path) -> str | None:
    if f"{key}-data" in entry:
        return base64.b64decode(entry[f"{key}-data"]).decode()
    return (folder / entry[key]).read_text() if key in entry else None


def _find_named(document: dict[str, Any], field: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in document[field] if item["name"] == name)
    return found
