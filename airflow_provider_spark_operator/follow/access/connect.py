"""Find a Spark Connect server, read and create its token, and notice that it was lost."""

import asyncio
import base64
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from ...core.compose.connect import build_server_host, find_token_secret, get_server_port, is_connect_server
from ...core.dialects.dialect import read_progress
from ...core.kubernetes.json_object import JsonObject
from ...kube.client import KubeClient
from ...kube.errors import AlreadyExists, NotFound
from ...kube.port_forward import serve_port
from ...kube.resources import PODS, SECRETS
from .find import find_application
from .pods import has_ended, read_driver_pod
from .reference import ApplicationReference, PodMissing

_PACKAGES = ("pyspark", "grpc", "grpc_status", "google.rpc", "pandas", "pyarrow", "zstandard")
# The Secret of a deleted server with the same name may still exist.
_ROUNDS = 5


@dataclass(frozen=True)
class ConnectServer:
    """A running Spark Connect server.

    Attributes:
        reference: The application.
        pod: Name of the driver pod.
        pod_uid: uid of the driver pod. The driver of a restart, which has no sessions, has another one.
        port: Port in the driver pod.
        token: The token that clients send. None if the server does not ask for one.
    """

    reference: ApplicationReference
    pod: str
    pod_uid: str
    port: int
    token: str | None

    @property
    def host(self) -> str:
        """The name of the server inside the cluster."""
        return build_server_host(self.pod, self.reference.namespace)


def find_missing_packages() -> list[str]:
    """Return the packages of a client that this Python does not have."""
    return [name for name in _PACKAGES if not _is_installed(name)]


async def find_server(client: KubeClient, name: str, namespace: str | None = None) -> ConnectServer:
    """Return the server with a name, with its token.

    Raises:
        PodMissing: The application is not a Spark Connect server, or its driver does not run.
        KubeError: The application does not exist, or the API rejected a request or could not be reached.
    """
    document, kind = await find_application(client, name, namespace)
    reference = ApplicationReference.of(document, kind)
    if not is_connect_server(document):
        raise PodMissing(reference, "is not a Spark Connect server")
    pod = await read_driver_pod(client, reference)
    if pod is None or has_ended(pod):
        state = read_progress(document).state
        raise PodMissing(reference, f"has no running Spark Connect server: it is in state {state}")
    token = await _read_token(client, document, reference)
    return ConnectServer(reference, pod["metadata"]["name"], pod["metadata"]["uid"], get_server_port(document), token)


async def forward_server(
    client: KubeClient, server: ConnectServer, report: Callable[[Exception], None]
) -> tuple[asyncio.Server, int]:
    """Forward a local port to a server. Return the listener and its port.

    Args:
        client: The client of the cluster.
        server: The server.
        report: Receives the error that ended a connection.
    """

    async def find() -> tuple[str, int]:
        return server.pod, server.port

    listener = await serve_port(client, server.reference.namespace, find, report)
    return listener, listener.sockets[0].getsockname()[1]


async def find_loss(client: KubeClient, server: ConnectServer) -> str | None:
    """Return why a server that was running no longer serves its sessions; None if it does.

    Raises:
        KubeError: The API rejected the request or could not be reached.
    """
    try:
        pod = await client.get(PODS, server.pod, server.reference.namespace)
    except NotFound:
        return f"its driver pod {server.pod} was deleted"
    if pod["metadata"]["uid"] != server.pod_uid or pod["metadata"].get("deletionTimestamp"):
        return f"its driver pod {server.pod} was replaced or is being deleted"
    return f"its driver pod {server.pod} has ended" if has_ended(pod) else None


async def create_token(client: KubeClient, server: JsonObject, reference: ApplicationReference) -> None:
    """Create the Secret with the token of a server, unless it exists. It is deleted with the server.

    A Secret that an earlier server of the same name owns is replaced. Any other Secret is that of a user, and stays.

    Args:
        client: The client of the cluster.
        server: The application of the server.
        reference: Its reference.

    Raises:
        KubeError: The API rejected a request or could not be reached.
    """
    secret = find_token_secret(server)
    if secret is None:
        return
    name, key = secret
    owner = {
        "apiVersion": reference.resource.api_version,
        "kind": reference.resource.kind,
        "name": reference.name,
        "uid": reference.uid,
    }
    body: dict[str, Any] = {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": {"name": name, "namespace": reference.namespace, "ownerReferences": [owner]},
        "immutable": True,
        "stringData": {key: secrets.token_urlsafe(32)},
    }
    for chance in range(_ROUNDS):
        try:
            await client.create(SECRETS, body, reference.namespace)
        except AlreadyExists:
            if chance == _ROUNDS - 1 or await _is_kept(client, name, reference):
                return
        else:
            return


async def _is_kept(client: KubeClient, name: str, reference: ApplicationReference) -> bool:
    """Return whether a Secret is that of the server or of a user. Delete that of an earlier server of the same name."""
    server = (reference.resource.kind, reference.name)
    try:
        present = (await client.get(SECRETS, name, reference.namespace))["metadata"]
        uids = {one["uid"] for one in present.get("ownerReferences") or () if (one["kind"], one["name"]) == server}
        if not uids or reference.uid in uids:
            return True
        await client.delete(SECRETS, name, reference.namespace, uid=present["uid"])
    except NotFound:
        pass
    return False


async def _read_token(client: KubeClient, document: JsonObject, reference: ApplicationReference) -> str | None:
    secret = find_token_secret(document)
    if secret is None:
        return None
    name, key = secret
    data = (await client.get(SECRETS, name, reference.namespace)).get("data") or {}
    if key not in data:
        raise PodMissing(reference, f"has no token: the Secret {name} has no key {key}")
    try:
        token = base64.b64decode(data[key]).decode("ascii")
    except ValueError:  # the API server checks base64 only
        token = ""
    if not (token and token.isprintable()):
        cause = f"the key {key} of the Secret {name} must be printable ASCII text without line breaks"
        raise PodMissing(reference, f"has no usable token: {cause}. Replace the Secret, then start the server again")
    return token


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the parent of `google.rpc`
        return False
