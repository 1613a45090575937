"""Templates in object stores. The packages of the extra `files` read them over the protocols of the stores."""

from collections.abc import Iterator

import fsspec
import pytest

from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.reconcile.attempts.files import read_templates
from tests.reconcile.store import serve_file

KEY = "spark.kubernetes.driver.podTemplateFile"
TEMPLATE = b"spec:\n  priorityClassName: high\n"
AZURE_ACCOUNT = "AccountName=account;AccountKey=c2VjcmV0"
BUCKETS = ("s3a://bucket", "s3://bucket", "gs://bucket", "abfss://bucket@account.dfs.core.windows.net")


@pytest.fixture(autouse=True)
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Serve a local store instead of the real ones, with the configuration of fsspec."""
    # Otherwise gcsfs repeatedly requests the type of the bucket over gRPC.
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    with serve_file(TEMPLATE) as address:
        azure = f"DefaultEndpointsProtocol=http;{AZURE_ACCOUNT};BlobEndpoint={address}/account"
        monkeypatch.setitem(fsspec.config.conf, "s3", {"endpoint_url": address, "key": "me", "secret": "secret"})
        monkeypatch.setitem(fsspec.config.conf, "gs", {"endpoint_url": address, "token": "anon"})
        monkeypatch.setitem(fsspec.config.conf, "abfss", {"connection_string": azure})
        yield


@pytest.mark.parametrize("bucket", BUCKETS)
def test_template_is_read_from_a_store(bucket: str) -> None:
    assert read_templates({KEY: f"{bucket}/pod.yaml"}).driver == {"spec": {"priorityClassName": "high"}}


@pytest.mark.parametrize("bucket", BUCKETS)
def test_missing_template_of_a_store_is_named(bucket: str) -> None:
    with pytest.raises(InvalidResource) as refusal:
        read_templates({KEY: f"{bucket}/none.yaml"})
    assert refusal.value.problems[0].path == KEY
    assert refusal.value.problems[0].message == f"the file {bucket}/none.yaml does not exist"
