"""A SparkCluster for the length of a DAG run."""

import asyncio
import json
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from airflow.sdk import DAG, Context
from airflow.sdk.definitions.xcom_arg import PlainXComArg
from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_spark_operator.exceptions import (
    SparkApplicationDeleted,
    SparkApplicationError,
    SparkApplicationTimedOut,
    SparkClusterDeleted,
    SparkSchedulingFailed,
)
from airflow_provider_spark_operator.operators.spark_cluster import DeleteSparkClusterOperator, SparkClusterOperator
from airflow_provider_spark_operator.operators.spark_cluster_runtime import ClusterCreation
from airflow_provider_spark_operator.testing.spark_clusters import (
    SparkCluster,
    be_refused,
    come_up,
    stay_without_workers,
)
from airflow_provider_spark_operator.triggers.task_instance import Fate
from tests.cluster import NAMESPACE, Cluster, stay_submitted
from tests.definitions import definitions_serving
from tests.operators.tasks import DOCUMENT as APPLICATION
from tests.operators.tasks import operator as application_operator
from tests.task import TaskInstance, context_of, create_cleared_try, defer, fire, reload, run

DOCUMENT: dict[str, Any] = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkCluster",
    "spec": {
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "clusterTolerations": {"instanceConfig": {"initWorkers": 2, "minWorkers": 2, "maxWorkers": 2}},
    },
}
SHORT = timedelta(milliseconds=400)


@pytest.fixture(params=[True, False], ids=["deferred", "on the worker"])
def deferrable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def create(deferrable: bool = True, **parameters: Any) -> SparkClusterOperator:
    parameters = {"cluster": DOCUMENT, "name": "shared", "kubernetes_conn_id": "spark", **parameters}
    return SparkClusterOperator(task_id="create", deferrable=deferrable, **parameters)


def delete(**parameters: Any) -> DeleteSparkClusterOperator:
    parameters = {"name": "shared", "kubernetes_conn_id": "spark", **parameters}
    return DeleteSparkClusterOperator(task_id="delete", **parameters)


