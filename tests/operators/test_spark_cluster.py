"""The operators that create and delete a SparkCluster."""

import asyncio
import json
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from airflow.sdk import DAG, Context
from airflow.sdk.definitions.xcom_arg import PlainXComArg

from airflow_provider_spark_operator.airflow_compat import AirflowFailException
from airflow_provider_spark_operator.exceptions import (
    SparkApplicationDeleted,
    SparkApplicationError,
    SparkApplicationTimedOut,
    SparkClusterDeleted,
    SparkSchedulingFailed,
)
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.operators.spark_cluster import DeleteSparkClusterOperator, SparkClusterOperator
from airflow_provider_spark_operator.operators.spark_cluster_runtime import ClusterCreation
from airflow_provider_spark_operator.testing.spark_clusters import (
    ScriptedSparkCluster,
    be_refused,
    come_up,
    stay_without_workers,
)
from airflow_provider_spark_operator.triggers.task_instance import Fate
from tests.cluster import NAMESPACE, Cluster, stay_submitted
from tests.definitions import build_definitions
from tests.operators.tasks import DOCUMENT as APPLICATION
from tests.operators.tasks import operator as application_operator
from tests.task import TaskInstance, build_context, create_cleared_try, defer, fire, reload, run

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


def test_task_creates_cluster_and_waits_until_ready(
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


def test_queued_cluster_is_not_ready_within_the_execution_timeout(
    cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def queue(spark_cluster: ScriptedSparkCluster) -> None:
        spark_cluster.report("KueueAdmissionPending", "no quota for workers")

    cluster.cluster_script = queue
    task = create(
        deferrable, kueue_queue="team-a", ready_timeout=timedelta(seconds=3), execution_timeout=timedelta(seconds=6)
    )
    with pytest.raises(SparkApplicationTimedOut, match="within the task's execution_timeout of 0:00:06"):
        run(task, TaskInstance())
    assert "SparkCluster jobs/shared is waiting: it waits for Kueue admission in queue team-a" in caplog.text
    assert cluster.spark_clusters() == []


def test_admitted_cluster_without_workers_exceeds_the_ready_timeout(cluster: Cluster, deferrable: bool) -> None:
    cluster.cluster_script = stay_without_workers
    with pytest.raises(SparkApplicationTimedOut, match=r"within the task's ready_timeout of 0:00:00\.4"):
        run(create(deferrable, kueue_queue="team-a", ready_timeout=SHORT), TaskInstance())


def test_deferral_of_a_queued_cluster_has_no_limit_without_an_execution_timeout(cluster: Cluster) -> None:
    cluster.cluster_script = stay_without_workers
    assert defer(create(kueue_queue="team-a"), TaskInstance()).timeout is None
    assert defer(create(name="other"), TaskInstance()).timeout is not None


def test_cluster_has_the_labels_of_its_queue(cluster: Cluster) -> None:
    run(create(False, kueue_queue="team-a", kueue_priority="high", wait_until_ready=False), TaskInstance())
    (present,) = cluster.spark_clusters()
    labels = present["metadata"]["labels"]
    assert labels["kueue.x-k8s.io/queue-name"] == "team-a"
    assert labels["kueue.x-k8s.io/priority-class"] == "high"


def test_invalid_queue_of_a_cluster_is_rejected_when_the_dag_is_parsed() -> None:
    with pytest.raises(ValueError, match="kueue_queue: must be the name of a LocalQueue, not 'Team A'"):
        create(kueue_queue="Team A")


def test_task_without_waiting_ends_after_creation(cluster: Cluster) -> None:
    cluster.cluster_script = stay_without_workers
    assert run(create(wait_until_ready=False), TaskInstance()) == "shared"
    assert len(cluster.spark_clusters()) == 1


def test_default_name_is_the_same_in_each_try(cluster: Cluster) -> None:
    first = TaskInstance()
    name = run(create(name=None), first)
    assert name.startswith("dag-run-")
    assert run(create(name=None), first.next_try()) == name
    assert len(cluster.spark_clusters()) == 1


def test_next_try_adopts_running_cluster(cluster: Cluster) -> None:
    first = TaskInstance()
    deferred = defer(create(), first)
    again = defer(create(), first.next_try())
    assert again.trigger.uid == deferred.trigger.uid


def test_cleared_task_replaces_cluster_that_is_not_ready(cluster: Cluster) -> None:
    cluster.cluster_script = stay_without_workers
    first = TaskInstance()
    uid = defer(create(), first).trigger.uid
    assert defer(create(), create_cleared_try(first)).trigger.uid != uid
    assert len(cluster.spark_clusters()) == 1


@pytest.mark.parametrize("given", [{}, {"wait_until_ready": False}], ids=["ready", "not waited for"])
def test_cleared_task_keeps_cluster_that_other_tasks_use(
    cluster: Cluster, deferrable: bool, given: dict[str, Any]
) -> None:
    first = TaskInstance()
    run(create(deferrable, **given), first)
    (before,) = cluster.spark_clusters()
    run(create(deferrable, **given), create_cleared_try(first))
    (after,) = cluster.spark_clusters()
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_failed_cluster_fails_the_task_and_is_deleted(cluster: Cluster, deferrable: bool) -> None:
    cluster.cluster_script = be_refused
    with pytest.raises(SparkSchedulingFailed, match="jobs/shared failed: a quota is exceeded; it was deleted"):
        run(create(deferrable), TaskInstance())
    assert cluster.spark_clusters() == []


def test_airflow_timeout_on_worker_names_the_cluster(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_provider_spark_operator.airflow_compat import AirflowTaskTimeout

    cluster.cluster_script = stay_without_workers
    task = create(deferrable=False)

    def alarm(*_: Any) -> None:
        raise AirflowTaskTimeout("over")

    monkeypatch.setattr(ClusterCreation, "_push", alarm)
    with pytest.raises(SparkApplicationTimedOut, match=r"the readiness of SparkCluster jobs/\S+ \(\w+\) within"):
        task.execute(build_context(TaskInstance()))
    assert cluster.spark_clusters() == []


def test_ready_timeout_reports_what_is_missing(cluster: Cluster, deferrable: bool) -> None:
    cluster.cluster_script = stay_without_workers
    with pytest.raises(
        SparkApplicationTimedOut,
        match=r"not ready \(master 1/1, workers 0/2 ready\) within the task's ready_timeout of 0:00:00.4.*"
        r"; it was deleted",
    ):
        run(create(deferrable, ready_timeout=SHORT), TaskInstance())
    assert cluster.spark_clusters() == []


def test_failed_cluster_is_kept_without_delete_on_kill(cluster: Cluster) -> None:
    cluster.cluster_script = be_refused
    with pytest.raises(SparkSchedulingFailed, match="it keeps running because delete_on_kill=False"):
        run(create(delete_on_kill=False), TaskInstance())
    assert len(cluster.spark_clusters()) == 1


def test_deleted_cluster_raises_its_own_exception(cluster: Cluster, deferrable: bool) -> None:
    async def vanish(one: ScriptedSparkCluster) -> None:
        await stay_without_workers(one)
        cluster.store.delete(cluster.cluster_kind, NAMESPACE, "shared")

    cluster.cluster_script = vanish
    with pytest.raises(SparkClusterDeleted, match="was deleted before it was ready") as caught:
        run(create(deferrable), TaskInstance())
    assert isinstance(caught.value, AirflowFailException)
    assert not isinstance(caught.value, SparkApplicationDeleted)


def test_cluster_of_another_owner_is_neither_replaced_nor_deleted(cluster: Cluster) -> None:
    theirs = DOCUMENT | {"metadata": {"name": "shared", "namespace": NAMESPACE}}
    cluster.do(lambda: cluster.store.create(cluster.cluster_kind, NAMESPACE, theirs))
    with pytest.raises(SparkApplicationError, match=r"could not submit the cluster: .*already exists and belongs to"):
        run(create(), TaskInstance())
    with pytest.raises(AirflowFailException, match=r"only clusters of this DAG run are deleted. Set only_own=False"):
        run(delete(), TaskInstance())
    run(delete(only_own=False), TaskInstance())
    assert cluster.spark_clusters() == []


def test_only_failed_cluster_of_another_run_is_replaced(cluster: Cluster) -> None:
    cluster.cluster_script = be_refused
    with pytest.raises(SparkSchedulingFailed):
        run(create(delete_on_kill=False), TaskInstance())
    cluster.cluster_script = come_up
    second, third = TaskInstance(), TaskInstance()
    second.run_id, third.run_id = "manual__2", "manual__3"
    assert run(create(), second) == "shared"
    with pytest.raises(
        SparkApplicationError, match=r"run manual__2; it is in state RunningHealthy\. Wait until it ends"
    ):
        run(create(), third)


def test_killed_task_deletes_its_cluster(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_provider_spark_operator.operators.current_try.read_fate", lambda stamp: Fate.KILLED)
    cluster.cluster_script = stay_without_workers
    task = create()
    defer(task, TaskInstance())
    task.on_kill()
    assert cluster.spark_clusters() == []


async def test_killed_deferred_task_deletes_its_cluster(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "airflow_provider_spark_operator.triggers.kill.read_fate_of_deferred", lambda stamp: Fate.KILLED
    )
    cluster.cluster_script = stay_without_workers
    deferred = await asyncio.to_thread(defer, create(), TaskInstance())
    await reload(deferred.trigger).on_kill()
    assert await asyncio.to_thread(cluster.spark_clusters) == []


async def test_moved_trigger_keeps_the_cluster(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_provider_spark_operator.triggers.kill.read_fate_of_deferred", lambda stamp: Fate.MOVED)
    deferred = await asyncio.to_thread(defer, create(), TaskInstance())
    await reload(deferred.trigger).on_kill()
    assert len(await asyncio.to_thread(cluster.spark_clusters)) == 1


def test_deferral_timeout_deletes_the_cluster(cluster: Cluster) -> None:
    task, task_instance = create(), TaskInstance()
    defer(task, task_instance)
    with pytest.raises(
        SparkApplicationTimedOut, match=r"the readiness of SparkCluster jobs/\S+ \(\w+\) within .*it was deleted"
    ):
        create().resume_execution("__fail__", {"error": "Trigger timeout"}, build_context(task_instance))
    assert cluster.spark_clusters() == []


def test_teardown_deletes_cluster_of_its_run(cluster: Cluster) -> None:
    run(create(), TaskInstance("create"))
    run(delete(), TaskInstance("delete"))
    assert cluster.spark_clusters() == []


@pytest.mark.parametrize("given", [{}, {"namespace": "elsewhere"}], ids=["the connection's namespace", "another one"])
def test_missing_cluster_fails_deletion_without_a_retry(cluster: Cluster, given: dict[str, Any]) -> None:
    with pytest.raises(
        AirflowFailException, match=r"could not delete .*shared: it does not exist\. Check the namespace"
    ):
        run(delete(**given), TaskInstance("delete"))


def test_missing_cluster_succeeds_with_ignore_missing(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        run(delete(ignore_missing=True), TaskInstance("delete"))
    assert "shared does not exist; nothing was deleted (ignore_missing=True)" in caplog.text


class Store(dict[str, Any]):
    """The task state store, which keeps its values between tries."""

    def set(self, key: str, value: Any) -> None:
        self[key] = value


def test_cluster_deleted_by_earlier_try_succeeds(cluster: Cluster) -> None:
    document = {**DOCUMENT, "metadata": {"finalizers": ["example.org/hold"]}}
    run(create(cluster=document), TaskInstance("create"))
    context = build_context(TaskInstance("delete"), task_state_store=Store())
    with pytest.raises(SparkApplicationError, match=r"finalizers: .*example\.org/hold"):
        delete(gone_timeout=SHORT).execute(context)
    cluster.do(lambda: cluster.store.update(cluster.cluster_kind, NAMESPACE, "shared", remove_finalizers))
    delete().execute(context)


def test_cluster_deleted_by_killed_try_succeeds(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    run(create(), TaskInstance("create"))
    context = build_context(TaskInstance("delete"), task_state_store=Store())
    send = KubeClient.delete

    async def lose_worker(*arguments: Any, **options: Any) -> None:
        await send(*arguments, **options)
        raise RuntimeError("killed")

    monkeypatch.setattr(KubeClient, "delete", lose_worker)
    with pytest.raises(RuntimeError, match="killed"):
        delete().execute(context)
    assert cluster.spark_clusters() == []
    delete().execute(context)


def remove_finalizers(document: dict[str, Any]) -> dict[str, Any]:
    document["metadata"].pop("finalizers", None)
    return document


@pytest.mark.parametrize("way", ["cluster", "name"])
def test_deletion_takes_name_namespace_and_connection_from_creating_task(way: str) -> None:
    with DAG("made", schedule=None):
        made = create(namespace="other", name=None)
        place: dict[str, Any] = {way: made if way == "cluster" else made.output}
        removal = DeleteSparkClusterOperator(task_id="delete", **place)
    assert removal.kubernetes_conn_id == "spark"
    results = [one for one in (removal.name, removal.namespace) if isinstance(one, PlainXComArg)]
    assert [(one.operator.task_id, one.key) for one in results] == [("create", "return_value"), ("create", "namespace")]
    assert made.downstream_task_ids == {"delete"}


def test_arguments_of_deletion_override_creating_task() -> None:
    with DAG("made", schedule=None):
        removal = DeleteSparkClusterOperator(
            task_id="delete", cluster=create(), namespace="other", kubernetes_conn_id="mine"
        )
    assert (removal.namespace, removal.kubernetes_conn_id) == ("other", "mine")


@pytest.mark.parametrize("given", ["kubernetes_default", None])
def test_default_connection_of_deletion_overrides_creating_task(given: str | None) -> None:
    with DAG("made", schedule=None):
        removal = DeleteSparkClusterOperator(task_id="delete", cluster=create(), kubernetes_conn_id=given)
    assert removal.kubernetes_conn_id == given


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, ValueError, r"set exactly one of `cluster` \(the task that creates the SparkCluster\) and `name`"),
        ({"cluster": create(), "name": "shared"}, ValueError, "set exactly one of `cluster` .* and `name`"),
        (
            {"cluster": "shared"},
            TypeError,
            r"`cluster` must be a SparkClusterOperator, not str\. To give the name of a cluster, set",
        ),
        ({"cluster": create(do_xcom_push=False)}, ValueError, r"do_xcom_push=False\. Set do_xcom_push=True"),
    ],
    ids=["nothing", "both", "a name", "no XComs"],
)
def test_ambiguous_deletion_is_rejected_at_parse_time(
    given: dict[str, Any], error: type[TypeError] | type[ValueError], message: str
) -> None:
    with pytest.raises(error, match=message):
        DeleteSparkClusterOperator(task_id="delete", **given)


def test_stuck_deletion_names_the_finalizers(cluster: Cluster) -> None:
    held = DOCUMENT | {"metadata": {"name": "shared", "namespace": NAMESPACE, "finalizers": ["x/held"]}}
    cluster.do(lambda: cluster.store.create(cluster.cluster_kind, NAMESPACE, held))
    with pytest.raises(SparkApplicationError, match=r"still exists 0 s after its deletion \(finalizers: x/held\)"):
        run(delete(only_own=False, gone_timeout=SHORT), TaskInstance())
    run(delete(only_own=False, wait_until_gone=False), TaskInstance())


def test_empty_name_deletes_nothing(cluster: Cluster) -> None:
    task = delete(name="{{ nothing }}")
    task.render_template_fields(cast("Context", {"nothing": ""}))
    with pytest.raises(AirflowFailException, match="name must be the name of a SparkCluster, not ''"):
        run(task, TaskInstance())


def test_document_is_read_from_a_file_and_rendered(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(json.dumps({**DOCUMENT, "metadata": {"annotations": {"team": "{{ team }}", "id": "{{APP_ID}}"}}}))
    task = create(cluster=str(file))
    task.render_template_fields(cast("Context", {"team": "data"}))
    run(task, TaskInstance())
    annotations = cluster.spark_clusters()[0]["metadata"]["annotations"]
    assert (annotations["team"], annotations["id"]) == ("data", "{{APP_ID}}")


def test_missing_file_is_reported(cluster: Cluster, tmp_path: Path) -> None:
    task = create(cluster=str(tmp_path / "none.yaml"))
    task.render_template_fields({})
    with pytest.raises(AirflowFailException, match=r"could not (find|read) cluster file .*none.yaml'"):
        run(task, TaskInstance())


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (APPLICATION, "kind: must be SparkCluster, not 'SparkApplication'"),
        ({**DOCUMENT, "spec": {}}, r"the cluster is not valid: spec\.runtimeVersions: is required"),
        ("a: 1\n---\nb: 2\n", "must contain exactly one SparkCluster manifest, but contains 2 manifests"),
    ],
)
def test_document_that_is_no_cluster_is_not_submitted(
    cluster: Cluster, document: dict[str, Any] | str, message: str
) -> None:
    with pytest.raises(AirflowFailException, match=message):
        run(create(cluster=document), TaskInstance())
    assert cluster.spark_clusters() == []


@pytest.mark.parametrize("served", ["v1beta1", "v1alpha1"])
def test_cluster_is_created_and_deleted_in_served_version(
    served: str, deferrable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Cluster(build_definitions(served)).serve() as cluster:
        document = {"conn_type": "kubernetes", "extra": {"kube_config": cluster.kubeconfig}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps(document))
        assert run(create(deferrable), TaskInstance()) == "shared"
        assert [one["apiVersion"] for one in cluster.spark_clusters()] == [f"spark.apache.org/{served}"]
        run(delete(), TaskInstance())
        assert cluster.spark_clusters() == []


def test_trigger_arguments_contain_no_secret(cluster: Cluster) -> None:
    path, arguments = defer(create(), TaskInstance()).trigger.serialize()
    assert path == "airflow_provider_spark_operator.triggers.spark_cluster.SparkClusterTrigger"
    assert "only-for-tests" not in repr(arguments)


def test_arguments_of_later_release_are_kept(cluster: Cluster) -> None:
    from airflow_provider_spark_operator.triggers.spark_cluster import SparkClusterTrigger

    assert SparkClusterTrigger(name="shared", colour="red").serialize()[1]["colour"] == "red"


def test_missing_connection_is_not_replaced_by_default_cluster(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    trigger = reload(defer(create(), TaskInstance()).trigger)
    monkeypatch.delenv("AIRFLOW_CONN_SPARK")
    assert fire(trigger)["kind"] == "lost"


@pytest.mark.parametrize("name", ["Shared", "a" * 46, ""])
def test_invalid_name_is_rejected_at_parse_time(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        create(name=name)
    with pytest.raises(ValueError, match="name"):
        delete(name=name)


@pytest.mark.parametrize("name", ["deferrable", "wait_until_ready", "delete_on_kill"])
def test_switch_that_is_not_boolean_is_rejected_at_parse_time(name: str) -> None:
    switch: dict[str, Any] = {name: "false"}
    with pytest.raises(TypeError, match=f"{name} must be True or False, not 'false'"):
        create(**switch)


@pytest.mark.parametrize("name", ["only_own", "wait_until_gone", "ignore_missing"])
def test_switch_of_deletion_that_is_not_boolean_is_rejected_at_parse_time(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} must be True or False, not 'false'"):
        delete(**{name: "false"})


def test_missing_cluster_argument_is_rejected_at_parse_time() -> None:
    with pytest.raises(TypeError, match="cluster is required"):
        create(cluster=None)


def test_application_runs_on_workers_of_cluster(cluster: Cluster) -> None:
    cluster.script = stay_submitted
    run(application_operator(cluster="shared", wait_for_completion=False), TaskInstance())
    conf = cluster.application()["spec"]["sparkConf"]
    assert conf["spark.master"] == "spark://shared-master-svc:7077"
    assert conf["spark.authenticate"] == "false"


@pytest.mark.parametrize("name", ["Shared", "spark://x:7077", "a/b/c", 3])
def test_invalid_cluster_name_is_rejected_at_parse_time(name: int | str) -> None:
    with pytest.raises(ValueError, match="cluster: must be the name of a SparkCluster"):
        application_operator(cluster=name)
