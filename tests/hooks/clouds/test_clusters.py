from typing import Any

import pytest

from airflow_provider_spark_operator.hooks.clouds.clusters import (
    AksCluster,
    CloudCluster,
    EksCluster,
    GkeCluster,
    InvalidCluster,
    parse_cloud_cluster,
)

GKE_PATH = "projects/project-1/locations/europe-west1/clusters/analytics"


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
