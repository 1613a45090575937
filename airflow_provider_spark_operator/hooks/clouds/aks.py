"""Microsoft AKS: the address from Azure Resource Manager, and tokens of Microsoft Entra ID."""

import base64
from typing import Any
from urllib.parse import quote

import requests
from airflow.providers.microsoft.azure.hooks.base_azure import AzureBaseHook

from ...airflow_compat import BaseHook
from ...kube.errors import ConfigurationError
from ...kube.managed_cluster import BearerToken, ClusterLocation
from ...kube.yaml_text import load_all
from .clusters import AksCluster

# The Azure Resource Manager of each value of cloud_environment in an Azure connection.
_MANAGERS = {
    "AzurePublicCloud": "https://management.azure.com",
    "AzureUSGovernment": "https://management.usgovcloudapi.net",
    "AzureChinaCloud": "https://management.chinacloudapi.cn",
}
_PATH = (
    "{manager}/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.ContainerService"
    "/managedClusters/{name}/listClusterUserCredential?api-version=2024-09-01&format=exec"
)
# The application of AKS in Microsoft Entra ID, which is the same for all clusters.
_TOKEN_SCOPE = "6dae42f8-4368-4678-94ff-3960e28e3630/.default"  # noqa: S105 - a scope, no secret
_REQUEST_SECONDS = 20


def locate(cluster: AksCluster) -> ClusterLocation:
    """Read the address and the certificate authority of a cluster.

    Raises:
        ConfigurationError: The Azure connection cannot be used, or Azure rejects the request.
    """
    extras = BaseHook.get_connection(cluster.azure_conn_id).extra_dejson
    subscription = cluster.subscription_id or extras.get("subscriptionId")
    if not subscription:
        raise ConfigurationError(
            f"neither the connection nor the Azure connection {cluster.azure_conn_id!r} names a subscription. "
            "Set subscription_id"
        )
    manager = _MANAGERS.get(extras.get("cloud_environment") or "AzurePublicCloud", _MANAGERS["AzurePublicCloud"])
    path = {"subscription": subscription, "group": cluster.resource_group, "name": cluster.name}
    answer = requests.post(
        _PATH.format(manager=manager, **{key: quote(part, safe="") for key, part in path.items()}),
        headers={"Authorization": f"Bearer {_request_token(cluster, f'{manager}/.default').value}"},
        timeout=_REQUEST_SECONDS,
        allow_redirects=False,
    )
    if answer.status_code != 200:
        raise ConfigurationError(_describe_rejection(cluster, answer))
    return _read_kubeconfig(base64.b64decode(answer.json()["kubeconfigs"][0]["value"]).decode())


def issue_token(cluster: AksCluster) -> BearerToken:
    """Request a token of Microsoft Entra ID for the identity of the Azure connection.

    Raises:
        ConfigurationError: The Azure connection cannot issue tokens.
    """
    return _request_token(cluster, _TOKEN_SCOPE)


def _request_token(cluster: AksCluster, scope: str) -> BearerToken:
    try:
        token = AzureBaseHook(conn_id=cluster.azure_conn_id).get_token(scope)
    except AttributeError as error:
        raise ConfigurationError(
            f"the Azure connection {cluster.azure_conn_id!r} does not use the library azure-identity. "
            "Set use_azure_identity_object to true in its extra"
        ) from error
    return BearerToken(token.token, float(token.expires_on))


def _read_kubeconfig(text: str) -> ClusterLocation:
    document = next(load_all(text))
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    if "exec" not in user and "auth-provider" not in user:
        raise ConfigurationError(
            "the cluster does not use Microsoft Entra ID. Enable its Entra ID integration, or store its kubeconfig "
            "in the extra kube_config"
        )
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode("ascii", "ignore")
    return ClusterLocation(cluster["server"], authority)


def _describe_rejection(cluster: AksCluster, answer: Any) -> str:
    try:
        message = str(answer.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        message = f"HTTP status {answer.status_code}"
    advice = f"Check the Azure connection {cluster.azure_conn_id!r}"
    if answer.status_code == 403:
        advice = (
            "Grant Microsoft.ContainerService/managedClusters/listClusterUserCredential/action to the identity of the "
            f"Azure connection {cluster.azure_conn_id!r}"
        )
    elif answer.status_code == 404:
        advice = "Check aks_cluster, resource_group and subscription_id"
    return f"Azure rejected listClusterUserCredential: {message.rstrip('.')}. {advice}"
