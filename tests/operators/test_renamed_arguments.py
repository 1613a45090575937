"""Arguments of other Spark operators."""

import warnings
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_spark_operator.decorators.spark_application import spark_application_task
from airflow_provider_spark_operator.operators.renamed_arguments import ADVICE, ALIASES
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

VALUES: dict[str, Any] = {
    "application_args": ["--day", "{{ ds }}"],
    "java_class": "org.example.Report",
    "num_executors": 3,
    "service_account_name": "spark",
}


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_alias_sets_the_parameter_and_warns_with_its_name(alias: str, name: str) -> None:
    with pytest.warns(UserWarning, match=f"in SparkApplicationOperator: {alias} is {name}") as caught:
        task = SparkApplicationOperator(
            task_id="run", jars="local:///a.jar", image="spark:4.3.0", application={}, **{alias: VALUES[alias]}
        )
    assert getattr(task, name) == VALUES[alias]
    assert caught[0].filename == __file__


def test_aliases_describe_an_application_without_a_manifest() -> None:
    with pytest.warns(UserWarning, match="application_args is arguments, java_class is main_class, num_executors is"):
        task = SparkApplicationOperator(task_id="run", jars="local:///a.jar", image="spark:4.3.0", **VALUES)
    assert task.main_class == "org.example.Report"


def test_value_of_an_alias_is_checked() -> None:
    with (
        pytest.warns(UserWarning, match="num_executors"),
        pytest.raises(ValueError, match="executor_instances: must be an integer"),
    ):
        SparkApplicationOperator(task_id="run", application={}, num_executors="many")


def test_parameter_and_alias_together_are_rejected() -> None:
    with pytest.raises(TypeError, match="num_executors and executor_instances: set only executor_instances"):
        SparkApplicationOperator(task_id="run", application={}, num_executors=3, executor_instances=3)


@pytest.mark.parametrize("name", ADVICE)
def test_argument_without_equivalent_is_rejected_with_advice(name: str) -> None:
    given: dict[str, Any] = {name: "x"}
    with pytest.raises(TypeError, match=f"does not accept these arguments: {name}: (use|remove) "):
        SparkApplicationOperator(task_id="run", application={}, **given)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("volume_mounts", r"use volumes: volumes=\[Volume\("),
        ("retain", "use keep_driver, or keep_failed_driver"),
        ("history_server", "use event_log_dir"),
        # Arguments of KubernetesPodOperator.
        ("cmds", "use py_file, or main_class with jars"),
        ("pod_template_file", "use driver_template and executor_template"),
        ("on_finish_action", "use keep_driver, keep_failed_driver and ttl"),
    ],
)
def test_advice_names_the_parameter(name: str, advice: str) -> None:
    given: dict[str, Any] = {name: "x"}
    with pytest.raises(TypeError, match=f"{name}: {advice}"):
        SparkApplicationOperator(task_id="run", application={}, **given)


def test_no_alias_hides_a_parameter() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        task = SparkApplicationOperator(task_id="run", application={})
    assert not (ALIASES.keys() | ADVICE.keys()) & vars(task).keys()
    assert all(hasattr(task, name) for name in ALIASES.values())


def test_decorator_accepts_aliases_except_those_of_the_program() -> None:
    def job() -> None: ...

    with DAG("aliases", schedule=None):
        with pytest.warns(UserWarning, match="num_executors is executor_instances"):
            spark_application_task(job, image="spark:4.3.0", num_executors=2)()
        with pytest.raises(ValueError, match=r"application_args: not supported by @task\.spark_application"):
            spark_application_task(job, image="spark:4.3.0", application_args=["a"])()


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_alias_in_default_args_sets_the_parameter_and_warns(alias: str, name: str) -> None:
    with (
        DAG("defaults", schedule=None, default_args={alias: VALUES[alias]}),
        pytest.warns(UserWarning, match=f"in SparkApplicationOperator: {alias} is {name}"),
    ):
        task = SparkApplicationOperator(task_id="run", jars="local:///a.jar", image="spark:4.3.0", application={})
    assert getattr(task, name) == VALUES[alias]


def test_task_overrides_an_alias_in_default_args() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with DAG("overridden", schedule=None, default_args={"num_executors": 3}):
            task = SparkApplicationOperator(task_id="run", application={}, executor_instances=5)
    assert task.executor_instances == 5


def test_alias_of_a_task_overrides_its_alias_in_default_args() -> None:
    with (
        DAG("twice", schedule=None, default_args={"num_executors": 3}),
        pytest.warns(UserWarning, match="num_executors is executor_instances"),
    ):
        task = SparkApplicationOperator(task_id="run", application={}, num_executors=7)
    assert task.executor_instances == 7


def test_alias_in_default_args_reaches_mapped_tasks() -> None:
    with DAG("mapped", schedule=None, default_args={"num_executors": 3}):
        mapped = SparkApplicationOperator.partial(task_id="run", application={}).expand(arguments=[["a"]])
    with pytest.warns(UserWarning, match="num_executors is executor_instances"):
        task = mapped.unmap({"arguments": ["a"]})
    assert isinstance(task, SparkApplicationOperator)
    assert task.executor_instances == 3
