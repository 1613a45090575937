import json
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes import pods
from airflow_provider_spark_operator.core.kubernetes.names import (
    ANNOTATION_CLAIM,
    LABEL_APPLICATION_NAME,
    LABEL_APPLICATION_SELECTOR,
    LABEL_EXECUTOR_ID,
    LABEL_ROLE,
    ROLE_EXECUTOR,
)
from airflow_provider_spark_operator.core.lifecycle.decisive_fields import (
    is_shortened,
    select_decisive_fields,
    shorten_resource,
    shorten_workload,
)
from airflow_provider_spark_operator.core.lifecycle.driver_end import find_driver_end
from airflow_provider_spark_operator.core.lifecycle.drivers import get_label
from airflow_provider_spark_operator.core.lifecycle.executor_obstacles import describe_executor_obstacle
from tests.builders import build_application_document, build_container, build_pod
from tests.core.lifecycle.test_driver_end import DRIVER_ENDS, UNCONFIGURED

EXECUTOR = {LABEL_ROLE: ROLE_EXECUTOR, LABEL_EXECUTOR_ID: "1"}


def build_large_pod() -> dict[str, Any]:
    """Return a pod of more than a megabyte: each field that a user, a webhook or a kubelet fills is large."""
    text = "x" * 1_000
    containers = [build_container(f"c{number}", waiting="CrashLoopBackOff", message=text) for number in range(200)]
    conditions = [{"type": f"t{number}", "status": "True", "message": text} for number in range(200)]
    document = build_pod("Running", *containers, init=containers, conditions=conditions, message=text)
    declared = [
        {"name": f"c{number}", "args": [text, text], "env": [{"name": "A", "value": text}]} for number in range(200)
    ]
    document["spec"] = {"containers": declared, "initContainers": declared, "volumes": [{"name": text}]}
    names = {f"{text}{number}": text for number in range(10)}
    owners = [{"kind": "SparkApplication", "name": text, "uid": text}] * 200
    document["metadata"] |= {"labels": names, "annotations": names, "ownerReferences": owners, "finalizers": [text]}
    return document


def test_decisive_fields_of_the_largest_pod_are_small() -> None:
    document = build_large_pod()
    assert len(json.dumps(document)) > 1_300_000
    reduced = select_decisive_fields(document)
    assert len(json.dumps(reduced)) < 50_000
    assert pods.get_uid(reduced) == document["metadata"]["uid"]
    assert pods.read_phase(pods.get_status(reduced)) == "running"
    assert pods.list_containers(pods.get_status(reduced))[0].reason == "CrashLoopBackOff"


def test_decisive_fields_of_the_largest_executor_are_a_quarter_of_that() -> None:
    document = build_large_pod()
    document["metadata"]["labels"] |= {**EXECUTOR, LABEL_APPLICATION_SELECTOR: "app"}
    reduced = select_decisive_fields(document)
    assert len(json.dumps(reduced)) < 12_000
    assert pods.get_uid(reduced) == document["metadata"]["uid"]
    assert (get_label(reduced, LABEL_ROLE), get_label(reduced, LABEL_APPLICATION_SELECTOR)) == (ROLE_EXECUTOR, "app")


@pytest.mark.parametrize(
    "seen",
    [
        build_pod("Running", build_container("a"), conditions=[{"type": "Ready", "status": "True"}]),
        build_pod("Pending", build_container("a", waiting="ErrImagePull", message="no such image")),
        build_pod("Pending", conditions=[{"type": "PodScheduled", "status": "False", "message": "no nodes"}]),
        build_pod("Failed", build_container("a", exit_code=1)),
    ],
)
def test_readiness_and_obstacle_of_an_executor_follow_from_its_decisive_fields(seen: dict[str, Any]) -> None:
    seen["metadata"]["labels"] = EXECUTOR
    reduced = select_decisive_fields(seen)
    assert "spec" not in reduced
    assert describe_executor_obstacle([reduced]) == describe_executor_obstacle([seen])
    assert (pods.is_ready(reduced), pods.has_ended(reduced)) == (pods.is_ready(seen), pods.has_ended(seen))


