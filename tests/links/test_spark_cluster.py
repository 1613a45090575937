"""The links of tasks that create a SparkCluster or wait for one."""

from typing import TYPE_CHECKING, Any, cast

import pytest
from airflow.sdk import BaseOperator
from airflow.sdk.bases.xcom import BaseXCom
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import SetXCom

from airflow_provider_spark_operator.exceptions import SparkApplicationTimedOut
from airflow_provider_spark_operator.links.spark_cluster import CLUSTER_LINKS
from airflow_provider_spark_operator.links.target import LinkTarget
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor
from airflow_provider_spark_operator.sensors.spark_cluster import SparkClusterSensor
from airflow_provider_spark_operator.testing.spark_clusters import be_refused, stay_without_workers
from tests.cluster import Cluster
from tests.operators.test_spark_cluster import SHORT, create
from tests.task import TaskInstance, defer, fire, reload, run

if TYPE_CHECKING:
    from airflow_provider_spark_operator.airflow_compat import TaskInstanceKey

UI = "https://ui.example.com/spark/jobs/shared"
LOG = "https://logs.example.com/?pod=shared-master-0"
STORED = {"_link_SparkMasterUILink": UI, "_link_SparkMasterLogLink": LOG}


class Supervisor:
    """Keeps the XComs that a trigger stores."""

    def __init__(self) -> None:
        self.messages: list[SetXCom] = []

    def send(self, message: object) -> None:
        if isinstance(message, SetXCom):
            self.messages.append(message)


@pytest.fixture(autouse=True)
def configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__CLUSTER_UI_URL", "https://ui.example.com/{conn_id}/{namespace}/{name}")
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__DRIVER_LOG_URL", "https://logs.example.com/?pod={driver_pod}")


@pytest.fixture
def supervisor(monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    supervisor = Supervisor()
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", supervisor, raising=False)
    return supervisor


def read_links(task: BaseOperator, task_instance: TaskInstance) -> tuple[str, ...]:
    key = cast("TaskInstanceKey", task_instance)  # the links use only attributes that both have
    return tuple(link.get_link(task, ti_key=key) for link in CLUSTER_LINKS)


def sense(deferrable: bool, **parameters: Any) -> SparkClusterSensor:
    return SparkClusterSensor(
        task_id="wait", name="shared", kubernetes_conn_id="spark", deferrable=deferrable, **parameters
    )


def test_created_cluster_has_links_while_it_starts(cluster: Cluster) -> None:
    cluster.cluster_script = stay_without_workers
    task, task_instance = create(), TaskInstance()
    assert read_links(task, task_instance) == ("", "")
    defer(task, task_instance)
    assert read_links(task, task_instance) == (UI, LOG)


def test_task_on_worker_stores_links_before_it_waits(cluster: Cluster) -> None:
    cluster.cluster_script = stay_without_workers
    task, task_instance = create(False, ready_timeout=SHORT), TaskInstance()
    with pytest.raises(SparkApplicationTimedOut):
        run(task, task_instance)
    assert task_instance.xcoms.items() >= STORED.items()
    assert read_links(task, task_instance) == (UI, LOG)


def test_sensor_on_worker_stores_links_before_it_waits(cluster: Cluster) -> None:
    run(create(), TaskInstance())
    sensor, task_instance = sense(False), TaskInstance()
    run(sensor, task_instance)
    assert task_instance.xcoms == STORED
    assert read_links(sensor, task_instance) == (UI, LOG)


def test_sensor_keeps_links_of_failed_cluster(cluster: Cluster) -> None:
    cluster.cluster_script = be_refused
    run(create(wait_until_ready=False), TaskInstance())
    sensor, task_instance = sense(False), TaskInstance()
    with pytest.raises(Exception, match="a quota is exceeded"):
        run(sensor, task_instance)
    assert read_links(sensor, task_instance) == (UI, LOG)


def test_deferred_cluster_sensor_stores_links_from_the_triggerer(cluster: Cluster, supervisor: Supervisor) -> None:
    run(create(), TaskInstance())
    fire(reload(defer(sense(True), TaskInstance("wait")).trigger))
    assert {message.key: message.value for message in supervisor.messages} == STORED
    assert {(one.dag_id, one.task_id, one.map_index) for one in supervisor.messages} == {("dag", "wait", -1)}


def test_deferred_application_sensor_stores_links_from_the_triggerer(cluster: Cluster, supervisor: Supervisor) -> None:
    cluster.create("pi")
    sensor = SparkApplicationSensor(task_id="wait", name="pi", kubernetes_conn_id="spark", deferrable=True)
    fire(reload(defer(sensor, TaskInstance("wait")).trigger))
    (message,) = supervisor.messages
    assert (message.key, message.task_id) == ("_link_DriverLogLink", "wait")
    assert message.value == "https://logs.example.com/?pod=pi-0-driver"


def test_sensor_ends_if_links_cannot_be_stored(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**given: object) -> None:
        raise ConnectionError("no supervisor")

    monkeypatch.setattr(BaseXCom, "set", refuse)
    run(create(), TaskInstance())
    assert run(sense(True), TaskInstance()) == "shared"


def test_unknown_value_makes_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__CLUSTER_UI_URL", "https://ui.example.com/{application_id}")
    sensor = sense(True)
    sensor.link_target = LinkTarget("jobs", "shared", "u1", application_id="", driver_pod="shared-master-0")
    assert read_links(sensor, TaskInstance()) == ("", LOG)
