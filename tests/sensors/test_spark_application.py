import json
import os
import signal
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.airflow_compat import (
    AirflowNotFoundException,
    AirflowSensorTimeout,
    AirflowSkipException,
)
from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW
from airflow_provider_spark_operator.exceptions import (
    SparkApplicationDeleted,
    SparkApplicationError,
    SparkApplicationFailed,
)
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from airflow_provider_spark_operator.triggers.task_instance import Fate
from tests.cluster import NAMESPACE, Cluster, fail, run_on
from tests.operators.tasks import operator
from tests.task import TaskInstance, build_context, call_when_logged, defer, run


@pytest.fixture(params=[True, False], ids=["deferred", "on the worker"])
def sensor(request: pytest.FixtureRequest) -> Callable[..., SparkApplicationSensor]:
    def make(**parameters: Any) -> SparkApplicationSensor:
        parameters = {"name": "pi", "kubernetes_conn_id": "spark", "deferrable": request.param, **parameters}
        return SparkApplicationSensor(task_id="wait", **parameters)

    return make


def test_success_is_expected_by_default(cluster: Cluster, sensor: Callable[..., SparkApplicationSensor]) -> None:
    cluster.create("pi")
    assert run(sensor(), TaskInstance()) == "Succeeded"


def test_one_of_several_states_is_enough(cluster: Cluster, sensor: Callable[..., SparkApplicationSensor]) -> None:
    cluster.script = run_on
    cluster.create("pi")
    expects = ["RunningHealthy", "Succeeded"]
    assert run(sensor(expects=expects, namespace=NAMESPACE), TaskInstance()) == "RunningHealthy"


def test_sensor_waits_through_a_suspension(cluster: Cluster, sensor: Callable[..., SparkApplicationSensor]) -> None:
    async def live(application: Application) -> None:
        application.start()
        application.suspend("KueueEviction", "Preempted")
        application.resume("queued again")
        application.start()
        application.succeed()

    cluster.script = live
    cluster.create("pi")
    assert run(sensor(), TaskInstance()) == "Succeeded"
    assert run(sensor(expects="Suspended"), TaskInstance()) == "Suspended"


def test_failure_can_be_expected(cluster: Cluster, sensor: Callable[..., SparkApplicationSensor]) -> None:
    cluster.script = fail
    cluster.create("pi")
    assert run(sensor(expects="Failed"), TaskInstance()) == "Failed"


def test_failure_fails_sensor_that_expects_success(
    cluster: Cluster, sensor: Callable[..., SparkApplicationSensor]
) -> None:
    cluster.script = fail
    cluster.create("pi")
    with pytest.raises(SparkApplicationFailed, match=r"jobs/pi .*exit code 3"):
        run(sensor(), TaskInstance())


def test_end_in_other_state_fails_sensor_at_once(
    cluster: Cluster, sensor: Callable[..., SparkApplicationSensor]
) -> None:
    cluster.create("pi")
    with pytest.raises(SparkApplicationError, match="succeeded; it can no longer reach DriverEvicted"):
        run(sensor(expects="DriverEvicted"), TaskInstance())


def test_deletion_fails_the_sensor(cluster: Cluster, sensor: Callable[..., SparkApplicationSensor]) -> None:
    cluster.script = run_on
    cluster.create("pi")
    with (
        call_when_logged("RunningHealthy", lambda: cluster.delete("pi")),
        pytest.raises(SparkApplicationDeleted, match="was deleted"),
    ):
        run(sensor(), TaskInstance())


@pytest.mark.parametrize("softly", ["soft_fail", "never_fail"])
def test_soft_sensor_skips_with_the_reason(
    cluster: Cluster, sensor: Callable[..., SparkApplicationSensor], softly: str
) -> None:
    cluster.script = fail
    cluster.create("pi")
    with pytest.raises(AirflowSkipException, match=r"SparkApplication jobs/pi failed in state Failed: .* exit code 3"):
        run(sensor(**{softly: True}), TaskInstance())


def test_timeout_ends_the_wait_on_a_worker(cluster: Cluster) -> None:
    sensor = SparkApplicationSensor(
        task_id="wait", name="pi", kubernetes_conn_id="spark", deferrable=False, timeout=0.2
    )
    with pytest.raises(AirflowSensorTimeout, match="pi has not reached Succeeded within 0 s"):
        run(sensor, TaskInstance())


def test_timeout_of_deferred_sensor_is_applied_by_airflow(cluster: Cluster) -> None:
    sensor = SparkApplicationSensor(task_id="wait", name="pi", kubernetes_conn_id="spark", deferrable=True, timeout=7)
    assert defer(sensor, TaskInstance()).timeout in (7, timedelta(seconds=7))  # Airflow 3.0 converts it
    with pytest.raises(AirflowSensorTimeout, match="pi has not reached Succeeded within 7 s"):
        sensor.resume_execution("__fail__", {"error": "Trigger timeout"}, build_context(TaskInstance()))
    sensor.soft_fail = True
    with pytest.raises(AirflowSkipException, match="pi has not reached Succeeded within 7 s"):
        sensor.resume_execution("__fail__", {"error": "Trigger timeout"}, build_context(TaskInstance()))


