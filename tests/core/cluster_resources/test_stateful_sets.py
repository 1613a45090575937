from airflow_provider_spark_operator.core.cluster_resources.stateful_sets import keep_selector
from tests.core.cluster_resources.clusters import built

THEIRS = {"spec": {"selector": {"matchLabels": {"spark-role": "master"}}}}


def test_a_stateful_set_that_exists_keeps_its_selector():
    document = built()["StatefulSet/cl-master"]
    kept = keep_selector(document, THEIRS)
    assert kept["spec"]["selector"] == THEIRS["spec"]["selector"]
    assert {**kept["spec"], "selector": None} == {**document["spec"], "selector": None}


def test_other_objects_and_an_object_without_a_selector_change_nothing():
    documents = built()
    assert keep_selector(documents["Service/cl-master-svc"], THEIRS) == documents["Service/cl-master-svc"]
    assert keep_selector(documents["StatefulSet/cl-master"], {}) == documents["StatefulSet/cl-master"]
