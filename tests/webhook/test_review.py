import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.reconcile.webhook_review import NotAReview, review
from tests import builders

Json = dict[str, Any]


def asked(operation: str, new: object, old: object = None) -> Json:
    request = {"uid": "u-1", "operation": operation, "object": new, "oldObject": old}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def answered(document: Json) -> Json:
    answer = review(document)
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: Json = answer["response"]
    assert response["uid"] == "u-1"
    return response


def invalid() -> Json:
    document = builders.application_document()
    document["spec"]["jars"] = "local:///a.jar"
    document["spec"].pop("mainClass", None)
    document["spec"]["deploymentMode"] = "ClientMode"
    return document


def test_a_valid_application_may_be_written() -> None:
    assert answered(asked("CREATE", builders.application_document()))["allowed"]


def test_an_invalid_one_is_refused_with_what_validate_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "app.json"
    file.write_text(json.dumps(invalid()))
    main(["validate", str(file), "-o", "json"])
    said = [(problem["path"], problem["message"]) for problem in json.loads(capsys.readouterr().out)["problems"]]
    assert len(said) > 1

    response = answered(asked("CREATE", invalid()))

    assert not response["allowed"]
    status = response["status"]
    assert status["message"] == "; ".join(f"{path}: {message}" for path, message in said)
    assert [(cause["field"], cause["message"]) for cause in status["details"]["causes"]] == said
    assert (status["code"], status["reason"], status["details"]["kind"]) == (422, "Invalid", "SparkApplication")


def test_what_operators_run_in_spite_of_an_error_is_admitted_with_a_warning() -> None:
    document = builders.application_document(restart={"maxRestartAttempts": -3})
    document["metadata"]["managedFields"] = [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
    response = answered(asked("CREATE", document))
    path = "spec.applicationTolerations.restartConfig.maxRestartAttempts"
    assert response == {
        "uid": "u-1",
        "allowed": True,
        "warnings": [f"{path}: must not be negative, but is -3"],
    }


def test_warnings_come_with_a_refusal() -> None:
    document = invalid()
    document["spec"]["applicationTolerations"] = {"applicationTimeoutConfig": {"driverStartTimeoutMillis": -1}}
    response = answered(asked("CREATE", document))
    assert not response["allowed"]
    assert len(response["warnings"]) == 1
    assert "driverStartTimeoutMillis" not in response["status"]["message"]


def test_an_invalid_cluster_is_refused() -> None:
    cluster = {"apiVersion": "spark.apache.org/v1", "kind": "SparkCluster", "metadata": {"name": "c"}, "spec": {}}
    response = answered(asked("CREATE", cluster))
    assert "spec.runtimeVersions: is required" in response["status"]["message"]


def test_a_spec_that_becomes_invalid_is_refused() -> None:
    assert not answered(asked("UPDATE", invalid(), builders.application_document()))["allowed"]


@pytest.mark.parametrize("metadata", [{"finalizers": []}, {"labels": {"team": "x"}}])
def test_what_was_invalid_before_can_lose_its_finalizer_and_get_labels(metadata: Json) -> None:
    old, new = invalid(), invalid()
    new["metadata"] = {**new["metadata"], **metadata}
    assert answered(asked("UPDATE", new, old))["allowed"]


def test_what_is_being_deleted_is_let_go() -> None:
    new = invalid()
    new["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert answered(asked("UPDATE", new, builders.application_document()))["allowed"]


def test_a_deletion_is_no_question() -> None:
    assert answered(asked("DELETE", None, invalid()))["allowed"]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "an AdmissionReview is wanted"),
        ({"kind": "Pod"}, "an AdmissionReview is wanted"),
        (
            {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1"},
            r"set admissionReviewVersions to \[v1\]",
        ),
        ({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {}}, "a request and its uid"),
    ],
)
def test_what_is_no_review_is_told(document: object, said: str) -> None:
    with pytest.raises(NotAReview, match=said):
        review(document)
