"""The time for which the result of an application can be read."""

import pytest

from airflow_provider_spark_operator.core.kubernetes.names import (
    ANNOTATION_RESULT_TAKEN_BY,
    ANNOTATION_TTL_AFTER_SUCCESS,
)
from airflow_provider_spark_operator.follow.submission.submit import acknowledge, read_ttl_seconds, submit
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from tests.follow.applications import FAILED, RUNNING, SUCCEEDED, build_document, build_stamp, set_states

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
def test_time_to_live_is_read_from_the_specification(resource: dict[str, object], seconds: float | None) -> None:
    assert read_ttl_seconds(resource) == seconds


@pytest.mark.parametrize(("millis", "warned"), [(3_000, True), (60_000, False)])
async def test_short_time_to_live_is_warned_about(
    client: KubeClient, namespace: str, caplog: pytest.LogCaptureFixture, millis: int, warned: bool
) -> None:
    mine = build_document("mine")
    mine["spec"]["applicationTolerations"] = {"ttlAfterStopMillis": millis}
    await submit(client, mine, namespace, build_stamp())
    assert (f"is deleted {millis // 1000} s after it ends" in caplog.text) is warned


WEEK, DAY = 604_800_000, 86_400_000
SHORTENED = {ANNOTATION_TTL_AFTER_SUCCESS: "86400"}


@pytest.mark.parametrize(
    ("states", "annotations", "millis", "expected"),
    [
        pytest.param(SUCCEEDED, SHORTENED, WEEK, DAY, id="success"),
        pytest.param(FAILED, SHORTENED, WEEK, WEEK, id="failure"),
        pytest.param(RUNNING, SHORTENED, WEEK, WEEK, id="running, as after wait_for_completion=False"),
        pytest.param(SUCCEEDED, {}, WEEK, WEEK, id="time of the document"),
        pytest.param(SUCCEEDED, SHORTENED, -1, -1, id="edited meanwhile"),
        pytest.param(SUCCEEDED, {ANNOTATION_TTL_AFTER_SUCCESS: "soon"}, WEEK, WEEK, id="annotation edited"),
    ],
)
async def test_default_time_to_live_is_shortened_after_a_success_that_was_seen(
    client: KubeClient, namespace: str, states: tuple[str, ...], annotations: dict[str, str], millis: int, expected: int
) -> None:
    mine = build_document("mine", applicationTolerations={"ttlAfterStopMillis": millis})
    mine["metadata"]["annotations"] = annotations
    submission = await submit(client, mine, namespace, build_stamp())
    await set_states(client, submission.reference, *states)
    assert await acknowledge(client, submission.reference, build_stamp())
    stored = await client.get(SPARK_APPLICATIONS, "mine", namespace)
    assert stored["spec"]["applicationTolerations"]["ttlAfterStopMillis"] == expected
    assert stored["metadata"]["annotations"][ANNOTATION_RESULT_TAKEN_BY] == build_stamp().task_instance_id


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (("Submitted", "DriverRequested", "DriverStartTimedOut", "TerminatedWithoutReleaseResources"), 0),
        (("Submitted", "DriverRequested", "DriverStartTimedOut", "ResourceReleased"), 300_000),
        ((*RUNNING, "Failed", "TerminatedWithoutReleaseResources"), 300_000),
    ],
)
async def test_driver_that_the_operator_keeps_although_it_could_run_is_released(
    client: KubeClient, namespace: str, states: tuple[str, ...], expected: int
) -> None:
    kept = {"resourceRetainPolicy": "OnFailure", "resourceRetainDurationMillis": 300_000}
    submission = await submit(client, build_document("mine", applicationTolerations=kept), namespace, build_stamp())
    await set_states(client, submission.reference, *states)
    assert await acknowledge(client, submission.reference, build_stamp())
    stored = await client.get(SPARK_APPLICATIONS, "mine", namespace)
    assert stored["spec"]["applicationTolerations"]["resourceRetainDurationMillis"] == expected


async def test_success_counts_where_its_time_to_live_cannot_be_shortened(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    mine = build_document("mine", applicationTolerations={"ttlAfterStopMillis": WEEK})
    mine["metadata"]["annotations"] = SHORTENED
    submission = await submit(client, mine, namespace, build_stamp())
    await set_states(client, submission.reference, *SUCCEEDED)

    async def refuse(*_: object) -> None:
        raise Forbidden(403, "Forbidden", "no spec for you", "patch", "sparkapplications", namespace, "mine")

    monkeypatch.setattr("airflow_provider_spark_operator.follow.submission.submit.amend", refuse)
    assert await acknowledge(client, submission.reference, build_stamp())
    assert "could not shorten the time to live of SparkApplication" in caplog.text
    assert "so it is kept longer than necessary" in caplog.text
