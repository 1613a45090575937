import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.reconcile.webhook import NotAReview, review
from tests import builders

Json = dict[str, Any]


def build_review(operation: str, new: object, old: object = None) -> Json:
    request = {"uid": "u-1", "operation": operation, "object": new, "oldObject": old}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def answer(document: Json) -> Json:
    answer = review(document)
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: Json = answer["response"]
    assert response["uid"] == "u-1"
    return response


def build_invalid_application() -> Json:
    document = builders.build_application_document()
    document["spec"]["jars"] = "local:///a.jar"
    document["spec"].pop("mainClass", None)
    document["spec"]["deploymentMode"] = "ClientMode"
    return document


def test_valid_application_is_admitted() -> None:
    assert answer(build_review("CREATE", builders.build_application_document()))["allowed"]


def test_invalid_application_is_rejected_with_the_problems_of_validate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "app.json"
    file.write_text(json.dumps(build_invalid_application()))
    main(["validate", str(file), "-o", "json"])
    problems = [(problem["path"], problem["message"]) for problem in json.loads(capsys.readouterr().out)["problems"]]
    assert len(problems) > 1

    response = answer(build_review("CREATE", build_invalid_application()))

    assert not response["allowed"]
    status = response["status"]
    causes = [(cause["field"], cause["message"]) for cause in status["details"]["causes"]]
    assert status["message"] == "; ".join(f"{path}: {message}" for path, message in causes)
    assert sorted(causes) == sorted(problems)  # `validate` lists the problems in the order of the lines
    assert (status["code"], status["reason"], status["details"]["kind"]) == (422, "Invalid", "SparkApplication")


def test_tolerated_problem_is_admitted_with_a_warning() -> None:
    document = builders.build_application_document(restart={"maxRestartAttempts": -3})
    document["metadata"]["managedFields"] = [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
    response = answer(build_review("CREATE", document))
    path = "spec.applicationTolerations.restartConfig.maxRestartAttempts"
    assert response == {"uid": "u-1", "allowed": True, "warnings": [f"{path}: must not be negative, but is -3"]}


def test_rejection_contains_warnings() -> None:
    document = build_invalid_application()
    document["spec"]["applicationTolerations"] = {"applicationTimeoutConfig": {"driverStartTimeoutMillis": -1}}
    response = answer(build_review("CREATE", document))
    assert not response["allowed"]
    assert len(response["warnings"]) == 1
    assert "driverStartTimeoutMillis" not in response["status"]["message"]


def test_invalid_cluster_is_rejected() -> None:
    cluster = {"apiVersion": "spark.apache.org/v1", "kind": "SparkCluster", "metadata": {"name": "c"}, "spec": {}}
    response = answer(build_review("CREATE", cluster))
    assert "spec.runtimeVersions: is required" in response["status"]["message"]


def test_update_to_an_invalid_spec_is_rejected() -> None:
    assert not answer(build_review("UPDATE", build_invalid_application(), builders.build_application_document()))[
        "allowed"
    ]


@pytest.mark.parametrize("metadata", [{"finalizers": []}, {"labels": {"team": "x"}}])
def test_metadata_of_an_invalid_application_can_change(metadata: Json) -> None:
    old, new = build_invalid_application(), build_invalid_application()
    new["metadata"] = {**new["metadata"], **metadata}
    assert answer(build_review("UPDATE", new, old))["allowed"]


def test_update_during_deletion_is_admitted() -> None:
    new = build_invalid_application()
    new["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert answer(build_review("UPDATE", new, builders.build_application_document()))["allowed"]


def test_deletion_is_admitted() -> None:
    assert answer(build_review("DELETE", None, build_invalid_application()))["allowed"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "the request body must be an AdmissionReview"),
        ({"kind": "Pod"}, "the request body must be an AdmissionReview"),
        (
            {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1"},
            r"Set admissionReviewVersions to \[v1\]",
        ),
        (
            {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {}},
            "must have a request with a uid",
        ),
    ],
)
def test_invalid_review_is_an_error(document: object, message: str) -> None:
    with pytest.raises(NotAReview, match=message):
        review(document)
