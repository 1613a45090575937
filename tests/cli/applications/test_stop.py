"""`spark-operator stop`: on the local cluster with drivers that are shell scripts, and with Kubeflow's operator."""

from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.cli.base.exit_codes import ExitCode
from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_STOP
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS
from airflow_provider_spark_operator.local.cluster import RunningCluster, run_cluster
from airflow_provider_spark_operator.testing.applications import Application
from local_kubernetes.api.kinds import kinds
from tests.cli.local.test_local import build
from tests.cli.process import run_command
from tests.cluster import NAMESPACE, Cluster

from kubelet.conditions import wait_until
from kubelet.running_node import wait_until_async

WAIT = "echo started; until [ -s /stop/requested ]; do sleep 0.1; done; sleep 0.2"
ALWAYS = {"restartConfig": {"restartPolicy": "Always", "maxRestartAttempts": 5, "restartBackoffMillis": 1}}
VOLUME: JsonObject = {
    "name": "stop",
    "downwardAPI": {
        "items": [{"path": "requested", "fieldRef": {"fieldPath": f"metadata.annotations['{ANNOTATION_STOP}']"}}]
    },
}


def build_stream(script: str, *, sees_request: bool = True) -> JsonObject:
    """Return an application that its operator always restarts."""
    document = build(script)
    document["spec"]["applicationTolerations"] = ALWAYS
    if sees_request:
        pod = document["spec"]["driverSpec"]["podTemplateSpec"]["spec"]
        pod["containers"][0]["volumeMounts"] = [{"name": "stop", "mountPath": "/stop"}]
        pod["volumes"] = [VOLUME]
    return document


async def start(cluster: RunningCluster, document: JsonObject) -> None:
    """Create the application, and wait until its driver runs."""
    await cluster.client.create(SPARK_APPLICATIONS, document, "default")

    async def is_running() -> bool:
        pods = (await cluster.client.list(PODS, "default")).items
        return any(pod["status"].get("phase") == "Running" for pod in pods)

    await wait_until_async(is_running, seconds=60)


async def stop(cluster: RunningCluster, folder: Path, *options: str) -> tuple[int | None, str]:
    words = ("stop", "pi", "--kubeconfig", str(cluster.kubeconfig), *options)
    code, out, err = await run_command(*words, home=folder)
    assert out == ""
    return code, err


async def list_names(cluster: RunningCluster, kind: Any) -> list[str]:
    return [item["metadata"]["name"] for item in (await cluster.client.list(kind, "default")).items]


@pytest.mark.parametrize(("exit_code", "expected"), [(0, ExitCode.SUCCESS), (3, ExitCode.APPLICATION_FAILED)])
async def test_program_ends_on_request_and_is_not_restarted(tmp_path: Path, exit_code: int, expected: ExitCode) -> None:
    async with run_cluster(tmp_path / "home") as cluster:
        await start(cluster, build_stream(f"{WAIT}; exit {exit_code}"))
        code, err = await stop(cluster, tmp_path)
        application = await cluster.client.get(SPARK_APPLICATIONS, "pi", "default")
    assert (code, "asked the program of SparkApplication default/pi to stop" in err) == (expected, True), err
    assert read_progress(application).attempt == 0
    assert application["spec"]["applicationTolerations"]["restartConfig"]["restartPolicy"] == "Never"


async def test_program_that_does_not_end_is_deleted_after_the_timeout(tmp_path: Path) -> None:
    async with run_cluster(tmp_path / "home") as cluster:
        await start(cluster, build_stream("echo started; sleep 600"))
        code, err = await stop(cluster, tmp_path, "--timeout", "1s")
        left = [await list_names(cluster, kind) for kind in (SPARK_APPLICATIONS, PODS)]
    assert (code, left) == (ExitCode.TIMED_OUT, [[], []])
    assert "did not end within 1s" in err
    assert err.endswith("Deleting it\nspark-operator: SparkApplication default/pi was deleted\n")


