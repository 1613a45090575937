"""How long it can be asked how an application ended."""

import pytest

from airflow_provider_spark_operator.follow.retention import seconds_after_end
from airflow_provider_spark_operator.follow.submit import submit
from airflow_provider_spark_operator.kube.client import KubeClient
from tests.follow.applications import document, stamp

KUBEFLOW = {"apiVersion": "sparkoperator.k8s.io/v1beta2"}


@pytest.mark.parametrize(
    ("resource", "seconds"),
    [
        ({"spec": {"applicationTolerations": {"ttlAfterStopMillis": 1500}}}, 1.5),
        ({"spec": {"applicationTolerations": {"ttlAfterStopMillis": 0}}}, 0.0),
        ({"spec": {"applicationTolerations": {"ttlAfterStopMillis": -1}}}, None),
        ({"spec": {}}, None),
        ({**KUBEFLOW, "spec": {"timeToLiveSeconds": 30}}, 30.0),
        ({**KUBEFLOW, "spec": {"timeToLiveSeconds": -1}}, 0.0),
        ({**KUBEFLOW, "spec": {}}, None),
    ],
)
def test_the_specification_says_when_an_application_is_deleted(
    resource: dict[str, object], seconds: float | None
) -> None:
    assert seconds_after_end(resource) == seconds


@pytest.mark.parametrize(("millis", "warned"), [(3_000, True), (60_000, False)])
async def test_a_task_is_warned_whose_application_may_be_gone_before_anybody_looks(
    client: KubeClient, namespace: str, caplog: pytest.LogCaptureFixture, millis: int, warned: bool
) -> None:
    mine = document("mine")
    mine["spec"]["applicationTolerations"] = {"ttlAfterStopMillis": millis}
    await submit(client, mine, namespace, stamp())
    assert ("is deleted 3 s after its end" in caplog.text) is warned
