from typing import Any

import pytest

from airflow_provider_spark_operator.core.driver.configuration.configuration import DriverBuildError
from airflow_provider_spark_operator.core.driver.configuration.inputs import SubmissionInputs
from airflow_provider_spark_operator.core.driver.submission import (
    SubmitContext,
    build_submission_inputs,
    parse_command_line,
)

TARGET = ("--master", "k8s://https://host", "--deploy-mode", "cluster")


def submit(*arguments: str, **context: Any) -> SubmissionInputs:
    return build_submission_inputs(
        parse_command_line([*TARGET, *arguments]), SubmitContext(user="me", submit_time=7, **context)
    )


def test_precedence_is_flags_settings_files_environment() -> None:
    inputs = submit(
        "--driver-memory", "4g", "--conf", "spark.driver.memory=3g", "--conf", "spark.executor.memory=3g", "job.py",
        properties={"spark.executor.memory": "2g", "spark.executor.cores": " 2 ", "other": "1"},
        environment={"SPARK_EXECUTOR_CORES": "1", "SPARK_DRIVER_MEMORY": "1g"},
    )  # fmt: skip
    assert inputs.conf["spark.driver.memory"] == "4g"
    assert inputs.conf["spark.executor.memory"] == "3g"
    assert inputs.conf["spark.executor.cores"] == "2"
    assert "other" not in inputs.conf


def test_paths_are_converted_to_uris_and_patterns_to_files() -> None:
    inputs = submit(
        "--py-files", "a.zip,/b.zip,https://c/d.zip,local:///e.zip", "--files", "/f/*", "job.py",
        directory="/home/me", expand=lambda path: [path.replace("*", each) for each in "12"[: 1 + path.count("*")]],
    )  # fmt: skip
    assert inputs.main_resource == "file:/home/me/job.py"
    assert inputs.conf["spark.submit.pyFiles"] == "file:/home/me/a.zip,file:/b.zip,https://c/d.zip,local:///e.zip"
    assert inputs.conf["spark.files"] == "file:/f/1,file:/f/2"


def test_default_application_name_is_its_class_or_file() -> None:
    assert submit("--class", "org.example.Main", "local:///a.jar").conf["spark.app.name"] == "org.example.Main"
    assert submit("local:///x/job.py").conf["spark.app.name"] == "job.py"


def test_options_can_have_an_equals_sign_and_end_at_main_resource() -> None:
    command = parse_command_line(["--name=a=b", "--verbose", "job.py", "--name", "c"])
    assert command.options == {"--name": "a=b"}
    assert command.arguments == ("--name", "c")
    assert command.should_load_defaults


def test_driver_host_is_dropped_and_submit_time_is_kept() -> None:
    inputs = submit("--conf", "spark.driver.host=h", "--conf", "spark.app.submitTime=1", "job.py")
    assert "spark.driver.host" not in inputs.conf
    assert inputs.conf["spark.app.submitTime"] == "1"
    assert submit("job.py").conf["spark.app.submitTime"] == "7"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--no-such-option", "x", "job.py"),
        ("--name",),
        ("--conf", "spark.key", "job.py"),
        ("--master", "k8s://ftp://host", "job.py"),
        ("--proxy-user", "u", "--principal", "p", "job.py"),
        ("--num-executors", "0", "job.py"),
        ("--executor-memory", "0", "job.py"),
        ("local:///a.jar",),
    ],
)
def test_submission_that_spark_submit_refuses_is_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(DriverBuildError):
        submit(*arguments)


def test_dynamic_allocation_can_start_without_executors() -> None:
    inputs = submit("--num-executors", "0", "--conf", "spark.dynamicAllocation.enabled=true", "job.py")

    assert inputs.conf["spark.executor.instances"] == "0"
