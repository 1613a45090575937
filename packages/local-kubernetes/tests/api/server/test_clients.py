"""Common clients against the server: kubectl, and the blocking and asynchronous Python clients."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, watch
from kubernetes.aio import client as aio_client
from kubernetes.aio import config as aio_config

from local_kubernetes.api.kinds.kinds import NAMESPACES
from local_kubernetes.api.requests.requests import WriteOptions
from local_kubernetes.api.server.resources import create
from local_kubernetes.api.server.server import ApiServer
from local_kubernetes.api.server.tls import issue_identity
from local_kubernetes.api.store.registry import KindRegistry
from local_kubernetes.api.store.store import Store

from api.builders import build_config_map, build_definition, build_pod, build_thing
from api.conftest import RecordedLogs

DEADLINE = 60
Kubectl = Callable[..., Awaitable[tuple[int, str, str]]]

needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")


@pytest.fixture
async def kubeconfig(tmp_path: Path, store: Store, logs: RecordedLogs) -> AsyncIterator[Path]:
    """A server with TLS, and its kubeconfig."""
    identity = issue_identity(tmp_path)
    kinds = KindRegistry(store)
    served = kinds.find("", "v1", NAMESPACES.plural)
    create(store, served, None, {"metadata": {"name": "default"}}, WriteOptions())
    server = ApiServer(store, kinds, token="t", tls=identity.build_server_context(), logs=logs)
    port = await server.start()
    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(identity.ca_file)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "default"}}],
        "current-context": "x",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(document))
    try:
        yield path
    finally:
        await server.stop()


@pytest.fixture
def kubectl(kubeconfig: Path, tmp_path: Path) -> Kubectl:
    """Run kubectl; return its exit code, stdout and stderr."""
    environment = os.environ | {"KUBECONFIG": str(kubeconfig), "HOME": str(tmp_path)}

    async def run(*arguments: str, body: object = None) -> tuple[int, str, str]:
        process = await asyncio.create_subprocess_exec(
            "kubectl",
            *arguments,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(DEADLINE):
                output, errors = await process.communicate(json.dumps(body).encode() if body else None)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise
        assert process.returncode is not None
        return process.returncode, output.decode(), errors.decode()

    return run


def build_typed(kind: str, document: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, **document}


@needs_kubectl
async def test_kubectl_apply_succeeds_repeatedly(kubectl: Kubectl) -> None:
    objects = [build_typed("ConfigMap", build_config_map("a", {"x": "1"})), build_typed("Pod", build_pod("p"))]
    body = {"apiVersion": "v1", "kind": "List", "items": objects}
    assert await kubectl("apply", "-f", "-", body=body) == (0, "configmap/a created\npod/p created\n", "")
    assert await kubectl("apply", "-f", "-", body=body) == (0, "configmap/a unchanged\npod/p unchanged\n", "")
    objects[0]["data"] = {"y": "2"}
    assert (await kubectl("apply", "-f", "-", body=body))[1].startswith("configmap/a configured")
    assert (await kubectl("get", "cm", "a", "-o", "jsonpath={.data}"))[1] == '{"y":"2"}'


@needs_kubectl
async def test_kubectl_applies_server_side(kubectl: Kubectl) -> None:
    body = build_typed("ConfigMap", build_config_map("a", {"x": "1"}))
    for _ in range(2):
        code, output, errors = await kubectl("apply", "--server-side", "-f", "-", body=body)
        assert (code, output) == (0, "configmap/a serverside-applied\n"), errors


@needs_kubectl
async def test_kubectl_gets_and_describes(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", body=build_typed("Pod", build_pod("p")))
    code, output, _ = await kubectl("get", "pods", "-o", "wide")
    assert code == 0
    assert output.splitlines()[0].split()[:5] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert output.splitlines()[1].split()[:3] == ["p", "0/1", "Pending"]
    code, output, errors = await kubectl("describe", "pod", "p")
    assert code == 0, errors
    assert "Events:" in output


@needs_kubectl
async def test_kubectl_creates_edits_waits_and_deletes(kubectl: Kubectl) -> None:
    for arguments in (
        ["create", "namespace", "team"],
        ["create", "configmap", "a", "--from-literal=x=1"],
        ["label", "configmap", "a", "on=yes"],
        ["patch", "configmap", "a", "-p", '{"data":{"y":"2"}}'],
        ["wait", "--for=jsonpath={.data.y}=2", "configmap/a", "--timeout=20s"],
        ["auth", "can-i", "create", "pods"],
        ["delete", "configmap", "-l", "on=yes", "--timeout=20s"],
        ["delete", "namespace", "team", "--timeout=20s"],
    ):
        code, _, errors = await kubectl(*arguments)
        assert code == 0, (arguments, errors)
    assert (await kubectl("get", "configmap,namespace", "-o", "name"))[1] == "namespace/default\n"


@needs_kubectl
async def test_kubectl_validates_fields_of_custom_resources(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", body=build_definition())
    code, _, errors = await kubectl("wait", "--for=condition=Established", "crd/things.example.com", "--timeout=20s")
    assert code == 0, errors
    assert (await kubectl("apply", "-f", "-", body=build_thing("a")))[1] == "thing.example.com/a created\n"
    code, _, errors = await kubectl("apply", "-f", "-", body=build_thing("b", foo=1))
    assert code == 1
    assert 'unknown field "spec.foo"' in errors
    output = (await kubectl("get", "th"))[1].splitlines()
    assert output[0].split() == ["NAME", "MODE", "SINCE"]
    assert (await kubectl("explain", "thing.spec.mode"))[0] == 0


@needs_kubectl
async def test_kubectl_reads_logs(kubectl: Kubectl) -> None:
    document = build_pod("p")
    document["spec"]["nodeName"] = "local"
    await kubectl("apply", "-f", "-", body=build_typed("Pod", document))
    status = '{"status":{"containerStatuses":[{"name":"main","state":{"running":{}}}]}}'
    await kubectl("patch", "pod", "p", "--subresource=status", "--type=merge", "-p", status)
    assert await kubectl("logs", "p", "--tail=2") == (0, "one\ntwo\n", "")


async def test_python_client_creates_and_reads_objects(kubeconfig: Path) -> None:
    def work() -> list[str]:
        api = client.CoreV1Api(config.new_client_from_config(str(kubeconfig)))
        with api.api_client:
            api.create_namespaced_pod("default", build_typed("Pod", build_pod("p")))
            stream = watch.Watch().stream(api.list_namespaced_pod, "default", timeout_seconds=20)
            event = next(iter(stream))
            stream.close()
            api.delete_namespaced_pod("p", "default")
            try:
                api.read_namespaced_pod("p", "default")
            except client.ApiException as error:
                return [event["type"], event["object"].metadata.name, str(error.status)]
        return []

    assert await asyncio.to_thread(work) == ["ADDED", "p", "404"]


async def test_asynchronous_python_client_creates_and_reads_objects(kubeconfig: Path) -> None:
    api_client = await aio_config.new_client_from_config(str(kubeconfig))
    async with api_client, asyncio.timeout(DEADLINE):
        api = aio_client.CoreV1Api(api_client)
        await api.create_namespaced_config_map("default", build_typed("ConfigMap", build_config_map("a", {"x": "1"})))
        listed = await api.list_namespaced_config_map("default", limit=1)
        assert [item.data for item in listed.items] == [{"x": "1"}]
        await api.patch_namespaced_config_map("a", "default", {"data": {"y": "2"}})
        assert (await api.read_namespaced_config_map("a", "default")).data == {"x": "1", "y": "2"}
        deleted = await api.delete_namespaced_config_map("a", "default")
        assert deleted.status == "Success"
