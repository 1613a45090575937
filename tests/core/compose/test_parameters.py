"""An application built from an operator's parameters, with or without a document."""

import re
from typing import Any

import pytest

from airflow_provider_spark_operator.core.compose.application import apply_parameters
from airflow_provider_spark_operator.core.compose.document import new_application, override_metadata
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource, filter_errors
from airflow_provider_spark_operator.core.parameters.parameter_problems import find_problems
from airflow_provider_spark_operator.core.parameters.parameter_types import PENDING, Pending
from airflow_provider_spark_operator.core.parameters.parameters import Parameters, find_folder_problem
from airflow_provider_spark_operator.core.validation.application import validate_application

PYTHON_RUNNER = "org.apache.spark.deploy.PythonRunner"
JAVA = {"mainClass": "org.example.Report", "jars": "local:///opt/report.jar"}


def build_spec(document: dict[str, Any] | None = None, **parameters: object) -> dict[str, Any]:
    """Return the composed spec. Check that validation finds no errors in it."""
    document = override_metadata(document or new_application(), name="report", namespace="jobs")
    given: dict[str, Any] = {"spark_version": "4.3.0", **parameters}
    result = apply_parameters(document, Parameters(**given))
    assert filter_errors(validate_application(result)) == []
    composed: dict[str, Any] = result["spec"]
    return composed


def build_application(**fields: Any) -> dict[str, Any]:
    return new_application() | {"spec": fields}


def test_script_without_document_builds_spec() -> None:
    made = build_spec(py_file="local:///opt/job.py", arguments=["--day", 3], image="spark:4.3.0", spark_version=None)
    assert made == {
        "mainClass": PYTHON_RUNNER,
        "pyFiles": "local:///opt/job.py",
        "driverArgs": ["--day", "3"],
        "sparkConf": {"spark.kubernetes.container.image": "spark:4.3.0"},
        "runtimeVersions": {"sparkVersion": "4.3.0"},
    }


def test_class_without_document_builds_spec() -> None:
    made = build_spec(main_class="org.example.Report", jars=["local:///opt/report.jar", "s3a://lib/csv.jar"])
    assert made["mainClass"] == "org.example.Report"
    assert made["jars"] == "local:///opt/report.jar"
    assert made["sparkConf"] == {"spark.jars": "local:///opt/report.jar,s3a://lib/csv.jar"}


def test_resource_parameters_are_written_as_properties() -> None:
    made = build_spec(
        py_file="local:///a.py", driver_cores=2, driver_memory="4g", executor_cores="3", executor_memory="8G",
        executor_instances=10, service_account="spark",
    )  # fmt: skip
    assert made["sparkConf"] == {
        "spark.driver.cores": "2",
        "spark.driver.memory": "4g",
        "spark.executor.cores": "3",
        "spark.executor.memory": "8G",
        "spark.executor.instances": "10",
        "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
    }


def test_conf_overrides_individual_document_properties() -> None:
    document = build_application(pyFiles="local:///a.py", sparkConf={"spark.a": "1", "spark.b": "2"})
    made = build_spec(document, conf={"spark.b": True, "spark.c": 3, "spark.d": None}, driver_memory="2g")
    assert made["sparkConf"] == {"spark.a": "1", "spark.b": "true", "spark.c": "3", "spark.driver.memory": "2g"}
    assert document["spec"]["sparkConf"] == {"spark.a": "1", "spark.b": "2"}


def test_script_replaces_class_of_document() -> None:
    made = build_spec(build_application(**JAVA), py_file="local:///a.py")
    assert made["mainClass"] == PYTHON_RUNNER
    assert "jars" not in made
    assert made["pyFiles"] == "local:///a.py"


@pytest.mark.parametrize(
    ("document", "parameters"),
    [
        ({}, {"py_file": "local:///a.py", "py_files": ["local:///b.py"]}),
        ({}, {"py_files": ["local:///a.py", "local:///b.py"]}),
        ({"pyFiles": "local:///a.py,local:///b.py"}, {}),
        ({"mainClass": PYTHON_RUNNER, "pyFiles": "local:///a.py,local:///b.py"}, {}),
    ],
    ids=["script and modules", "modules only", "document", "document with runner class"],
)
def test_several_python_files_set_python_runner_class(document: dict[str, Any], parameters: dict[str, Any]) -> None:
    made = build_spec(build_application(**document), **parameters)
    assert made["mainClass"] == PYTHON_RUNNER
    assert made["pyFiles"] == "local:///a.py,local:///b.py"


