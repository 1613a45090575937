from typing import Any

import pytest

from airflow_provider_spark_operator.core.kueue.assignment import (
    AdmissionConflict,
    TemplateChange,
    change_application,
    change_document,
    change_template,
    collect_changes,
    list_flavor_names,
)
from tests.core.driver.attempts import build_application
from tests.core.kueue.workloads import ADMITTED, build_wanted, build_workload

TOLERATION = {"key": "spot", "operator": "Exists"}
FLAVORS: dict[str, dict[str, object]] = {
    "spot": {"spec": {"nodeLabels": {"pool": "spot"}, "tolerations": [TOLERATION]}},
    "large": {"spec": {"nodeLabels": {"size": "large"}}},
}


def assign(driver: dict[str, str], executor: dict[str, str], *checks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Build an admitted Workload with flavors by resource, and admission checks."""
    assignments = [{"name": "driver", "flavors": driver}, {"name": "executor", "flavors": executor}]
    return build_workload(
        build_wanted(**spec), *ADMITTED, admission={"podSetAssignments": assignments}, admissionChecks=list(checks)
    )


def check(name: str, **update: Any) -> dict[str, Any]:
    return {"name": name, "podSetUpdates": [{"name": "executor", **update}]}


def test_flavors_become_node_selectors_and_tolerations_of_their_pods() -> None:
    workload = assign({"cpu": "large"}, {"memory": "spot", "cpu": "large", "nvidia.com/gpu": "spot"})
    assert list_flavor_names(workload) == ["large", "spot"]
    assert collect_changes(workload, FLAVORS) == {
        "driver": TemplateChange(node_selector={"size": "large"}),
        "executor": TemplateChange(node_selector={"size": "large", "pool": "spot"}, tolerations=(TOLERATION,)),
    }


def test_first_update_of_each_check_is_added() -> None:
    first = check("one", labels={"a": "1"}, annotations={"b": "2"}, tolerations=[TOLERATION])
    first["podSetUpdates"].append({"name": "executor", "labels": {"a": "ignored"}})
    second = check("two", nodeSelector={"c": "3"}, tolerations=[TOLERATION])
    change = collect_changes(assign({}, {"cpu": "spot"}, first, second), FLAVORS)["executor"]
    assert change == TemplateChange({"a": "1"}, {"b": "2"}, {"pool": "spot", "c": "3"}, (TOLERATION,))


@pytest.mark.parametrize(
    ("checks", "template", "message"),
    [
        ([check("one", nodeSelector={"pool": "x"})], {}, "admission check one requires the node selector pool=x"),
        (
            [check("one", labels={"a": "1"}), check("two", labels={"a": "2"})],
            {},
            "admission check two requires the label a=2 for the executor pods, which already have a=1",
        ),
        ([], {"spec": {"nodeSelector": {"pool": "x"}}}, "node selector pool=spot"),
        ([check("one", labels={"a": "1"})], {"metadata": {"labels": {"a": "2"}}, "spec": {}}, "label a=1"),
    ],
    ids=["flavor and check", "two checks", "selector of template", "label of template"],
)
def test_contradiction_is_refused_with_the_key_and_both_values(
    checks: list[dict[str, Any]], template: dict[str, Any], message: str
) -> None:
    spec = {"mainClass": "Main", "executorSpec": {"podTemplateSpec": template}} if template else {}
    with pytest.raises(AdmissionConflict) as caught:
        collect_changes(assign({}, {"cpu": "spot"}, *checks, **spec), FLAVORS)
    assert message in str(caught.value)


def test_equal_value_in_the_template_is_no_contradiction() -> None:
    template = {"spec": {"nodeSelector": {"pool": "spot"}}}
    workload = assign({}, {"cpu": "spot"}, mainClass="Main", executorSpec={"podTemplateSpec": template})
    assert collect_changes(workload, FLAVORS)["executor"].node_selector == {"pool": "spot"}


def test_application_gets_the_changes_in_its_pod_templates() -> None:
    application = build_application(
        mainClass="Main", driverSpec={"podTemplateSpec": {"spec": {"tolerations": [TOLERATION]}}}
    )
    changes = {
        "driver": TemplateChange({"l": "1"}, {"a": "2"}, {"pool": "spot"}, (TOLERATION,)),
        "executor": TemplateChange(node_selector={"size": "large"}),
    }
    changed = change_application(application, changes).spec
    assert changed.driver_spec is not None
    assert changed.executor_spec is not None
    assert changed.driver_spec.pod_template_spec == {
        "metadata": {"labels": {"l": "1"}, "annotations": {"a": "2"}},
        "spec": {"tolerations": [TOLERATION], "nodeSelector": {"pool": "spot"}},
    }
    assert changed.executor_spec.pod_template_spec == {"spec": {"nodeSelector": {"size": "large"}}}
    assert application.spec.executor_spec is None


def test_conflict_of_annotations_names_the_key_without_the_values() -> None:
    template = {"metadata": {"annotations": {"vault.example/role": "old-value"}}, "spec": {}}
    pod_set = {"name": "driver", "count": 1, "template": template}
    update = {"name": "driver", "annotations": {"vault.example/role": "new-value"}}
    check = {"name": "check", "podSetUpdates": [update]}
    with pytest.raises(AdmissionConflict) as caught:
        collect_changes({"spec": {"podSets": [pod_set]}, "status": {"admissionChecks": [check]}}, {})
    assert str(caught.value) == (
        "Kueue admission of the driver pods: the admission and the driver pods set the annotation vault.example/role "
        "to different values. Remove the annotation from the pod template, or use another queue"
    )


def test_application_without_changes_keeps_its_templates() -> None:
    application = build_application()
    assert change_application(application, {"driver": TemplateChange()}) == application


def build_stateful_set(role: str, kind: str = "StatefulSet") -> dict[str, Any]:
    metadata = {"labels": {"spark-role": role}}
    return {"kind": kind, "metadata": metadata, "spec": {"replicas": 1, "template": {"metadata": {}, "spec": {}}}}


@pytest.mark.parametrize("document", [build_stateful_set("master"), build_stateful_set("worker", "Service")])
def test_other_objects_of_a_cluster_stay(document: dict[str, Any]) -> None:
    assert change_document(document, {"worker": TemplateChange(node_selector={"pool": "spot"})}) == document


def test_stateful_set_gets_the_changes_of_its_role() -> None:
    changes = {"worker": TemplateChange(node_selector={"pool": "spot"}, tolerations=(TOLERATION,))}
    changed = change_document(build_stateful_set("worker"), changes)["spec"]
    assert changed["replicas"] == 1
    assert changed["template"]["spec"] == {"nodeSelector": {"pool": "spot"}, "tolerations": [TOLERATION]}


def test_changes_do_not_overwrite_the_template_of_a_stateful_set() -> None:
    document = build_stateful_set("worker")
    document["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "large"}
    with pytest.raises(AdmissionConflict, match="pool=spot for the worker pods, which already have pool=large"):
        change_document(document, {"worker": TemplateChange(node_selector={"pool": "spot"})})


def test_change_of_labels_alone_leaves_the_specification() -> None:
    assert change_template({"spec": {}}, TemplateChange({"a": "1"})) == {"metadata": {"labels": {"a": "1"}}, "spec": {}}


def test_change_keeps_what_the_template_has() -> None:
    template = {"metadata": {"labels": {"a": "1"}}, "spec": {"nodeSelector": {"b": "2"}, "tolerations": [{"key": "x"}]}}
    changed = change_template(template, TemplateChange({"c": "3"}, {}, {"d": "4"}, (TOLERATION,)))
    assert changed["metadata"]["labels"] == {"a": "1", "c": "3"}
    assert changed["spec"] == {"nodeSelector": {"b": "2", "d": "4"}, "tolerations": [{"key": "x"}, TOLERATION]}
