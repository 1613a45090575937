from copy import deepcopy
from typing import Any

import pytest

from airflow_provider_spark_operator.core.driver.attempt import build_attempt
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource, Problem
from airflow_provider_spark_operator.core.models.application import RestartCondition
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.validation.application import find_accepted_problems, validate_application
from airflow_provider_spark_operator.core.validation.identity import API_VERSIONS
from tests.builders import build_application_document


def build_changed_document(path: str, value: Any) -> dict[str, Any]:
    """Build a minimal document with `value` at `path`. The value `...` removes the field."""
    document = deepcopy(build_application_document())
    *parents, last = path.split("/")
    inner: Any = document
    for name in parents:
        inner = inner.setdefault(name, {})
    if value is ...:
        inner.pop(last, None)
    else:
        inner[last] = value
    return document


def test_valid_application_has_no_problems() -> None:
    assert validate_application(build_application_document()) == []


@pytest.mark.parametrize("version", API_VERSIONS)
def test_every_served_version_is_valid(version: str) -> None:
    assert validate_application(build_changed_document("apiVersion", version)) == []


def test_minimal_document_has_defaults_of_apache_operator() -> None:
    tolerations = parse_application(build_application_document()).spec.application_tolerations
    timeouts, restart = tolerations.application_timeout_config, tolerations.restart_config
    assert timeouts.driver_start_timeout_millis == 300_000
    assert timeouts.termination_requeue_period_millis == 2_000
    assert (restart.restart_policy, restart.max_restart_attempts) == (RestartCondition.NEVER, 3)
    assert (restart.restart_backoff_millis, restart.restart_counter_reset_millis) == (30_000, -1)
    assert (tolerations.resource_retain_duration_millis, tolerations.ttl_after_stop_millis) == (-1, -1)


def test_unknown_fields_survive_a_round_trip() -> None:
    document = build_changed_document("spec/driverSpec", {"podTemplateSpec": {"spec": {"novelty": [1, {"a": None}]}}})
    document["spec"]["futureField"] = {"deep": True}
    again = parse_application(document).to_document()
    assert again["spec"]["futureField"] == {"deep": True}
    assert again["spec"]["driverSpec"]["podTemplateSpec"]["spec"]["novelty"][0] == 1


def test_round_trip_adds_no_fields() -> None:
    document = build_application_document()
    assert parse_application(document).to_document() == document


def test_null_is_read_as_missing_field() -> None:
    document = build_changed_document(
        "spec/applicationTolerations", {"restartConfig": None, "ttlAfterStopMillis": None}
    )
    document["spec"]["suspend"] = None
    spec = parse_application(document).spec
    assert spec.application_tolerations.restart_config.max_restart_attempts == 3
    assert spec.application_tolerations.ttl_after_stop_millis == -1
    assert spec.suspend is False


@pytest.mark.parametrize("status", [{}, {"currentState": None}, {"currentAttemptSummary": {}}], ids=repr)
def test_status_without_state_is_none(status: dict[str, Any]) -> None:
    assert parse_application(build_changed_document("status", status)).status is None


TOLERATIONS = "spec/applicationTolerations"


