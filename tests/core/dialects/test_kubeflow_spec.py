"""Fields of the spec of Kubeflow's SparkApplication."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.compose.application import apply_parameters
from airflow_provider_spark_operator.core.compose.restarts import build_retries, get_backoff
from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.parameters.parameters import Parameters

DOCUMENT: dict[str, Any] = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "kind": "SparkApplication",
    "spec": {
        "type": "Python",
        "sparkVersion": "4.0.0",
        "mainApplicationFile": "local:///opt/job.py",
        "driver": {"cores": 1},
        "executor": {"instances": 2},
    },
}


def build_document(**changes: Any) -> dict[str, Any]:
    return {**DOCUMENT, "spec": {**DOCUMENT["spec"], **changes}}


PARAMETERS: dict[str, Any] = {
    "image": "registry/spark:4.1.0",
    "arguments": [1, "two"],
    "conf": {"spark.eventLog.enabled": True},
    "service_account": "spark",
    "driver_cores": 2,
    "driver_memory": "4g",
    "executor_cores": "3",
    "executor_memory": "8g",
    "executor_instances": 5,
    "files": ["s3a://b/one.csv"],
}


def test_parameters_are_written_to_kubeflow_fields() -> None:
    spec = apply_parameters(build_document(deps={"files": ["s3a://b/zero.csv"]}), Parameters(**PARAMETERS))["spec"]
    assert spec == {
        **DOCUMENT["spec"],
        "mode": "cluster",
        "image": "registry/spark:4.1.0",
        "arguments": ["1", "two"],
        "sparkConf": {"spark.eventLog.enabled": "true"},
        "driver": {"cores": 2, "memory": "4g", "serviceAccount": "spark"},
        "executor": {"cores": 3, "memory": "8g", "instances": 5},
        "deps": {"files": ["s3a://b/zero.csv", "s3a://b/one.csv"]},
    }


@pytest.mark.parametrize(
    ("parameters", "program"),
    [
        (
            {"py_file": "s3a://b/a.py", "py_files": ["s3a://b/b.py"]},
            {"type": "Python", "mainApplicationFile": "s3a://b/a.py", "deps": {"pyFiles": ["s3a://b/b.py"]}},
        ),
        ({"py_files": ["local:///a.py"]}, {"type": "Python", "mainApplicationFile": "local:///a.py"}),
        (
            {"main_class": "A", "jars": ["local:///a.jar", "local:///b.jar"]},
            {
                "type": "Java",
                "mainClass": "A",
                "mainApplicationFile": "local:///a.jar",
                "deps": {"jars": ["local:///b.jar"]},
            },
        ),
        ({"main_class": "A"}, {"type": "Java", "mainClass": "A"}),
        ({"jars": "local:///b.jar"}, {"deps": {"jars": ["local:///b.jar"]}}),
    ],
)
def test_program_is_written_to_kubeflow_fields(parameters: dict[str, Any], program: dict[str, Any]) -> None:
    spec = apply_parameters(DOCUMENT, Parameters(**parameters))["spec"]
    assert {key: value for key, value in spec.items() if key not in ("mode", "driver", "executor")} == {
        **{key: value for key, value in DOCUMENT["spec"].items() if key not in ("driver", "executor")},
        **program,
    }


def test_zero_executor_instances_are_refused_for_kubeflow() -> None:
    with pytest.raises(InvalidResource, match="executor_instances: must be at least 1 for Kubeflow's operator"):
        apply_parameters(DOCUMENT, Parameters(executor_instances=0))


def test_missing_spark_version_is_read_from_image_tag() -> None:
    bare = {**DOCUMENT, "spec": {"type": "Python", "mainApplicationFile": "local:///a.py"}}
    assert apply_parameters(bare, Parameters(image="spark:4.1.0"))["spec"]["sparkVersion"] == "4.1.0"


def test_field_that_is_not_an_object_is_reported_with_path() -> None:
    with pytest.raises(InvalidResource, match=r"spec\.driver: must be an object"):
        apply_parameters(build_document(driver="big"), Parameters(driver_cores=1))


def test_cluster_is_refused_for_kubeflow() -> None:
    with pytest.raises(InvalidResource, match="is not supported by Kubeflow's operator"):
        apply_parameters(DOCUMENT, Parameters(cluster="shared"))


def test_number_can_be_a_template() -> None:
    made = apply_parameters(DOCUMENT, Parameters(executor_instances="{{ params.n }}"))
    assert made["spec"]["executor"]["instances"] == "{{ params.n }}"


POLICY = {"type": "OnFailure", "onFailureRetries": 2, "onSubmissionFailureRetries": 1, "onFailureRetryInterval": 7}


def test_airflow_retries_are_built_from_restart_policy() -> None:
    found = build_retries(build_document(restartPolicy=POLICY))
    assert found
    assert (found.number, found.delay.total_seconds(), found.application_failures) == (3, 7, True)


@pytest.mark.parametrize(
    ("policy", "kind", "seconds"),
    [
        (POLICY, "application", 7),
        (POLICY, "scheduling", 7),
        ({**POLICY, "onSubmissionFailureRetryInterval": 9}, "scheduling", 9),
        ({"type": "OnFailure", "onFailureRetryInterval": "9"}, "application", None),
        ("OnFailure", "application", None),
    ],
)
def test_backoff_depends_on_failure_kind(policy: dict[str, Any] | str, kind: str, seconds: int | None) -> None:
    delay = get_backoff(build_document(restartPolicy=policy), kind)
    assert (delay.total_seconds() if delay else None) == seconds


def test_restarts_are_disabled_only_if_configured() -> None:
    assert KUBEFLOW.disable_restarts(build_document(restartPolicy=POLICY))["spec"]["restartPolicy"] == {"type": "Never"}
    assert KUBEFLOW.disable_restarts(DOCUMENT) is DOCUMENT


@pytest.mark.parametrize(("seconds", "expected"), [(5, 5.0), (-1, 0.0), (True, None), (None, None)])
def test_time_to_live_is_read_in_seconds(seconds: int | None, expected: float | None) -> None:
    assert KUBEFLOW.read_ttl(build_document(timeToLiveSeconds=seconds)) == expected


def test_keeping_the_driver_changes_no_field() -> None:
    assert KUBEFLOW.keep_driver(DOCUMENT, 600) is DOCUMENT


def test_memory_fields_take_precedence_over_properties() -> None:
    document = build_document(
        driver={"memory": "2g", "memoryOverhead": "1g"},
        sparkConf={"spark.driver.memory": "9g", "spark.executor.memory": "4g", "spark.executor.memoryOverhead": 3},
    )
    assert KUBEFLOW.read_memory(document) == {
        "spark.driver.memory": "2g",
        "spark.driver.memoryOverhead": "1g",
        "spark.executor.memory": "4g",
    }


def test_memory_is_written_to_kubeflow_fields() -> None:
    made = KUBEFLOW.write_memory(DOCUMENT, {"spark.driver.memory": "3g", "spark.executor.memoryOverhead": "1g"})
    assert made["spec"]["driver"] == {"cores": 1, "memory": "3g"}
    assert made["spec"]["executor"] == {"instances": 2, "memoryOverhead": "1g"}


@pytest.mark.parametrize(("suspend", "expected"), [(True, True), (False, False), (None, False)])
def test_suspension_is_read(suspend: bool | None, expected: bool) -> None:
    assert KUBEFLOW.is_suspended(build_document(suspend=suspend)) is expected


def test_application_id_is_not_derived_from_document() -> None:
    assert KUBEFLOW.read_application_id(DOCUMENT, 0) is None


def test_application_has_no_ui_url() -> None:
    assert KUBEFLOW.read_ui_url(DOCUMENT) == ""


@pytest.mark.parametrize(
    ("changes", "defaults"),
    [
        pytest.param({}, {"mode": "cluster"}, id="mode"),
        pytest.param({"mode": "client"}, {"mode": "client"}, id="given mode"),
        pytest.param(
            {"driver": {}, "executor": {}},
            {"driver": {"cores": 1, "memory": "1g"}, "executor": {"cores": 1, "memory": "1g", "instances": 1}},
            id="sizes",
        ),
        pytest.param(
            {
                "driver": {},
                "executor": {},
                "sparkConf": {
                    "spark.driver.cores": "2",
                    "spark.driver.memory": "2g",
                    "spark.executor.cores": "2",
                    "spark.executor.memory": "2g",
                    "spark.executor.instances": "3",
                },
            },
            {"driver": {}, "executor": {}},
            id="sizes in properties",
        ),
        pytest.param(
            {"executor": {"cores": 1, "memory": "1g"}, "sparkConf": {"spark.dynamicAllocation.enabled": "true"}},
            {"executor": {"cores": 1, "memory": "1g"}},
            id="dynamic allocation in properties",
        ),
        pytest.param(
            {"dynamicAllocation": {"enabled": True}},
            {"dynamicAllocation": {"enabled": True, "shuffleTrackingEnabled": True}},
            id="shuffle tracking",
        ),
        pytest.param(
            {"dynamicAllocation": {"enabled": True, "shuffleTrackingEnabled": False}},
            {"dynamicAllocation": {"enabled": True, "shuffleTrackingEnabled": False}},
            id="no shuffle tracking",
        ),
        pytest.param(
            {"restartPolicy": {"type": "Always", "onFailureRetryInterval": 9}},
            {"restartPolicy": {"type": "Always", "onFailureRetryInterval": 9, "onSubmissionFailureRetryInterval": 5}},
            id="intervals",
        ),
        pytest.param({"restartPolicy": {"type": "Never"}}, {"restartPolicy": {"type": "Never"}}, id="no restarts"),
    ],
)
def test_defaults_of_the_webhook_are_written(changes: dict[str, Any], defaults: dict[str, Any]) -> None:
    spec = apply_parameters(build_document(**changes), Parameters())["spec"]
    assert {key: spec[key] for key in defaults} == defaults


def test_time_to_live_of_ended_application_is_not_changed() -> None:
    assert KUBEFLOW.patch_ttl(5) is None
