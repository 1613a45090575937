import asyncio
import json
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.airflow_compat import (
    AirflowNotFoundException,
    AirflowSensorTimeout,
    AirflowSkipException,
)
from airflow_provider_spark_operator.exceptions import SparkApplicationError, SparkClusterDeleted, SparkSchedulingFailed
from airflow_provider_spark_operator.follow.access import outage_tolerance
from airflow_provider_spark_operator.follow.watching import shared_watch
from airflow_provider_spark_operator.sensors.spark_cluster import SparkClusterSensor
from airflow_provider_spark_operator.testing.spark_clusters import (
    ScriptedSparkCluster,
    be_refused,
    stay_without_workers,
)
from airflow_provider_spark_operator.triggers import spark_cluster_runtime
from tests.cluster import NAMESPACE, Cluster
from tests.operators.test_spark_cluster import DOCUMENT
from tests.task import TaskInstance, build_context, call_when_logged, defer, run


@pytest.fixture(params=[True, False], ids=["deferred", "on the worker"])
def sensor(request: pytest.FixtureRequest) -> Callable[..., SparkClusterSensor]:
    def make(**parameters: Any) -> SparkClusterSensor:
        parameters = {"name": "shared", "kubernetes_conn_id": "spark", "deferrable": request.param, **parameters}
        return SparkClusterSensor(task_id="wait", **parameters)

    return make


@pytest.fixture
def create(cluster: Cluster) -> Callable[..., None]:
    def create(**tolerations: int) -> None:
        document = DOCUMENT | {"metadata": {"name": "shared", "namespace": NAMESPACE}}
        if tolerations:
            spec = DOCUMENT["spec"] | {"clusterTolerations": {"instanceConfig": tolerations}}
            document |= {"spec": spec}
        cluster.do(lambda: cluster.store.create(cluster.cluster_kind, NAMESPACE, document))

    return create


def test_cluster_is_ready_if_master_and_workers_are_ready(
    cluster: Cluster, create: Callable[..., None], sensor: Callable[..., SparkClusterSensor]
) -> None:
    create()
    assert run(sensor(), TaskInstance()) == "shared"


def test_minimum_of_workers_is_enough_with_an_autoscaler(
    cluster: Cluster, create: Callable[..., None], sensor: Callable[..., SparkClusterSensor]
) -> None:
    async def with_one_worker(one: ScriptedSparkCluster) -> None:
        await stay_without_workers(one)
        one.start_workers(1)

    cluster.cluster_script = with_one_worker
    create(initWorkers=3, minWorkers=1, maxWorkers=5)
    assert run(sensor(), TaskInstance()) == "shared"


def test_failed_cluster_fails_the_sensor(
    cluster: Cluster, create: Callable[..., None], sensor: Callable[..., SparkClusterSensor]
) -> None:
    cluster.cluster_script = be_refused
    create()
    with pytest.raises(SparkSchedulingFailed, match="a quota is exceeded"):
        run(sensor(), TaskInstance())


@pytest.mark.parametrize("last", ["ResourceReleased", "Failed"])
def test_failure_before_the_sensor_started_is_reported_with_its_cause(
    cluster: Cluster, create: Callable[..., None], sensor: Callable[..., SparkClusterSensor], last: str
) -> None:
    ended = threading.Event()

    async def fail(one: ScriptedSparkCluster) -> None:
        one.enter("Submitted", "SchedulingFailure", message="a quota is exceeded")
        one.enter(last, message="see the state before")
        ended.set()

    cluster.cluster_script = fail
    create()
    assert ended.wait(60)
    with pytest.raises(SparkSchedulingFailed, match="jobs/shared failed: a quota is exceeded"):
        run(sensor(), TaskInstance())


def test_soft_fail_skips_the_sensor(
    cluster: Cluster, create: Callable[..., None], sensor: Callable[..., SparkClusterSensor]
) -> None:
    cluster.cluster_script = be_refused
    create()
    with pytest.raises(AirflowSkipException, match="a quota is exceeded"):
        run(sensor(soft_fail=True), TaskInstance())


