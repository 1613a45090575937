"""Facts about a failed driver that the status of its application lacks."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.verdict.driver_facts import add_driver_facts, find_container, may_be_stopped
from airflow_provider_spark_operator.core.verdict.verdict import Verdict, judge_progress
from tests.core.verdict.test_unread_end import build_apache, build_kubeflow

BEGIN, END, LATER = "2026-01-01T00:00:05Z", "2026-01-01T00:00:20Z", "2026-01-01T00:00:40Z"


def build_status(code: int, reason: str = "Error", **more: Any) -> dict[str, Any]:
    ended = {"exitCode": code, "reason": reason, "startedAt": BEGIN, "finishedAt": END}
    container = {"name": "spark-kubernetes-driver", "state": {"terminated": ended}}
    return {"phase": "Failed", "containerStatuses": [container], **more}


def build_pod(status: dict[str, Any], name: str = "pi-driver", **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "creationTimestamp": BEGIN, **metadata},
        "spec": {"containers": [{"name": "spark-kubernetes-driver"}]},
        "status": status,
    }


def build_stop(time: str = END, pod: str = "pi-0-driver", message: str = "Stopping container spark") -> dict[str, Any]:
    return {"involvedObject": {"name": pod}, "lastTimestamp": time, "message": message}


def judge(resource: dict[str, Any], drivers: Any = (), events: Any = ()) -> Verdict:
    return judge_progress(add_driver_facts(read_progress(resource), resource, drivers, events))


def build_failed(status: dict[str, Any]) -> dict[str, Any]:
    return build_apache(
        "Submitted", "DriverRequested", "RunningHealthy", "Failed", "ResourceReleased", driver_status=status
    )


def test_event_of_the_kubelet_shows_that_the_driver_pod_was_deleted() -> None:
    name = read_progress(build_failed(build_status(143))).driver_name
    assert name is not None
    assert judge(build_failed(build_status(143)), events=[build_stop(pod=name)]).reason == "DriverInterrupted"


@pytest.mark.parametrize(
    ("status", "event"),
    [
        (build_status(3), {}),
        (build_status(137, "OOMKilled"), {}),
        (build_status(143, "Error") | {"reason": "DeadlineExceeded"}, {}),
        (build_status(143), {"time": LATER}),
        (build_status(143), {"time": ""}),
        (build_status(143), {"pod": "other"}),
        (build_status(143), {"message": "Container spark failed its probe"}),
    ],
)
def test_driver_that_ended_otherwise_keeps_its_cause(status: dict[str, Any], event: dict[str, Any]) -> None:
    resource = build_failed(status)
    stop = build_stop(**{"pod": read_progress(resource).driver_name, **event})
    assert judge(resource, events=[stop]) == judge_progress(read_progress(resource))


def test_other_states_of_the_driver_need_no_facts() -> None:
    running = build_apache("Submitted", "DriverRequested", "RunningHealthy")
    assert judge(running, events=[build_stop()]) == judge_progress(read_progress(running))
    resource = build_kubeflow("driver container failed with ExitCode: 3, Reason: Error")
    assert judge(resource, [build_pod(build_status(3))], [build_stop(pod="pi-driver")]).reason == "DriverFailed"


def test_pod_that_was_deleted_before_its_end_shows_the_deletion() -> None:
    deletion: dict[str, Any] = {"deletionTimestamp": LATER, "deletionGracePeriodSeconds": 30}
    resource = build_kubeflow("driver container failed with ExitCode: 143, Reason: Error")
    assert judge(resource, [build_pod(build_status(143), **deletion)]).reason == "DriverInterrupted"


def test_pod_of_kubeflow_shows_the_cause() -> None:
    resource = build_kubeflow("driver container failed with ExitCode: 137, Reason: Error")
    old = build_pod(build_status(3), creationTimestamp="2020-01-01T00:00:00Z")
    other = build_pod(build_status(3), name="another")
    assert judge(resource, [build_pod(build_status(137, "OOMKilled")), old, other]).reason == "OOMKilled"


def test_unknown_driver_was_not_stopped() -> None:
    assert not may_be_stopped(None, None)
    resource = build_kubeflow("driver container failed with ExitCode: 143, Reason: Error")
    del resource["status"]["driverInfo"]
    assert judge(resource, events=[build_stop()]) == judge_progress(read_progress(resource))


def test_configured_container_decides_after_the_deletion_of_the_pod() -> None:
    ends = {"istio-proxy": 143, "mine": 3}
    states = [{"name": name, "state": {"terminated": {"exitCode": code}}} for name, code in ends.items()]
    resource = build_failed({"phase": "Failed", "containerStatuses": states})
    resource["spec"] = {"sparkConf": {"spark.kubernetes.driver.podTemplateContainerName": "mine"}}
    name = read_progress(resource).driver_name
    assert name is not None
    verdict = judge(resource, events=[build_stop(pod=name)])
    assert verdict.reason == "DriverFailed"
    assert "container mine of the driver ended with exit code 3" in verdict.sentence


def test_unknown_container_is_the_first_of_the_pod_or_one_that_failed() -> None:
    status = {
        "containerStatuses": [
            {"name": "first", "state": {"running": {}}},
            {"name": "second", "state": {"terminated": {"exitCode": 1}}},
        ]
    }
    pod = {"spec": {"containers": [{"name": "first"}, {"name": "second"}]}}
    found = [find_container(status, pod, None), find_container(status, None, None), find_container({}, None, None)]
    assert [one and one.name for one in found] == ["first", "second", None]


def test_driver_container_is_found_beside_a_stopped_sidecar_after_the_deletion_of_the_pod() -> None:
    ends = {"istio-proxy": 143, "spark-kubernetes-driver": 1}
    states = [{"name": name, "state": {"terminated": {"exitCode": code}}} for name, code in ends.items()]
    found = find_container({"containerStatuses": states}, None, None)
    assert found is not None
    assert found.name == "spark-kubernetes-driver"
