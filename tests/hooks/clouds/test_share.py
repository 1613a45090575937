import sys
from typing import Any

import pytest

from airflow_provider_spark_operator.airflow_compat import AirflowFailException
from airflow_provider_spark_operator.hooks.clouds.clusters import EksCluster
from airflow_provider_spark_operator.hooks.clouds.share import share_cluster
from airflow_provider_spark_operator.hooks.connection import parse_extras
from airflow_provider_spark_operator.kube.errors import ConfigurationError

EXTRAS = {"eks_cluster": "analytics", "namespace": "jobs"}


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