def test_a_cluster_is_created_and_waited_for(
    cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    task_instance = TaskInstance()
    with caplog.at_level(logging.INFO):
        assert run(create(deferrable), task_instance) == "shared"
    (present,) = cluster.spark_clusters()
    assert task_instance.xcoms == {
        "namespace": NAMESPACE,
        "uid": present["metadata"]["uid"],
        "master_url": "spark://shared-master-svc.jobs.svc:7077",
    }
    assert "SparkCluster jobs/shared: master 1/1, workers 2/2 ready" in caplog.text


def test_without_waiting_the_task_ends_once_the_cluster_is_there(cluster: Cluster) -> None:
    cluster.cluster_script = stay_without_workers
    assert run(create(wait_until_ready=False), TaskInstance()) == "shared"
    assert len(cluster.spark_clusters()) == 1


def test_without_a_name_every_try_has_the_same_one(cluster: Cluster) -> None:
    first = TaskInstance()
    name = run(create(name=None), first)
    assert name.startswith("dag-run-")
    assert run(create(name=None), first.next_try()) == name
    assert len(cluster.spark_clusters()) == 1


def test_the_next_try_takes_a_running_cluster_over(cluster: Cluster) -> None:
    first = TaskInstance()
    deferred = defer(create(), first)
    again = defer(create(), first.next_try())
    assert again.trigger.uid == deferred.trigger.uid


def test_a_cluster_that_is_not_ready_is_replaced_when_its_task_is_cleared(cluster: Cluster) -> None:
    cluster.cluster_script = stay_without_workers
    first = TaskInstance()
    uid = defer(create(), first).trigger.uid
    assert defer(create(), create_cleared_try(first)).trigger.uid != uid
    assert len(cluster.spark_clusters()) == 1


@pytest.mark.parametrize("given", [{}, {"wait_until_ready": False}], ids=["ready", "not waited for"])
def test_a_cluster_that_other_tasks_use_stays_when_its_task_is_cleared(
    cluster: Cluster, deferrable: bool, given: dict[str, Any]
) -> None:
    first = TaskInstance()
    run(create(deferrable, **given), first)
    (before,) = cluster.spark_clusters()
    run(create(deferrable, **given), create_cleared_try(first))
    (after,) = cluster.spark_clusters()
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_a_cluster_that_cannot_be_created_fails_the_task_and_is_deleted(cluster: Cluster, deferrable: bool) -> None:
    cluster.cluster_script = be_refused
    with pytest.raises(SparkSchedulingFailed, match="jobs/shared failed: a quota is exceeded; it was deleted"):
        run(create(deferrable), TaskInstance())
    assert cluster.spark_clusters() == []


def test_airflows_alarm_on_a_worker_names_the_cluster(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.sdk.exceptions import AirflowTaskTimeout

    cluster.cluster_script = stay_without_workers
    task = create(deferrable=False)

    def alarm(*_: Any) -> None:
        raise AirflowTaskTimeout("over")

    monkeypatch.setattr(ClusterCreation, "_push", alarm)
    with pytest.raises(SparkApplicationTimedOut, match=r"^SparkCluster jobs/\S+ \(\w+\) was not reported to be ready"):
        task.execute(context_of(TaskInstance()))
    assert cluster.spark_clusters() == []


def test_a_cluster_that_is_not_ready_in_time_is_told_with_what_is_missing(cluster: Cluster, deferrable: bool) -> None:
    cluster.cluster_script = stay_without_workers
    with pytest.raises(
        SparkApplicationTimedOut,
        match=r"not ready \(master 1/1, workers 0/2 ready\) within 0:00:00.4.*; it was deleted",
    ):
        run(create(deferrable, ready_timeout=SHORT), TaskInstance())
    assert cluster.spark_clusters() == []


def test_a_cluster_can_be_left_for_a_look(cluster: Cluster) -> None:
    cluster.cluster_script = be_refused
    with pytest.raises(SparkSchedulingFailed, match="it keeps running because delete_on_kill=False"):
        run(create(delete_on_kill=False), TaskInstance())
    assert len(cluster.spark_clusters()) == 1


def test_a_cluster_that_is_deleted_meanwhile_is_a_failure_of_its_own(cluster: Cluster, deferrable: bool) -> None:
    async def vanish(one: SparkCluster) -> None:
        await stay_without_workers(one)
        cluster.store.delete(cluster.cluster_kind, NAMESPACE, "shared")

    cluster.cluster_script = vanish
    with pytest.raises(SparkClusterDeleted, match="was deleted before it was ready") as caught:
        run(create(deferrable), TaskInstance())
    assert isinstance(caught.value, AirflowFailException)
    assert not isinstance(caught.value, SparkApplicationDeleted)


def test_a_cluster_of_somebody_else_is_left_alone(cluster: Cluster) -> None:
    theirs = DOCUMENT | {"metadata": {"name": "shared", "namespace": NAMESPACE}}
    cluster.do(lambda: cluster.store.create(cluster.cluster_kind, NAMESPACE, theirs))
    with pytest.raises(SparkApplicationError, match=r"could not submit the cluster: .*already exists and belongs to"):
        run(create(), TaskInstance())
    with pytest.raises(AirflowFailException, match=r"only clusters of this DAG run are deleted. Set only_own=False"):
        run(delete(), TaskInstance())
    run(delete(only_own=False), TaskInstance())
    assert cluster.spark_clusters() == []


def test_a_failed_cluster_of_another_run_is_replaced_and_a_live_one_is_not(cluster: Cluster) -> None:
    cluster.cluster_script = be_refused
    with pytest.raises(SparkSchedulingFailed):
        run(create(delete_on_kill=False), TaskInstance())
    cluster.cluster_script = come_up
    second, third = TaskInstance(), TaskInstance()
    second.run_id, third.run_id = "manual__2", "manual__3"
    assert run(create(), second) == "shared"
    with pytest.raises(SparkApplicationError, match=r"run manual__2; it is in state RunningHealthy\. Wait for its end"):
        run(create(), third)


def test_a_killed_task_deletes_its_cluster(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_provider_spark_operator.operators.kill.read_fate", lambda stamp: Fate.KILLED)
    cluster.cluster_script = stay_without_workers
    task = create()
    defer(task, TaskInstance())
    task.on_kill()
    assert cluster.spark_clusters() == []


async def test_a_task_killed_while_deferred_deletes_its_cluster(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "airflow_provider_spark_operator.triggers.kill.read_fate_of_deferred", lambda stamp: Fate.KILLED
    )
    cluster.cluster_script = stay_without_workers
    deferred = await asyncio.to_thread(defer, create(), TaskInstance())
    await reload(deferred.trigger).on_kill()
    assert await asyncio.to_thread(cluster.spark_clusters) == []


async def test_a_triggerer_that_loses_the_task_leaves_the_cluster(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_provider_spark_operator.triggers.kill.read_fate_of_deferred", lambda stamp: Fate.MOVED)
    deferred = await asyncio.to_thread(defer, create(), TaskInstance())
    await reload(deferred.trigger).on_kill()
    assert len(await asyncio.to_thread(cluster.spark_clusters)) == 1


def test_what_airflow_ends_itself_is_deleted(cluster: Cluster) -> None:
    task, task_instance = create(), TaskInstance()
    defer(task, task_instance)
    with pytest.raises(
        SparkApplicationTimedOut, match=r"^SparkCluster jobs/\S+ \(\w+\) was not reported to be ready .*it was deleted"
    ):
        create().resume_execution("__fail__", {"error": "Trigger timeout"}, context_of(task_instance))
    assert cluster.spark_clusters() == []


@pytest.mark.parametrize(("try_number", "follows"), [(3, "a retry adopts it"), (4, "no retry is left")])
def test_a_trigger_that_failed_leaves_the_cluster_to_a_retry_if_one_is_left(
    cluster: Cluster, try_number: int, follows: str
) -> None:
    context = context_of(TaskInstance(try_number=try_number))
    with pytest.raises(SparkApplicationError, match=f"the cluster may still be running: {follows}"):
        create().resume_execution("__fail__", {"error": "Trigger failure"}, context)


def test_a_teardown_of_the_same_run_deletes_the_cluster(cluster: Cluster) -> None:
    run(create(), TaskInstance("create"))
    run(delete(), TaskInstance("delete"))
    assert cluster.spark_clusters() == []


@pytest.mark.parametrize("given", [{}, {"namespace": "elsewhere"}], ids=["the connection's namespace", "another one"])
def test_a_cluster_that_is_not_found_fails_without_a_retry(cluster: Cluster, given: dict[str, Any]) -> None:
    with pytest.raises(
        AirflowFailException, match=r"could not delete .*shared: it does not exist\. Check the namespace"
    ):
        run(delete(**given), TaskInstance("delete"))


def test_a_cluster_that_may_be_missing_is_no_failure(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        run(delete(ignore_missing=True), TaskInstance("delete"))
    assert "shared does not exist; ignore_missing=True" in caplog.text


class Store(dict[str, Any]):
    """The task state store: what it keeps outlives a try."""

    def set(self, key: str, value: Any) -> None:
        self[key] = value


def test_a_cluster_that_an_earlier_try_deleted_is_no_failure(cluster: Cluster) -> None:
    document = {**DOCUMENT, "metadata": {"finalizers": ["example.org/hold"]}}
    run(create(cluster=document), TaskInstance("create"))
    context = context_of(TaskInstance("delete"), task_state_store=Store())
    with pytest.raises(SparkApplicationError, match=r"finalizers: .*example\.org/hold"):
        delete(gone_timeout=SHORT).execute(context)
    cluster.do(lambda: cluster.store.update(cluster.cluster_kind, NAMESPACE, "shared", without_finalizers))
    delete().execute(context)


def without_finalizers(document: dict[str, Any]) -> dict[str, Any]:
    document["metadata"].pop("finalizers", None)
    return document


@pytest.mark.parametrize("way", ["cluster", "name"])
def test_the_deletion_takes_its_place_from_the_task_that_creates_the_cluster(way: str) -> None:
    with DAG("made", schedule=None):
        made = create(namespace="other", name=None)
        place: dict[str, Any] = {way: made if way == "cluster" else made.output}
        removal = DeleteSparkClusterOperator(task_id="delete", **place)
    assert removal.kubernetes_conn_id == "spark"
    results = [one for one in (removal.name, removal.namespace) if isinstance(one, PlainXComArg)]
    assert [(one.operator.task_id, one.key) for one in results] == [
        ("create", "return_value"),
        ("create", "namespace"),
    ]
    assert made.downstream_task_ids == {"delete"}


def test_what_is_given_to_the_deletion_counts_more_than_the_creating_task() -> None:
    with DAG("made", schedule=None):
        removal = DeleteSparkClusterOperator(
            task_id="delete", cluster=create(), namespace="other", kubernetes_conn_id="mine"
        )
    assert (removal.namespace, removal.kubernetes_conn_id) == ("other", "mine")


@pytest.mark.parametrize("given", ["kubernetes_default", None])
def test_default_connection_given_to_the_deletion_is_not_that_of_the_creating_task(given: str | None) -> None:
    with DAG("made", schedule=None):
        removal = DeleteSparkClusterOperator(task_id="delete", cluster=create(), kubernetes_conn_id=given)
    assert removal.kubernetes_conn_id == given


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, ValueError, r"set exactly one of cluster \(the task that creates the SparkCluster\) and name"),
        ({"cluster": create(), "name": "shared"}, ValueError, "set exactly one of cluster .* and name"),
        ({"cluster": "shared"}, TypeError, r"cluster must be a SparkClusterOperator, not str\. Or set name"),
        ({"cluster": create(do_xcom_push=False)}, ValueError, r"do_xcom_push=False\. Set name and namespace as text"),
    ],
    ids=["nothing", "both", "a name", "no XComs"],
)
def test_an_unclear_deletion_is_refused_while_the_dag_is_parsed(
    given: dict[str, Any], error: type[TypeError] | type[ValueError], message: str
) -> None:
    with pytest.raises(error, match=message):
        DeleteSparkClusterOperator(task_id="delete", **given)


def test_a_deletion_that_something_holds_up_is_told_with_what_holds_it(cluster: Cluster) -> None:
    held = DOCUMENT | {"metadata": {"name": "shared", "namespace": NAMESPACE, "finalizers": ["x/held"]}}
    cluster.do(lambda: cluster.store.create(cluster.cluster_kind, NAMESPACE, held))
    with pytest.raises(SparkApplicationError, match=r"still there after 0 s \(finalizers: x/held\)"):
        run(delete(only_own=False, gone_timeout=SHORT), TaskInstance())
    run(delete(only_own=False, wait_until_gone=False), TaskInstance())


def test_an_empty_name_deletes_nothing(cluster: Cluster) -> None:
    task = delete(name="{{ nothing }}")
    task.render_template_fields(cast("Context", {"nothing": ""}))
    with pytest.raises(AirflowFailException, match="name must be the name of a SparkCluster, not ''"):
        run(task, TaskInstance())


def test_a_document_is_read_from_a_file_with_its_templates(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(json.dumps({**DOCUMENT, "metadata": {"annotations": {"team": "{{ team }}", "id": "{{APP_ID}}"}}}))
    task = create(cluster=str(file))
    task.render_template_fields(cast("Context", {"team": "data"}))
    run(task, TaskInstance())
    annotations = cluster.spark_clusters()[0]["metadata"]["annotations"]
    assert (annotations["team"], annotations["id"]) == ("data", "{{APP_ID}}")


def test_a_file_that_is_not_there_is_named(cluster: Cluster, tmp_path: Path) -> None:
    task = create(cluster=str(tmp_path / "none.yaml"))
    task.render_template_fields({})
    with pytest.raises(AirflowFailException, match=r"could not (find|read) cluster file .*none.yaml'"):
        run(task, TaskInstance())


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (APPLICATION, "kind: must be SparkCluster, not 'SparkApplication'"),
        ({**DOCUMENT, "spec": {}}, r"the cluster is not valid: spec\.runtimeVersions: is required"),
        ("a: 1\n---\nb: 2\n", "must contain exactly one document, a SparkCluster, not 2"),
    ],
)
def test_what_is_no_cluster_is_not_sent(cluster: Cluster, document: dict[str, Any] | str, message: str) -> None:
    with pytest.raises(AirflowFailException, match=message):
        run(create(cluster=document), TaskInstance())
    assert cluster.spark_clusters() == []


@pytest.mark.parametrize("served", ["v1beta1", "v1alpha1"])
def test_a_cluster_is_created_and_deleted_in_the_version_that_is_served(
    served: str, deferrable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Cluster(definitions_serving(served)).serve() as cluster:
        document = {"conn_type": "kubernetes", "extra": {"kube_config": cluster.kubeconfig}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps(document))
        assert run(create(deferrable), TaskInstance()) == "shared"
        assert [one["apiVersion"] for one in cluster.spark_clusters()] == [f"spark.apache.org/{served}"]
        run(delete(), TaskInstance())
        assert cluster.spark_clusters() == []


def test_the_trigger_holds_no_secret(cluster: Cluster) -> None:
    path, arguments = defer(create(), TaskInstance()).trigger.serialize()
    assert path == "airflow_provider_spark_operator.triggers.spark_cluster.SparkClusterTrigger"
    assert "only-for-tests" not in repr(arguments)


def test_arguments_of_a_later_release_are_kept(cluster: Cluster) -> None:
    from airflow_provider_spark_operator.triggers.spark_cluster import SparkClusterTrigger

    assert SparkClusterTrigger(name="shared", colour="red").serialize()[1]["colour"] == "red"


def test_a_connection_that_is_gone_is_no_reason_to_look_elsewhere(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    trigger = reload(defer(create(), TaskInstance()).trigger)
    monkeypatch.delenv("AIRFLOW_CONN_SPARK")
    assert fire(trigger)["kind"] == "lost"


@pytest.mark.parametrize("name", ["Shared", "a" * 46, ""])
def test_a_name_that_cannot_be_one_is_refused_while_the_dag_is_parsed(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        create(name=name)
    with pytest.raises(ValueError, match="name"):
        delete(name=name)


@pytest.mark.parametrize("name", ["deferrable", "wait_until_ready", "delete_on_kill"])
def test_a_switch_that_is_no_boolean_is_refused_while_the_dag_is_parsed(name: str) -> None:
    switch: dict[str, Any] = {name: "false"}
    with pytest.raises(TypeError, match=f"{name} must be True or False, not 'false'"):
        create(**switch)


@pytest.mark.parametrize("name", ["only_own", "wait_until_gone", "ignore_missing"])
def test_a_switch_of_the_deletion_that_is_no_boolean_is_refused_while_the_dag_is_parsed(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} must be True or False, not 'false'"):
        delete(**{name: "false"})


def test_nothing_to_create_is_refused_while_the_dag_is_parsed() -> None:
    with pytest.raises(TypeError, match="cluster is required"):
        create(cluster=None)


def test_an_application_runs_on_the_workers_of_a_cluster(cluster: Cluster) -> None:
    cluster.script = stay_submitted
    run(application_operator(cluster="shared", wait_for_completion=False), TaskInstance())
    conf = cluster.application()["spec"]["sparkConf"]
    assert conf["spark.master"] == "spark://shared-master-svc:7077"
    assert conf["spark.authenticate"] == "false"


@pytest.mark.parametrize("name", ["Shared", "spark://x:7077", "a/b/c", 3])
def test_what_names_no_cluster_is_refused_while_the_dag_is_parsed(name: int | str) -> None:
    with pytest.raises(ValueError, match="cluster: must be the name of a SparkCluster"):
        application_operator(cluster=name)
