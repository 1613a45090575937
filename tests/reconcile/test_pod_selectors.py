import pytest

from airflow_provider_spark_operator.core.names import LABEL_APPLICATION_NAME
from airflow_provider_spark_operator.reconcile.cache import ObjectKey
from airflow_provider_spark_operator.reconcile.pod_selectors import get_application_key


def test_application_key_is_read_from_the_labels_of_a_pod() -> None:
    pod = {"metadata": {"name": "x", "namespace": "jobs", "labels": {LABEL_APPLICATION_NAME: "pi"}}}
    assert get_application_key(pod) == ObjectKey("jobs", "pi")


@pytest.mark.parametrize("labels", [None, {}, {"spark-role": "driver"}])
def test_pod_without_the_label_has_no_application_key(labels: dict[str, str] | None) -> None:
    assert get_application_key({"metadata": {"name": "x", "namespace": "jobs", "labels": labels}}) is None
