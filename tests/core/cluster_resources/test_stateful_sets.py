from airflow_provider_spark_operator.core.cluster_resources.stateful_sets import keep_fixed_fields
from tests.core.cluster_resources.clusters import built

FIXED = {
    "selector": {"matchLabels": {"spark-role": "master"}},
    "serviceName": "theirs",
    "podManagementPolicy": "OrderedReady",
}
THEIRS = {"spec": {**FIXED, "replicas": 7}}


def test_a_stateful_set_that_exists_keeps_what_kubernetes_lets_nobody_change() -> None:
    document = built()["StatefulSet/cl-master"]
    assert keep_fixed_fields(document, THEIRS)["spec"] == {**document["spec"], **FIXED}


def test_a_fixed_field_that_is_not_there_stays_away() -> None:
    document = built()["StatefulSet/cl-master"]
    claims = {**document, "spec": {**document["spec"], "volumeClaimTemplates": [{"metadata": {"name": "c"}}]}}
    assert "volumeClaimTemplates" not in keep_fixed_fields(claims, THEIRS)["spec"]


def test_other_objects_and_an_object_without_a_selector_change_nothing() -> None:
    documents = built()
    assert keep_fixed_fields(documents["Service/cl-master-svc"], THEIRS) == documents["Service/cl-master-svc"]
    assert keep_fixed_fields(documents["StatefulSet/cl-master"], {}) == documents["StatefulSet/cl-master"]
