"""The controller of the local cluster and `reconcile` on the same cluster: one of them manages each application."""

import asyncio
from pathlib import Path
from typing import Any

import yaml

from airflow_provider_spark_operator.core.kubernetes.ownership import APACHE
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import EVENTS, SPARK_APPLICATIONS
from local_kubernetes.cluster import LocalCluster
from tests.cli.local.test_local import write
from tests.cli.process import DEADLINE, read_line, start_command, wait_for_exit

LOCAL = "spark-operator:kube-system/spark-operator-local"
LEASE = "kube-system/spark-operator-local"
BY_LOCAL = (
    f"left alone: the controller with the Lease {LEASE} manages this resource: local-cluster holds the Lease {LEASE}"
)
LEFT_ALONE = "DrivenByAnother"


def build_documents(folder: Path, script: str, *names: str) -> list[dict[str, Any]]:
    document = yaml.safe_load(Path(write(folder, script)).read_text())
    return [{**document, "metadata": {"name": name}} for name in names]


async def wait_for_state(client: KubeClient, name: str, *states: str) -> dict[str, Any]:
    async with asyncio.timeout(DEADLINE):
        while True:
            found = await client.get(SPARK_APPLICATIONS, name, "default")
            if (found.get("status") or {}).get("currentState", {}).get("currentStateSummary") in states:
                return found
            await asyncio.sleep(0.1)


async def wait_for_event(client: KubeClient, reason: str, name: str) -> str:
    async with asyncio.timeout(DEADLINE):
        while True:
            for event in (await client.list(EVENTS, "default")).items:
                if event["reason"] == reason and event["involvedObject"]["name"] == name:
                    return str(event["message"])
            await asyncio.sleep(0.1)


def find_writers(document: dict[str, Any]) -> set[str]:
    """Return the field managers that wrote the status."""
    return {entry["manager"] for entry in document["metadata"]["managedFields"] if entry.get("subresource") == "status"}


def list_states(document: dict[str, Any]) -> list[str]:
    return [entry["currentStateSummary"] for _, entry in sorted(document["status"]["stateTransitionHistory"].items())]


async def test_second_controller_leaves_applications_of_the_local_one_alone_and_logs_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    kubeconfig = home / "kubeconfig"
    async with start_command("local", "up", "--home", str(home), home=tmp_path) as local:
        await read_line(local, "ready ")
        async with await open_client(ClusterAccess(kubeconfig=kubeconfig)) as client:
            words = ("reconcile", "--kubeconfig", str(kubeconfig))
            async with start_command(*words, home=tmp_path) as second:
                await read_line(second, "ready ")
                names = await run_until_one_is_left_alone(client, tmp_path)
                ends = [await wait_for_state(client, name, ApplicationState.RESOURCE_RELEASED) for name in names]
                second.terminate()
                _, _, log = await wait_for_exit(second)
        local.terminate()
        await wait_for_exit(local)
    for document in ends:
        assert len(find_writers(document)) == 1
        assert len(set(list_states(document))) == len(list_states(document)), "a state was repeated"
    assert BY_LOCAL in log


async def test_second_controller_reports_at_once_what_the_local_one_manages(tmp_path: Path) -> None:
    home, go = tmp_path / "home", tmp_path / "go"
    async with start_command("local", "up", "--home", str(home), home=tmp_path) as local:
        await read_line(local, "ready ")
        async with await open_client(ClusterAccess(kubeconfig=home / "kubeconfig")) as client:
            for document in build_documents(tmp_path, f"until [ -e {go} ]; do sleep 0.1; done", "first"):
                await client.create(SPARK_APPLICATIONS, document, "default")
            await wait_for_state(client, "first", ApplicationState.RUNNING_HEALTHY)
            words = ("reconcile", "--kubeconfig", str(home / "kubeconfig"))
            async with start_command(*words, home=tmp_path) as second:
                await read_line(second, "ready ")
                assert (await wait_for_event(client, LEFT_ALONE, "first")).startswith(BY_LOCAL)
                go.touch()
                document = await wait_for_state(client, "first", ApplicationState.RESOURCE_RELEASED)
                second.terminate()
                await wait_for_exit(second)
        local.terminate()
        await wait_for_exit(local)
    assert find_writers(document) == {LOCAL}