def test_jars_of_document_script_move_to_spark_jars() -> None:
    document = build_application(mainClass=PYTHON_RUNNER, pyFiles="local:///a.py", jars="local:///lib.jar")
    made = build_spec(document)
    assert "jars" not in made
    assert made["sparkConf"] == {"spark.jars": "local:///lib.jar"}
    assert build_spec(document, jars="local:///other.jar")["sparkConf"] == {"spark.jars": "local:///other.jar"}
    assert document["spec"]["jars"] == "local:///lib.jar"


def test_script_jars_are_added_to_spark_jars_without_duplicates() -> None:
    document = build_application(
        mainClass=PYTHON_RUNNER,
        pyFiles="local:///a.py,local:///b.py",
        jars="local:///x.jar,local:///y.jar",
        sparkConf={"spark.jars": "local:///y.jar"},
    )
    assert build_spec(document)["sparkConf"] == {"spark.jars": "local:///y.jar,local:///x.jar"}


@pytest.mark.parametrize(
    ("parameters", "jars"),
    [
        ({"py_file": "local:///a.py", "jars": ["local:///x.jar"]}, "local:///y.jar,local:///x.jar"),
        ({"main_class": "A", "jars": ["local:///x.jar"]}, "local:///y.jar,local:///x.jar"),
        ({"main_class": "A", "jars": ["local:///y.jar"]}, "local:///y.jar"),
    ],
)
def test_jars_are_added_to_spark_jars_in_conf(parameters: dict[str, Any], jars: str) -> None:
    made = build_spec(conf={"spark.jars": "local:///y.jar"}, **parameters)
    assert made["sparkConf"]["spark.jars"] == jars


def test_document_with_class_keeps_its_class() -> None:
    assert build_spec(build_application(**JAVA))["mainClass"] == JAVA["mainClass"]


def test_script_keeps_python_modules_of_document() -> None:
    document = build_application(pyFiles="local:///old.py,local:///lib.zip")
    assert build_spec(document, py_file="local:///new.py")["pyFiles"] == "local:///new.py,local:///lib.zip"
    given = build_spec(document, py_file="local:///new.py", py_files="local:///other.zip")
    assert given["pyFiles"] == "local:///new.py,local:///other.zip"


def test_script_jars_are_written_to_spark_jars() -> None:
    made = build_spec(py_file="local:///a.py", jars="s3a://lib/a.jar, s3a://lib/b.jar")
    assert made["sparkConf"]["spark.jars"] == "s3a://lib/a.jar,s3a://lib/b.jar"
    assert "jars" not in made


def test_class_replaces_script_of_document() -> None:
    made = build_spec(
        build_application(pyFiles="local:///a.py"), main_class="org.example.Report", jars="local:///report.jar"
    )
    assert "pyFiles" not in made


def test_files_are_added_to_files_of_document() -> None:
    document = build_application(pyFiles="local:///a.py", sparkConf={"spark.files": "s3a://conf/a.json"})
    assert build_spec(document, files=["s3a://conf/b.json"])["sparkConf"]["spark.files"] == (
        "s3a://conf/a.json,s3a://conf/b.json"
    )


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("spark:4.3.0", "4.3.0"),
        ("registry.example:5000/team/spark:4.1.2-scala2.13-python3@sha256:0a", "4.1.2"),
        ("spark:latest", None),
        ("registry.example:5000/spark", None),
    ],
)
def test_spark_version_is_read_from_image_tag(image: str, version: str | None) -> None:
    made = apply_parameters(new_application(), Parameters(py_file="local:///a.py", image=image))["spec"]
    assert made.get("runtimeVersions", {}).get("sparkVersion") == version


