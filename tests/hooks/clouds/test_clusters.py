import sys
from typing import Any

import pytest

from airflow_provider_spark_operator.airflow_compat import AirflowFailException
from airflow_provider_spark_operator.hooks.clouds.clusters import (
    AksCluster,
    CloudCluster,
    EksCluster,
    GkeCluster,
    InvalidCluster,
    parse_cloud_cluster,
    share_cluster,
)
from airflow_provider_spark_operator.hooks.connection import parse_extras
from airflow_provider_spark_operator.kube.errors import ConfigurationError

GKE_PATH = "projects/project-1/locations/europe-west1/clusters/analytics"
EXTRAS = {"eks_cluster": "analytics", "namespace": "jobs"}


@pytest.mark.parametrize(
    ("extras", "cluster"),
    [
        ({}, None),
        ({"kube_config_path": "/etc/kube", "eks_cluster": "", "use_internal_ip": False}, None),
        ({"eks_cluster": "a"}, EksCluster("a")),
        (
            {"eks_cluster": "a", "aws_conn_id": "prod", "region_name": "eu-west-1"},
            EksCluster("a", aws_conn_id="prod", region_name="eu-west-1"),
        ),
        ({"gke_cluster": "a", "location": "europe-west1"}, GkeCluster("a", "europe-west1")),
        ({"gke_cluster": GKE_PATH}, GkeCluster("analytics", "europe-west1", project_id="project-1")),
        (
            {"gke_cluster": GKE_PATH, "location": "europe-west1", "gcp_conn_id": "prod", "use_dns_endpoint": "true"},
            GkeCluster("analytics", "europe-west1", gcp_conn_id="prod", project_id="project-1", use_dns_endpoint=True),
        ),
        ({"gke_cluster": "a", "location": "b", "use_internal_ip": True}, GkeCluster("a", "b", use_internal_ip=True)),
        ({"aks_cluster": "a", "resource_group": "data"}, AksCluster("a", "data")),
        (
            {"aks_cluster": "a", "resource_group": "data", "azure_conn_id": "prod", "subscription_id": "1"},
            AksCluster("a", "data", azure_conn_id="prod", subscription_id="1"),
        ),
    ],
)
def test_extras_select_a_cluster(extras: dict[str, Any], cluster: CloudCluster | None) -> None:
    assert parse_cloud_cluster(extras) == cluster


@pytest.mark.parametrize(
    ("extras", "message"),
    [
        ({"gke_cluster": "a"}, "location is missing. Set it to the region or zone of the GKE cluster"),
        ({"gke_cluster": "projects/p/clusters/a", "location": "b"}, "gke_cluster must be a name, or projects/"),
        ({"gke_cluster": GKE_PATH, "location": "us-east1"}, "the project or location in gke_cluster differs from"),
        (
            {"gke_cluster": GKE_PATH, "use_internal_ip": True, "use_dns_endpoint": True},
            "use_internal_ip and use_dns_endpoint cannot be combined",
        ),
        ({"aks_cluster": "a"}, "resource_group is missing"),
        ({"eks_cluster": ["a"]}, "eks_cluster must be a string"),
        ({"eks_cluster": "a", "location": "b"}, "location has no effect without gke_cluster"),
        ({"region_name": "eu-west-1"}, "region_name has no effect without eks_cluster"),
    ],
)
def test_invalid_extras_are_rejected(extras: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidCluster) as caught:
        parse_cloud_cluster(extras)
    assert str(caught.value).startswith(message)


def test_clients_of_a_connection_share_one_source() -> None:
    one, two = parse_extras("spark", EXTRAS), parse_extras("spark", dict(EXTRAS))
    assert one.managed is not None
    assert one.managed is two.managed
    assert one == two
    assert one.namespace == "jobs"


@pytest.mark.parametrize("other", [{"eks_cluster": "other"}, {"aws_conn_id": "other"}, {"region_name": "eu-west-1"}])
def test_other_settings_have_another_source(other: dict[str, Any]) -> None:
    one, two = parse_extras("spark", EXTRAS), parse_extras("spark", EXTRAS | other)
    assert one.managed is not two.managed
    assert one != two


def test_cluster_excludes_other_sources() -> None:
    with pytest.raises(
        AirflowFailException, match=r"sets kube_config_path and eks_cluster\. Set only one of in_cluster,"
    ):
        parse_extras("spark", {**EXTRAS, "kube_config_path": "/etc/kube"})


def test_invalid_cluster_names_the_connection() -> None:
    with pytest.raises(AirflowFailException, match="connection 'spark' is invalid: location is missing"):
        parse_extras("spark", {"gke_cluster": "analytics"})


@pytest.mark.parametrize(
    ("extras", "module", "command"),
    [
        (
            {"eks_cluster": "a"},
            "airflow.providers.amazon.aws.hooks.base_aws",
            r"airflow-provider-spark-operator\[eks\]",
        ),
        (
            {"gke_cluster": "a", "location": "b"},
            "airflow.providers.google.common.hooks.base_google",
            r"airflow-provider-spark-operator\[gke\]",
        ),
        (
            {"aks_cluster": "a", "resource_group": "b"},
            "airflow.providers.microsoft.azure.hooks.base_azure",
            r"airflow-provider-spark-operator\[aks\]",
        ),
    ],
    ids=["eks", "gke", "aks"],
)
async def test_missing_provider_names_the_extra_to_install(
    extras: dict[str, Any], module: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("eks", "gke", "aks"):
        monkeypatch.delitem(sys.modules, f"airflow_provider_spark_operator.hooks.clouds.{name}", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    managed = parse_extras("missing", extras).managed
    assert managed is not None
    with pytest.raises(ConfigurationError, match=rf"could not find .* of connection 'missing': .* Install {command}$"):
        await managed.find_location()


def test_key_of_a_cluster_has_no_place_for_secrets() -> None:
    managed = share_cluster("spark", EksCluster("analytics"))
    assert managed.key == '["EKS", "analytics", "aws_default", null]'
    assert repr(managed) == "<ManagedCluster EKS cluster 'analytics' of connection 'spark'>"
