"""The hook with a scripted cluster. `wait` and `stream` follow applications of the script."""

import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_provider_spark_operator.exceptions import (
    SparkApplicationDeleted,
    SparkApplicationError,
    SparkApplicationFailed,
    SparkApplicationNotFound,
    SparkApplicationTimedOut,
)
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.hooks import async_spark_application
from airflow_provider_spark_operator.hooks.spark_application import SparkApplicationHook
from tests.cluster import Cluster, fail, run_on, stay_submitted
from tests.task import call_when_logged


@pytest.fixture
def hook(cluster: Cluster) -> Iterator[SparkApplicationHook]:
    with SparkApplicationHook("spark") as opened:
        yield opened


def reference_of(document: dict[str, Any]) -> ApplicationReference:
    return ApplicationReference.of(document)


def test_get_returns_the_resource(cluster: Cluster, hook: SparkApplicationHook) -> None:
    created = cluster.create("pi", labels={"team": "a"})
    assert hook.get("pi")["metadata"]["uid"] == created["metadata"]["uid"]
    assert hook.get(reference_of(created))["metadata"]["labels"] == {"team": "a"}


def test_get_reports_a_missing_application(hook: SparkApplicationHook) -> None:
    with pytest.raises(SparkApplicationNotFound, match=r"could not read SparkApplication pi: .*not found"):
        hook.get("pi")


def test_reference_does_not_lead_to_another_application_of_the_same_name(
    cluster: Cluster, hook: SparkApplicationHook
) -> None:
    first = reference_of(cluster.create("pi"))
    cluster.delete("pi")
    cluster.create("pi")
    for request in (hook.get, hook.delete, hook.wait):
        with pytest.raises(SparkApplicationNotFound, match="another application now has its name"):
            request(first)
    assert cluster.applications()


def test_namespace_of_the_hook_is_searched(cluster: Cluster) -> None:
    cluster.create("pi")
    with SparkApplicationHook("spark", namespace="default") as hook, pytest.raises(SparkApplicationNotFound):
        hook.get("pi")


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (None, ["one", "three", "two"]),
        ({"team": "a"}, ["one", "two"]),
        ({"team": "a", "size": "s"}, ["two"]),
        ("team in (b)", ["three"]),
        ({"team": "c"}, []),
    ],
)
def test_list_selects_by_labels(
    cluster: Cluster, hook: SparkApplicationHook, labels: dict[str, str] | str | None, found: list[str]
) -> None:
    for name, own in {"one": {"team": "a"}, "two": {"team": "a", "size": "s"}, "three": {"team": "b"}}.items():
        cluster.create(name, labels=own)
    assert sorted(one["metadata"]["name"] for one in hook.list_applications(labels)) == found


