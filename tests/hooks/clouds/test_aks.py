"""The address and tokens of an AKS cluster, from the real Azure provider of Airflow and a managed identity."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from airflow_provider_spark_operator.hooks.clouds.clusters import AksCluster
from airflow_provider_spark_operator.kube.errors import ConfigurationError

pytest.importorskip("airflow.providers.microsoft.azure")

from airflow_provider_spark_operator.hooks.clouds.aks import issue_token, locate
from tests.hooks.clouds.azure import AKS_APPLICATION, Azure, build_connection, run_azure

SERVER = "https://analytics-1.hcp.westeurope.azmk8s.io:443"
CLUSTER = AksCluster("analytics", "data")


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch) -> Iterator[Azure]:
    with run_azure(monkeypatch) as azure:
        azure.create_cluster("analytics", SERVER, "the authority")
        yield azure


def test_cluster_is_located_in_the_subscription_of_the_connection(azure: Azure) -> None:
    location = locate(CLUSTER)
    assert (location.server, location.authority) == (SERVER, "the authority")


def test_token_is_for_the_application_of_aks(azure: Azure) -> None:
    azure.lifetime = 1800.0
    began = time.time()
    token = issue_token(CLUSTER)
    assert azure.tokens[token.value][0] == AKS_APPLICATION
    assert began + 1790 < token.expires_at <= time.time() + 1800


def test_missing_permission_names_the_call_and_the_connection(azure: Azure) -> None:
    azure.denied = True
    with pytest.raises(ConfigurationError) as caught:
        locate(CLUSTER)
    assert "rejected listClusterUserCredential: The client does not have authorization" in str(caught.value)
    assert "Grant Microsoft.ContainerService/managedClusters/listClusterUserCredential/action" in str(caught.value)
    assert str(caught.value).endswith("the Azure connection 'azure_default'")


def test_unknown_cluster_is_reported(azure: Azure) -> None:
    with pytest.raises(ConfigurationError, match="Check aks_cluster, resource_group and subscription_id"):
        locate(replace(CLUSTER, resource_group="other"))


def test_missing_subscription_is_reported(azure: Azure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_AZURE_DEFAULT", build_connection(subscriptionId=None))
    with pytest.raises(ConfigurationError, match=r"'azure_default' names a subscription\. Set subscription_id"):
        locate(CLUSTER)


def test_cluster_with_local_accounts_is_reported(azure: Azure) -> None:
    azure.create_cluster("analytics", SERVER, "the authority", {"token": "secret"})
    with pytest.raises(ConfigurationError, match="does not use Microsoft Entra ID") as caught:
        locate(CLUSTER)
    assert "secret" not in str(caught.value)


def test_connection_with_credentials_of_the_old_library_is_reported(
    azure: Azure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_AZURE_DEFAULT", build_connection(use_azure_identity_object=False))
    with pytest.raises(ConfigurationError, match="Set use_azure_identity_object to true"):
        issue_token(CLUSTER)