def test_deletion_fails_the_sensor(
    cluster: Cluster, create: Callable[..., None], sensor: Callable[..., SparkClusterSensor]
) -> None:
    async def come_and_go(one: ScriptedSparkCluster) -> None:
        await stay_without_workers(one)
        await asyncio.wait_for(may_be_deleted.wait(), 60)
        cluster.store.delete(cluster.cluster_kind, NAMESPACE, "shared")

    may_be_deleted = asyncio.Event()
    cluster.cluster_script = come_and_go
    create()
    with (
        call_when_logged("workers 0/2", lambda: cluster.do(may_be_deleted.set), spark_cluster_runtime.logger),
        pytest.raises(SparkClusterDeleted, match="was deleted before it was ready"),
    ):
        run(sensor(), TaskInstance())


def test_timeout_ends_the_wait_on_a_worker(cluster: Cluster) -> None:
    sensor = SparkClusterSensor(
        task_id="wait", name="shared", kubernetes_conn_id="spark", deferrable=False, timeout=0.2
    )
    with pytest.raises(AirflowSensorTimeout, match="SparkCluster shared is not ready after 0 s"):
        run(sensor, TaskInstance())


def test_timeout_of_deferred_sensor_is_applied_by_airflow(cluster: Cluster) -> None:
    sensor = SparkClusterSensor(task_id="wait", name="shared", kubernetes_conn_id="spark", deferrable=True, timeout=7)
    assert defer(sensor, TaskInstance()).timeout in (7, timedelta(seconds=7))  # Airflow 3.0 converts it
    with pytest.raises(AirflowSensorTimeout, match="SparkCluster shared is not ready after 7 s"):
        sensor.resume_execution("__fail__", {"error": "Trigger timeout"}, build_context(TaskInstance()))


def test_invalid_kubeconfig_fails_the_sensor(
    cluster: Cluster, sensor: Callable[..., SparkClusterSensor], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shared_watch, "retry", partial(outage_tolerance.retry, seconds=0.0))
    connection = {"conn_type": "kubernetes", "extra": {"kube_config_path": str(tmp_path / "none")}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps(connection))
    with pytest.raises(SparkApplicationError, match=r"could not follow \S+ \S*shared any longer: .* does not exist"):
        run(sensor(), TaskInstance())


@pytest.mark.parametrize("place", [{"name": "No_Name"}, {"name": "pi", "namespace": "jobs.a"}])
def test_invalid_name_or_namespace_is_rejected_at_parse_time(place: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^invalid name(space)? "):
        SparkClusterSensor(task_id="wait", **place)


def test_name_of_other_software_and_template_are_accepted() -> None:
    SparkClusterSensor(task_id="wait", name="2026.report")
    SparkClusterSensor(task_id="later", name="{{ params.Name }}", namespace="{{ params.Space }}")


@pytest.mark.parametrize("name", ["deferrable"])
def test_switch_that_is_not_boolean_is_rejected_at_parse_time(name: str) -> None:
    given: dict[str, Any] = {name: "false"}
    with pytest.raises(TypeError, match=f"{name} must be True or False, not 'false'"):
        SparkClusterSensor(task_id="wait", name="shared", **given)


def test_reschedule_mode_needs_a_deferrable_sensor() -> None:
    given = {"mode": "reschedule"}
    with pytest.raises(ValueError, match=r"mode='reschedule' is not supported by Spark.*Use deferrable=True"):
        SparkClusterSensor(task_id="wait", name="shared", deferrable=False, **given)
    assert SparkClusterSensor(task_id="wait", name="shared", deferrable=True, **given).deferrable


@pytest.mark.parametrize("softly", ["soft_fail", "never_fail"])
def test_missing_connection_fails_soft_sensor(softly: str) -> None:
    sensor = SparkClusterSensor(task_id="wait", name="shared", kubernetes_conn_id="missing", deferrable=False)
    setattr(sensor, softly, True)
    with pytest.raises(AirflowNotFoundException, match="missing"):
        run(sensor, TaskInstance())