def test_list_is_bounded_and_warns(
    cluster: Cluster, hook: SparkApplicationHook, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(3):
        cluster.create(f"pi-{number}")
    assert len(hook.list_applications(most=2)) == 2
    assert "has more than 2 applications; returning the first 2" in caplog.text
    caplog.clear()
    assert len(hook.list_applications(most=3)) == 3
    assert not caplog.text


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"team": "a,b"}, "'a,b' is not a label value"),
        ({"team!": "a"}, "'team!' is not a valid key"),
        ({"team": None}, "None is not a label value"),
        (["team=a"], "labels must be an object or a label selector, not list"),
    ],
)
def test_invalid_labels_do_not_select_other_applications(hook: SparkApplicationHook, labels: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        hook.list_applications(labels)


@pytest.mark.parametrize("most", [0, -1])
def test_limit_of_a_list_must_be_positive(hook: SparkApplicationHook, most: int) -> None:
    with pytest.raises(ValueError, match="`most` must be at least 1"):
        hook.list_applications(most=most)
    with pytest.raises(ValueError, match="`most` must be at least 1"):
        hook.list_events("pi", most=most)


@pytest.mark.parametrize("timeout", ["5m", float("nan"), -1, True])
def test_invalid_timeout_is_rejected(hook: SparkApplicationHook, timeout: Any) -> None:
    for request in (hook.wait, hook.delete):
        with pytest.raises(ValueError, match="timeout must be a number of seconds, a timedelta, or None"):
            request("pi", timeout=timeout)


def test_wait_returns_the_verdict_and_logs_the_driver_log(
    cluster: Cluster, hook: SparkApplicationHook, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        verdict = hook.wait(reference_of(cluster.create("pi")))
    assert verdict.has_succeeded
    assert (verdict.state, verdict.application_id, verdict.attempts) == ("Succeeded", "pi-0", 1)
    verdict.raise_for_failure()
    assert "driver | Pi is roughly 3.14" in caplog.text


def test_verdict_of_a_failure_raises_its_kind(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.script = fail
    cluster.create("pi")
    verdict = hook.wait("pi", get_logs=False)
    assert (verdict.has_ended, verdict.has_succeeded, verdict.failure_kind) == (True, False, "application")
    with pytest.raises(SparkApplicationFailed, match="exit code 3") as caught:
        verdict.raise_for_failure()
    assert caught.value.reason == verdict.reason
    assert hook.get_verdict("pi") == verdict


def test_wait_times_out_and_leaves_the_application_running(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.script = stay_submitted
    cluster.create("pi")
    with pytest.raises(SparkApplicationTimedOut, match=r"jobs/pi had not ended within 0\.5 s"):
        hook.wait("pi", timeout=0.5)
    assert "deletionTimestamp" not in cluster.application()["metadata"]


def test_wait_reports_a_deletion(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.script = run_on
    reference = reference_of(cluster.create("pi"))
    cluster.wait_for_state("RunningHealthy")
    deletion = call_when_logged("RunningHealthy", lambda: cluster.delete("pi"), async_spark_application.logger)
    with deletion, pytest.raises(SparkApplicationDeleted, match="was deleted before it ended"):
        hook.wait(reference)


def test_verdict_of_a_running_application_waits(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.script = run_on
    cluster.create("pi")
    cluster.wait_for_state("RunningHealthy")
    verdict = hook.get_verdict("pi")
    assert (verdict.outcome, verdict.state, verdict.has_ended) == ("Waiting", "RunningHealthy", False)
    verdict.raise_for_failure()


def test_delete_removes_the_application(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.script = run_on
    reference = reference_of(cluster.create("pi"))
    hook.delete(reference, timeout=60)
    assert cluster.applications() == []
    hook.delete(reference, missing_ok=True)
    with pytest.raises(SparkApplicationNotFound, match="could not delete SparkApplication jobs/pi"):
        hook.delete(reference)


def test_delete_reports_a_finalizer_that_stays(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.create("pi", finalizers=["example.com/stay"])
    with pytest.raises(SparkApplicationError, match=r"still exists 0 s after its deletion.*example\.com/stay"):
        hook.delete("pi", timeout=0)


def test_unknown_connection_is_reported(cluster: Cluster) -> None:
    with SparkApplicationHook("elsewhere") as hook, pytest.raises(Exception, match="'elsewhere' is not defined"):
        hook.get("pi")


def list_loops() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "spark-operator-loop"]


def test_hook_connects_at_its_first_request_and_again_after_close(cluster: Cluster) -> None:
    before = len(list_loops())
    hook = SparkApplicationHook("spark")
    assert len(list_loops()) == before
    for _ in range(2):
        hook.list_applications()
        assert len(list_loops()) == before + 1
        hook.close()
        assert len(list_loops()) == before
    hook.close()


def test_hook_that_is_not_closed_leaves_nothing_behind(cluster: Cluster) -> None:
    before = len(list_loops())
    hook = SparkApplicationHook("spark")
    hook.list_applications()
    del hook
    gc.collect()
    assert len(list_loops()) == before
