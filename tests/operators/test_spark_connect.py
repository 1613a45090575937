"""The operators that start and delete a Spark Connect server."""

import base64
import json
import logging
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_spark_operator.airflow_compat import AirflowFailException
from airflow_provider_spark_operator.core.compose.connect import SERVER_CLASS
from airflow_provider_spark_operator.exceptions import SparkApplicationFailed, SparkInfrastructureFailed
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.operators.spark_connect import DeleteSparkConnectOperator, SparkConnectOperator
from airflow_provider_spark_operator.testing.applications import Application
from local_kubernetes.api.kinds.kinds import CONFIG_MAPS, SECRETS
from tests.cluster import NAMESPACE, Cluster, run_on, succeed
from tests.task import TaskInstance, create_cleared_try, defer, fire, reload, run

URL = "sc://shared-0-driver-svc.jobs.svc:15002"


@pytest.fixture(params=[True, False], ids=["deferred", "on the worker"])
def deferrable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def server(cluster: Cluster) -> Cluster:
    """A cluster on which servers become ready, and run until they are deleted."""
    cluster.script = run_on
    return cluster


def start(deferrable: bool = True, **parameters: Any) -> SparkConnectOperator:
    parameters = {"name": "shared", "image": "spark:4.3.0", "kubernetes_conn_id": "spark", **parameters}
    return SparkConnectOperator(task_id="start", deferrable=deferrable, **parameters)


def delete(**parameters: Any) -> DeleteSparkConnectOperator:
    parameters = {"name": "shared", "kubernetes_conn_id": "spark", **parameters}
    return DeleteSparkConnectOperator(task_id="stop", **parameters)


def list_secrets(cluster: Cluster) -> list[dict[str, Any]]:
    return list(cluster.do(lambda: cluster.store.objects.list(SECRETS, NAMESPACE)[0]))


def test_task_starts_server_and_returns_its_url(server: Cluster, deferrable: bool) -> None:
    task_instance = TaskInstance()
    assert run(start(deferrable), task_instance) == URL
    present = server.application()
    assert present["spec"]["mainClass"] == SERVER_CLASS
    uid = present["metadata"]["uid"]
    known = {name: task_instance.xcoms[name] for name in ("name", "namespace", "uid")}
    assert known == {"name": "shared", "namespace": NAMESPACE, "uid": uid}
    (secret,) = list_secrets(server)
    assert secret["metadata"]["name"] == "shared-connect"
    assert [owner["uid"] for owner in secret["metadata"]["ownerReferences"]] == [uid]


