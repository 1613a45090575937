import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import AlreadyExists, NotFound
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    SERVICE_ACCOUNTS,
    SPARK_APPLICATIONS,
    SPARK_CLUSTERS,
    ResourceType,
)
from tests.e2e.node import DEADLINE, KUBECONFIG, delete_all, run_controller

MANIFESTS = Path(__file__).parents[2] / "docs" / "manifests"
ROLES = ResourceType("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = ResourceType("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
CONTROLLER = "controller"


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    async with await open_client(ClusterAccess(kubeconfig=Path(str(KUBECONFIG)))) as opened:
        yield opened


@pytest.fixture
async def namespace(client: KubeClient) -> AsyncIterator[str]:
    """A namespace in which drivers have the permissions that they need. It is deleted with all its objects."""
    name = f"e2e-{secrets.token_hex(3)}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, None)
    try:
        for document in yaml.safe_load_all((MANIFESTS / "workload.yaml").read_text()):
            await client.create(get_kind(document), document, name)
        yield name
    finally:
        await client.delete(NAMESPACES, name, None)
        await wait_until_deleted(client, name)


@pytest.fixture
async def controller(client: KubeClient, namespace: str, tmp_path: Path) -> Path:
    """A kubeconfig with the permissions of docs/manifests/controller.yaml in the namespace, as in the chart."""
    return await create_identity(client, namespace, tmp_path, CONTROLLER, "controller")


@pytest.fixture
def connect_airflow(
    client: KubeClient, driven: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Awaitable[Path]]:
    """A function that gives the Airflow connection `spark` the permissions of manifests, and returns its kubeconfig."""

    async def connect(*manifests: str) -> Path:
        path = await create_identity(client, driven, tmp_path, "airflow", *manifests)
        extra = {"kube_config_path": str(path), "namespace": driven}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps({"conn_type": "kubernetes", "extra": extra}))
        return path

    return connect


@pytest.fixture
async def definitions(client: KubeClient) -> None:
    """Install the definitions."""
    for document in build_custom_resource_definitions():
        try:
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, document, None)
        except AlreadyExists:
            continue


@pytest.fixture
async def driven(client: KubeClient, namespace: str, definitions: None, controller: Path) -> AsyncIterator[str]:
    """A namespace with a controller that has few permissions. Its applications are deleted at the end."""
    with run_controller(namespace, controller) as log:
        try:
            yield namespace
        finally:
            for kind in (SPARK_APPLICATIONS, SPARK_CLUSTERS):  # the controller must remove its finalizers
                await delete_all(client, kind, namespace)
    assert "grant the verb" not in log.read_text()


async def create_identity(client: KubeClient, namespace: str, folder: Path, name: str, *manifests: str) -> Path:
    """Create a service account with the permissions of docs/manifests in a namespace, and return its kubeconfig."""
    await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": name}}, namespace)
    for manifest in manifests:
        role = yaml.safe_load((MANIFESTS / f"{manifest}.yaml").read_text())
        binding = {
            "metadata": {"name": f"{name}-{manifest}"},
            "roleRef": {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": role["metadata"]["name"]},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        }
        await client.create(ROLES, role, namespace)
        await client.create(ROLE_BINDINGS, binding, namespace)
    tokens = ResourceType("", "v1", f"{SERVICE_ACCOUNTS.plural}/{name}/token", "TokenRequest")
    answer = await client.create(tokens, {"spec": {}}, namespace)
    path = folder / f"{name}.kubeconfig"
    write_kubeconfig(path, answer["status"]["token"])
    return path


def write_kubeconfig(path: Path, token: str) -> None:
    """Write the kubeconfig of the cluster with a token as its credentials."""
    kubeconfig = yaml.safe_load(Path(str(KUBECONFIG)).read_text())
    for user in kubeconfig["users"]:
        user["user"] = {"token": token}
    path.write_text(yaml.safe_dump(kubeconfig))


def get_kind(document: dict[str, Any]) -> ResourceType:
    group, _, version = document["apiVersion"].rpartition("/")
    return ResourceType(group, version, f"{document['kind'].lower()}s", document["kind"])


async def wait_until_deleted(client: KubeClient, name: str) -> None:
    async with asyncio.timeout(DEADLINE):
        while True:
            try:
                await client.get(NAMESPACES, name, None)
            except NotFound:
                return
            await asyncio.sleep(0.5)