async def test_program_that_cannot_see_the_request_is_deleted_at_once(tmp_path: Path) -> None:
    async with run_cluster(tmp_path / "home") as cluster:
        await start(cluster, build_stream("echo started; sleep 600", sees_request=False))
        code, err = await stop(cluster, tmp_path)
        left = [await list_names(cluster, kind) for kind in (SPARK_APPLICATIONS, PODS)]
    assert (code, left) == (ExitCode.SUCCESS, [[], []])
    assert "driver pod pi-0-driver has no downward API volume with the annotation spark.operator/stop-requested" in err


async def test_application_that_has_ended_or_has_no_driver_is_not_asked(tmp_path: Path) -> None:
    async with run_cluster(tmp_path / "home") as cluster:
        await cluster.client.create(SPARK_APPLICATIONS, build("exit 0"), "default")
        await wait_until_async(lambda: has_ended(cluster), seconds=60)
        assert await stop(cluster, tmp_path) == (
            ExitCode.SUCCESS,
            "spark-operator: SparkApplication default/pi has already ended in state ResourceReleased\n",
        )
        await cluster.client.delete(SPARK_APPLICATIONS, "pi", "default")
        document = build("exit 0")
        document["spec"]["suspend"] = True
        await wait_until_async(lambda: is_absent(cluster), seconds=60)
        await cluster.client.create(SPARK_APPLICATIONS, document, "default")
        code, err = await stop(cluster, tmp_path)
        assert (code, await is_absent(cluster)) == (ExitCode.SUCCESS, True)
    assert "cannot stop by itself: it has no driver" in err


async def has_ended(cluster: RunningCluster) -> bool:
    found = await cluster.client.get(SPARK_APPLICATIONS, "pi", "default")
    return read_progress(found).phase is Phase.ENDED


async def is_absent(cluster: RunningCluster) -> bool:
    return not await list_names(cluster, SPARK_APPLICATIONS)


@pytest.mark.parametrize(
    ("policy", "exit_code", "expected", "is_kept"),
    [
        ("Always", 0, ExitCode.SUCCESS, False),
        ("OnFailure", 0, ExitCode.SUCCESS, True),
        ("OnFailure", 1, ExitCode.SUCCESS, False),
        ("Never", 1, ExitCode.APPLICATION_FAILED, True),
        ("Always", None, ExitCode.TIMED_OUT, False),
    ],
)
async def test_application_of_kubeflow_is_deleted_if_its_policy_would_restart_it(
    kubeflow_cluster: Cluster, tmp_path: Path, policy: str, exit_code: int | None, expected: ExitCode, is_kept: bool
) -> None:
    def find_pod() -> JsonObject | None:
        return next(iter(kubeflow_cluster.store.objects.list(kinds.PODS, NAMESPACE)[0]), None)

    def add_volume(pod: JsonObject) -> JsonObject:
        return {**pod, "spec": {**pod["spec"], "volumes": [VOLUME]}}

    def set_policy(application: JsonObject) -> JsonObject:
        return {**application, "spec": {**application["spec"], "restartPolicy": {"type": policy}}}

    def is_asked() -> bool:
        pod = find_pod()
        return pod is None or "annotations" in pod["metadata"]

    async def end_on_request(application: Application) -> None:
        application.start()
        kubeflow_cluster.store.update(kinds.PODS, NAMESPACE, application.driver, add_volume)
        await wait_until(is_asked)
        if exit_code == 0:
            application.succeed()
        elif exit_code is not None:
            application.fail(exit_code)
        else:
            await wait_until(lambda: "deletionTimestamp" in (find_pod() or {})["metadata"])
            application.delete_driver()

    kubeflow_cluster.script = end_on_request
    kubeflow_cluster.create("pi")
    kubeflow_cluster.wait_for_state("RUNNING")
    kubeflow_cluster.do(lambda: kubeflow_cluster.store.update(kubeflow_cluster.kind, NAMESPACE, "pi", set_policy))
    code, _, err = await run_command(
        "stop", "pi", "-n", NAMESPACE, "--timeout", "2s" if exit_code is None else "1m", home=tmp_path
    )
    assert code == expected, err
    assert [item["spec"]["restartPolicy"]["type"] for item in kubeflow_cluster.applications()] == [policy] * is_kept
