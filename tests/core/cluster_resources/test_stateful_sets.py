from airflow_provider_spark_operator.core.cluster_resources.build import keep_fixed_fields
from tests.core.cluster_resources.clusters import build_documents

FIXED = {
    "selector": {"matchLabels": {"spark-role": "master"}},
    "serviceName": "theirs",
    "podManagementPolicy": "OrderedReady",
}
THEIRS = {"spec": {**FIXED, "replicas": 7}}


def test_existing_stateful_set_keeps_immutable_fields() -> None:
    document = build_documents()["StatefulSet/cl-master"]
    assert keep_fixed_fields(document, THEIRS)["spec"] == {**document["spec"], **FIXED}


def test_absent_immutable_field_is_not_added() -> None:
    document = build_documents()["StatefulSet/cl-master"]
    claims = {**document, "spec": {**document["spec"], "volumeClaimTemplates": [{"metadata": {"name": "c"}}]}}
    assert "volumeClaimTemplates" not in keep_fixed_fields(claims, THEIRS)["spec"]


def test_other_kinds_and_new_stateful_sets_are_not_changed() -> None:
    documents = build_documents()
    assert keep_fixed_fields(documents["Service/cl-master-svc"], THEIRS) == documents["Service/cl-master-svc"]
    assert keep_fixed_fields(documents["StatefulSet/cl-master"], {}) == documents["StatefulSet/cl-master"]
