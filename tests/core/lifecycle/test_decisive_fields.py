import json
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes import pods
from airflow_provider_spark_operator.core.kubernetes.names import (
    LABEL_APPLICATION_SELECTOR,
    LABEL_EXECUTOR_ID,
    LABEL_ROLE,
    ROLE_EXECUTOR,
)
from airflow_provider_spark_operator.core.lifecycle.decisive_fields import select_decisive_fields
from airflow_provider_spark_operator.core.lifecycle.driver_end import find_driver_end
from airflow_provider_spark_operator.core.lifecycle.drivers import get_label
from airflow_provider_spark_operator.core.lifecycle.executor_obstacles import describe_executor_obstacle
from tests.builders import build_container, build_pod
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
