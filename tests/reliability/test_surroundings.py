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
from tests.reliability.harness import DEADLINE, Harness, build_controller, open_harness
from tests.reliability.scripts import TrackedApplication

from control_plane import ControlPlane

pytestmark = pytest.mark.timeout(900)

MANIFEST = Path(__file__).parents[2] / "docs" / "manifests" / "controller.yaml"
ROLES = ResourceType("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = ResourceType("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
ACCOUNT = "controller"


async def test_other_namespace_is_unaffected_by_namespace_deletion(plane: ControlPlane, tmp_path: Path) -> None:
    async with open_harness(plane, tmp_path / "controller", others=1) as harness:
        (doomed,) = harness.others
        await harness.controller.start()
        lost = [
            TrackedApplication(harness.client, harness.node, ObjectKey(doomed, f"deletion-{number}"))
            for number in range(5)
        ]
        for each in lost:
            await each.submit()
        async with asyncio.timeout(DEADLINE):
            for each in lost:
                await harness.node.wait_until(
                    each.key, lambda seen: seen is not None and state_of(seen) == "RunningHealthy"
                )
            await harness.client.delete(NAMESPACES, doomed, None)
            await wait_until_namespace_is_deleted(harness.client, doomed)
        for each in lost:
            each.check()
        await harness.wait_until_completed(await harness.submit(["success-00", "restart-00"]))


async def test_applications_complete_after_permissions_are_restored(harness: Harness) -> None:
    """The controller has only the permissions of docs/manifests."""
    role = yaml.safe_load(MANIFEST.read_text())
    await harness.client.create(ROLES, role, harness.namespace)
    binding = build_binding(role["metadata"]["name"], harness.namespace)
    token = await create_account_token(harness)
    controller = build_controller(harness.folder, harness.proxy.url, token, "--namespaces", harness.namespace)
    await harness.client.create(ROLE_BINDINGS, binding, harness.namespace)
    try:
        await controller.start()
        applications = await harness.submit(["deletion-00", "deletion-01"])
        async with asyncio.timeout(DEADLINE):
            for each in applications:
                await harness.node.wait_until(
                    each.key, lambda seen: seen is not None and state_of(seen) == "RunningHealthy"
                )
            await harness.client.delete(ROLE_BINDINGS, binding["metadata"]["name"], harness.namespace)
            harness.proxy.cut_watches()
            applications += await harness.submit(["success-00", "restart-00"])
            while "grant the verb" not in controller.log:  # noqa: ASYNC110 - a file is no Event
                await asyncio.sleep(0.1)
        await harness.client.create(ROLE_BINDINGS, binding, harness.namespace)
        await harness.wait_until_completed(applications)
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


async def create_account_token(harness: Harness) -> str:
    """Create a service account without permissions; return its token."""
    await harness.client.create(SERVICE_ACCOUNTS, {"metadata": {"name": ACCOUNT}}, harness.namespace)
    tokens = ResourceType("", "v1", f"serviceaccounts/{ACCOUNT}/token", "TokenRequest")
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await harness.client.create(tokens, request, harness.namespace)
    token: str = answer["status"]["token"]
    return token


def build_binding(role: str, namespace: str) -> dict[str, Any]:
    """Build the binding of a role to the controller's service account."""
    return {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}],
    }
