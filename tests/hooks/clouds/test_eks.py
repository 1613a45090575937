"""The address and tokens of an EKS cluster, from the real Amazon provider of Airflow and moto."""

import json
import time
from collections.abc import Iterator

import pytest

from airflow_provider_spark_operator.hooks.clouds.clusters import EksCluster
from airflow_provider_spark_operator.kube.errors import ConfigurationError

pytest.importorskip("airflow.providers.amazon")
pytest.importorskip("moto")

from airflow_provider_spark_operator.hooks.clouds.eks import TOKEN_SECONDS, issue_token, locate
from tests.hooks.clouds.aws import ACCOUNT, REGION, ROLE, USER, Aws, deny_describe_cluster, read_caller, run_aws

SERVER = "https://0123.gr7.eu-west-1.eks.amazonaws.com"
CLUSTER = EksCluster("analytics")


@pytest.fixture(scope="module")
def services() -> Iterator[Aws]:
    with run_aws() as services:
        services.create_cluster("analytics", SERVER, "the authority")
        yield services


@pytest.fixture
def aws(services: Aws, monkeypatch: pytest.MonkeyPatch) -> Aws:
    monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", services.connection())
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    services.move_cluster("analytics", SERVER, "the authority")
    return services


def test_cluster_is_located(aws: Aws) -> None:
    location = locate(CLUSTER)
    assert (location.server, location.authority) == (SERVER, "the authority")


def test_token_identifies_the_user_of_the_aws_connection(aws: Aws) -> None:
    began = time.time()
    token = issue_token(CLUSTER)
    assert read_caller(token.value) == USER
    assert began + TOKEN_SECONDS <= token.expires_at <= time.time() + TOKEN_SECONDS


def test_token_identifies_the_role_that_the_aws_connection_assumes(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_AWS", aws.connection(role_arn=ROLE))
    caller = read_caller(issue_token(EksCluster("analytics", aws_conn_id="spark_aws")).value)
    assert caller.startswith(f"arn:aws:sts::{ACCOUNT}:assumed-role/spark/")


def test_region_of_the_cluster_overrides_that_of_the_aws_connection(aws: Aws) -> None:
    with pytest.raises(ConfigurationError, match="Check eks_cluster, region_name"):
        locate(EksCluster("analytics", region_name="us-east-1"))
    assert locate(EksCluster("analytics", region_name=REGION)).server == SERVER


def test_missing_region_is_reported(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = json.loads(aws.connection())
    del connection["extra"]["region_name"]
    monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", json.dumps(connection))
    with pytest.raises(ConfigurationError, match=r"'aws_default' names a region\. Set region_name"):
        locate(CLUSTER)


def test_missing_permission_names_the_call_and_the_connection(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    deny_describe_cluster(monkeypatch)
    with pytest.raises(ConfigurationError) as caught:
        locate(CLUSTER)
    assert "not authorized to perform: eks:DescribeCluster" in str(caught.value)
    assert str(caught.value).endswith("Grant eks:DescribeCluster to the identity of the AWS connection 'aws_default'")


def test_unknown_cluster_is_reported(aws: Aws) -> None:
    with pytest.raises(ConfigurationError, match=r"ResourceNotFoundException.*Check eks_cluster, region_name"):
        locate(EksCluster("other"))


def test_cluster_without_an_endpoint_is_reported(aws: Aws) -> None:
    aws.move_cluster("analytics", None, "")
    with pytest.raises(ConfigurationError, match=r"has no endpoint\. Wait until it is ACTIVE"):
        locate(CLUSTER)


def test_missing_aws_connection_does_not_use_the_identity_of_the_worker(aws: Aws) -> None:
    from airflow_provider_spark_operator.airflow_compat import AirflowNotFoundException

    with pytest.raises(AirflowNotFoundException, match="no_such_one"):
        issue_token(EksCluster("analytics", aws_conn_id="no_such_one"))


def test_connection_without_credentials_is_reported(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    extra = {"region_name": REGION, "endpoint_url": aws.url}
    monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", json.dumps({"conn_type": "aws", "extra": extra}))
    with pytest.raises(ConfigurationError, match="the AWS connection 'aws_default' has no credentials"):
        issue_token(CLUSTER)
