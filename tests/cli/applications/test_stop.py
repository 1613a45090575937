"""`spark-operator stop`: on the local cluster with drivers that are shell scripts, and with Kubeflow's operator."""

from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_STOP
from airflow_provider_spark_operator.core.kubernetes.pods import get_uid
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS, ResourceType
from airflow_provider_spark_operator.local.cluster import RunningCluster, run_cluster
from airflow_provider_spark_operator.testing.applications import Application, Script
from local_kubernetes.api.kinds import kinds
from tests.cli.local.test_local import build
from tests.cli.process import run_command
from tests.cli.verbs import Verbs
from tests.cluster import NAMESPACE, Cluster, stay_submitted

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
        for options, notes in (
            ([], 1),
            (["--set", "spec.applicationTolerations.restartConfig.restartPolicy=Always"], 0),
        ):
            words = ("restart", "pi", "--dry-run", *options, "--kubeconfig", str(cluster.kubeconfig))
            _, out, err = await run_command(*words, home=tmp_path)
            assert err.count("to Never; it was Always. To restore it, add --set spec.applicationTolerations.") == notes
            assert "before-stop" not in out


async def test_program_that_does_not_end_is_deleted_after_the_timeout(tmp_path: Path) -> None:
    async with run_cluster(tmp_path / "home") as cluster:
        await start(cluster, build_stream("echo started; sleep 600"))
        code, err = await stop(cluster, tmp_path, "--timeout", "1s")
        left = [await list_names(cluster, kind) for kind in (SPARK_APPLICATIONS, PODS)]
    assert (code, left) == (ExitCode.TIMED_OUT, [[], []])
    assert "did not end within 1s" in err
    assert err.endswith("Deleting it\nspark-operator: SparkApplication default/pi was deleted\n")


async def test_application_that_has_ended_is_not_asked(tmp_path: Path) -> None:
    async with run_cluster(tmp_path / "home") as cluster:
        await cluster.client.create(SPARK_APPLICATIONS, build("exit 0"), "default")
        await wait_until_async(lambda: has_ended(cluster), seconds=60)
        assert await stop(cluster, tmp_path) == (
            ExitCode.SUCCESS,
            "spark-operator: SparkApplication default/pi has already ended in state ResourceReleased\n",
        )


async def has_ended(cluster: RunningCluster) -> bool:
    found = await cluster.client.get(SPARK_APPLICATIONS, "pi", "default")
    return read_progress(found).phase is Phase.ENDED


def create_stream(cluster: Cluster, *, end: Script | None = None, sees_request: bool = True, **metadata: Any) -> None:
    """Create an application with a running driver, which the operator always restarts.

    Args:
        cluster: The cluster.
        end: What happens then. By default, the driver neither ends by itself nor on request.
        sees_request: Whether the driver pod has the volume.
        **metadata: Metadata of the application.
    """

    async def run(application: Application) -> None:
        application.start()
        if sees_request:
            cluster.store.update(kinds.PODS, NAMESPACE, application.driver, add_volume)
        if end is not None:
            await end(application)

    cluster.script = run
    cluster.create("pi", **metadata)
    cluster.wait_for_state("RunningHealthy")
    cluster.do(lambda: cluster.store.update(cluster.kind, NAMESPACE, "pi", set_tolerations))


def add_volume(pod: JsonObject) -> JsonObject:
    return {**pod, "spec": {**pod["spec"], "volumes": [VOLUME]}}


def set_tolerations(application: JsonObject) -> JsonObject:
    return {**application, "spec": {**application["spec"], "applicationTolerations": ALWAYS}}


def list_pods(cluster: Cluster) -> list[JsonObject]:
    return cluster.store.objects.list(kinds.PODS, NAMESPACE)[0]


def read_patched(cluster: Cluster) -> tuple[str, set[str]]:
    """Return the restart policy of the application, and the names of all annotations of pods."""
    tolerations = cluster.application("pi")["spec"]["applicationTolerations"]
    notes = {name for pod in list_pods(cluster) for name in pod["metadata"].get("annotations") or {}}
    return tolerations["restartConfig"]["restartPolicy"], notes