def test_token_is_only_in_the_secret(server: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    task_instance = TaskInstance()
    with caplog.at_level(logging.DEBUG):
        deferral = defer(start(), task_instance)
        trigger = reload(deferral.trigger)
        result = fire(trigger)
    (secret,) = list_secrets(server)
    token = base64.b64decode(secret["data"]["token"]).decode()
    assert len(token) > 30
    seen = [server.application(), trigger.serialize(), result, task_instance.xcoms, caplog.text]
    assert token not in json.dumps(seen, default=str)


def test_server_without_authentication_has_no_secret(server: Cluster) -> None:
    assert run(start(False, authenticate=False), TaskInstance()) == URL
    assert list_secrets(server) == []


def test_port_of_the_configuration_is_part_of_the_url(server: Cluster) -> None:
    conf = {"spark.connect.grpc.binding.port": 15100}
    assert run(start(False, conf=conf), TaskInstance()) == URL.replace("15002", "15100")


def test_retry_adopts_server_with_its_token(server: Cluster) -> None:
    first = TaskInstance()
    defer(start(name=None), first)
    (secret,) = list_secrets(server)
    defer(start(name=None), first.next_try())
    assert list_secrets(server) == [secret]
    assert len(server.applications()) == 1


def test_token_of_an_earlier_server_of_the_name_is_replaced(server: Cluster) -> None:
    owner = {"apiVersion": "spark.apache.org/v1", "kind": "SparkApplication", "name": "shared", "uid": "old"}
    metadata = {"name": "shared-connect", "ownerReferences": [owner]}
    document = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    server.do(lambda: server.store.create(SECRETS, NAMESPACE, document))
    run(start(False), TaskInstance())
    (secret,) = list_secrets(server)
    assert secret["metadata"]["ownerReferences"][0]["uid"] == server.application()["metadata"]["uid"]


def test_secret_that_another_program_manages_is_kept(server: Cluster) -> None:
    manager = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}}
    uid = server.do(lambda: server.store.create(CONFIG_MAPS, NAMESPACE, manager))["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "shared", "uid": uid}
    metadata = {"name": "shared-connect", "ownerReferences": [owner]}
    document = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    server.do(lambda: server.store.create(SECRETS, NAMESPACE, document))
    run(start(False), TaskInstance())
    (secret,) = list_secrets(server)
    assert secret["metadata"]["ownerReferences"] == [owner]


def test_cleared_task_keeps_server_that_other_tasks_use(server: Cluster, deferrable: bool) -> None:
    first = TaskInstance()
    run(start(deferrable), first)
    uid = server.application()["metadata"]["uid"]
    run(start(deferrable), create_cleared_try(first))
    assert server.application()["metadata"]["uid"] == uid


def test_cleared_task_replaces_server_that_was_not_ready(server: Cluster) -> None:
    first = TaskInstance()
    defer(start(), first)
    uid = server.application()["metadata"]["uid"]
    defer(start(), create_cleared_try(first))
    assert server.application()["metadata"]["uid"] != uid


def test_task_replaces_server_that_was_lost(server: Cluster) -> None:
    async def lose(application: Application) -> None:
        application.fail(137, "OOMKilled")

    first = TaskInstance()
    run(start(False, name=None), first)
    uid = server.application()["metadata"]["uid"]
    server.play(lose)
    run(start(False, name=None), create_cleared_try(first))
    assert server.application()["metadata"]["uid"] != uid


def test_server_that_fails_before_it_is_ready_fails_the_task(cluster: Cluster, deferrable: bool) -> None:
    async def fail(application: Application) -> None:
        application.enter("Submitted", "DriverRequested", "DriverStarted")
        application.start_driver()
        application.fail(1, message="no such class")

    cluster.script = fail
    with pytest.raises(SparkApplicationFailed, match="failed in state Failed: container spark-kubernetes-driver"):
        run(start(deferrable), TaskInstance())


def test_server_that_ends_before_it_is_ready_fails_the_task(cluster: Cluster) -> None:
    async def end(application: Application) -> None:
        application.enter("Submitted", "DriverRequested", "DriverStarted")
        application.start_driver()
        application.succeed()

    cluster.script = end
    with pytest.raises(SparkInfrastructureFailed, match="it must run until it is deleted"):
        run(start(False), TaskInstance())


def test_version_without_authentication_fails_the_task_without_a_retry(server: Cluster) -> None:
    with pytest.raises(AirflowFailException, match=r"is 3\.5\.6, which has no authentication"):
        run(start(False, image="spark:3.5.6"), TaskInstance())


@pytest.mark.parametrize(
    "name", ["py_file", "main_class", "arguments", "sql", "streaming", "wait_for_completion", "max_cost"]
)
def test_parameter_of_other_programs_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: not supported by SparkConnectOperator, which runs a server"):
        start(True, **{name: "1"})


def test_teardown_deletes_server_of_its_setup(server: Cluster) -> None:
    with DAG("etl") as dag:
        setup = start(name=None)
        stop = DeleteSparkConnectOperator(task_id="stop", server=setup).as_teardown(setups=setup)
    assert dag.task_dict["stop"].upstream_task_ids == {"start"}
    assert stop.kubernetes_conn_id == "spark"
    task_instance = TaskInstance()
    run(setup, task_instance)
    name = task_instance.xcoms["name"]
    # The scripted cluster does not delete the driver pod.
    run(delete(name=name, namespace=NAMESPACE, wait_until_gone=False), TaskInstance(task_id="stop"))
    assert server.applications() == []


def test_teardown_deletes_no_server_of_another_run(server: Cluster) -> None:
    other = TaskInstance()
    other.run_id = "manual__2"
    run(start(False), other)
    with pytest.raises(AirflowFailException, match="only Spark Connect servers of this DAG run are deleted"):
        run(delete(), TaskInstance(task_id="stop"))


def test_missing_server_fails_the_teardown(cluster: Cluster) -> None:
    with pytest.raises(AirflowFailException, match="could not delete SparkApplication shared: it does not exist"):
        run(delete(), TaskInstance(task_id="stop"))


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"name": None}, ValueError, r"set exactly one of `server` \(the task that creates the Spark Connect server\)"),
        ({"server": "shared", "name": None}, TypeError, "`server` must be a SparkConnectOperator, not str"),
        ({"server": start(do_xcom_push=False), "name": None}, ValueError, "could not read the name of the server"),
        ({"name": "Shared"}, ValueError, "name"),
        ({"only_own": "no"}, TypeError, "only_own"),
    ],
)
def test_invalid_teardown_is_rejected_when_the_dag_is_parsed(
    given: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        delete(**given)


def test_server_that_another_program_runs_is_no_server_of_a_task(cluster: Cluster) -> None:
    cluster.script = succeed
    first = TaskInstance()
    parameters: dict[str, Any] = {"main_class": SERVER_CLASS, "image": "spark:4.3.0", "kubernetes_conn_id": "spark"}
    run(SparkApplicationOperator(task_id="run", **parameters), first)
    run(SparkApplicationOperator(task_id="run", **parameters), create_cleared_try(first))
    assert len(cluster.applications()) == 2