@pytest.mark.parametrize("expects", ["Done", ["Succeeded", "COMPLETED"], []])
def test_unknown_state_is_rejected_at_parse_time(expects: list[str] | str) -> None:
    with pytest.raises(ValueError, match=r"`expects` must be a state .*\. The states are Submitted"):
        SparkApplicationSensor(task_id="wait", name="pi", expects=expects)


@pytest.fixture
def kubeflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedCluster]:
    with Cluster(dialect=KUBEFLOW).serve() as cluster:
        document = {"conn_type": "kubernetes", "extra": {"kube_config": cluster.kubeconfig}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps(document))
        yield cluster


def test_success_state_of_kubeflow_is_expected_by_default(
    kubeflow: ScriptedCluster, sensor: Callable[..., SparkApplicationSensor]
) -> None:
    kubeflow.create("pi")
    assert run(sensor(api_version="sparkoperator.k8s.io/v1beta2"), TaskInstance()) == "COMPLETED"


def test_states_of_kubeflow_can_be_expected(
    kubeflow: ScriptedCluster, sensor: Callable[..., SparkApplicationSensor]
) -> None:
    kubeflow.script = run_on
    kubeflow.create("pi")
    expects = ["RUNNING", "FAILED"]
    assert run(sensor(api_version="sparkoperator.k8s.io/v1beta2", expects=expects), TaskInstance()) == "RUNNING"


def test_failure_of_kubeflow_application_fails_the_sensor(
    kubeflow: ScriptedCluster, sensor: Callable[..., SparkApplicationSensor]
) -> None:
    kubeflow.script = fail
    kubeflow.create("pi")
    with pytest.raises(SparkApplicationFailed, match=r"jobs/pi .*exit code 3"):
        run(sensor(api_version="sparkoperator.k8s.io/v1beta2"), TaskInstance())


def test_state_of_the_other_operator_is_rejected_at_parse_time() -> None:
    with pytest.raises(ValueError, match=r"not 'Succeeded'\. The states are SUBMITTED"):
        SparkApplicationSensor(
            task_id="wait", name="pi", expects="Succeeded", api_version="sparkoperator.k8s.io/v1beta2"
        )


def test_sensor_killed_on_worker_deletes_application_of_its_run(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "airflow_provider_spark_operator.triggers.spark_application_runtime.read_fate", lambda stamp: Fate.KILLED
    )
    cluster.script = run_on
    run(operator(wait_for_completion=False), TaskInstance())
    task = SparkApplicationSensor(task_id="wait", name="pi", kubernetes_conn_id="spark", delete_on_kill=True)
    previous = signal.signal(signal.SIGTERM, lambda number, frame: task.on_kill())
    try:
        with (
            call_when_logged("RunningHealthy", lambda: os.kill(os.getpid(), signal.SIGTERM)),
            pytest.raises(SparkApplicationDeleted),
        ):
            task.execute(build_context(TaskInstance("wait")))
    finally:
        signal.signal(signal.SIGTERM, previous)
    assert cluster.applications() == []


@pytest.mark.parametrize("place", [{"name": "No_Name"}, {"name": "pi", "namespace": "jobs.a"}])
def test_invalid_name_or_namespace_is_rejected_at_parse_time(place: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^invalid name(space)? "):
        SparkApplicationSensor(task_id="wait", **place)


def test_name_of_other_software_and_template_are_accepted() -> None:
    SparkApplicationSensor(task_id="wait", name="2026.report")
    SparkApplicationSensor(task_id="later", name="{{ params.Name }}", namespace="{{ params.Space }}")


@pytest.mark.parametrize("name", ["deferrable", "delete_on_kill"])
def test_switch_that_is_not_boolean_is_rejected_at_parse_time(name: str) -> None:
    given: dict[str, Any] = {name: "false"}
    with pytest.raises(TypeError, match=f"{name} must be True or False, not 'false'"):
        SparkApplicationSensor(task_id="wait", name="pi", **given)


def test_reschedule_mode_needs_a_deferrable_sensor() -> None:
    given: dict[str, Any] = {"mode": "reschedule"}
    with pytest.raises(ValueError, match=r"mode='reschedule' is not supported by Spark.*Use deferrable=True"):
        SparkApplicationSensor(task_id="wait", name="pi", deferrable=False, **given)
    assert SparkApplicationSensor(task_id="wait", name="pi", deferrable=True, **given).deferrable


@pytest.mark.parametrize("softly", ["soft_fail", "never_fail"])
def test_missing_connection_fails_soft_sensor(softly: str) -> None:
    sensor = SparkApplicationSensor(task_id="wait", name="pi", kubernetes_conn_id="missing", deferrable=False)
    setattr(sensor, softly, True)
    with pytest.raises(AirflowNotFoundException, match="missing"):
        run(sensor, TaskInstance())