@pytest.mark.parametrize(
    ("path", "value", "problem", "words"),
    [
        ("apiVersion", ..., "apiVersion", "is required"),
        ("apiVersion", "spark.apache.org/v9", "apiVersion", "'spark.apache.org/v9' is not supported"),
        ("kind", "SparkCluster", "kind", "use SparkApplication"),
        ("metadata", "pi", "metadata", "must be an object"),
        ("metadata/name", ..., "metadata.name", "is required"),
        ("metadata/name", 7, "metadata.name", "put it in quotes"),
        ("metadata/name", "x" * 64, "metadata.name", "has 64 characters"),
        ("metadata/name", "1st.app", "metadata.name", "is not a valid name for the application and its driver service"),
        ("metadata/name", "pi\n", "metadata.name", "is not a valid name for the application and its driver service"),
        ("spec", ..., "spec", "is required"),
        ("spec", [], "spec", "must be an object (key: value pairs), not a list"),
        ("spec/runtimeVersions", ..., "spec.runtimeVersions", "sparkVersion"),
        ("spec/runtimeVersions/sparkVersion", ..., "spec.runtimeVersions.sparkVersion", "is required"),
        ("spec/runtimeVersions/sparkVersion", 4.3, "spec.runtimeVersions.sparkVersion", "put it in quotes"),
        ("spec/mainClass", ..., "spec.mainClass", "is required if spec.jars is set"),
        ("spec/sparkConf", {"spark.x": 2}, "spec.sparkConf['spark.x']", "must be a string, not a number"),
        ("spec/driverArgs", ["a", True], "spec.driverArgs[1]", "must be a string, not true or false"),
        ("spec/driverArgs", "a b", "spec.driverArgs", "must be a list, not a string"),
        ("spec/configMapSpecs", [{"data": {}}], "spec.configMapSpecs[0].name", "is required"),
        ("spec/deploymentMode", "Sideways", "spec.deploymentMode", "use one of ClusterMode, ClientMode"),
        ("spec/suspend", "no", "spec.suspend", "must be true or false, not a string"),
        (
            f"{TOLERATIONS}/resourceRetainPolicy",
            "Sometimes",
            "spec.applicationTolerations.resourceRetainPolicy",
            "use one of Always, OnFailure, Never",
        ),
        (
            f"{TOLERATIONS}/ttlAfterStopMillis",
            "5",
            "spec.applicationTolerations.ttlAfterStopMillis",
            "must be an integer, not a string",
        ),
        (
            f"{TOLERATIONS}/ttlAfterStopMillis",
            1.5,
            "spec.applicationTolerations.ttlAfterStopMillis",
            "must be an integer, not 1.5",
        ),
        (
            f"{TOLERATIONS}/ttlAfterStopMillis",
            3.0,
            "spec.applicationTolerations.ttlAfterStopMillis",
            "must be an integer, not 3.0",
        ),
        (
            f"{TOLERATIONS}/ttlAfterStopMillis",
            2**63,
            "spec.applicationTolerations.ttlAfterStopMillis",
            "64-bit integer",
        ),
        (
            f"{TOLERATIONS}/instanceConfig",
            {"minExecutors": 3, "maxExecutors": 2},
            "spec.applicationTolerations.instanceConfig.minExecutors",
            "more than maxExecutors",
        ),
        (
            f"{TOLERATIONS}/instanceConfig",
            {"initExecutors": -1},
            "spec.applicationTolerations.instanceConfig.initExecutors",
            "must not be negative",
        ),
    ],
)
def test_problem_contains_path_and_advice(path: str, value: object, problem: str, words: str) -> None:
    problems = validate_application(build_changed_document(path, value))
    assert [each.path for each in problems] == [problem]
    assert words in problems[0].message


@pytest.mark.parametrize("document", [None, [], "text", 3], ids=repr)
def test_document_that_is_not_an_object_has_one_problem(document: int | list[Any] | str | None) -> None:
    assert len(validate_application(document)) == 1


def test_application_without_program_is_invalid() -> None:
    document = build_application_document()
    del document["spec"]["mainClass"], document["spec"]["jars"]
    assert validate_application(document) == [
        Problem("spec", "contains no program: set mainClass with jars, or pyFiles, or sparkRFiles")
    ]


PYTHON, R = "org.apache.spark.deploy.PythonRunner", "org.apache.spark.deploy.RRunner"
JAR, SCRIPT = "local:///a.jar", "local:///a.py"


@pytest.mark.parametrize(
    ("resources", "problem", "words"),
    [
        pytest.param({"mainClass": "a.B"}, None, "", id="a class of the image"),
        pytest.param({"mainClass": "a.B", "jars": JAR}, None, "", id="a jar"),
        pytest.param({"pyFiles": SCRIPT}, None, "", id="a Python script"),
        pytest.param({"sparkRFiles": "local:///a.R"}, None, "", id="an R script"),
        pytest.param({"mainClass": PYTHON, "pyFiles": SCRIPT, "jars": JAR}, None, "", id="Python with a jar"),
        pytest.param({"mainClass": R, "sparkRFiles": "local:///a.R", "jars": JAR}, None, "", id="R with a jar"),
        pytest.param({"mainClass": "a.B", "jars": JAR, "pyFiles": SCRIPT}, "pyFiles", "spec.jars", id="jar, Python"),
        pytest.param({"mainClass": "a.B", "jars": JAR, "sparkRFiles": "a"}, "sparkRFiles", "spec.jars", id="jar, R"),
        pytest.param(
            {"pyFiles": SCRIPT, "sparkRFiles": "local:///a.R"}, "sparkRFiles", "spec.pyFiles", id="Python and R"
        ),
        pytest.param({"mainClass": PYTHON, "jars": JAR}, "pyFiles", "give the script", id="Python, no script"),
        pytest.param({"mainClass": R, "pyFiles": SCRIPT}, "sparkRFiles", "give the script", id="R, no script"),
    ],
)
def test_application_has_one_main_resource(resources: dict[str, str], problem: str | None, words: str) -> None:
    document = build_application_document()
    del document["spec"]["mainClass"], document["spec"]["jars"]
    document["spec"] |= resources
    problems = validate_application(document)
    assert [each.path for each in problems] == ([f"spec.{problem}"] if problem else [])
    assert all(words in each.message for each in problems)


