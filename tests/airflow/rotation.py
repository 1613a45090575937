"""Rotation of the credentials of a real API server while clients use them."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import Unauthorized
from airflow_provider_spark_operator.kube.resources import SECRETS, SERVICE_ACCOUNTS, SPARK_APPLICATIONS, ResourceType

_ROLE_BINDINGS = ResourceType("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding")
_PAUSE_SECONDS = 0.5


class RotatingCredentials:
    """A kubeconfig with the token of a service account, which is replaced by that of another one.

    Args:
        client: Of an administrator.
        namespace: Of the service accounts.
        template: The administrator's kubeconfig.
        kubeconfig: The file to write.
    """

    def __init__(self, client: KubeClient, namespace: str, template: Path, kubeconfig: Path) -> None:
        self._client = client
        self._namespace = namespace
        self._template = template
        self._kubeconfig = kubeconfig
        self._number = 0
        self.rejected_seconds: list[float] = []

    async def rotate(self, meanwhile: Callable[[], Awaitable[None]]) -> None:
        """Delete the service account. When the API server rejects its token, write the token of another account.

        Args:
            meanwhile: Called after the rejection of the old token, before the new token exists.
        """
        old = f"account-{self._number}"
        await self._client.delete(SERVICE_ACCOUNTS, old, self._namespace)
        began = await self._until_rejected()
        await meanwhile()
        await self.issue()
        self.rejected_seconds.append(time.monotonic() - began)

    async def issue(self) -> None:
        """Create a service account, and write a kubeconfig with its token in one step."""
        self._number += 1
        name = f"account-{self._number}"
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
        await self._client.create(SERVICE_ACCOUNTS, account, self._namespace)
        annotations = {"kubernetes.io/service-account.name": name}
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "annotations": annotations},
            "type": "kubernetes.io/service-account-token",
        }
        await self._client.create(SECRETS, secret, self._namespace)
        document = yaml.safe_load(self._template.read_text())
        document["users"] = [{"name": one["name"], "user": await self._user(name)} for one in document["users"]]
        written = self._kubeconfig.with_suffix(".new")
        written.write_text(yaml.safe_dump(document))
        written.replace(self._kubeconfig)

    async def _user(self, name: str) -> dict[str, Any]:
        while True:
            secret = await self._client.get(SECRETS, name, self._namespace)
            token = (secret.get("data") or {}).get("token")
            if token:
                return {"token": base64.b64decode(token).decode()}
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _until_rejected(self) -> float:
        # The API server remembers a token that was valid for some seconds.
        document = yaml.safe_load(self._kubeconfig.read_text())
        async with await open_client(ClusterAccess(kubeconfig_document=document)) as client:
            while True:
                try:
                    await client.list(SPARK_APPLICATIONS, self._namespace)
                except Unauthorized:
                    return time.monotonic()
                await asyncio.sleep(_PAUSE_SECONDS)


@asynccontextmanager
async def rotate_credentials(
    client: KubeClient, namespace: str, template: Path, kubeconfig: Path
) -> AsyncIterator[RotatingCredentials]:
    """Yield credentials with all permissions, in `kubeconfig`, of service accounts of the namespace."""
    subject = {"kind": "Group", "name": f"system:serviceaccounts:{namespace}", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {
        "apiVersion": _ROLE_BINDINGS.api_version,
        "kind": _ROLE_BINDINGS.kind,
        "metadata": {"name": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [subject],
    }
    await client.create(_ROLE_BINDINGS, binding, None)
    try:
        credentials = RotatingCredentials(client, namespace, template, kubeconfig)
        await credentials.issue()
        yield credentials
    finally:
        await client.delete(_ROLE_BINDINGS, namespace, None)
