"""An application made of an operator's parameters, alone or over a document."""

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_spark_operator.core.models.parse import validate_document
from airflow_provider_spark_operator.operators.document import blank, overlay
from airflow_provider_spark_operator.operators.parameters import Parameters
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

JAVA = {"mainClass": "org.example.Report", "jars": "local:///opt/report.jar"}


def spec(document=None, **parameters):
    """The spec that comes out; it is one that an operator would take."""
    document = overlay(document or blank(), name="report", namespace="jobs")
    given = {"spark_version": "4.3.0", **parameters}
    result = Parameters(**given).over(document)
    assert validate_document(result) == []
    return result["spec"]


def application(**fields):
    return blank() | {"spec": fields}


def test_a_script_needs_no_document():
    made = spec(py_file="local:///opt/job.py", arguments=["--day", 3], image="spark:4.3.0", spark_version=None)
    assert made == {
        "pyFiles": "local:///opt/job.py",
        "driverArgs": ["--day", "3"],
        "sparkConf": {"spark.kubernetes.container.image": "spark:4.3.0"},
        "runtimeVersions": {"sparkVersion": "4.3.0"},
    }


def test_a_class_needs_no_document():
    made = spec(main_class="org.example.Report", jars=["local:///opt/report.jar", "s3a://lib/csv.jar"])
    assert made["mainClass"] == "org.example.Report"
    assert made["jars"] == "local:///opt/report.jar"
    assert made["sparkConf"] == {"spark.jars": "local:///opt/report.jar,s3a://lib/csv.jar"}


