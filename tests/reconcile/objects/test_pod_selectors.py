from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_APPLICATION_NAME
from airflow_provider_spark_operator.reconcile.objects.cache import ObjectCache, ObjectKey
from airflow_provider_spark_operator.reconcile.objects.pod_selectors import LastDrivers, get_application_key

OWNER = {"apiVersion": "spark.apache.org/v1", "kind": "SparkApplication", "name": "pi", "uid": "u"}


def build_driver(application: str = "pi", name: str = "pi-0-driver", **metadata: Any) -> JsonObject:
    labels = {LABEL_APPLICATION_NAME: application, "spark-role": "driver"}
    return {"metadata": {"name": name, "namespace": "jobs", "labels": labels, **metadata}}


def build_application(name: str, state: str) -> JsonObject:
    status = {"currentState": {"currentStateSummary": state}}
    return {"metadata": {"name": name, "namespace": "jobs", "uid": name, "resourceVersion": "1"}, "status": status}


def test_application_key_is_read_from_the_labels_of_a_pod() -> None:
    pod = {"metadata": {"name": "x", "namespace": "jobs", "labels": {LABEL_APPLICATION_NAME: "pi"}}}
    assert get_application_key(pod) == ObjectKey("jobs", "pi")


@pytest.mark.parametrize("labels", [None, {}, {"spark-role": "driver"}])
def test_pod_without_the_label_has_no_application_key(labels: dict[str, str] | None) -> None:
    assert get_application_key({"metadata": {"name": "x", "namespace": "jobs", "labels": labels}}) is None


def test_application_key_is_that_of_the_owner_whatever_the_labels_are() -> None:
    pod = build_driver("else", ownerReferences=[OWNER])
    assert get_application_key(pod) == ObjectKey("jobs", "pi")


def test_last_states_of_drivers_are_listed_by_application() -> None:
    last = LastDrivers(ObjectCache())
    relabelled = build_driver(labels={}, ownerReferences=[OWNER])
    executor = build_driver(name="exec", labels={LABEL_APPLICATION_NAME: "pi", "spark-role": "executor"})
    for pod in (build_driver(), relabelled, build_driver("other"), executor, build_driver(labels={})):
        last.put(pod)
    assert last.list(ObjectKey("jobs", "pi")) == [relabelled]


def test_copies_do_not_fill_the_memory_of_an_application() -> None:
    last = LastDrivers(ObjectCache())
    for number in range(100):
        last.put(build_driver(name=str(number)))
    assert [pod["metadata"]["name"] for pod in last.list(ObjectKey("jobs", "pi"))] == ["96", "97", "98", "99"]


def test_drivers_are_remembered_until_their_application_is_released() -> None:
    applications = ObjectCache()
    last = LastDrivers(applications)
    for number in range(100):
        applications.put(build_application(f"running-{number}", "RunningHealthy"))
        applications.put(build_application(f"released-{number}", "ResourceReleased"))
        for kind in ("running", "released", "deleted"):
            last.put(build_driver(f"{kind}-{number}"))
    numbers = {
        kind: sum(bool(last.list(ObjectKey("jobs", f"{kind}-{number}"))) for number in range(100))
        for kind in ("running", "released", "deleted")
    }
    assert numbers["running"] == 100
    assert numbers["released"] + numbers["deleted"] < 130
