import pytest

from airflow_provider_spark_operator.core.verdict import Outcome
from airflow_provider_spark_operator.follow.end import is_deleted, judge, judge_abandoned
from airflow_provider_spark_operator.follow.pods import ExecutorCount, count_executors, list_executor_pods
from airflow_provider_spark_operator.follow.reference import ApplicationReference, resource_of
from tests.follow.applications import FAILED, RUNNING, SUCCEEDED, build_driver, build_stored
from tests.kube.scripted_api import answer_page, open_client_of, serve_api


@pytest.mark.parametrize(
    ("states", "deleted", "expected"),
    [
        (RUNNING, None, False),
        (FAILED, None, False),
        (RUNNING, "2026-01-01T00:00:09Z", True),
        (FAILED, "2026-01-01T00:00:02Z", True),
        (FAILED, "2026-01-01T00:00:09Z", False),
        (SUCCEEDED, "2026-01-01T00:00:02Z", False),
    ],
    ids=["running", "failed", "deleted", "failed by the deletion", "failed before the deletion", "succeeded"],
)
def test_failure_after_deletion_counts_as_deletion(
    states: tuple[str, ...], deleted: str | None, expected: bool
) -> None:
    resource = build_stored("pi", "u1", "5", *states)
    if deleted:
        resource["metadata"]["deletionTimestamp"] = deleted
    assert is_deleted(resource) is expected


def test_running_application_has_no_ending() -> None:
    assert judge(build_stored("pi", "u1", "5", *RUNNING, "Failed")) is None


async def test_executors_are_counted_by_their_driver() -> None:
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    pods = [build_driver(owner="p1", status=ready), build_driver(owner="p1"), build_driver(owner="another")]
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(answer_page(build_driver()), answer_page(*pods), answer_page())
        reference = ApplicationReference("jobs", "pi", "u1")
        assert count_executors(await list_executor_pods(client, reference)) == ExecutorCount(ready=1, present=2)
        assert count_executors(await list_executor_pods(client, reference)) == ExecutorCount(0, 0)


async def test_driver_of_earlier_application_with_same_name_is_ignored() -> None:
    resource = {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "metadata": {"name": "pi", "namespace": "jobs", "uid": "u1", "creationTimestamp": "2026-01-01T00:00:09Z"},
        "status": {"applicationState": {"state": "FAILED", "errorMessage": "driver pod already exist"}},
    }
    reference = ApplicationReference("jobs", "pi", "u1", resource_of("sparkoperator.k8s.io/v1beta2"))
    earlier = build_driver(status={"phase": "Running"})
    earlier["metadata"]["ownerReferences"] = []
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(answer_page(earlier), verb="list")
        ending = await judge_abandoned(client, reference, resource)
    assert ending is not None
    assert ending.verdict.outcome is Outcome.FAILED