def test_given_spark_version_overrides_image_tag() -> None:
    document = build_application(
        pyFiles="local:///a.py", runtimeVersions={"sparkVersion": "4.0.0", "scalaVersion": "2.13"}
    )
    assert build_spec(document, image="spark:4.3.0", spark_version=None)["runtimeVersions"]["sparkVersion"] == "4.0.0"
    assert build_spec(document, spark_version="4.3.0")["runtimeVersions"] == {
        "sparkVersion": "4.3.0",
        "scalaVersion": "2.13",
    }


INVALID = [
    ({}, "no program is given"),
    ({"sql": "SELECT 1", "py_file": "a.py"}, "sql: cannot be set together with py_file"),
    ({"sql": "SELECT 1", "arguments": [1], "main_class": "A"}, "together with main_class, arguments"),
    ({"sql": " "}, "sql: contains no statement"),
    ({"sql": 7}, "sql: must be SQL text or a list of texts, but is of type int"),
    ({"sql": ["SELECT 1", 7]}, "sql\\[1\\]: must be SQL text or the path of a .sql file, not int"),
    ({"sql": "s3://bucket/a.sql"}, "must be the path of a local file, not the URL s3://bucket/a.sql"),
    ({"sql": "SELECT 1", "sql_parameters": {"a b": 1}}, "'a b' is not a name"),
    ({"sql": "SELECT 1", "sql_parameters": [[1]]}, "sql_parameters\\[0\\]: must be a string, a number"),
    ({"sql": "SELECT 1", "sql_parameters": 1}, "sql_parameters: must be an object of named values, or a list"),
    ({"py_file": "a.py", "sql_parameters": [1]}, "sql_parameters: has no effect without sql"),
    ({"py_file": "local:///a.py", "main_class": "A"}, "main_class: cannot be set together with py_file"),
    ({"py_file": "local:///a.py", "driver_memory": 4}, "driver_memory: must be a size with its unit, .* not 4"),
    ({"py_file": "local:///a.py", "executor_memory": "4"}, "executor_memory: must be a size with its unit"),
    ({"py_file": "local:///a.py", "driver_memory": "2Gi"}, "not '2Gi'. Spark writes it as 2g"),
    ({"py_file": "local:///a.py", "executor_instances": -1}, "executor_instances: must be an integer of 0 or more"),
    (
        {"py_file": "local:///a.py", "image": "spark:4.3.0", "executor_instances": 0},
        "executor_instances: must be at least 1, or set dynamic_allocation",
    ),
    (
        {
            "py_file": "local:///a.py",
            "image": "spark:4.3.0",
            "executor_instances": 0,
            "conf": {"spark.dynamicAllocation.enabled": None},
        },
        "executor_instances: must be at least 1, or set dynamic_allocation",
    ),
    ({"py_file": "local:///a.py", "executor_cores": 0}, "executor_cores: must be an integer of 1 or more"),
    ({"py_file": "local:///a.py", "driver_cores": True}, "driver_cores: must be an integer"),
    ({"py_file": "local:///a.py", "executor_cores": "two"}, "executor_cores: must be an integer"),
    ({"py_file": "local:///a.py", "arguments": "--day 3"}, "arguments: must be a list, but is of type str"),
    ({"py_file": "local:///a.py", "jars": 3}, "jars: must be a list"),
    ({"py_file": "local:///a.py", "conf": ["a"]}, "conf: must be an object"),
    (
        {"py_file": "local:///a.py", "conf": {"spark.jars.packages": ["a:b:1", "c:d:2"]}},
        r"conf\['spark.jars.packages'\]: must be a string, a number, true or false, .* Write a list as",
    ),
    ({"py_file": ["local:///a.py"]}, "py_file: must be a string"),
    ({"py_file": "local:///a.py", "spark_version": 4.0}, "spark_version: must be a string, not 4.0"),
    (
        {"py_file": "local:///a.py", "image": "spark:latest"},
        "spark_version: is required, because the tag of spark:latest",
    ),
    ({"py_file": "local:///a.py"}, "spark_version: is required, because no image is set"),
]


@pytest.mark.parametrize(("parameters", "message"), INVALID)
def test_invalid_parameters_are_reported_with_their_paths(parameters: dict[str, Any], message: str) -> None:
    found = find_problems(Parameters(**parameters), alone=True)
    assert re.search(message, "\n".join(map(str, found)))


