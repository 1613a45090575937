"""`@task.spark_application`: the shipped files, the run in the driver, and the result."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from airflow.sdk import DAG, ObjectStoragePath, task
from airflow.sdk.definitions.xcom_arg import PlainXComArg

from airflow_provider_spark_operator.airflow_compat import AirflowFailException, TaskDeferred
from airflow_provider_spark_operator.core.compose.files import TASK_SCRIPT
from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW
from airflow_provider_spark_operator.decorators.spark_application import SparkDecoratedOperator
from airflow_provider_spark_operator.exceptions import SparkApplicationError, SparkApplicationFailed
from airflow_provider_spark_operator.follow.submission import driver_script
from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from airflow_provider_spark_operator.testing.plugin import connect
from tests.cluster import Cluster, succeed
from tests.task import TaskInstance, build_context, fire, reload, run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from airflow_provider_spark_operator.testing.applications import Application

# The part of PySpark that the shipped script uses. It stores files in its own folder.
PYSPARK = """
import pathlib

class SparkFiles:
    get = staticmethod(lambda name: str(pathlib.Path(__file__).with_name(name)))
"""
PYSPARK_SQL = """
import pathlib
import threading

class _Stream:
    def __init__(self, path): self._path = path
    def write(self, data): self._path.write_bytes(data)
    def close(self): pass

class _Path:
    def __init__(self, url): self.path = pathlib.Path(url.removeprefix("s3a://"))
    def getFileSystem(self, conf): return self
    def create(self, path, overwrite):
        if "hangs" in path.path.parts:
            threading.Event().wait()
        path.path.parent.mkdir(parents=True, exist_ok=True)
        return _Stream(path.path)

class _Names:
    Path = _Path
    def __getattr__(self, name): return self

class SparkSession:
    _jvm = _Names()
    _jsc = type("Context", (), {"hadoopConfiguration": lambda self: None})()
    def stop(self): pass
    def range(self, number): return range(number)

