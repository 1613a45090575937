from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.names import LABEL_ROLE
from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, Outcome, judge_progress
from airflow_provider_spark_operator.follow.access.pods import ExecutorCount, count_executors, list_executor_pods
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference, resource_of
from airflow_provider_spark_operator.follow.ending.end import (
    EndUnknown,
    find_final_progress,
    find_final_progress_with_pods,
    is_deleted,
)
from tests.follow.applications import FAILED, RUNNING, SUCCEEDED, build_driver, build_stored
from tests.kube.scripted_api import answer, answer_page, deny, open_client_of, refuse, serve_api


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
    assert find_final_progress(build_stored("pi", "u1", "5", *RUNNING, "Failed")) is None


async def test_executors_are_counted_by_their_driver() -> None:
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    pods = [build_driver(owner="p1", status=ready), build_driver(owner="p1"), build_driver(owner="another")]
    for pod in pods:
        pod["metadata"]["labels"][LABEL_ROLE] = "executor"
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(answer_page(build_driver(), *pods), answer_page(*pods))
        reference = ApplicationReference("jobs", "pi", "u1")
        counts = [count_executors(await list_executor_pods(client, reference)) for _ in range(2)]
    assert counts == [ExecutorCount(ready=1, present=2), ExecutorCount(0, 0)]
    assert [*map(str, counts)] == ["1 of 2 executors ready", "no executors"]


KUBEFLOW = ApplicationReference("jobs", "pi", "u1", resource_of("sparkoperator.k8s.io/v1beta2"))
NOT_SUBMITTED = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "metadata": {"name": "pi", "namespace": "jobs", "uid": "u1", "creationTimestamp": "2026-01-01T00:00:09Z"},
    "status": {
        "applicationState": {"state": "FAILED", "errorMessage": "failed to submit spark application: exceeded quota"},
        "driverInfo": {"podName": "pi-driver"},
    },
}
NO_POD = refuse(404, 'pods "pi-driver" not found', "NotFound")


def build_kubeflow_driver(created: str = "2026-01-01T00:00:10Z") -> dict[str, Any]:
    """Return a driver pod without an owner: the webhook of the operator is not installed."""
    driver = build_driver(status={"phase": "Running"})
    driver["metadata"] |= {"name": "pi-driver", "ownerReferences": [], "creationTimestamp": created}
    return driver


async def test_driver_of_earlier_application_with_same_name_is_ignored() -> None:
    earlier = build_kubeflow_driver(created="2026-01-01T00:00:00Z")
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(answer_page(earlier), verb="list")
        seen = await find_final_progress_with_pods(client, KUBEFLOW, NOT_SUBMITTED)
    assert seen is not None
    assert judge_progress(seen).failure_kind is FailureKind.SCHEDULING


async def test_driver_whose_labels_were_changed_is_found_by_its_name() -> None:
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(answer_page(), answer(build_kubeflow_driver()))
        assert await find_final_progress_with_pods(client, KUBEFLOW, NOT_SUBMITTED) is None


async def test_failed_submission_is_believed_if_no_pod_has_the_name_of_the_driver() -> None:
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(answer_page(), NO_POD)
        seen = await find_final_progress_with_pods(client, KUBEFLOW, NOT_SUBMITTED)
    assert seen is not None
    verdict = judge_progress(seen)
    assert (verdict.outcome, verdict.failure_kind) == (Outcome.FAILED, FailureKind.SCHEDULING)


@pytest.mark.parametrize("answers", [[deny("list", "pods")], [answer_page(), deny("get", "pods")]], ids=["list", "get"])
async def test_end_is_unknown_without_the_permission_to_read_pods(answers: list[Any]) -> None:
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(*answers)
        with pytest.raises(EndUnknown) as raised:
            await find_final_progress_with_pods(client, KUBEFLOW, NOT_SUBMITTED)
    assert "exceeded quota; reduce the requests" in str(raised.value)
    assert "The end is unknown" in str(raised.value)
    assert "on pods in namespace jobs" in str(raised.value)
