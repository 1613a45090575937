"""How long an application stays after its end."""

from datetime import timedelta

import pytest

from airflow_provider_spark_operator.core.compose.retention import set_ttl
from airflow_provider_spark_operator.core.names import ANNOTATION_TTL_AFTER_SUCCESS
from airflow_provider_spark_operator.exceptions import SparkApplicationFailed
from tests.cluster import fail, succeed
from tests.operators.tasks import DOCUMENT, operator
from tests.task import TaskInstance, run

WEEK, DAY = 604_800_000, 86_400_000
KUBEFLOW_DOCUMENT = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "kind": "SparkApplication",
    "spec": {"type": "Python"},
}


def apache(**tolerations):
    return DOCUMENT | {"spec": DOCUMENT["spec"] | {"applicationTolerations": tolerations}}


def millis(document):
    return document["spec"].get("applicationTolerations", {}).get("ttlAfterStopMillis")


def test_an_application_gets_seven_days_that_a_success_shortens():
    made = set_ttl(DOCUMENT, None)
    assert millis(made) == WEEK
    assert made["metadata"]["annotations"] == {ANNOTATION_TTL_AFTER_SUCCESS: "86400"}
    assert "applicationTolerations" not in DOCUMENT["spec"]


@pytest.mark.parametrize("stated", [-1, 0, 5])
def test_the_documents_own_time_stays(stated):
    document = apache(ttlAfterStopMillis=stated)
    assert set_ttl(document, None) == document


@pytest.mark.parametrize(
    ("ttl", "expected"),
    [(90, 90_000), (0.5, 500), (timedelta(hours=1), 3_600_000), (0, 0), (-1, -1)],
)
def test_a_given_time_overrides_the_documents_and_is_not_shortened(ttl, expected):
    document = apache(ttlAfterStopMillis=5, resourceRetainPolicy="Always")
    made = set_ttl(document, ttl)
    assert made["spec"]["applicationTolerations"] == {
        "ttlAfterStopMillis": expected,
        "resourceRetainPolicy": "Always",
    }
    assert "metadata" not in made


def test_a_document_of_an_older_version_has_no_field_for_the_default():
    older = DOCUMENT | {"apiVersion": "spark.apache.org/v1alpha1"}
    assert set_ttl(older, None) == older
    assert millis(set_ttl(older, 5)) == 5000


def test_tolerations_that_are_no_object_are_left_to_validation():
    document = DOCUMENT | {"spec": {"applicationTolerations": ["ttl"]}}
    assert set_ttl(document, 5) == document


@pytest.mark.parametrize(
    ("own", "ttl", "expected"),
    [
        ({}, None, {"timeToLiveSeconds": 604_800}),
        ({"timeToLiveSeconds": 30}, None, {"timeToLiveSeconds": 30}),
        ({"timeToLiveSeconds": 30}, timedelta(seconds=1.5), {"timeToLiveSeconds": 2}),
        # Here -1 would mean at once.
        ({"timeToLiveSeconds": 30}, -1, {}),
    ],
)
def test_kubeflows_application_has_seconds(own, ttl, expected):
    document = KUBEFLOW_DOCUMENT | {"spec": {"type": "Python"} | own}
    assert set_ttl(document, ttl) == KUBEFLOW_DOCUMENT | {"spec": {"type": "Python"} | expected}


@pytest.mark.parametrize("ttl", [-2, timedelta(seconds=-1), "1h", True, float("nan")])
def test_a_time_that_cannot_be_is_refused_at_parse(ttl):
    with pytest.raises(ValueError, match="ttl: must be a number of seconds, a timedelta, or -1 to keep"):
        operator(ttl=ttl)


@pytest.mark.parametrize(
    ("script", "expected"), [(succeed, DAY), (fail, WEEK)], ids=["success is cleaned up soon", "failure is evidence"]
)
@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
def test_a_task_shortens_the_default_only_after_success(cluster, script, expected, deferrable):
    cluster.script = script
    task = operator(deferrable=deferrable)
    if script is fail:
        with pytest.raises(SparkApplicationFailed, match="exit code 3"):
            run(task, TaskInstance())
    else:
        run(task, TaskInstance())
    assert millis(cluster.application()) == expected


def test_a_time_that_was_given_counts_from_the_submission_on(cluster):
    run(operator(ttl=timedelta(minutes=5)), TaskInstance())
    assert millis(cluster.application()) == 300_000


@pytest.mark.parametrize("ttl", [1e300, 9_223_372_036_854_776])
def test_time_that_kubernetes_cannot_store_is_rejected(ttl):
    with pytest.raises(ValueError, match="ttl: must be at most 9223372036854775 seconds"):
        operator(ttl=ttl)
