"""Azure on the loopback interface: a managed identity, and Azure Resource Manager."""

import base64
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.hooks.clouds import aks
from tests.hooks.clouds.loopback import Answer, Asked, serve

SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"
MANAGER = "https://management.azure.com"
AKS_APPLICATION = "6dae42f8-4368-4678-94ff-3960e28e3630"
_ENTRA_USER = {"exec": {"command": "kubelogin"}}


class Azure:
    """The Azure of a test: a machine whose managed identity may list the credentials of clusters.

    Attributes:
        kubeconfigs: The kubeconfigs of clusters by path.
        lifetime: For how many seconds the next tokens are valid.
        denied: Whether the identity lacks the permission to list credentials.
        tokens: For which application each token is, and when it expires.
    """

    def __init__(self) -> None:
        self.kubeconfigs: dict[str, dict[str, Any]] = {}
        self.lifetime = 3600.0
        self.denied = False
        self.tokens: dict[str, tuple[str, float]] = {}

    def create_cluster(self, name: str, server: str, authority: str, user: dict[str, Any] | None = None) -> None:
        """Create a cluster with the address and certificate authority of an API server."""
        group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/data"
        path = f"{group}/providers/Microsoft.ContainerService/managedClusters/{name}/listClusterUserCredential"
        data = base64.b64encode(authority.encode()).decode()
        self.kubeconfigs[path] = {
            "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": data}}],
            "users": [{"name": "user", "user": user or _ENTRA_USER}],
        }

    def answer_identity(self, asked: Asked) -> Answer:
        """Answer as the endpoint of a managed identity."""
        token = f"token-{secrets.token_hex(4)}"  # an API server remembers the owners of tokens for a while
        resource, expires_at = asked.query["resource"], time.time() + self.lifetime
        self.tokens[token] = resource, expires_at
        return Answer({"access_token": token, "expires_on": int(expires_at), "resource": resource})

    def answer_manager(self, asked: Asked) -> Answer:
        """Answer as Azure Resource Manager."""
        if self.tokens.get(asked.token or "", ("", 0.0))[0] != MANAGER:
            return Answer({"error": {"message": "The access token is invalid."}}, 401)
        if self.denied:
            message = "The client does not have authorization to perform action 'listClusterUserCredential/action'."
            return Answer({"error": {"message": message}}, 403)
        found = self.kubeconfigs.get(asked.path) if asked.method == "POST" else None
        if found is None:
            return Answer({"error": {"message": "The Resource was not found."}}, 404)
        value = base64.b64encode(yaml.safe_dump(found).encode()).decode()
        return Answer({"kubeconfigs": [{"name": "clusterUser", "value": value}]})


@contextmanager
def run_azure(monkeypatch: pytest.MonkeyPatch) -> Iterator[Azure]:
    """Run the services until the end of the block, and use them as the managed identity of this process."""
    azure = Azure()
    with serve(azure.answer_identity) as identity, serve(azure.answer_manager) as manager:
        monkeypatch.setenv("IDENTITY_ENDPOINT", identity)
        monkeypatch.setenv("IDENTITY_HEADER", "header")
        for name in ("AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("AIRFLOW_CONN_AZURE_DEFAULT", build_connection())
        monkeypatch.setattr(aks, "_PATH", aks._PATH.replace("{manager}", manager))
        yield azure


def build_connection(**extra: Any) -> str:
    """Return an Airflow connection that uses the managed identity, as JSON."""
    extra = {"subscriptionId": SUBSCRIPTION, "use_azure_identity_object": True, **extra}
    return json.dumps({"conn_type": "azure", "extra": extra})
