"""The takeover of all resources at once. The claims outlive the controller that made them."""

import logging

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import APPLICATION_FINALIZER
from airflow_provider_spark_operator.core.kubernetes.ownership import APACHE, find_owner
from airflow_provider_spark_operator.core.models.cluster import ClusterState
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS, SPARK_CLUSTERS
from airflow_provider_spark_operator.reconcile.objects.scope import NamedNamespaces
from airflow_provider_spark_operator.reconcile.ownership import claims
from airflow_provider_spark_operator.reconcile.ownership.claims import ClaimCounts, report_claims
from tests.reconcile.harness import QUICK, Api, build_application, get_value, history_of
from tests.reconcile.ownership.test_claims import (
    KIND,
    OURS,
    TAKE_OVER,
    Rival,
    leave_running,
    list_messages,
    run_rival,
    wait_until_left_alone,
)
from tests.reconcile.reconcilers.test_clusters import build_cluster
from tests.reconcile.reconcilers.test_clusters import wait_for_state as until_cluster
from tests.reconcile.test_controller import UP_TO_RUNNING

State = ApplicationState


async def wait_until_claimed(api: Api, rival: Rival, number: int, kind: str = KIND) -> None:
    async def are_claimed() -> bool:
        return read_claims(rival, kind) == (number, 0, 0)

    await api.wait_until_true(are_claimed)


def read_claims(rival: Rival, kind: str = KIND) -> tuple[float | None, ...]:
    return tuple(
        get_value(rival.metrics, "claims", kind=kind, claim=claim) for claim in ("claimed", "waiting", "left_alone")
    )


async def test_claim_survives_a_short_takeover_without_other_writes(kubeconfig: JsonObject, api: Api) -> None:
    async with leave_running(kubeconfig, api, APACHE):
        async with run_rival(kubeconfig, api, OURS, TAKE_OVER) as ours:
            await wait_until_claimed(api, ours, 1)
            running = await api.wait_for_state(State.RUNNING_HEALTHY)
        assert history_of(running) == UP_TO_RUNNING
        async with run_rival(kubeconfig, api, OURS):
            await api.set_pod("pi-0-driver", "succeeded")
            ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(ended) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
    assert await list_messages(api, "DrivenByAnother") == []


async def test_application_with_only_the_finalizer_of_another_controller_is_claimed(
    kubeconfig: JsonObject, api: Api
) -> None:
    document = build_application(suspend=True)
    async with await open_client(ClusterAccess(kubeconfig_document=kubeconfig), field_manager="user") as user:
        await user.create(SPARK_APPLICATIONS, document, api.namespace)
    async with await open_client(ClusterAccess(kubeconfig_document=kubeconfig), field_manager=APACHE) as theirs:
        patch = {"metadata": {"finalizers": [APPLICATION_FINALIZER]}}
        await theirs.patch(SPARK_APPLICATIONS, "pi", api.namespace, patch)
    async with run_rival(kubeconfig, api, OURS, TAKE_OVER) as ours:
        await wait_until_claimed(api, ours, 1)
    assert find_owner(await api.client.get(SPARK_APPLICATIONS, "pi", api.namespace)) == str(OURS)


async def test_released_applications_and_clusters_are_claimed(kubeconfig: JsonObject, api: Api) -> None:
    async with api.play_drivers("succeeded"), run_rival(kubeconfig, api, None, manager=APACHE):
        await api.submit(build_application())
        await api.client.create(SPARK_CLUSTERS, build_cluster(), api.namespace)
        await api.wait_for_state(State.RESOURCE_RELEASED)
        await until_cluster(api, ClusterState.RUNNING_HEALTHY)
    async with run_rival(kubeconfig, api, OURS, TAKE_OVER) as ours:
        await wait_until_claimed(api, ours, 1)
        await wait_until_claimed(api, ours, 1, SPARK_CLUSTERS.kind)
    for kind, name in ((SPARK_APPLICATIONS, "pi"), (SPARK_CLUSTERS, "cl")):
        assert find_owner(await api.client.get(kind, name, api.namespace)) == str(OURS)


async def test_idle_running_application_of_another_controller_is_reported(kubeconfig: JsonObject, api: Api) -> None:
    async with leave_running(kubeconfig, api, APACHE), run_rival(kubeconfig, api, OURS) as ours:
        assert "the Apache operator" in await wait_until_left_alone(api, ours)
        assert read_claims(ours) == (0, 0, 1)


async def test_released_application_with_a_ttl_is_left_alone_until_the_takeover(
    kubeconfig: JsonObject, api: Api
) -> None:
    async with api.play_drivers("succeeded"), run_rival(kubeconfig, api, None, manager=APACHE):
        await api.submit(build_application(tolerations={"ttlAfterStopMillis": 3_600_000}))
        await api.wait_for_state(State.RESOURCE_RELEASED)
    async with run_rival(kubeconfig, api, OURS) as ours:
        assert "the Apache operator" in await wait_until_left_alone(api, ours)
        assert read_claims(ours) == (0, 0, 1)
        await api.patch({"spec": {"applicationTolerations": {"ttlAfterStopMillis": 1}}})
        ours.controller.apply(TAKE_OVER, NamedNamespaces((api.namespace,)))
        await api.wait_for_deletion()


async def test_settled_application_with_an_unexpected_driver_is_not_claimed(kubeconfig: JsonObject, api: Api) -> None:
    async with run_rival(kubeconfig, api, None, manager=APACHE):
        await api.submit(build_application())
        await api.wait_for_state(State.DRIVER_REQUESTED)
        (driver,) = await api.list_objects(PODS)
        async with api.play_drivers("succeeded"):
            await api.wait_for_state(State.RESOURCE_RELEASED)
            await api.wait_for_deleted_children()
    await api.recreate_pod(driver)
    async with run_rival(kubeconfig, api, OURS) as ours:
        await api.submit(build_application("other"))
        await api.wait_for_state(State.DRIVER_REQUESTED, name="other")  # the first application was reconciled before
        assert read_claims(ours) == (1, 0, 0)
        assert await list_messages(api, "DrivenByAnother") == []
    assert "pi-0-driver" in await api.list_names(PODS)


async def test_takeover_enabled_at_run_time_claims_all_resources(kubeconfig: JsonObject, api: Api) -> None:
    async with leave_running(kubeconfig, api, APACHE), run_rival(kubeconfig, api, OURS) as ours:
        await wait_until_left_alone(api, ours)
        ours.controller.apply(TAKE_OVER, NamedNamespaces((api.namespace,)))
        await wait_until_claimed(api, ours, 1)
        ours.controller.apply(QUICK, NamedNamespaces((api.namespace,)))
        await api.set_pod("pi-0-driver", "succeeded")
        await api.wait_for_state(State.RESOURCE_RELEASED)


async def test_claims_are_logged_once_until_others_change(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "REPORT_SECONDS", 0)
    counts = [ClaimCounts(1, 2, 0), ClaimCounts(2, 2, 0), ClaimCounts(3, 0, 1), ClaimCounts(4, 0, 0)]
    with caplog.at_level(logging.INFO), pytest.raises(IndexError):
        await report_claims({KIND: lambda: counts.pop(0)})
    assert [record.getMessage() for record in caplog.records] == [
        "SparkApplication: this controller manages 1; 2 belong to other controllers, and this controller checks "
        "whether it may claim them",
        "SparkApplication: this controller manages 3; 1 are left alone, because other controllers that may be running "
        "manage them",
        "SparkApplication: this controller manages 4",
    ]
