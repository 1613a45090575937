"""The two servers under comparison: the local one, in this process, and a real kube-apiserver."""

import base64
import os
import secrets
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from airflow_provider_spark_operator.local.api.kinds import NAMESPACES
from airflow_provider_spark_operator.local.api.registry import KindRegistry
from airflow_provider_spark_operator.local.api.requests import WriteOptions
from airflow_provider_spark_operator.local.api.resources import create
from airflow_provider_spark_operator.local.api.server import ApiServer
from airflow_provider_spark_operator.local.api.store import Store
from airflow_provider_spark_operator.local.api.tls import issue_identity
from tests.local.api.conftest import RecordedLogs

START_SECONDS = 90
# Controllers that take part in what a behaviour sees; others would only write statuses in between.
_CONTROLLERS = "garbage-collector-controller,namespace-controller,serviceaccount-controller"


@dataclass(frozen=True)
class Server:
    """Where a server is, and what it takes to be let in.

    Args:
        name: `local` or `kubernetes`.
        url: its address.
        token: the bearer token; None where a certificate in `tls` says who we are.
        tls: the TLS settings; None for plain HTTP.
    """

    name: str
    url: str
    token: str | None
    tls: ssl.SSLContext | None = None


@asynccontextmanager
async def local_server(folder: Path | None = None) -> AsyncIterator[Server]:
    """A local API server without a node; behind TLS, with its certificates in a folder, where one is given."""
    store = Store()
    kinds = KindRegistry(store)
    served = kinds.find("", "v1", NAMESPACES.plural)
    for name in ("default", "kube-system"):
        create(store, served, None, {"metadata": {"name": name}}, WriteOptions())
    token = secrets.token_urlsafe(16)
    identity = issue_identity(folder) if folder else None
    tls = identity.server_context() if identity else None
    server = ApiServer(store, kinds, token=token, tls=tls, logs=RecordedLogs())
    port = await server.start()
    try:
        scheme = "https" if tls else "http"
        yield Server("local", f"{scheme}://127.0.0.1:{port}", token, _unverified() if tls else None)
    finally:
        await server.stop()


def server_of(kubeconfig: Path) -> Server:
    """The server that the current context of a file leads to, reached by token or by certificate."""
    document = yaml.safe_load(kubeconfig.read_text())
    context = _named(document, "contexts", document["current-context"])["context"]
    cluster = _named(document, "clusters", context["cluster"])["cluster"]
    user = _named(document, "users", context["user"])["user"]
    return Server("kubernetes", cluster["server"], user.get("token"), _tls(cluster, user, kubeconfig.parent))


@contextmanager
def started_server(assets: Path) -> Iterator[Server]:
    """A kube-apiserver with an etcd of its own, both from the folder `assets`, on free ports.

    The kube-controller-manager collects garbage and empties namespaces, where the folder has one.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="contract-")))
        etcd, peer, port = (_free_port() for _ in range(3))
        token = secrets.token_urlsafe(16)
        _write_keys(folder, token)
        _start(stack, folder, assets / "etcd", *_etcd_arguments(folder, etcd, peer))
        _start(stack, folder, assets / "kube-apiserver", *_apiserver_arguments(folder, etcd, port))
        server = Server("kubernetes", f"https://127.0.0.1:{port}", token, _unverified())
        _await_ready(server, folder)
        if (assets / "kube-controller-manager").exists():
            kubeconfig = folder / "kubeconfig"
            kubeconfig.write_text(yaml.safe_dump(kubeconfig_of(server)))
            _start(stack, folder, assets / "kube-controller-manager", *_manager_arguments(folder, kubeconfig))
        yield server


def _etcd_arguments(folder: Path, port: int, peer: int) -> list[str]:
    client, peers = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
    return [
        f"--data-dir={folder}/etcd-data",
        "--unsafe-no-fsync",
        "--log-level=warn",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
    ]


def _apiserver_arguments(folder: Path, etcd: int, port: int) -> list[str]:
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder}/certificates",
        f"--token-auth-file={folder}/tokens.csv",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder}/accounts.key",
        f"--service-account-signing-key-file={folder}/accounts.key",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
    ]


def _manager_arguments(folder: Path, kubeconfig: Path) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig}",
        f"--controllers={_CONTROLLERS}",
        f"--service-account-private-key-file={folder}/accounts.key",
        "--leader-elect=false",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
        f"--secure-port={_free_port()}",
        f"--cert-dir={folder}/certificates",
    ]


def _start(stack: ExitStack, folder: Path, program: Path, *arguments: str) -> None:
    log = stack.enter_context((folder / f"{program.name}.log").open("wb"))
    # Several programs may be one file that goes by its name: it is run by that name, not resolved.
    process = subprocess.Popen([program, *arguments], stdout=log, stderr=log, cwd=folder, env=dict(os.environ))
    stack.callback(_stop, process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await_ready(server: Server, folder: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{server.url}/readyz", context=server.tls, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    log = (folder / "kube-apiserver.log").read_text(errors="replace")
    raise TimeoutError(f"kube-apiserver was not ready after {START_SECONDS} s:\n{log[-2000:]}")


def _write_keys(folder: Path, token: str) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encoded = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    (folder / "accounts.key").write_bytes(encoded)
    (folder / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")


def kubeconfig_of(server: Server) -> dict[str, Any]:
    """A kubeconfig that leads to a server by its token."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server.url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "u", "user": {"token": server.token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _tls(cluster: dict[str, Any], user: dict[str, Any], folder: Path) -> ssl.SSLContext:
    if cluster.get("insecure-skip-tls-verify"):
        context = _unverified()
    else:
        context = ssl.create_default_context(cadata=_content(cluster, "certificate-authority", folder))
    certificate = _content(user, "client-certificate", folder)
    if certificate:
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(f"{certificate}\n{_content(user, 'client-key', folder)}")
            file.flush()
            context.load_cert_chain(file.name)
    return context


def _content(entry: dict[str, Any], key: str, folder: Path) -> str | None:
    if f"{key}-data" in entry:
        return base64.b64decode(entry[f"{key}-data"]).decode()
    return (folder / entry[key]).read_text() if key in entry else None


def _named(document: dict[str, Any], field: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in document[field] if item["name"] == name)
    return found