SparkSession.builder = type("Builder", (), {"getOrCreate": lambda self: SparkSession()})()
"""


@pytest.fixture
def driver(cluster: Cluster, tmp_path: Path) -> ScriptedCluster:
    """A cluster that runs the shipped script and returns its termination message."""

    def run_driver(document: dict[str, Any]) -> tuple[int, str, str]:
        folder = tmp_path / "driver"
        folder.mkdir(exist_ok=True)
        (folder / "pyspark").mkdir(exist_ok=True)
        (folder / "pyspark" / "sql.py").write_text(PYSPARK_SQL)
        (folder / "pyspark" / "__init__.py").write_text(PYSPARK.replace("__file__", repr(str(folder / "x"))))
        for name, text in document["spec"]["configMapSpecs"][0]["data"].items():
            (folder / name).write_text(text)
        message = folder / "message"
        message.write_text("")
        arguments = [str(message), *document["spec"]["driverArgs"][1:]]
        command = [sys.executable, str(folder / TASK_SCRIPT), *arguments]
        ended = subprocess.run(command, cwd=folder, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True)
        return ended.returncode, message.read_text(), ended.stderr

    async def act(application: Application) -> None:
        document = cluster.store.objects.get(cluster.kind, application.namespace, application.name)
        code, message, error = run_driver(document)
        application.enter("Submitted", "DriverRequested")
        application.start_driver()
        application.enter("DriverStarted", "RunningHealthy")
        for line in error.splitlines():
            application.log.write(line)
        status = application.end_driver(code, message=message)
        application.enter("Failed" if code else "Succeeded", driver=status if code else None)
        application.enter("TerminatedWithoutReleaseResources")

    cluster.script = act
    return cluster


def create_operator(
    function: Callable[..., Any], deferrable: bool = True, **parameters: Any
) -> Callable[..., SparkDecoratedOperator]:
    """Call the decorated function as in a DAG file, and return the operator."""
    given = {"image": "spark:4.3.0", "name": "pi", "kubernetes_conn_id": "spark", **parameters}

    def call(*positional: Any, **keywords: Any) -> SparkDecoratedOperator:
        with DAG("functions", schedule=None):
            decorated = task.spark_application(deferrable=deferrable, **given)(function)
            result = decorated(*positional, **keywords)
        assert isinstance(result, PlainXComArg)
        assert isinstance(result.operator, SparkDecoratedOperator)
        return result.operator

    return call


def count(numbers: list[int], *, times: int = 1) -> dict[str, int]:
    # This comment is not shipped.
    return {"sum": sum(numbers) * times}


def square_numbers(spark: SparkSession, number: int) -> list[int]:
    return [each * each for each in spark.range(number)]


def add_typed(
    numbers: Sequence[int], spark: SparkSession, *rest: Sequence[int], **more: Sequence[int]
) -> Mapping[str, object]:
    def plus(one: int, other: int) -> int:
        return one + other

    return {"total": plus(*numbers), "hint": plus.__annotations__["one"].__name__}


def return_arguments(ds: str, *, run_id: str, spark: None = None, other: None = None) -> list[str | None]:
    return [ds, run_id, other]


def ask(ti: TaskInstance) -> str:
    return ti.task_id


def refuse() -> None:
    raise ValueError("not today")


def return_set() -> set[int]:
    return {1, 2}


@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
def test_function_runs_as_driver_and_its_value_is_returned(driver: ScriptedCluster, deferrable: bool) -> None:
    task_instance = TaskInstance()
    assert run(create_operator(count, deferrable)([1, 2], times=3), task_instance) == {"sum": 9}
    assert task_instance.xcoms["state"] == "Succeeded"
    spec = driver.application()["spec"]
    assert spec["pyFiles"] == f"local:///opt/airflow-task/{TASK_SCRIPT}"
    assert spec["driverArgs"] == ["/dev/termination-log", ""]


def test_parameter_named_spark_gets_the_session(driver: ScriptedCluster) -> None:
    assert run(create_operator(square_numbers)(number=4), TaskInstance()) == [0, 1, 4, 9]


def test_exception_of_the_function_is_reported(driver: ScriptedCluster) -> None:
    with pytest.raises(SparkApplicationFailed, match="ValueError: not today"):
        run(create_operator(refuse)(), TaskInstance())


def test_return_value_that_is_not_json_fails_the_driver(driver: ScriptedCluster) -> None:
    with pytest.raises(SparkApplicationFailed, match="set is not JSON serializable"):
        run(create_operator(return_set)(), TaskInstance())


def test_large_return_value_needs_upload_to(driver: ScriptedCluster) -> None:
    with pytest.raises(SparkApplicationFailed, match="without upload_to"):
        run(create_operator(square_numbers)(number=2000), TaskInstance())


def test_large_return_value_is_passed_by_its_path(driver: ScriptedCluster, tmp_path: Path) -> None:
    stores: dict[str, Any] = {"upload_to": f"file://{tmp_path}/store", "download_from": f"s3a://{tmp_path}/store"}
    path = run(create_operator(square_numbers, **stores)(number=2000), TaskInstance())
    assert isinstance(path, ObjectStoragePath)
    assert json.loads(path.read_text())[-1] == 1999**2
    assert run(create_operator(count, name="count")(path), TaskInstance("count")) == {
        "sum": sum(n * n for n in range(2000))
    }


HANGING = "s3a:///hangs"
NOT_WRITABLE = "s3a:///proc/nobody-can-write-here"


def test_small_value_is_returned_if_driver_cannot_write_the_store(driver: ScriptedCluster, tmp_path: Path) -> None:
    stores: dict[str, Any] = {"upload_to": f"file://{tmp_path}/store", "download_from": NOT_WRITABLE}
    assert run(create_operator(count, **stores)([1, 2]), TaskInstance()) == {"sum": 3}


def test_large_value_fails_if_driver_cannot_write_the_store(driver: ScriptedCluster, tmp_path: Path) -> None:
    stores: dict[str, Any] = {"upload_to": f"file://{tmp_path}/store", "download_from": NOT_WRITABLE}
    with pytest.raises(SparkApplicationFailed, match="nobody-can-write-here"):
        run(create_operator(square_numbers, **stores)(number=2000), TaskInstance())


def test_small_value_is_returned_if_store_does_not_answer(
    driver: ScriptedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        driver_script, "_HARNESS", driver_script._HARNESS.replace(f"join({driver_script.COPY_SECONDS})", "join(0.1)")
    )
    stores: dict[str, Any] = {"upload_to": f"file://{tmp_path}/store", "download_from": f"{HANGING}{tmp_path}"}
    assert run(create_operator(count, **stores)([1, 2]), TaskInstance()) == {"sum": 3}


def test_driver_without_a_message_fails_the_task(cluster: Cluster) -> None:
    cluster.script = succeed
    with pytest.raises(
        SparkApplicationError, match="the return value of the function is lost: the driver pod was deleted"
    ):
        run(create_operator(count)([1]), TaskInstance())


def test_value_is_read_from_the_store_if_message_is_lost(
    driver: ScriptedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_script, "parse_report", lambda message: None)
    stores: dict[str, Any] = {"upload_to": f"file://{tmp_path}/store", "download_from": f"s3a://{tmp_path}/store"}
    assert json.loads(run(create_operator(count, **stores)([1, 2]), TaskInstance()).read_text()) == {"sum": 3}


def test_driver_pod_is_retained_for_its_message(driver: ScriptedCluster) -> None:
    run(create_operator(count)([1]), TaskInstance())
    tolerations = driver.application()["spec"]["applicationTolerations"]
    assert tolerations["resourceRetainPolicy"] == "Always"
    assert tolerations["resourceRetainDurationMillis"] == 600_000


def test_function_runs_with_kubeflows_operator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    document = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "spec": {}}
    stores: dict[str, Any] = {"upload_to": f"file://{tmp_path}/store", "download_from": "s3a://jobs"}
    with ScriptedCluster(dialect=KUBEFLOW).serve() as cluster:
        connect(monkeypatch, "spark", cluster)
        with pytest.raises(SparkApplicationError, match="the return value of the function is lost"):
            run(create_operator(count, application=document, **stores)([1]), TaskInstance())
        spec = cluster.application()["spec"]
    assert spec["mainApplicationFile"].startswith("s3a://jobs/")
    assert [file.rpartition("/")[2] for file in spec["deps"]["files"]] == [driver_script.ARGUMENTS]
    assert "applicationTolerations" not in spec


def test_argument_that_is_not_json_is_reported(cluster: Cluster) -> None:
    with pytest.raises(AirflowFailException, match=r"argument 1 of count must be a JSON value: .*set"):
        run(create_operator(count)({1}), TaskInstance())
    with pytest.raises(AirflowFailException, match="argument ti of ask must be a JSON value"):
        run(create_operator(ask)(), TaskInstance())
    assert cluster.applications() == []


# Airflow 3.0 and 3.1 warn about names that only type checkers import.
@pytest.mark.filterwarnings("ignore:Cannot infer multiple_outputs")
def test_annotations_of_the_module_are_not_shipped(driver: ScriptedCluster) -> None:
    assert run(create_operator(add_typed)(numbers=[1, 2]), TaskInstance()) == {"total": 3, "hint": "int"}


def test_parameters_get_variables_of_the_context(driver: ScriptedCluster) -> None:
    operator = create_operator(return_arguments)()
    context = build_context(TaskInstance(), ds="2026-01-01", run_id="manual")
    with pytest.raises(TaskDeferred) as deferred:
        operator.execute(context)
    event = fire(reload(deferred.value.trigger))
    assert operator.resume_execution("execute_complete", {"event": event}, context) == ["2026-01-01", "manual", None]


def test_given_arguments_override_the_context(driver: ScriptedCluster) -> None:
    operator = create_operator(return_arguments, deferrable=False)(ds="1999-12-31", run_id="mine")
    assert operator.execute(build_context(TaskInstance(), ds="2026-01-01")) == ["1999-12-31", "mine", None]


@pytest.mark.parametrize("given", [{"py_file": "job.py"}, {"main_class": "A"}, {"arguments": []}])
def test_parameters_that_name_a_program_are_rejected(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(given))}: not supported by @task.spark_application"):
        create_operator(count, **given)([1])


def test_wait_for_completion_false_is_rejected() -> None:
    with pytest.raises(ValueError, match="the return value is known only when the function has ended"):
        create_operator(count, wait_for_completion=False)([1])


def test_mapped_function_has_one_application_per_element() -> None:
    with DAG("mapped", schedule=None) as dag:
        task.spark_application(image="spark:4.3.0")(count).partial(times=2).expand(numbers=[[1], [2]])
    assert dag.get_task("count").is_mapped


def report_rows(number: int) -> int:
    from spark_task import report

    report.metadata(rows=number)
    report.check("positive", passed=number > 0)
    return number


@pytest.mark.usefixtures("driver")
def test_function_returns_its_value_and_its_report() -> None:
    task_instance = TaskInstance()
    assert run(create_operator(report_rows)(3), task_instance) == 3
    assert task_instance.xcoms["spark_report"] == {"checks": {"positive": {"passed": True}}, "metadata": {"rows": 3}}


@pytest.mark.parametrize("message", [None, "", "bye", "3", "{}", '{"airflow-result": 3}'])
def test_message_of_another_program_is_ignored(message: str | None) -> None:
    assert driver_script.parse_report(message) is None