def test_missing_permission_to_patch_pods_changes_nothing(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    create_stream(scripted_cluster)
    patch = KubeClient.patch

    async def refuse_pods(client: KubeClient, resource: ResourceType, *arguments: Any, **options: Any) -> JsonObject:
        if resource == PODS:
            raise Forbidden(403, "Forbidden", "User a cannot patch pods", "patch", "pods", NAMESPACE)
        return await patch(client, resource, *arguments, **options)

    monkeypatch.setattr(KubeClient, "patch", refuse_pods)
    assert "User a cannot patch pods" in run_verb("stop pi", ExitCode.API_FAILED).err
    assert read_patched(scripted_cluster) == ("Always", set())


def test_program_that_cannot_see_the_request_is_refused(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    create_stream(scripted_cluster, sees_request=False)
    assert run_verb("stop pi", ExitCode.INVALID).err == (
        "spark-operator: error: could not stop SparkApplication jobs/pi: driver pod pi-0-driver has no downward API "
        "volume with the annotation spark.operator/stop-requested, so its program cannot see the request. Add the "
        "volume as in docs/guides/streaming.md before the next submission. To end the application at once, run "
        "`spark-operator delete pi -n jobs`\n"
    )
    assert read_patched(scripted_cluster) == ("Always", set())
    assert len(list_pods(scripted_cluster)) == 1


def test_application_without_driver_is_refused(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    assert run_verb("stop pi", ExitCode.INVALID).err == (
        "spark-operator: error: could not stop SparkApplication jobs/pi: it has no driver. To end the application at "
        "once, run `spark-operator delete pi -n jobs`\n"
    )
    assert "deletionTimestamp" not in scripted_cluster.application("pi")["metadata"]


def test_application_of_another_resource_is_refused(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    create_stream(scripted_cluster)
    scripted_cluster.script = stay_submitted
    parent = scripted_cluster.create("daily")
    owner = {"apiVersion": parent["apiVersion"], "kind": parent["kind"], "name": "daily"}

    def set_owner(application: JsonObject) -> JsonObject:
        owners = [{**owner, "uid": parent["metadata"]["uid"]}]
        return {**application, "metadata": {**application["metadata"], "ownerReferences": owners}}

    scripted_cluster.do(lambda: scripted_cluster.store.update(scripted_cluster.kind, NAMESPACE, "pi", set_owner))
    error = run_verb("stop pi --timeout 1s", ExitCode.INVALID).err
    assert "pi: it belongs to SparkApplication daily. Stop it through its owner" in error
    assert read_patched(scripted_cluster) == ("Always", set())


@pytest.mark.parametrize("is_replaced_before", [True, False])
def test_driver_that_replaces_the_first_one_is_asked_too(
    scripted_cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    run_verb: Verbs,
    is_replaced_before: bool,
) -> None:
    uids: list[str] = []
    patch = KubeClient.patch

    def replace_driver() -> None:
        """Replace the first driver, as the operator does between two requests of the command."""
        pod = list_pods(scripted_cluster)[0]
        if get_uid(pod) == uids[0]:
            scripted_cluster.resources.delete_pod(NAMESPACE, pod["metadata"]["name"])
            metadata = {key: pod["metadata"][key] for key in ("name", "labels", "ownerReferences")}
            scripted_cluster.store.create(kinds.PODS, NAMESPACE, {**pod, "metadata": metadata})

    async def replace_and_patch(client: KubeClient, resource: ResourceType, *arguments: Any, **options: Any) -> Any:
        is_request = resource == PODS and not options.get("dry_run")
        if is_request and is_replaced_before:
            scripted_cluster.do(replace_driver)
        changed = await patch(client, resource, *arguments, **options)
        if is_request and not is_replaced_before:
            scripted_cluster.do(replace_driver)
        return changed

    def is_second_driver_asked() -> bool:
        pod = next(iter(list_pods(scripted_cluster)), None)
        return pod is not None and get_uid(pod) != uids[0] and ANNOTATION_STOP in pod["metadata"].get("annotations", {})

    async def end_on_request(application: Application) -> None:
        uids.append(get_uid(list_pods(scripted_cluster)[0]))
        await wait_until(is_second_driver_asked)
        application.succeed()

    create_stream(scripted_cluster, end=end_on_request)
    monkeypatch.setattr(KubeClient, "patch", replace_and_patch)
    err = run_verb("stop pi --timeout 20s").err
    assert err.count("asked the program of") == (1 if is_replaced_before else 2)
    assert "the restart policy of SparkApplication jobs/pi is now Never; it was " in err
    assert read_patched(scripted_cluster) == ("Never", {ANNOTATION_STOP})


def test_application_that_was_deleted_meanwhile_is_reported_once(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    create_stream(scripted_cluster)
    delete = KubeClient.delete

    async def delete_twice(client: KubeClient, *arguments: Any, **options: Any) -> JsonObject:
        await delete(client, *arguments, **options)
        scripted_cluster.do(lambda: scripted_cluster.resources.delete_pod(NAMESPACE, "pi-0-driver"))
        return await delete(client, *arguments, **options)

    monkeypatch.setattr(KubeClient, "delete", delete_twice)
    err = run_verb("stop pi --timeout 1s", ExitCode.TIMED_OUT).err
    assert (err.count("was already deleted"), err.count("was deleted")) == (1, 0), err


@pytest.mark.parametrize(
    ("finalizers", "expected"),
    [
        ([], "driver pod pi-0-driver still exists 1 s after the deletion of SparkApplication jobs/pi. Check that the "),
        (
            ["example.com/hold"],
            "driver pod pi-0-driver of SparkApplication jobs/pi still exists 1 s after its deletion (",
        ),
    ],
)
def test_driver_pod_that_is_not_deleted_in_time_is_named(
    scripted_cluster: Cluster, run_verb: Verbs, finalizers: list[str], expected: str
) -> None:
    def hold(pod: JsonObject) -> JsonObject:
        return {**pod, "metadata": {**pod["metadata"], "finalizers": finalizers}}

    create_stream(scripted_cluster)
    scripted_cluster.do(lambda: scripted_cluster.store.update(kinds.PODS, NAMESPACE, "pi-0-driver", hold))
    assert expected in run_verb("stop pi --timeout 0s --deletion-timeout 1s", ExitCode.TIMED_OUT).err


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
        return next(iter(list_pods(kubeflow_cluster)), None)

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
