import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.kueue.application_pods import build_application_pod_sets
from airflow_provider_spark_operator.core.kueue.cluster_pods import build_cluster_pod_sets
from airflow_provider_spark_operator.core.kueue.workload import (
    PodSet,
    PriorityClassName,
    WantedWorkload,
    find_default_priority,
    find_priority_class,
    get_queue_name,
    hash_pod_sets,
)
from tests.core.cluster_resources.clusters import OPERATOR, build_model
from tests.core.driver.attempts import build_application
from tests.core.kueue.test_application_pods import DYNAMIC, reserve_maximum
from tests.core.kueue.workloads import QUEUE, build_wanted, label


def test_workload_of_an_application_names_its_owner_queue_priority_and_pods() -> None:
    document = build_wanted(priority=1000).to_document()
    metadata, spec = document["metadata"], document["spec"]
    assert (document["apiVersion"], document["kind"]) == ("kueue.x-k8s.io/v1beta2", "Workload")
    assert (metadata["namespace"], metadata["name"]) == ("ns", "sparkapplication-app")
    assert metadata["labels"] == {
        "kueue.x-k8s.io/queue-name": QUEUE,
        "kueue.x-k8s.io/priority-class": "high",
        "spark.operator/spark-app-name": "app",
    }
    assert (
        metadata["ownerReferences"][0] | {"controller": True, "uid": "application-uid"} in metadata["ownerReferences"]
    )
    assert spec["queueName"] == QUEUE
    assert spec["priority"] == 1000
    assert spec["priorityClassRef"] == {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
    assert [each["name"] for each in spec["podSets"]] == ["driver", "executor"]
    assert metadata["annotations"] == {"spark.operator/kueue-pod-sets-hash": hash_pod_sets(spec["podSets"])}


def test_workload_without_a_priority_leaves_it_to_kueue() -> None:
    assert {"priority", "priorityClassRef"}.isdisjoint(build_wanted().to_document()["spec"])


def test_workload_of_a_cluster_has_the_label_of_clusters() -> None:
    cluster = build_model(minimum=1, maximum=1)
    document = WantedWorkload(cluster, QUEUE, build_cluster_pod_sets(cluster, OPERATOR)).to_document()
    assert document["metadata"]["name"] == f"sparkcluster-{cluster.name}"
    assert document["metadata"]["labels"] == {"spark.operator/spark-cluster-name": cluster.name}


def test_workload_notes_how_many_executors_dynamic_allocation_keeps() -> None:
    application = reserve_maximum(build_application(DYNAMIC))
    wanted = WantedWorkload(application, QUEUE, build_application_pod_sets(application, OPERATOR))
    annotations = wanted.to_document()["metadata"]["annotations"]
    assert annotations["spark.operator/kueue-pods-ready-executors"] == "0"


@given(st.permutations(["name", "count", "template"]))
def test_hash_does_not_depend_on_the_order_of_keys(keys: list[str]) -> None:
    document = build_wanted().pod_sets[0].to_document()
    assert hash_pod_sets([{key: document[key] for key in keys}]) == hash_pod_sets([document])


@given(st.integers(0, 9), st.integers(0, 9))
def test_hash_differs_exactly_if_the_pod_sets_differ(one: int, other: int) -> None:
    hashes = {hash_pod_sets([PodSet("driver", count, {"spec": {}}).to_document()]) for count in (one, other)}
    assert len(hashes) == len({one, other})


@pytest.mark.parametrize("labels", [{}, {"queue_name": ""}], ids=["no label", "empty label"])
def test_resource_without_a_queue_label_has_no_queue(labels: dict[str, str]) -> None:
    assert get_queue_name(label(build_application(), **labels)) is None
    assert get_queue_name(build_application()) is None


def test_priority_class_of_the_label_precedes_those_of_the_templates() -> None:
    template = {"spec": {"priorityClassName": "pods"}}
    given_sets = (PodSet("driver", 1, {"spec": {}}), PodSet("executor", 1, template))
    labelled = label(build_application(), priority_class="high")
    assert find_priority_class(labelled, given_sets) == PriorityClassName("WorkloadPriorityClass", "high")
    assert find_priority_class(build_application(), given_sets) == PriorityClassName("PriorityClass", "pods")
    assert find_priority_class(build_application(), given_sets[:1]) is None


def test_default_priority_is_that_of_the_global_default_class() -> None:
    classes = [{"metadata": {"name": "a"}, "value": 1}, {"metadata": {"name": "b"}, "value": 2, "globalDefault": True}]
    found = find_default_priority(classes)
    assert found is not None
    assert found.to_fields() == {
        "priorityClassRef": {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "b"},
        "priority": 2,
    }
    assert find_default_priority(classes[:1]) is None


def test_lowest_of_several_global_default_classes_is_the_default() -> None:
    values = {"b": 2, "a": 1, "c": 3}
    found = find_default_priority(
        [{"metadata": {"name": name}, "value": value, "globalDefault": True} for name, value in values.items()]
    )
    assert found is not None
    assert (found.source.name, found.value) == ("a", 1)
