"""The address and tokens of a GKE cluster, from the real Google provider of Airflow and a metadata server."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from airflow_provider_spark_operator.hooks.clouds.clusters import GkeCluster
from airflow_provider_spark_operator.kube.errors import ConfigurationError

pytest.importorskip("airflow.providers.google")

from airflow_provider_spark_operator.hooks.clouds.gke import issue_token, locate
from tests.hooks.clouds.google import Google, run_google

SERVER = "https://34.76.1.2"
CLUSTER = GkeCluster("analytics", "europe-west1")


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[Google]:
    with run_google(monkeypatch) as google:
        google.create_cluster("analytics", SERVER, "the authority")
        yield google


def test_cluster_is_located_in_the_project_of_the_connection(google: Google) -> None:
    location = locate(CLUSTER)
    assert (location.server, location.authority) == (SERVER, "the authority")


def test_token_is_that_of_the_service_account(google: Google) -> None:
    google.lifetime = 1800.0
    began = time.time()
    token = issue_token(CLUSTER)
    assert token.value in google.tokens
    assert began + 1790 < token.expires_at <= time.time() + 1800


def test_each_token_is_new(google: Google) -> None:
    assert issue_token(CLUSTER).value != issue_token(CLUSTER).value


def test_dns_endpoint_is_trusted_by_public_authorities(google: Google) -> None:
    endpoints = {"dnsEndpointConfig": {"endpoint": "gke-1.europe-west1.gke.goog"}}
    google.create_cluster("analytics", SERVER, "the authority", controlPlaneEndpointsConfig=endpoints)
    location = locate(replace(CLUSTER, use_dns_endpoint=True))
    assert (location.server, location.authority) == ("https://gke-1.europe-west1.gke.goog", None)


@pytest.mark.parametrize(
    "fields",
    [
        {"controlPlaneEndpointsConfig": {"ipEndpointsConfig": {"privateEndpoint": "10.0.0.2"}}},
        {"privateClusterConfig": {"privateEndpoint": "10.0.0.2"}},
    ],
    ids=["new", "old"],
)
def test_internal_address_can_be_used(google: Google, fields: dict[str, object]) -> None:
    google.create_cluster("analytics", SERVER, "the authority", **fields)
    location = locate(replace(CLUSTER, use_internal_ip=True))
    assert (location.server, location.authority) == ("https://10.0.0.2", "the authority")


def test_missing_endpoint_is_reported(google: Google) -> None:
    with pytest.raises(ConfigurationError, match=r"the cluster is RUNNING and has no DNS endpoint\. Enable it"):
        locate(replace(CLUSTER, use_dns_endpoint=True))


def test_missing_permission_names_the_call_and_the_connection(google: Google) -> None:
    google.denied = True
    with pytest.raises(ConfigurationError) as caught:
        locate(CLUSTER)
    assert 'rejected clusters.get: Required "container.clusters.get" permission' in str(caught.value)
    advice = "Grant container.clusters.get in project project-1 to the identity of the Google Cloud connection"
    assert str(caught.value).endswith(f"{advice} 'google_cloud_default'")


def test_unknown_cluster_is_reported(google: Google) -> None:
    with pytest.raises(ConfigurationError, match=r"Check gke_cluster, location and project_id \(the project is other"):
        locate(replace(CLUSTER, project_id="other"))


def test_missing_project_is_reported(google: Google, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.hooks.clouds.google.PROJECT", "")
    extra = {"keyfile_dict": None}
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", json.dumps({"conn_type": "google_cloud_platform", "extra": extra}))
    with pytest.raises(ConfigurationError, match=r"'other' names a project\. Set project_id"):
        locate(replace(CLUSTER, gcp_conn_id="other"))
