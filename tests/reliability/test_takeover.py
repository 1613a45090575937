"""Takeover from the Apache operator without leader election, and applications that other tools have restored."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_CLAIM, APPLICATION_FINALIZER
from airflow_provider_spark_operator.core.kubernetes.ownership import APACHE, LeaseReference, find_owner
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from airflow_provider_spark_operator.reconcile.objects.lease import DEFAULT_LEASE
from tests.cli.process import start_command, wait_for_exit
from tests.reconcile.harness import Api, build_application, history_of
from tests.reconcile.ownership.test_claims import hold_lease, list_messages, run_rival
from tests.reconcile.test_controller import UP_TO_RUNNING
from tests.reliability.harness import Harness, build_controller

from control_plane import build_kubeconfig

pytestmark = pytest.mark.timeout(300)

TTL_MILLIS = 15_000


async def test_application_of_interrupted_takeover_completes_without_the_flag(harness: Harness) -> None:
    api = Api(harness.client, harness.namespace)

    async def is_reported() -> bool:
        return await list_messages(api, "TakenOver") == ["taken over from the Apache operator"]

    async with api.play_drivers("run"):
        async with run_rival(build_kubeconfig(harness.plane.server), api, None, manager=APACHE):
            await api.submit(build_application())
            await api.wait_for_state(ApplicationState.RUNNING_HEALTHY)
        async with run_controller(harness, "--take-over"):
            await api.wait_until(is_claimed)
        assert await check(harness) == (ExitCode.SUCCESS, [])
        async with run_controller(harness):
            await api.set_pod("pi-0-driver", "succeeded")
            released = await api.wait_for_state(ApplicationState.RESOURCE_RELEASED)
    assert history_of(released) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
    assert await list_messages(api, "DrivenByAnother") == []


async def test_released_applications_with_ttl_are_reported_until_takeover(harness: Harness) -> None:
    api = Api(harness.client, harness.namespace)
    names = ("first", "second")
    for name in names:
        await release_under_apache(harness, name)
    listed = [f"sparkapplications/{harness.namespace}/{name} ResourceReleased {APACHE}" for name in names]
    assert await check(harness) == (ExitCode.CHECK_FAILED, listed)

    async def all_are_left_alone() -> bool:
        return len(await list_messages(api, "DrivenByAnother")) == len(names)

    async with run_controller(harness):
        await api.wait_until_true(all_are_left_alone)
    async with run_controller(harness, "--take-over"):
        await asyncio.gather(*(api.wait_until(lambda seen: seen is None, name) for name in names))
    assert await check(harness) == (ExitCode.SUCCESS, [])


@pytest.mark.parametrize("manager", [APACHE, "spark-operator:team/other"])
async def test_restored_applications_are_managed_and_can_be_deleted(harness: Harness, manager: str) -> None:
    """A backup tool restores annotations, finalizer, status and managed fields, and a dashboard writes a label."""
    api = Api(harness.client, harness.namespace)
    own, other = (LeaseReference(harness.namespace, name) for name in (DEFAULT_LEASE, "other"))
    names = ("running", "ended")
    async with (
        api.play_drivers("run"),
        run_rival(build_kubeconfig(harness.plane.server), api, None, manager=manager),
    ):
        for name in names:
            await api.submit(build_application(name))
            await api.wait_for_state(ApplicationState.RUNNING_HEALTHY, name=name)
        await api.set_pod("ended-0-driver", "succeeded")
        await api.wait_for_state(ApplicationState.RESOURCE_RELEASED, name="ended")
    async with hold_lease(api, other):
        for name in names:
            await restore(harness, await back_up(harness, name, other))
        async with run_controller(harness):
            # The driver belonged to the original, and does not exist any more.
            released = await api.wait_for_state(ApplicationState.RESOURCE_RELEASED, name="running")
            for name in names:
                await api.delete(name)
                await api.wait_until(lambda seen: seen is None, name)
    assert find_owner(released) == str(own)
    assert await list_messages(api, "DrivenByAnother") == []


async def back_up(harness: Harness, name: str, lease: LeaseReference) -> JsonObject:
    """Return an application with a claim and times of an hour ago; delete it."""
    original = await harness.client.get(SPARK_APPLICATIONS, name, harness.namespace)
    metadata = original["metadata"]
    metadata["annotations"] = {ANNOTATION_CLAIM: f"{lease} {metadata['uid']}"}
    for entry in metadata["managedFields"]:
        entry["time"] = format_time_of_backup()
    await harness.client.patch(SPARK_APPLICATIONS, name, harness.namespace, {"metadata": {"finalizers": None}})
    await harness.client.delete(SPARK_APPLICATIONS, name, harness.namespace, propagation="Background")
    return original


async def restore(harness: Harness, original: JsonObject) -> None:
    """Create an application again as a backup tool does; then a dashboard changes it."""
    dropped = ("uid", "resourceVersion", "creationTimestamp", "generation")
    metadata = {key: value for key, value in original["metadata"].items() if key not in dropped}
    access = ClusterAccess(kubeconfig_document=build_kubeconfig(harness.plane.server))
    async with await open_client(access, field_manager="velero-server") as velero:
        await velero.create(SPARK_APPLICATIONS, {**original, "metadata": metadata}, harness.namespace)
        patch = {"status": original["status"]}
        await velero.patch(SPARK_APPLICATIONS, metadata["name"], harness.namespace, patch, subresource="status")
    async with await open_client(access, field_manager="dashboard") as dashboard:
        label = {"metadata": {"labels": {"seen-by": "dashboard"}}}
        await dashboard.patch(SPARK_APPLICATIONS, metadata["name"], harness.namespace, label)


@asynccontextmanager
async def run_controller(harness: Harness, *words: str) -> AsyncIterator[None]:
    """Run `spark-operator reconcile` as a process during the body."""
    controller = build_controller(
        harness.folder, harness.proxy.url, harness.plane.token, "--namespaces", harness.namespace, *words
    )
    try:
        await controller.start()
        yield
        await controller.stop()
    finally:
        await controller.kill()


async def check(harness: Harness) -> tuple[int | None, list[str]]:
    """Run `spark-operator reconcile --check`; return its exit code and the resources that it lists."""
    words = ("--kubeconfig", str(harness.folder / "kubeconfig"), "--namespaces", harness.namespace, "--check")
    async with start_command("reconcile", *words, home=harness.folder) as process:
        code, lines, _ = await wait_for_exit(process)
    return code, [line for line in lines.splitlines() if line.startswith(SPARK_APPLICATIONS.plural)]


async def release_under_apache(harness: Harness, name: str) -> None:
    """Create an application that the Apache operator released an hour ago."""
    document = build_application(name, tolerations={"ttlAfterStopMillis": TTL_MILLIS})
    document["metadata"]["finalizers"] = [APPLICATION_FINALIZER]
    history = [record(ApplicationState.SUBMITTED), record(ApplicationState.SUCCEEDED)]
    current = record(ApplicationState.RESOURCE_RELEASED)
    numbered = {str(number): each for number, each in enumerate([*history, current])}
    status = {"currentState": current, "stateTransitionHistory": numbered}
    access = ClusterAccess(kubeconfig_document=build_kubeconfig(harness.plane.server))
    async with await open_client(access, field_manager=APACHE) as apache:
        await apache.create(SPARK_APPLICATIONS, document, harness.namespace)
        patch = {"status": status}
        await apache.patch(SPARK_APPLICATIONS, name, harness.namespace, patch, subresource="status")


def record(state: ApplicationState) -> JsonObject:
    """Build a record of a state that was entered an hour ago."""
    return {"currentStateSummary": state, "lastTransitionTime": format_time_of_backup()}


def format_time_of_backup() -> str:
    """Return the time of an hour ago."""
    time = datetime.now(UTC) - timedelta(hours=1)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def is_claimed(document: JsonObject | None) -> bool:
    """Return whether a controller has recorded its claim on the application."""
    return document is not None and ANNOTATION_CLAIM in (document["metadata"].get("annotations") or {})