async def run_until_one_is_left_alone(client: KubeClient, folder: Path) -> list[str]:
    """Submit applications that both controllers could manage, until the second leaves one alone. Return their names."""
    names: list[str] = []
    async with asyncio.timeout(DEADLINE):
        while not [event for event in (await client.list(EVENTS, "default")).items if BY_LOCAL in event["message"]]:
            names.append(f"app-{len(names)}")
            for document in build_documents(folder, "true", names[-1]):
                await client.create(SPARK_APPLICATIONS, document, "default")
            await wait_for_state(client, names[-1], ApplicationState.RESOURCE_RELEASED)
    return names


async def test_local_controller_manages_applications_of_another_one_only_with_take_over(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with (
        LocalCluster(home, build_custom_resource_definitions(), keep=True) as cluster,
        await open_client(ClusterAccess(kubeconfig=cluster.kubeconfig), field_manager=APACHE) as client,
    ):
        for document in build_documents(tmp_path, "true", "theirs"):
            await client.create(SPARK_APPLICATIONS, document, "default")
        state = {"currentStateSummary": "Submitted", "lastTransitionTime": "2026-03-01T12:00:00Z"}
        status = {"currentState": state, "stateTransitionHistory": {"0": state}}
        await client.patch(SPARK_APPLICATIONS, "theirs", "default", {"status": status}, subresource="status")

    words = ("local", "up", "--home", str(home), "--keep")
    async with start_command(*words, home=tmp_path) as local:
        await read_line(local, "ready ")
        async with await open_client(ClusterAccess(kubeconfig=home / "kubeconfig")) as client:
            message = await wait_for_event(client, LEFT_ALONE, "theirs")
            assert message.startswith("left alone: the Apache operator managed this resource last, and no Lease")
            assert find_writers(await client.get(SPARK_APPLICATIONS, "theirs", "default")) == {APACHE}
        local.terminate()
        _, _, log = await wait_for_exit(local)
    assert "[default/theirs] left alone: the Apache operator managed this resource last" in log

    async with start_command(*words, "--take-over", home=tmp_path) as local:
        await read_line(local, "ready ")
        async with await open_client(ClusterAccess(kubeconfig=home / "kubeconfig")) as client:
            await wait_for_state(client, "theirs", ApplicationState.RESOURCE_RELEASED)
            assert await wait_for_event(client, "TakenOver", "theirs")
        local.terminate()
        await wait_for_exit(local)


async def test_local_cluster_after_a_killed_one_manages_its_applications_at_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    words = ("local", "up", "--home", str(home), "--keep")
    async with start_command(*words, home=tmp_path) as local:
        await read_line(local, "ready ")
        async with await open_client(ClusterAccess(kubeconfig=home / "kubeconfig")) as client:
            for document in build_documents(tmp_path, "sleep 600", "first"):
                await client.create(SPARK_APPLICATIONS, document, "default")
            await wait_for_state(client, "first", ApplicationState.RUNNING_HEALTHY)
        local.kill()
        await local.wait()
    async with start_command(*words, home=tmp_path) as local:
        await read_line(local, "ready ")
        async with await open_client(ClusterAccess(kubeconfig=home / "kubeconfig")) as client:
            # The driver's process does not exist any more. The controller must notice it.
            found = await wait_for_state(client, "first", ApplicationState.RESOURCE_RELEASED)
            assert find_writers(found) == {LOCAL}
            reasons = {event["reason"] for event in (await client.list(EVENTS, "default")).items}
            assert LEFT_ALONE not in reasons
        local.terminate()
        _, _, log = await wait_for_exit(local)
    assert "became the leader: holds lease kube-system/spark-operator-local as local-cluster" in log
    assert "standing by" not in log
