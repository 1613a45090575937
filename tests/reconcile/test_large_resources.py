"""Resources of almost a megabyte: the caches keep a small part of them, and they run like all others."""

import asyncio
from contextlib import suppress
from typing import Any

from pydantic_core import to_json

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.resources import CONFIG_MAPS, SPARK_APPLICATIONS, SPARK_CLUSTERS
from airflow_provider_spark_operator.reconcile.loop.informer import Caches, Informer
from airflow_provider_spark_operator.reconcile.objects.cache import ObjectKey
from airflow_provider_spark_operator.reconcile.objects.kinds import APPLICATION
from airflow_provider_spark_operator.reconcile.objects.scope import NamedNamespaces
from airflow_provider_spark_operator.reconcile.reconcilers.resources import Resources
from tests.reconcile.harness import DEADLINE, Api, build_application, history_of, run_controller
from tests.reconcile.reconcilers.test_clusters import build_cluster

State = ApplicationState
TEXT = "x" * 900_000
LARGE_CONFIG_MAP = [{"name": "extra", "data": {"text": TEXT}}]
SUCCEEDED = ["Submitted", "DriverRequested", "DriverStarted", "DriverReady", "RunningHealthy", "Succeeded"]


def list_large_resources(name: str) -> list[JsonObject]:
    annotated, cluster = build_application(f"annotated-{name}"), build_cluster(f"cluster-{name}", sparkConf={"a": TEXT})
    annotated["metadata"]["annotations"] = {"mine": TEXT[:250_000]}
    specs: dict[str, Any] = {
        "configured": {"conf": {"a": TEXT}},
        "mounted": {"configMapSpecs": LARGE_CONFIG_MAP},
        "many-values": {"driverArgs": ["x"] * 5_000},
    }
    return [annotated, cluster, *(build_application(f"{kind}-{name}", **spec) for kind, spec in specs.items())]


async def create_all(api: Api, names: str) -> int:
    documents = [document for name in names for document in list_large_resources(name)]
    for document in documents:
        kind = SPARK_CLUSTERS if document["kind"] == SPARK_CLUSTERS.kind else SPARK_APPLICATIONS
        await api.client.create(kind, document, api.namespace)
    return len(documents)


async def test_caches_keep_a_small_part_of_each_large_resource(api: Api) -> None:
    caches, reported = Caches.empty(), asyncio.Queue[ObjectKey]()
    notify, seen = reported.put_nowait, set[ObjectKey]()
    informer = Informer(api.client, NamedNamespaces((api.namespace,)), "spark", caches, notify, notify)
    listed = await create_all(api, "a")
    running = asyncio.create_task(informer.run())
    async with asyncio.timeout(DEADLINE):
        await informer.wait_until_synced()
        assert len(caches.applications) + len(caches.clusters) == listed
        watched = await create_all(api, "b")
        while len(seen) < listed + watched:
            seen.add(await reported.get())
    resources = Resources(api.client, APPLICATION, caches.applications)
    for key in caches.applications:
        whole = await resources.refresh(key)
        assert whole is not None
        assert len(to_json(whole)) > 20_000
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    documents = [*caches.applications.list_documents(), *caches.clusters.list_documents()]
    assert len(documents) == listed + watched
    assert max(len(to_json(document)) for document in documents) < 3_000


async def test_large_application_is_restarted_edited_suspended_and_deleted(api: Api) -> None:
    restart = {"restartPolicy": "Always", "maxRestartAttempts": 1, "restartBackoffMillis": 1}
    async with run_controller(api), api.play_drivers("succeeded", "run"):
        await api.submit(build_application(configMapSpecs=LARGE_CONFIG_MAP, restart=restart))
        await api.wait_for_state(State.SUCCEEDED)
        running = await api.wait_for_state(State.RUNNING_HEALTHY)
        mounted = [each for each in await api.list_objects(CONFIG_MAPS) if each["metadata"]["name"] == "extra"]
        assert [each["data"] for each in mounted] == [{"text": TEXT}]
        await api.patch({"spec": {"driverArgs": ["1"]}})
        (event,) = await api.wait_for_events(reasons.SPEC_CHANGE_IGNORED)
        await api.patch({"spec": {"suspend": True}})
        await api.wait_for_state(State.SUSPENDED)
        await api.patch({"spec": {"suspend": False}})
        await api.wait_for_state(State.RUNNING_HEALTHY)
        await api.delete()
        await api.wait_for_deletion()
        await api.wait_for_deleted_children()
    assert event["message"].startswith("spec.driverArgs of the application")
    assert history_of(running)[:6] == SUCCEEDED


async def test_large_application_that_cannot_run_fails_like_others(api: Api) -> None:
    async with run_controller(api):
        await api.submit(build_application(driverArgs=["x"] * 5_000))
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
        await api.delete()
        await api.wait_for_deletion()
    assert "has more than 3000 values" in str(ended["status"]["stateTransitionHistory"])
