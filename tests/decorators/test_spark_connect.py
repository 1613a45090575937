"""`@task.spark_connect`: the session of a function, and the loss of its server."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG, task

from airflow_provider_spark_operator.airflow_compat import AirflowFailException
from airflow_provider_spark_operator.exceptions import SparkApplicationError, SparkInfrastructureFailed
from airflow_provider_spark_operator.operators import spark_connect_runtime
from airflow_provider_spark_operator.operators.spark_connect import SparkConnectOperator
from tests.cluster import NAMESPACE, Cluster, run_on
from tests.task import TaskInstance, build_context, run

CLIENT = "airflow_provider_spark_operator.operators.connect_client"


@dataclass
class Session:
    """A session that sends nothing, with the arguments with which it was opened."""

    address: str
    token: str | None
    user: str
    is_alive: Callable[[], bool]
    stopped: bool = field(default=False)

    interrupted: bool = field(default=False)

    def interruptAll(self) -> None:  # noqa: N802 - a name of PySpark
        self.interrupted = True

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch, cluster: Cluster) -> list[Session]:
    opened: list[Session] = []

    def connect(*arguments: Any) -> Session:
        opened.append(Session(*arguments))
        return opened[-1]

    # The module loads PySpark, gRPC and pandas.
    monkeypatch.setitem(sys.modules, CLIENT, SimpleNamespace(connect=connect))
    monkeypatch.setattr(spark_connect_runtime, "find_missing_packages", list)
    cluster.script = run_on
    run(start(), TaskInstance())
    return opened


def start(**parameters: Any) -> SparkConnectOperator:
    parameters = {"image": "spark:4.3.0", "kubernetes_conn_id": "spark", **parameters}
    return SparkConnectOperator(task_id="start", name="shared", deferrable=False, **parameters)


def call() -> None:
    """Do nothing."""


def decorate(function: Callable[..., Any], *arguments: Any, **parameters: Any) -> Any:
    parameters = {"name": "shared", "kubernetes_conn_id": "spark", **parameters}
    with DAG("etl"):
        return task.spark_connect(**parameters)(function)(*arguments).operator


def test_function_gets_session_arguments_and_context(sessions: list[Session]) -> None:
    def read(table: str, spark: Session, run_id: str) -> list[str]:
        return [table, spark.user, run_id]

    operator = decorate(read, "orders")
    context = build_context(TaskInstance(), run_id="manual__1")
    assert operator.execute(context) == ["orders", "dag.run", "manual__1"]
    (session,) = sessions
    assert session.token is not None
    assert session.address.startswith("127.0.0.1:")
    assert session.stopped


def test_function_without_the_parameter_uses_the_active_session(sessions: list[Session]) -> None:
    def count() -> int:
        return 3

    assert run(decorate(count), TaskInstance()) == 3
    assert len(sessions) == 1


def test_name_that_can_be_resolved_is_used_directly(sessions: list[Session], monkeypatch: pytest.MonkeyPatch) -> None:
    def count(spark: Session) -> str:
        return spark.address

    monkeypatch.setattr("socket.getaddrinfo", lambda *_: [("10.0.0.7",)])
    assert run(decorate(count), TaskInstance()) == "shared-0-driver-svc.jobs.svc:15002"
    assert run(decorate(count, forward=True), TaskInstance()).startswith("127.0.0.1:")


def test_loss_of_the_server_is_an_infrastructure_failure(sessions: list[Session], cluster: Cluster) -> None:
    def count(spark: Session) -> None:
        assert spark.is_alive()
        cluster.do(lambda: cluster.resources.delete_pod(NAMESPACE, "shared-0-driver"))
        assert not spark.is_alive()
        raise ConnectionError("unavailable")

    message = "SparkApplication jobs/shared was lost during the task: its driver pod shared-0-driver was deleted"
    with pytest.raises(SparkInfrastructureFailed, match=message) as caught:
        run(decorate(count), TaskInstance())
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert not sessions[0].stopped


def test_error_of_the_function_remains_while_the_server_runs(sessions: list[Session]) -> None:
    def count(spark: Session) -> None:
        raise ValueError("no such column")

    with pytest.raises(ValueError, match="no such column"):
        run(decorate(count), TaskInstance())
    assert sessions[0].stopped


def test_stopped_task_interrupts_its_queries(sessions: list[Session]) -> None:
    def count(spark: Session) -> None:
        operator.on_kill()

    operator = decorate(count)
    operator.on_kill()
    run(operator, TaskInstance())
    assert sessions[0].interrupted


def test_server_that_does_not_run_is_an_infrastructure_failure(sessions: list[Session], cluster: Cluster) -> None:
    cluster.do(lambda: cluster.resources.delete_pod(NAMESPACE, "shared-0-driver"))
    with pytest.raises(SparkInfrastructureFailed, match="has no running Spark Connect server: it is in state Running"):
        run(decorate(call), TaskInstance())


def test_missing_server_fails_the_task(sessions: list[Session]) -> None:
    with pytest.raises(SparkApplicationError, match=r"could not open a Spark session: .* other not found"):
        run(decorate(call, name="other"), TaskInstance())


def test_other_application_is_not_a_server(sessions: list[Session], cluster: Cluster) -> None:
    cluster.create("pi")
    with pytest.raises(SparkInfrastructureFailed, match="SparkApplication jobs/pi is not a Spark Connect server"):
        run(decorate(call, name="pi"), TaskInstance())


def test_forwarding_that_is_no_boolean_is_rejected() -> None:
    with pytest.raises(TypeError, match="forward must be True or False, not 'yes'"):
        decorate(call, name="shared", forward="yes")


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_connect_runtime, "find_missing_packages", lambda: ["grpc", "pandas"])
    with pytest.raises(AirflowFailException, match=r"grpc, pandas not installed\. Install .*\[connect\]"):
        run(decorate(call), TaskInstance())


def test_task_follows_the_task_that_starts_its_server() -> None:
    with DAG("etl"):
        server = start()
        count: Any = task.spark_connect(server=server)(call)()
        count = count.operator
    assert count.upstream_task_ids == {"start"}
    assert count.kubernetes_conn_id == "spark"


def test_task_without_server_is_rejected_when_the_dag_is_parsed() -> None:
    with pytest.raises(ValueError, match="set exactly one of `server`"):
        decorate(call, name=None)
