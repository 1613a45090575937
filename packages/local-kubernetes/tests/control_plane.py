"""A real control plane without a node: etcd, kube-apiserver and controllers, from a directory with their programs."""

import os
import secrets
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

START_SECONDS = 180
# The controllers that act on the objects of clients; others would only write statuses in between.
FEW_CONTROLLERS = "garbage-collector-controller,namespace-controller,serviceaccount-controller"


@dataclass(frozen=True)
class Server:
    """The address and credentials of an API server.

    Args:
        name: `local` or `kubernetes`.
        url: Address of the server.
        token: Bearer token; None if a certificate in `tls` authenticates.
        tls: TLS settings; None for plain HTTP.
    """

    name: str
    url: str
    token: str | None
    tls: ssl.SSLContext | None = None


@dataclass
class ControlPlane:
    """A running control plane; its API server can be stopped and restarted at the same address.

    Args:
        assets: Directory with the programs.
        folder: Directory for data, keys and logs.
        token: Token of an administrator.
        arguments: Further arguments for kube-apiserver.
    """

    assets: Path
    folder: Path
    token: str
    arguments: Sequence[str] = ()
    etcd_port: int = field(default_factory=lambda: find_free_port())
    peer_port: int = field(default_factory=lambda: find_free_port())
    port: int = field(default_factory=lambda: find_free_port())
    _processes: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict)

    @property
    def server(self) -> Server:
        """The API server with the administrator's credentials."""
        return Server("kubernetes", f"https://127.0.0.1:{self.port}", self.token, build_unverified_context())

    @property
    def etcd(self) -> str:
        """The address of etcd, which answers gRPC and HTTP."""
        return f"http://127.0.0.1:{self.etcd_port}"

    def start(self, controllers: str) -> None:
        """Start everything; kube-controller-manager only if the directory of programs has one.

        Raises:
            TimeoutError: The API server does not become ready; the message contains the end of its log.
        """
        _write_keys(self.folder, self.token)
        self._start("etcd", *_build_etcd_arguments(self.folder, self.etcd_port, self.peer_port))
        _write_first_revision(self.etcd)
        self.start_api_server()
        if (self.assets / "kube-controller-manager").exists():
            kubeconfig = self.folder / "kubeconfig"
            kubeconfig.write_text(yaml.safe_dump(build_kubeconfig(self.server)))
            self._start("kube-controller-manager", *_build_manager_arguments(self.folder, kubeconfig, controllers))

    def start_api_server(self) -> None:
        """Start the API server and wait until it is ready; raises as `start` does."""
        self._start("kube-apiserver", *_build_apiserver_arguments(self.folder, self.etcd, self.port), *self.arguments)
        _await_ready(self.server, self.folder)

    def kill_api_server(self) -> None:
        """Kill the API server; etcd and the controllers continue."""
        process = self._processes.pop("kube-apiserver")
        process.kill()
        process.wait()

    def stop(self) -> None:
        """Stop everything in reverse order."""
        for process in reversed(self._processes.values()):
            _stop(process)
        self._processes.clear()

    def _start(self, program: str, *arguments: str) -> None:
        with (self.folder / f"{program}.log").open("ab") as log:
            # Several programs can be links to one file that acts by its name, so the link must not be resolved.
            self._processes[program] = subprocess.Popen(
                [self.assets / program, *arguments], stdout=log, stderr=log, cwd=self.folder, env=dict(os.environ)
            )


@contextmanager
def run_control_plane(
    assets: Path, *, controllers: str = FEW_CONTROLLERS, arguments: Sequence[str] = ()
) -> Iterator[ControlPlane]:
    """Run a control plane on free ports, from the programs in the directory `assets`.

    Args:
        assets: The value of KUBEBUILDER_ASSETS.
        controllers: Value of the flag `--controllers` of kube-controller-manager; `*` for all.
        arguments: Further arguments for kube-apiserver.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="control-plane-")))
        plane = ControlPlane(assets, folder, secrets.token_urlsafe(16), arguments)
        stack.callback(plane.stop)
        plane.start(controllers)
        yield plane


@contextmanager
def start_server(assets: Path) -> Iterator[Server]:
    """Start a control plane whose controllers collect garbage and empty namespaces; yield its API server."""
    with run_control_plane(assets) as plane:
        yield plane.server


def build_kubeconfig(server: Server) -> dict[str, Any]:
    """Return a kubeconfig for a server and its token."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server.url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "u", "user": {"token": server.token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


def find_free_port() -> int:
    """Return a free port of the loopback address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def build_unverified_context() -> ssl.SSLContext:
    """Return TLS settings that accept any server certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _build_etcd_arguments(folder: Path, port: int, peer: int) -> list[str]:
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


def _build_apiserver_arguments(folder: Path, etcd: str, port: int) -> list[str]:
    return [
        f"--etcd-servers={etcd}",
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


def _build_manager_arguments(folder: Path, kubeconfig: Path, controllers: str) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig}",
        f"--controllers={controllers}",
        f"--service-account-private-key-file={folder}/accounts.key",
        "--leader-elect=false",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
        f"--secure-port={find_free_port()}",
        f"--cert-dir={folder}/certificates",
    ]


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _write_first_revision(etcd: str) -> None:
    """Write a key once etcd answers, so that the API server starts after revision 1, which expires."""
    body = b'{"key": "YQ==", "value": "YQ=="}'
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{etcd}/v3/kv/put", body, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


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