@pytest.mark.parametrize("labels", [{}, {LABEL_ROLE: ROLE_EXECUTOR}], ids=["driver", "relabelled"])
@pytest.mark.parametrize("seen", [case[0] for case in (*DRIVER_ENDS.values(), *UNCONFIGURED.values())])
def test_end_of_a_driver_follows_from_its_decisive_fields(seen: dict[str, Any], labels: dict[str, str]) -> None:
    seen = {**seen, "metadata": {"labels": labels}}
    assert find_driver_end(select_decisive_fields(seen), None) == find_driver_end(seen, None)


TEXT = "x" * 900_000
CLAIM = {ANNOTATION_CLAIM: "spark/lease u 2026-01-01T00:00:00Z"}
STATE = {"currentStateSummary": "Failed", "message": "failed", "lastObservedDriverStatus": {"message": TEXT}}
TIME_TO_LIVE = {"ttlAfterStopMillis": 5}


@pytest.mark.parametrize(
    ("part", "more"),
    [
        pytest.param("spec", {"sparkConf": {"a": TEXT}}, id="text"),
        pytest.param("spec", {"driverArgs": [[]] * 1_000}, id="values"),
        pytest.param("metadata", {"annotations": {"mine": TEXT, **CLAIM}}, id="annotations"),
        pytest.param("status", {"stateTransitionHistory": {"0": STATE}}, id="history"),
    ],
)
def test_large_resource_keeps_its_identity_claim_state_and_time_to_live(part: str, more: dict[str, Any]) -> None:
    document = build_application_document(tolerations=TIME_TO_LIVE, status={"currentState": STATE})
    document["metadata"]["annotations"] = CLAIM
    document[part] |= more
    metadata, spec = document["metadata"], document["spec"]
    shorten_resource(document)
    assert is_shortened(document)
    assert len(json.dumps(document)) < 3_000
    assert document["metadata"] == {**metadata, "annotations": CLAIM}
    assert document["spec"].keys() == spec.keys()
    assert document["spec"]["applicationTolerations"] == spec["applicationTolerations"]
    assert document["status"] == {"currentState": {"currentStateSummary": "Failed", "message": "failed"}}


def test_usual_resource_is_kept_whole() -> None:
    document, whole = ({**build_application_document(), "isShortened": []} for _ in range(2))
    shorten_resource(document)
    assert document == whole
    assert not is_shortened(document)


def test_part_of_many_finalizers_is_not_taken_for_all_of_them() -> None:
    document = build_application_document()
    document["metadata"]["finalizers"] = [f"example.com/{number}" for number in range(1_000)]
    shorten_resource(document)
    assert "finalizers" not in document["metadata"]
    assert document["status"] == {}


def test_large_workload_of_kueue_keeps_what_decisions_read() -> None:
    labels = {LABEL_APPLICATION_NAME: "pi"}
    kinds = ("QuotaReserved", "Admitted", "PodsReady", "Requeued", "Evicted", "Finished")
    workload: dict[str, Any] = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "metadata": {"name": "w", "uid": "u", "labels": {**labels, "mine": TEXT}, "annotations": {"mine": TEXT}},
        "spec": {"active": False, "podSets": [{"name": "driver", "count": 1, "template": {"spec": TEXT}}]},
        "status": {
            "conditions": [{"type": kind, "status": "True", "message": TEXT} for kind in kinds],
            "admission": {"a": TEXT},
        },
    }
    shorten_workload(workload)
    assert workload == {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "metadata": {"name": "w", "uid": "u", "labels": labels, "annotations": {}},
        "spec": {"active": False, "podSets": [{"name": "driver", "count": 1}]},
        "status": {"conditions": [{"type": kind, "status": "True", "message": "x" * 1000} for kind in kinds]},
    }
    again = dict(workload)
    shorten_workload(again)
    assert again == workload
