"""Labels, ingresses and metrics of documents with unusual names, namespaces and options."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.convert.conversion import Conversion, Outcome, Status
from airflow_provider_spark_operator.core.convert.document import convert_document
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from tests.core.convert.documents import build_document

FORMAT = "spec.driverIngressOptions[].ingressURLFormat"
MONITORING: JsonObject = {"exposeDriverMetrics": True, "prometheus": {"jmxExporterJar": "/agent.jar"}}


def convert(**fields: Any) -> Conversion:
    (conversion,) = convert_document(build_document(**fields))
    return conversion


def get_spec(conversion: Conversion) -> JsonObject:
    assert conversion.problems == ()
    assert conversion.document is not None
    spec: JsonObject = conversion.document["spec"]
    return spec


def find_reason(conversion: Conversion, path: str) -> str:
    """Return the reason of a field that the conversion reports as changed."""
    (report,) = [field for field in conversion.fields if field.path == path]
    assert report.outcome is Outcome.CHANGED
    return report.reason


def test_label_of_kueue_is_kept_and_reported() -> None:
    labels = {"kueue.x-k8s.io/queue-name": "q"}
    conversion = convert(metadata={"labels": labels})
    assert conversion.document is not None
    assert conversion.document["metadata"]["labels"] == labels
    assert "the labels of Kueue need an operator that uses Kueue" in find_reason(conversion, "metadata.labels")


def test_label_of_kueue_is_reported_in_addition_to_a_removed_label() -> None:
    labels = {"kueue.x-k8s.io/queue-name": "q", "sparkoperator.k8s.io/app-name": "pi"}
    reason = find_reason(convert(metadata={"labels": labels}), "metadata.labels")
    assert "sparkoperator.k8s.io/app-name was removed" in reason
    assert "the labels of Kueue need an operator that uses Kueue" in reason


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"driverIngressOptions": [{"servicePort": 80}]}, "driverIngressOptions"),
        ({"monitoring": MONITORING}, "spec.monitoring"),
    ],
)
def test_generated_name_is_refused_where_other_names_contain_it(fields: JsonObject, words: str) -> None:
    document = build_document(**fields)
    document["metadata"] = {"generateName": "pi-", "namespace": "ns"}
    (conversion,) = convert_document(document)
    assert conversion.status is Status.REFUSED
    (problem,) = conversion.problems
    assert problem.path == "metadata.name"
    assert words in str(problem)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"type": "Never"}, "ID of the attempt"),
        ({"type": "OnFailure", "onFailureRetries": 1}, "ID of the first attempt"),
    ],
)
def test_application_id_in_ingress_format_is_reported_by_restart_policy(policy: JsonObject, words: str) -> None:
    options = [{"servicePort": 80, "ingressURLFormat": "example.com/{{$appId}}"}]
    conversion = convert(restartPolicy=policy, driverIngressOptions=options)
    assert words in find_reason(conversion, FORMAT)
    (entry,) = get_spec(conversion)["driverServiceIngressList"]
    assert entry["ingressSpec"]["rules"][0]["http"]["paths"][0]["path"] == "/pi-0(/|$)(.*)"


@pytest.mark.parametrize("url", ["{{$appName}}.example.com", "https://{{$appName}}.example.com/"])
def test_ingress_format_without_path_is_not_rewritten(url: str) -> None:
    conversion = convert(driverIngressOptions=[{"servicePort": 80, "ingressURLFormat": url}])
    (entry,) = get_spec(conversion)["driverServiceIngressList"]
    (rule,) = entry["ingressSpec"]["rules"]
    assert (rule["host"], rule["http"]["paths"][0]["path"]) == ("pi.example.com", "/")
    assert "annotations" not in entry["ingressMetadata"]


def test_monitoring_without_namespace_uses_default_and_adds_note() -> None:
    document = build_document(monitoring=MONITORING)
    del document["metadata"]["namespace"]
    (conversion,) = convert_document(document)
    assert get_spec(conversion)["sparkConf"]["spark.metrics.namespace"] == "default.pi"
    assert any("spark.metrics.namespace" in note for note in conversion.notes)


def test_java_agent_replaces_java_options_property_and_follows_java_options_field() -> None:
    key = "spark.driver.extraJavaOptions"
    agent = "-javaagent:/agent.jar=8090:/etc/metrics/conf/prometheus.yaml"
    replaced = convert(monitoring=MONITORING, sparkConf={key: "-Da=b"})
    assert get_spec(replaced)["sparkConf"][key] == agent
    assert f"{key} was replaced" in find_reason(replaced, "spec.sparkConf")
    joined = convert(monitoring=MONITORING, driver={"javaOptions": "-Da=b"})
    assert get_spec(joined)["sparkConf"][key] == f"-Da=b {agent}"