def test_sizes_become_properties():
    made = spec(
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


def test_properties_are_put_over_the_documents_one_by_one():
    document = application(pyFiles="local:///a.py", sparkConf={"spark.a": "1", "spark.b": "2"})
    made = spec(document, conf={"spark.b": True, "spark.c": 3, "spark.d": None}, driver_memory="2g")
    assert made["sparkConf"] == {"spark.a": "1", "spark.b": "true", "spark.c": "3", "spark.driver.memory": "2g"}
    assert document["spec"]["sparkConf"] == {"spark.a": "1", "spark.b": "2"}


def test_a_script_takes_the_place_of_the_documents_program():
    made = spec(application(**JAVA), py_file="local:///a.py")
    assert "mainClass" not in made
    assert "jars" not in made
    assert made["pyFiles"] == "local:///a.py"


def test_a_script_leaves_what_goes_beside_the_documents_own():
    document = application(pyFiles="local:///old.py,local:///lib.zip")
    assert spec(document, py_file="local:///new.py")["pyFiles"] == "local:///new.py,local:///lib.zip"
    given = spec(document, py_file="local:///new.py", py_files="local:///other.zip")
    assert given["pyFiles"] == "local:///new.py,local:///other.zip"


def test_jars_of_a_script_are_what_it_depends_on():
    made = spec(py_file="local:///a.py", jars="s3a://lib/a.jar, s3a://lib/b.jar")
    assert made["sparkConf"]["spark.jars"] == "s3a://lib/a.jar,s3a://lib/b.jar"
    assert "jars" not in made


def test_a_class_takes_the_place_of_the_documents_script():
    made = spec(application(pyFiles="local:///a.py"), main_class="org.example.Report", jars="local:///report.jar")
    assert "pyFiles" not in made


def test_files_join_the_documents():
    document = application(pyFiles="local:///a.py", sparkConf={"spark.files": "s3a://conf/a.json"})
    assert spec(document, files=["s3a://conf/b.json"])["sparkConf"]["spark.files"] == (
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
def test_the_images_tag_tells_sparks_version(image, version):
    made = Parameters(py_file="local:///a.py", image=image).over(blank())["spec"]
    assert made.get("runtimeVersions", {}).get("sparkVersion") == version


def test_a_version_that_is_given_wins_over_the_tags():
    document = application(pyFiles="local:///a.py", runtimeVersions={"sparkVersion": "4.0.0", "scalaVersion": "2.13"})
    assert spec(document, image="spark:4.3.0", spark_version=None)["runtimeVersions"]["sparkVersion"] == "4.0.0"
    assert spec(document, spark_version="4.3.0")["runtimeVersions"] == {
        "sparkVersion": "4.3.0",
        "scalaVersion": "2.13",
    }


WRONG = [
    ({}, "say what to run"),
    ({"py_file": "local:///a.py", "main_class": "A"}, "py_file and main_class exclude each other"),
    ({"py_file": "local:///a.py", "driver_memory": 4}, "driver_memory must be a size with its unit, .* not 4"),
    ({"py_file": "local:///a.py", "executor_memory": "4"}, "executor_memory must be a size with its unit"),
    ({"py_file": "local:///a.py", "executor_instances": 0}, "executor_instances must be a whole number greater"),
    ({"py_file": "local:///a.py", "driver_cores": True}, "driver_cores must be a whole number"),
    ({"py_file": "local:///a.py", "executor_cores": "two"}, "executor_cores must be a whole number"),
    ({"py_file": "local:///a.py", "arguments": "--day 3"}, "arguments must be a list, not '--day 3'"),
    ({"py_file": "local:///a.py", "jars": 3}, "jars must be a list"),
    ({"py_file": "local:///a.py", "conf": ["a"]}, "conf must be an object"),
    (
        {"py_file": "local:///a.py", "conf": {"spark.jars.packages": ["a:b:1", "c:d:2"]}},
        "conf: spark.jars.packages must be text, a number or true or false; a list is text with commas",
    ),
    ({"py_file": ["local:///a.py"]}, "py_file must be text"),
    ({"py_file": "local:///a.py", "spark_version": 4.0}, "spark_version must be text, not 4.0"),
    (
        {"py_file": "local:///a.py", "spark_version": "4.3.0", "upload_to": "bucket/jobs"},
        "upload_to must be the URL",
    ),
    (
        {"py_file": "local:///a.py", "image": "spark:latest"},
        "spark_version must be given: the tag of spark:latest",
    ),
    ({"py_file": "local:///a.py"}, "spark_version must be given: no image tells it"),
]


@pytest.mark.parametrize(("parameters", "message"), WRONG)
def test_what_cannot_be_right_is_refused_while_the_dag_is_parsed(parameters, message):
    with pytest.raises(ValueError, match=message):
        SparkApplicationOperator(task_id="a", **parameters)


def test_templates_are_checked_once_they_are_rendered():
    with DAG("templates", schedule=None) as dag:
        operator = SparkApplicationOperator(
            task_id="a", py_file="local:///{{ ds }}.py", executor_instances="{{ params.n }}", arguments=["{{ ds }}"],
            image="spark:{{ params.version }}", conf={"spark.day": "{{ ds }}"},
        )  # fmt: skip
    context = {"ds": "2026-01-02", "params": {"n": "none", "version": "4.3.0"}}
    operator.render_template_fields(context, dag.get_template_env())
    assert (operator.py_file, operator.arguments) == ("local:///2026-01-02.py", ["2026-01-02"])
    assert operator.conf == {"spark.day": "2026-01-02"}
    with pytest.raises(AirflowFailException, match="executor_instances must be a whole number greater than 0"):
        operator._parameters().over(blank())


def test_a_result_of_another_task_may_be_any_parameter():
    from airflow.sdk import task

    @task
    def how_many():
        return 3

    with DAG("results", schedule=None):
        SparkApplicationOperator(task_id="a", py_file="local:///a.py", image="a:4.3.0", executor_instances=how_many())


def test_a_spec_that_is_no_object_is_named():
    with pytest.raises(AirflowFailException, match=r"spec\.sparkConf: must be an object"):
        Parameters().over(application(sparkConf=["a"]))
