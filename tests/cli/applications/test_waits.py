"""The output of the commands for an application that does not start."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_CLAIM
from airflow_provider_spark_operator.core.verdict import obstacles
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.resources import NAMESPACES, ResourceType
from airflow_provider_spark_operator.reconcile.objects.lease import LeaseTerms, build_lease
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.testing.spark_clusters import ScriptedSparkCluster
from local_kubernetes.api.kinds.kinds import LEASES
from tests.cli.clusters.test_cluster import write as write_cluster
from tests.cli.process import DEADLINE, start_command
from tests.cli.verbs import Verbs
from tests.cluster import NAMESPACE, Cluster, run_on, stay_submitted
from tests.triggers.test_obstacles import build_pending_status, request_driver, warn

NO_LABEL = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
MOUNT = 'MountVolume.SetUp failed for volume "data" : configmap "data" not found'
ADVICE = "create the ConfigMap data in the namespace of the application, or correct its name"


def read(run_verb: Verbs, *words: str) -> str:
    """Return the output of a command in one line."""
    return " ".join(run_verb([*words]).out.split())


@pytest.mark.parametrize(
    ("status", "word", "sentence"),
    [
        (build_pending_status(unscheduled=NO_LABEL), "DriverRequested (Unschedulable)", "or label a node"),
        (
            build_pending_status("CreateContainerConfigError", 'configmap "data" not found'),
            "DriverRequested (CreateContainerConfigError)",
            ADVICE,
        ),
    ],
    ids=["node selector", "ConfigMap"],
)
def test_verbs_name_the_obstacle_of_a_driver_pod(
    scripted_cluster: Cluster,
    run_verb: Verbs,
    status: dict[str, Any],
    word: str,
    sentence: str,
) -> None:
    request_driver(scripted_cluster, status)
    shown = read(run_verb, "status", "pi")
    assert word in shown
    assert sentence in shown
    assert sentence in read(run_verb, "describe", "pi")
    assert word in read(run_verb, "list")
    error = " ".join(run_verb("logs pi", ExitCode.API_FAILED).err.split())
    prefix = "spark-operator: error: SparkApplication jobs/pi has no log yet: "
    assert error.startswith(prefix)
    assert sentence in error
    assert error.removeprefix(prefix) in shown.partition("Waiting: ")[2]


async def yield_no_lines(*_: object, **__: object) -> AsyncGenerator[str, None]:
    for line in list[str]():
        yield line


def test_logs_name_the_obstacle_of_a_pod_without_a_node_whose_log_is_empty(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    request_driver(scripted_cluster, build_pending_status(unscheduled=NO_LABEL))
    monkeypatch.setattr(KubeClient, "logs", yield_no_lines)  # as the API server answers before a node is chosen
    assert "has no log yet: the driver pod could not be scheduled" in run_verb("logs pi", ExitCode.API_FAILED).err


async def test_followed_log_begins_with_what_the_application_waits_for(
    scripted_cluster: Cluster, tmp_path: Path
) -> None:
    await asyncio.to_thread(request_driver, scripted_cluster, build_pending_status(unscheduled=NO_LABEL))
    async with start_command("logs", "pi", "-f", home=tmp_path) as process, asyncio.timeout(DEADLINE):
        assert process.stderr is not None
        note = (await process.stderr.readline()).decode()
    assert "SparkApplication jobs/pi is waiting: the driver pod could not be scheduled" in note


def test_status_names_a_volume_that_only_an_event_shows(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    request_driver(scripted_cluster, build_pending_status())
    warn(scripted_cluster, "FailedMount", MOUNT)
    sentence = f"Waiting: the driver pod is pending: FailedMount: {MOUNT}; {ADVICE}"
    shown = [read(run_verb, "status", "pi"), read(run_verb, "describe", "pi"), read(run_verb, "list")]
    assert [sentence in text for text in shown] == [True, True, False]
    assert ["DriverRequested (FailedMount)" in text for text in shown] == [True, True, True]


def test_verbs_name_the_obstacle_of_an_executor(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = stay_submitted
    executor = f"pi-{scripted_cluster.create('pi')['metadata']['uid'][:8]}-exec-1"
    scripted_cluster.play(run_on)
    status = build_pending_status("ImagePullBackOff", 'Back-off pulling image "spark:9"')
    scripted_cluster.do(lambda: scripted_cluster.resources.set_pod_status(NAMESPACE, executor, status))
    assert f"Waiting: executor pod {executor} cannot start: ImagePullBackOff" in read(run_verb, "status", "pi")
    assert "RunningHealthy (ImagePullBackOff)" in read(run_verb, "describe", "pi")
    assert "RunningHealthy (ImagePullBackOff)" in read(run_verb, "list")


REFUSED = (
    "io.fabric8.kubernetes.client.KubernetesClientException: Failure executing: POST at: https://k/jobs/pods. "
    'Message: pods "pi-exec-1" is forbidden: exceeded quota: team, requested: cpu=1. Received status: Status(code=403)'
)
LIMIT = "26/01/01 00:00:09 ERROR ExecutorPodsLifecycleManager: Max number of executor failures (3) reached"
TOO_FEW = (
    "Spark could not create executors: exceeded quota: team, requested: cpu=1; reduce the requests "
    "(spark.executor.cores, spark.executor.memory), or raise the ResourceQuota of the namespace"
)


async def request_refused_executors(application: Application) -> None:
    application.start(executors=0)
    application.log.write(REFUSED)


async def end_without_executors(application: Application) -> None:
    await request_refused_executors(application)
    application.log.write(LIMIT)
    application.log.write('Exception in thread "main" java.lang.IllegalStateException: Spark context stopped')
    application.fail(exit_code=11)


def test_verbs_name_the_quota_that_rejects_executors(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    scripted_cluster.play(request_refused_executors)
    for verb in ("status", "describe"):
        shown = read(run_verb, verb, "pi")
        assert f"Waiting: {TOO_FEW}" in shown
        assert "requested none" not in shown


def test_verbs_blame_the_quota_that_rejected_executors(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    scripted_cluster.play(end_without_executors)
    for verb in ("status", "describe"):
        shown = read(run_verb, verb, "pi")
        assert "Failed (scheduling)" in shown
        assert f"Failed: {TOO_FEW}" in shown
    assert TOO_FEW in " ".join(run_verb("wait pi", ExitCode.INFRASTRUCTURE_FAILED).err.split())


QUOTA = 'pods "pi-0-driver" is forbidden: exceeded quota: small, requested: cpu=9'


async def refuse_driver(application: Application) -> None:
    application.enter("SchedulingFailure", reason="SchedulingFailed", message=QUOTA)
    application.enter("TerminatedWithoutReleaseResources")


def test_verbs_say_that_no_driver_was_created(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    scripted_cluster.play(refuse_driver)
    assert main(["logs", "pi"]) == ExitCode.API_FAILED
    expected = (
        "no driver pod of attempt 1: none was created. To see the cause, run `spark-operator describe pi -n jobs`"
    )
    assert expected in " ".join(capsys.readouterr().err.split())
    assert "not available: no driver was created" in read(run_verb, "describe", "pi")
    assert "pi-0-driver" not in read(run_verb, "list", "-o", "wide")


def claim(cluster: Cluster, renewed: datetime | None) -> None:
    """Claim the running application for a controller whose Lease was renewed at a time; None for no Lease."""
    cluster.script = stay_submitted
    cluster.create("pi")
    cluster.play(run_on)
    annotate(cluster, cluster.kind, "pi")
    if renewed is not None:
        lease = build_lease(None, "replica-1", LeaseTerms(), renewed)
        cluster.do(lambda: cluster.store.create(LEASES, NAMESPACE, {**lease, "metadata": {"name": "controller"}}))


def annotate(cluster: Cluster, kind: Any, name: str) -> None:
    """Add the claim of a controller to a resource."""

    def change(old: dict[str, Any]) -> dict[str, Any]:
        claims = {ANNOTATION_CLAIM: f"{NAMESPACE}/controller {old['metadata']['uid']}"}
        return {**old, "metadata": {**old["metadata"], "annotations": claims}}

    cluster.do(lambda: cluster.store.update(kind, NAMESPACE, name, change))


@pytest.mark.parametrize(
    ("age", "detail"), [(None, ""), (3000, ", last renewed 50 min ago")], ids=["deleted", "expired"]
)
def test_verbs_name_a_controller_that_died(
    scripted_cluster: Cluster,
    run_verb: Verbs,
    monkeypatch: pytest.MonkeyPatch,
    age: int | None,
    detail: str,
) -> None:
    claim(scripted_cluster, None if age is None else datetime.now(UTC) - timedelta(seconds=age))
    assert "controller" not in read(run_verb, "status", "pi")
    monkeypatch.setattr(obstacles, "UNRECONCILED", timedelta(seconds=-5))
    sentence = f"the controller that manages it does not run: no process holds its Lease jobs/controller{detail}. Start"
    assert f"Waiting: {sentence}" in read(run_verb, "status", "pi")
    assert sentence in read(run_verb, "describe", "pi")
    for words in (["list"], ["status", "pi"], ["describe", "pi"]):
        assert "RunningHealthy (no controller)" in read(run_verb, *words)
    shown = " ".join(run_verb("wait pi --timeout 1s", ExitCode.TIMED_OUT).err.split())
    assert f"SparkApplication jobs/pi: {sentence}" in shown
    assert f"(RunningHealthy: {sentence}" in shown


@pytest.mark.parametrize("is_permitted", [True, False], ids=["permitted", "no permission"])
def test_verbs_name_a_namespace_in_termination(
    scripted_cluster: Cluster, run_verb: Verbs, monkeypatch: pytest.MonkeyPatch, is_permitted: bool
) -> None:
    claim(scripted_cluster, None)
    deletion = {"deletionTimestamp": "2026-01-01T00:00:00Z"}

    def hold(old: dict[str, Any]) -> dict[str, Any]:
        return {**old, "metadata": {**old["metadata"], "finalizers": ["spark.operator/finalizer"]}}

    scripted_cluster.do(lambda: scripted_cluster.store.update(scripted_cluster.kind, NAMESPACE, "pi", hold))
    scripted_cluster.do(lambda: scripted_cluster.store.delete(scripted_cluster.kind, NAMESPACE, "pi"))
    monkeypatch.setattr(obstacles, "UNRECONCILED", timedelta(seconds=-5))
    get = KubeClient.get

    async def answer(client: KubeClient, resource: ResourceType, *names: Any, **options: Any) -> Any:
        if resource != NAMESPACES:
            return await get(client, resource, *names, **options)
        if not is_permitted:
            raise Forbidden(403, "Forbidden", "User a cannot get namespaces", "get", "namespaces", None)
        return {"metadata": {"name": NAMESPACE, **deletion}}

    monkeypatch.setattr(KubeClient, "get", answer)
    ending = (
        "Waiting: the namespace jobs is being deleted, and waits until the controller removes the finalizer, but no"
    )
    sentence = ending if is_permitted else "Waiting: the controller that manages it does not run"
    assert sentence in read(run_verb, "status", "pi")
    assert sentence in " ".join(read(run_verb, "describe", "pi").split())


def test_verbs_name_no_controller_that_runs(
    scripted_cluster: Cluster, run_verb: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(obstacles, "UNRECONCILED", timedelta(seconds=-5))
    claim(scripted_cluster, datetime.now(UTC))
    assert "controller" not in read(run_verb, "status", "pi")
    assert "controller" not in read(run_verb, "list")


def test_verbs_name_no_controller_of_a_young_application_if_the_local_clock_is_fast(
    scripted_cluster: Cluster, run_verb: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(obstacles, "UNRECONCILED", timedelta(seconds=-5))
    monkeypatch.setattr(KubeClient, "get_time", lambda _: datetime.now(UTC) - timedelta(minutes=10))
    claim(scripted_cluster, None)
    for verb in ("status", "describe", "list"):
        assert "controller" not in read(run_verb, verb, *(["pi"] if verb != "list" else []))
    assert "controller" not in run_verb("wait pi --timeout 1s", ExitCode.TIMED_OUT).err


async def stay_new(_: ScriptedSparkCluster) -> None:
    """Write no status, as without an operator."""


def test_status_of_a_cluster_names_a_missing_operator_and_a_controller_that_died(
    scripted_cluster: Cluster, run_verb: Verbs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scripted_cluster.cluster_script = stay_new
    read(run_verb, "cluster", "create", write_cluster(tmp_path))
    assert "Waiting" not in read(run_verb, "cluster", "status", "analytics")
    monkeypatch.setattr(obstacles, "UNRECONCILED", timedelta(seconds=-5))
    assert "no operator seems to reconcile it. Check that an operator" in read(
        run_verb, "cluster", "status", "analytics"
    )
    annotate(scripted_cluster, scripted_cluster.cluster_kind, "analytics")
    sentence = "Waiting: the controller that manages it does not run: no process holds its Lease jobs/controller. Start"
    assert sentence in read(run_verb, "cluster", "status", "analytics")


def test_ages_are_those_of_the_clock_of_the_api_server(
    scripted_cluster: Cluster, run_verb: Verbs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scripted_cluster.cluster_script = stay_new
    read(run_verb, "cluster", "create", write_cluster(tmp_path))
    monkeypatch.setattr(KubeClient, "get_time", lambda _: datetime.now(UTC) + timedelta(days=3))
    assert " 3d" in read(run_verb, "cluster", "list")


async def time_out(application: Application) -> None:
    application.delete_driver()
    application.enter("DriverStartTimedOut", "ResourceReleased")


def test_verbs_name_the_missing_object_after_the_start_timed_out(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    request_driver(scripted_cluster, build_pending_status())
    warn(scripted_cluster, "FailedMount", MOUNT)
    scripted_cluster.play(time_out)
    sentence = f"DriverStartTimedOut: the driver did not start in time: FailedMount: {MOUNT}; {ADVICE}"
    assert sentence in read(run_verb, "status", "pi")
    assert sentence in read(run_verb, "describe", "pi")
    assert main(["wait", "pi"]) == ExitCode.INFRASTRUCTURE_FAILED
    assert sentence.rstrip(".") in " ".join(capsys.readouterr().err.split())


def test_long_cause_of_a_wait_is_printed_once(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    request_driver(scripted_cluster, build_pending_status())
    mount = f"{MOUNT} {'x' * 120}"
    warn(scripted_cluster, "FailedMount", mount)
    shown = " ".join(run_verb("wait pi --timeout 2s", ExitCode.TIMED_OUT).err.split())
    assert shown.count("x" * 120) == 1
    assert "did not end within 2s (DriverRequested). The application continues" in shown


def test_verbs_name_a_missing_operator(
    scripted_cluster: Cluster, run_verb: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    assert "no status" not in read(run_verb, "status", "pi")
    monkeypatch.setattr(KubeClient, "get_time", lambda _: datetime.now(UTC) + timedelta(minutes=36))
    sentence = "it has had no status for 36 min: no operator seems to reconcile it. Check that an operator for spark."
    assert sentence in read(run_verb, "status", "pi")
    assert sentence in read(run_verb, "describe", "pi")
    assert "Submitted (no operator)" in read(run_verb, "list")
    shown = " ".join(run_verb("wait pi --timeout 1s", ExitCode.TIMED_OUT).err.split())
    assert f"SparkApplication jobs/pi: {sentence}" in shown
    assert "within 1s (Submitted: no operator seems to reconcile it). The application continues" in shown


async def start_no_driver(_: Application) -> None:
    """Write no status, as Kubeflow's operator while its spark-submit runs."""


async def create_driver(application: Application) -> None:
    application.start_driver()


def test_slow_submission_of_kubeflow_is_no_missing_operator(
    kubeflow_cluster: Cluster, run_verb: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(obstacles, "UNRECONCILED", timedelta(seconds=-5))
    kubeflow_cluster.script = start_no_driver
    kubeflow_cluster.create("pi")
    sentence = "the spark-submit of Kubeflow's operator takes long, or no operator reconciles it"
    assert sentence in read(run_verb, "status", "pi")
    assert "(no status)" in read(run_verb, "list")
    kubeflow_cluster.play(create_driver)
    assert "no operator" not in read(run_verb, "status", "pi")
    assert "no operator" not in run_verb("wait pi --timeout 1s", ExitCode.TIMED_OUT).err
