"""The links on a task page."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

import pytest
from airflow.sdk import BaseOperator
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import GetXCom, XComResult
from structlog.testing import capture_logs

from airflow_provider_spark_operator.core.driver.configuration.resource_names import build_attempt_naming
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.exceptions import SparkApplicationTimedOut, SparkSchedulingFailed
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.links.link_target import build_link_target
from airflow_provider_spark_operator.links.spark_application import DriverLogLink, SparkHistoryServerLink, SparkUILink
from airflow_provider_spark_operator.links.target import LinkTarget
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor
from airflow_provider_spark_operator.testing.applications import Application
from tests.cluster import Cluster, run_on, succeed
from tests.operators.tasks import DOCUMENT, operator
from tests.task import TaskInstance, build_context, defer, fire, reload, run

if TYPE_CHECKING:
    from airflow_provider_spark_operator.airflow_compat import TaskInstanceKey

INGRESS = {
    "serviceMetadata": {"name": "ui"},
    "serviceSpec": {"ports": [{"port": 4040}]},
    "ingressMetadata": {"name": "ui"},
    "ingressSpec": {"tls": [{"hosts": ["pi.example.com"]}], "rules": [{"host": "pi.example.com"}]},
}


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__UI_URL", "https://ui.example.com/{namespace}/{name}/{uid}")
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__HISTORY_SERVER_URL", "https://history.example.com/{application_id}/")
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__DRIVER_LOG_URL", "https://logs.example.com/?pod={driver_pod}&q={x=1}")


def read_links(task: BaseOperator, task_instance: TaskInstance) -> tuple[str, str, str]:
    key = cast("TaskInstanceKey", task_instance)  # the links use only attributes that both have
    return (
        SparkUILink().get_link(task, ti_key=key),
        SparkHistoryServerLink().get_link(task, ti_key=key),
        DriverLogLink().get_link(task, ti_key=key),
    )


def test_links_exist_while_application_runs(cluster: Cluster, configured: None) -> None:
    cluster.script = run_on
    task, task_instance = operator(), TaskInstance()
    assert read_links(task, task_instance) == ("", "", "")
    defer(task, task_instance)
    uid = cluster.application()["metadata"]["uid"]
    assert read_links(task, task_instance) == (
        f"https://ui.example.com/jobs/pi/{uid}",
        "https://history.example.com/pi-0/",
        "https://logs.example.com/?pod=pi-0-driver&q={x=1}",
    )


@pytest.mark.parametrize("stored", ["https://ui.example.com/pi", None])
def test_deferred_sensor_reads_stored_links_without_a_warning(
    stored: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Supervisor:
        def send(self, message: GetXCom) -> XComResult:
            return XComResult(key=message.key, value=stored)

    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", Supervisor(), raising=False)
    sensor = SparkApplicationSensor(task_id="wait", name="pi", deferrable=True)
    sensor.resumed = True
    with capture_logs() as logged:
        assert read_links(sensor, TaskInstance()) == (stored or "",) * 3
    assert logged == []


def test_links_exist_after_task_resumed_elsewhere(cluster: Cluster, configured: None) -> None:
    cluster.script = succeed
    task_instance = TaskInstance()
    event = fire(reload(defer(operator(), task_instance).trigger))
    resumed = operator()
    resumed.resume_execution("execute_complete", {"event": event}, build_context(task_instance))
    assert read_links(resumed, task_instance)[1:] == (
        "https://history.example.com/pi-0/",
        "https://logs.example.com/?pod=pi-0-driver&q={x=1}",
    )


@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
def test_timed_out_task_keeps_its_links(cluster: Cluster, configured: None, deferrable: bool) -> None:
    cluster.script = run_on
    task_instance, task = TaskInstance(), operator(deferrable, execution_timeout=timedelta(milliseconds=300))
    with pytest.raises(SparkApplicationTimedOut):
        run(task, task_instance)
    assert read_links(task, task_instance)[1:] == (
        "https://history.example.com/pi-0/",
        "https://logs.example.com/?pod=pi-0-driver&q={x=1}",
    )


def test_task_on_worker_stores_links_after_submission(cluster: Cluster, configured: None) -> None:
    cluster.script = succeed
    task_instance = TaskInstance()
    run(operator(False), task_instance)
    assert task_instance.xcoms["_link_SparkHistoryServerLink"] == "https://history.example.com/pi-0/"
    assert task_instance.xcoms["_link_DriverLogLink"] == "https://logs.example.com/?pod=pi-0-driver&q={x=1}"


@pytest.mark.parametrize(
    ("conf", "pod"),
    [
        ({"spark.kubernetes.driver.pod.name": "mine"}, "mine"),
        ({"spark.kubernetes.driver.pod.name": "${spark.app.id}-main", "spark.app.id": "report"}, "report-main"),
        ({"spark.app.id": "report"}, "report-driver"),
    ],
)
@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
def test_log_link_has_the_driver_pod_name_of_the_controller(
    cluster: Cluster, configured: None, conf: dict[str, str], pod: str, deferrable: bool
) -> None:
    cluster.script = succeed
    task_instance, task = TaskInstance(), operator(deferrable, conf=conf)
    run(task, task_instance)
    application = SparkApplication.model_validate(cluster.application())
    naming = build_attempt_naming(application.namespace, application.name, 0, application.spec.spark_conf)
    assert naming.pod_name == pod
    assert read_links(task, task_instance)[2] == f"https://logs.example.com/?pod={pod}&q={{x=1}}"


def test_application_without_driver_has_no_log_link(cluster: Cluster, configured: None) -> None:
    async def refuse(application: Application) -> None:
        application.enter("Submitted", "SchedulingFailure", "ResourceReleased")

    cluster.script = refuse
    task_instance, task = TaskInstance(), operator()
    with pytest.raises(SparkSchedulingFailed):
        run(task, task_instance)
    assert read_links(task, task_instance)[1:] == ("https://history.example.com/pi-0/", "")


def test_invalid_driver_pod_name_makes_no_link(configured: None) -> None:
    document = {"spec": {"sparkConf": {"spark.kubernetes.driver.pod.name": "${spark.kubernetes.driver.pod.name}"}}}
    assert build_link_target(document, ApplicationReference("jobs", "pi", "u1")).driver_pod == ""


def test_unknown_value_makes_no_link(configured: None) -> None:
    task = operator()
    task.link_target = LinkTarget("jobs", "pi", "u1", application_id="", driver_pod="pi-driver")
    assert read_links(task, TaskInstance()) == (
        "https://ui.example.com/jobs/pi/u1",
        "",
        "https://logs.example.com/?pod=pi-driver&q={x=1}",
    )


def test_link_has_the_connection_and_the_time_range(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "https://logs.example.com/{conn_id}?from={start_ms}&to={end_ms}&since={start}&until={end}"
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__DRIVER_LOG_URL", url)
    task, start = operator(), datetime(2026, 1, 1, tzinfo=UTC)
    task.link_target = LinkTarget("jobs", "pi", "u1", "pi-0", "pi-driver", conn_id="spark", start=start)
    millis = 1767225600000
    begin = f"https://logs.example.com/spark?from={millis}"
    assert read_links(task, TaskInstance())[2] == f"{begin}&to=now&since=2026-01-01T00:00:00Z&until=now"
    task.link_target = replace(task.link_target, end=start + timedelta(seconds=90))
    assert read_links(task, TaskInstance())[2] == (
        f"{begin}&to={millis + 90_000}&since=2026-01-01T00:00:00Z&until=2026-01-01T00:01:30Z"
    )
    task.link_target = replace(task.link_target, conn_id="")
    assert read_links(task, TaskInstance())[2] == ""


def test_unknown_placeholder_makes_no_link_and_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__DRIVER_LOG_URL", "https://logs.example.com/{connid}/{name}")
    task = operator()
    task.link_target = LinkTarget("jobs", "pi", "u1", "pi-0", "pi-driver", conn_id="spark")
    assert [read_links(task, TaskInstance())[2] for _ in range(2)] == ["", ""]
    assert [record.getMessage() for record in caplog.records] == [
        "[spark_operator] driver_log_url: unknown placeholder {connid}: there is no link. Use {namespace}, {name}, "
        "{uid}, {application_id}, {driver_pod}, {conn_id}, {start}, {start_ms}, {end} or {end_ms}"
    ]


def test_connection_id_in_a_link_is_percent_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__DRIVER_LOG_URL", "https://logs.example.com/{conn_id}/{name}")
    task = operator()
    task.link_target = LinkTarget("jobs", "pi", "u1", "pi-0", "pi-driver", conn_id="team/a b#{start}")
    assert read_links(task, TaskInstance())[2] == "https://logs.example.com/team%2Fa%20b%23%7Bstart%7D/pi"


@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
def test_links_of_a_task_have_its_connection_and_times(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, deferrable: bool
) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__DRIVER_LOG_URL", "{conn_id} {start} {end}")
    cluster.script = succeed
    task_instance, task = TaskInstance(), operator(deferrable)
    run(task, task_instance)
    conn_id, start, end = read_links(task, task_instance)[2].split()
    assert (conn_id, start) == ("spark", cluster.application()["metadata"]["creationTimestamp"])
    assert datetime.fromisoformat(end) >= datetime.fromisoformat(start)


@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
@pytest.mark.parametrize("expects", ["RunningHealthy", "Succeeded"])
def test_sensor_has_the_links_of_its_application(
    cluster: Cluster, configured: None, deferrable: bool, expects: str
) -> None:
    cluster.create("pi")
    sensor = SparkApplicationSensor(
        task_id="wait", name="pi", kubernetes_conn_id="spark", expects=expects, deferrable=deferrable
    )
    task_instance = TaskInstance()
    run(sensor, task_instance)
    assert read_links(sensor, task_instance) == (
        f"https://ui.example.com/jobs/pi/{cluster.application()['metadata']['uid']}",
        "https://history.example.com/pi-0/",
        "https://logs.example.com/?pod=pi-0-driver&q={x=1}",
    )


def test_ui_link_uses_the_ingress_by_default(cluster: Cluster) -> None:
    cluster.script = run_on
    document = DOCUMENT | {"spec": DOCUMENT["spec"] | {"driverServiceIngressList": [INGRESS]}}
    task, task_instance = operator(application=document), TaskInstance()
    defer(task, task_instance)
    assert read_links(task, task_instance) == ("https://pi.example.com/", "", "")


@pytest.mark.parametrize("history", ["", "https://history.example.com/{application_id}/"])
@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
def test_ui_link_after_the_end_leads_to_the_history_server(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, deferrable: bool, history: str
) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__UI_URL", "https://ui.example.com/{name}")
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__HISTORY_SERVER_URL", history)
    task, task_instance = operator(deferrable), TaskInstance()
    run(task, task_instance)
    page = "https://history.example.com/pi-0/" if history else ""
    assert read_links(task, task_instance) == (page, page, "")


def test_airflow_stores_the_links() -> None:
    from airflow.sdk import DAG

    from tests.dag_serialization import DagSerialization

    with DAG("links", schedule=None) as dag:
        operator()
    (stored_link,) = {
        tuple(one["__var"]["_operator_extra_links"].items()) for one in DagSerialization.to_dict(dag)["dag"]["tasks"]
    }
    assert dict(stored_link) == {
        "Spark UI": "_link_SparkUILink",
        "Spark History Server": "_link_SparkHistoryServerLink",
        "Driver log": "_link_DriverLogLink",
        "Spark view": "_link_SparkViewLink",
    }