def test_missing_route_fields_are_reported() -> None:
    document = build_application_document(
        driverServiceIngressList=[{"serviceSpec": {"ports": []}}],
        driverHttpRouteList=[
            {
                "serviceSpec": {"ports": []},
                "serviceMetadata": {"name": "ui"},
                "httpRouteMetadata": {"name": "ui"},
                "httpRouteSpec": {"parentRefs": [{"name": "gateway"}]},
            }
        ],
        driverGrpcRouteList=[{}],
    )
    assert [each.path for each in validate_application(document)] == [
        "spec.driverGrpcRouteList[0].serviceSpec",
        "spec.driverGrpcRouteList[0].serviceMetadata.name",
        "spec.driverGrpcRouteList[0].grpcRouteMetadata.name",
        "spec.driverGrpcRouteList[0].grpcRouteSpec.parentRefs",
        "spec.driverServiceIngressList[0].serviceMetadata.name",
        "spec.driverServiceIngressList[0].ingressMetadata.name",
    ]


def test_duplicate_config_map_name_is_an_error() -> None:
    twice = build_application_document(configMapSpecs=[{"name": name, "data": {}} for name in ("a", "b", "a")])
    (problem,) = validate_application(twice)
    assert problem.path == "spec.configMapSpecs[2].name"
    assert problem.message == "repeats 'a': use a different name for each ConfigMap"


def test_generate_name_replaces_name() -> None:
    document = build_changed_document("metadata/name", ...)
    document["metadata"]["generateName"] = "pi-"
    assert validate_application(document) == []


def test_invalid_resource_error_has_one_line_per_problem() -> None:
    document = build_changed_document("spec/runtimeVersions", ...)
    document["spec"]["suspend"] = 1
    with pytest.raises(InvalidResource) as raised:
        parse_application(document)
    lines = str(raised.value).splitlines()
    assert len(lines) == len(raised.value.problems) == 2
    assert lines[0].startswith("spec.runtimeVersions: is required: ")


def test_message_does_not_contain_configuration_value() -> None:
    problems = validate_application(build_application_document(conf={"spark.password": 987654321}))  # type: ignore[dict-item]
    assert "987654321" not in "".join(map(str, problems))


def test_unknown_state_is_a_problem() -> None:
    record = {"currentStateSummary": "Dreaming", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    with pytest.raises(InvalidResource, match=r"currentState\.currentStateSummary: 'Dreaming' is not supported"):
        parse_application(build_changed_document("status", {"currentState": record}))


def test_malformed_time_is_a_problem() -> None:
    record = {"currentStateSummary": "Submitted", "lastTransitionTime": "yesterday"}
    with pytest.raises(InvalidResource, match="lastTransitionTime: must be a time in RFC 3339"):
        parse_application(build_changed_document("status", {"currentState": record}))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec/applicationTolerations", {"restartConfig": {"maxRestartAttempts": -3}}),
        ("spec/sparkConf/spark.kubernetes.executor.label.team", "a b"),
        ("spec/sparkConf/spark.files", "s3a://bucket/other"),
    ],
    ids=["tolerations", "executors", "replaced files"],
)
def test_accepted_application_has_the_problems_that_the_api_server_does_not_find(path: str, value: Any) -> None:
    document = build_changed_document(path, value)
    document["spec"]["files"] = "s3a://bucket/one"
    document["metadata"] = {"name": "pi", "namespace": "jobs", "uid": "u"}
    application = parse_application(document)
    expected = validate_application(document)
    assert find_accepted_problems(application, build_attempt(application, 0, "spark-operator")) == expected != []