def test_invalid_parameter_raises_when_applied() -> None:
    with pytest.raises(InvalidResource, match="driver_cores: must be an integer of 1 or more, not 'many'"):
        apply_parameters(new_application(), Parameters(driver_cores="many"))


@pytest.mark.parametrize("enabled", [True, "true", "{{ var.value.dynamic }}", PENDING])
def test_zero_executors_are_accepted_with_dynamic_allocation(enabled: Pending | bool | str) -> None:
    conf = {"spark.dynamicAllocation.enabled": enabled}
    given = Parameters(py_file="local:///a.py", image="spark:4.3.0", executor_instances=0, conf=conf)
    assert find_problems(given, alone=True) == []


@pytest.mark.parametrize("allocation", [True, "true", {"min": 0}, "{{ params.dynamic }}"])
def test_zero_executors_are_accepted_with_the_parameter_dynamic_allocation(allocation: Any) -> None:
    given = Parameters(
        py_file="local:///a.py", image="spark:4.3.0", executor_instances=0, dynamic_allocation=allocation
    )
    assert find_problems(given, alone=True) == []


@pytest.mark.parametrize("value", [PENDING, "{{ params.n }}"])
def test_templated_and_pending_parameters_are_not_checked(value: Any) -> None:
    names = ("image", "executor_instances", "driver_memory", "arguments")
    assert find_problems(Parameters(py_file="local:///a.py", **dict.fromkeys(names, value)), alone=True) == []
    assert find_problems(Parameters(py_file="local:///a.py", image=value, conf=value), alone=True) == []


@pytest.mark.parametrize(
    ("name", "url"),
    [("shared", "spark://shared-master-svc:7077"), ("jobs/shared", "spark://shared-master-svc.jobs.svc:7077")],
)
def test_cluster_sets_master_and_disables_authentication(name: str, url: str) -> None:
    conf = build_spec(py_file="local:///a.py", cluster=name)["sparkConf"]
    assert (conf["spark.master"], conf["spark.authenticate"]) == (url, "false")


@pytest.mark.parametrize("name", ["p" * 45, f"{'1' * 63}/pi", " ns/pi "])
def test_valid_cluster_name_is_accepted(name: str) -> None:
    assert find_problems(Parameters(cluster=name)) == []


def test_authentication_set_in_conf_is_kept() -> None:
    conf = {"spark.authenticate": "true", "spark.authenticate.secret": "x"}
    assert build_spec(py_file="local:///a.py", cluster="shared", conf=conf)["sparkConf"]["spark.authenticate"] == "true"


@pytest.mark.parametrize("name", ["Shared", "spark://x:7077", "a/b/c", 3, "pi-", "ns-/pi", "/pi", "ns/", "p" * 46])
def test_invalid_cluster_name_is_reported(name: Any) -> None:
    (problem,) = find_problems(Parameters(cluster=name))
    assert str(problem).startswith("cluster: must be the name of a SparkCluster")


@pytest.mark.parametrize(("url", "valid"), [("s3://bucket", True), (None, True), ("bucket/jobs", False), (3, False)])
def test_upload_folder_must_be_a_url(url: int | str | None, valid: bool) -> None:
    assert (find_folder_problem("upload_to", url) is None) is valid


def test_zero_executors_are_accepted_if_document_has_dynamic_allocation() -> None:
    document = build_application(pyFiles="local:///a.py", sparkConf={"spark.dynamicAllocation.enabled": "true"})
    made = build_spec(document, executor_instances="0")
    assert made["sparkConf"]["spark.executor.instances"] == "0"


def test_zero_executors_are_an_error_without_dynamic_allocation() -> None:
    document = build_application(pyFiles="local:///a.py", runtimeVersions={"sparkVersion": "4.3.0"})
    made = apply_parameters(document, Parameters(executor_instances=0))
    (problem,) = filter_errors(validate_application({**made, "metadata": {"name": "a"}}))
    assert problem.path == "spec.sparkConf['spark.executor.instances']"
    assert problem.message.startswith("must be at least 1, but is 0")


def test_spark_conf_that_is_no_object_is_reported() -> None:
    with pytest.raises(InvalidResource, match=r"spec\.sparkConf: must be an object"):
        apply_parameters(build_application(sparkConf=["a"]), Parameters())
