"""External changes while the controller runs: a deleted namespace, and revoked permissions."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import NAMESPACES, SERVICE_ACCOUNTS, ResourceType
from airflow_provider_spark_operator.reconcile.objects.cache import ObjectKey
from tests.reconcile.harness import state_of
from tests.reliability.lives import TrackedApplication
from tests.reliability.scene import DEADLINE, Scene, build_controller, open_scene

from control_plane import ControlPlane

pytestmark = pytest.mark.timeout(900)

MANIFEST = Path(__file__).parents[2] / "docs" / "manifests" / "controller.yaml"
ROLES = ResourceType("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = ResourceType("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
ACCOUNT = "controller"


async def test_other_namespace_is_unaffected_by_namespace_deletion(plane: ControlPlane, tmp_path: Path) -> None:
    async with open_scene(plane, tmp_path / "controller", others=1) as scene:
        (doomed,) = scene.others
        await scene.controller.start()
        lost = [
            TrackedApplication(scene.client, scene.node, ObjectKey(doomed, f"deletion-{number}")) for number in range(5)
        ]
        for each in lost:
            await each.submit()
        async with asyncio.timeout(DEADLINE):
            for each in lost:
                await scene.node.wait_until(
                    each.key, lambda seen: seen is not None and state_of(seen) == "RunningHealthy"
                )
            await scene.client.delete(NAMESPACES, doomed, None)
            await wait_until_namespace_is_deleted(scene.client, doomed)
        for each in lost:
            each.check()
        await scene.wait_until_completed(await scene.submit(["success-00", "restart-00"]))


async def test_applications_complete_after_permissions_are_restored(scene: Scene) -> None:
    """The controller has only the permissions of docs/manifests."""
    role = yaml.safe_load(MANIFEST.read_text())
    await scene.client.create(ROLES, role, scene.namespace)
    binding = build_binding(role["metadata"]["name"], scene.namespace)
    token = await create_account_token(scene)
    controller = build_controller(scene.folder, scene.proxy.url, token, "--namespaces", scene.namespace)
    await scene.client.create(ROLE_BINDINGS, binding, scene.namespace)
    try:
        await controller.start()
        lives = await scene.submit(["deletion-00", "deletion-01"])
        async with asyncio.timeout(DEADLINE):
            for each in lives:
                await scene.node.wait_until(
                    each.key, lambda seen: seen is not None and state_of(seen) == "RunningHealthy"
                )
            await scene.client.delete(ROLE_BINDINGS, binding["metadata"]["name"], scene.namespace)
            scene.proxy.cut_watches()
            lives += await scene.submit(["success-00", "restart-00"])
            while "grant the verb" not in controller.log:  # noqa: ASYNC110 - a file is no Event
                await asyncio.sleep(0.1)
        await scene.client.create(ROLE_BINDINGS, binding, scene.namespace)
        await scene.wait_until_completed(lives)
    finally:
        await controller.kill()


async def wait_until_namespace_is_deleted(client: KubeClient, namespace: str) -> None:
    """Wait until a deleted namespace no longer exists."""
    while True:
        try:
            await client.get(NAMESPACES, namespace, None)
        except NotFound:
            return
        await asyncio.sleep(0.1)


async def create_account_token(scene: Scene) -> str:
    """Create a service account without permissions; return its token."""
    await scene.client.create(SERVICE_ACCOUNTS, {"metadata": {"name": ACCOUNT}}, scene.namespace)
    tokens = ResourceType("", "v1", f"serviceaccounts/{ACCOUNT}/token", "TokenRequest")
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await scene.client.create(tokens, request, scene.namespace)
    token: str = answer["status"]["token"]
    return token


def build_binding(role: str, namespace: str) -> dict[str, Any]:
    """Build the binding of a role to the controller's service account."""
    return {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}],
    }
