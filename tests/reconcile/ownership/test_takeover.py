"""The takeover of all resources at once. The claims outlive the controller that made them."""

import logging

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import APPLICATION_FINALIZER
from airflow_provider_spark_operator.core.kubernetes.ownership import APACHE, find_owner
from airflow_provider_spark_operator.core.models.cluster_status import ClusterState
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS, SPARK_CLUSTERS
from airflow_provider_spark_operator.reconcile.objects.scope import NamedNamespaces
from airflow_provider_spark_operator.reconcile.ownership import claims
from airflow_provider_spark_operator.reconcile.ownership.claims import ClaimCounts, report_claims
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
from tests.reconcile.stage import QUICK, Stage, build_application, get_value, history_of, play_drivers
from tests.reconcile.test_controller import UP_TO_RUNNING

State = ApplicationState


async def wait_until_claimed(stage: Stage, rival: Rival, number: int, kind: str = KIND) -> None:
    async def are_claimed() -> bool:
        return read_claims(rival, kind) == (number, 0, 0)

    await stage.wait_until_true(are_claimed)


def read_claims(rival: Rival, kind: str = KIND) -> tuple[float | None, ...]:
    return tuple(
        get_value(rival.metrics, "claims", kind=kind, claim=claim) for claim in ("claimed", "waiting", "left_alone")
    )


async def test_claim_survives_a_short_takeover_without_other_writes(kubeconfig: JsonObject, stage: Stage) -> None:
    async with leave_running(kubeconfig, stage, APACHE):
        async with run_rival(kubeconfig, stage, OURS, TAKE_OVER) as ours:
            await wait_until_claimed(stage, ours, 1)
            running = await stage.wait_for_state(State.RUNNING_HEALTHY)
        assert history_of(running) == UP_TO_RUNNING
        async with run_rival(kubeconfig, stage, OURS):
            await stage.set_pod("pi-0-driver", "succeeded")
            ended = await stage.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(ended) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
    assert await list_messages(stage, "DrivenByAnother") == []


async def test_application_with_only_the_finalizer_of_another_controller_is_claimed(
    kubeconfig: JsonObject, stage: Stage
) -> None:
    document = build_application(suspend=True)
    async with await open_client(ClusterAccess(kubeconfig_document=kubeconfig), field_manager="user") as user:
        await user.create(SPARK_APPLICATIONS, document, stage.namespace)
    async with await open_client(ClusterAccess(kubeconfig_document=kubeconfig), field_manager=APACHE) as theirs:
        patch = {"metadata": {"finalizers": [APPLICATION_FINALIZER]}}
        await theirs.patch(SPARK_APPLICATIONS, "pi", stage.namespace, patch)
    async with run_rival(kubeconfig, stage, OURS, TAKE_OVER) as ours:
        await wait_until_claimed(stage, ours, 1)
    assert find_owner(await stage.client.get(SPARK_APPLICATIONS, "pi", stage.namespace)) == str(OURS)


async def test_released_applications_and_clusters_are_claimed(kubeconfig: JsonObject, stage: Stage) -> None:
    async with play_drivers(stage, "succeeded"), run_rival(kubeconfig, stage, None, manager=APACHE):
        await stage.submit(build_application())
        await stage.client.create(SPARK_CLUSTERS, build_cluster(), stage.namespace)
        await stage.wait_for_state(State.RESOURCE_RELEASED)
        await until_cluster(stage, ClusterState.RUNNING_HEALTHY)
    async with run_rival(kubeconfig, stage, OURS, TAKE_OVER) as ours:
        await wait_until_claimed(stage, ours, 1)
        await wait_until_claimed(stage, ours, 1, SPARK_CLUSTERS.kind)
    for kind, name in ((SPARK_APPLICATIONS, "pi"), (SPARK_CLUSTERS, "cl")):
        assert find_owner(await stage.client.get(kind, name, stage.namespace)) == str(OURS)


async def test_idle_running_application_of_another_controller_is_reported(kubeconfig: JsonObject, stage: Stage) -> None:
    async with leave_running(kubeconfig, stage, APACHE), run_rival(kubeconfig, stage, OURS) as ours:
        assert "the Apache operator" in await wait_until_left_alone(stage, ours)
        assert read_claims(ours) == (0, 0, 1)


async def test_released_application_with_a_ttl_is_left_alone_until_the_takeover(
    kubeconfig: JsonObject, stage: Stage
) -> None:
    async with play_drivers(stage, "succeeded"), run_rival(kubeconfig, stage, None, manager=APACHE):
        await stage.submit(build_application(tolerations={"ttlAfterStopMillis": 3_600_000}))
        await stage.wait_for_state(State.RESOURCE_RELEASED)
    async with run_rival(kubeconfig, stage, OURS) as ours:
        assert "the Apache operator" in await wait_until_left_alone(stage, ours)
        assert read_claims(ours) == (0, 0, 1)
        await stage.patch({"spec": {"applicationTolerations": {"ttlAfterStopMillis": 1}}})
        ours.controller.apply(TAKE_OVER, NamedNamespaces((stage.namespace,)))
        await stage.wait_until(lambda seen: seen is None)


async def test_settled_application_with_an_unexpected_driver_is_not_claimed(
    kubeconfig: JsonObject, stage: Stage
) -> None:
    async with run_rival(kubeconfig, stage, None, manager=APACHE):
        await stage.submit(build_application())
        await stage.wait_for_state(State.DRIVER_REQUESTED)
        (driver,) = await stage.list_objects(PODS)
        async with play_drivers(stage, "succeeded"):
            await stage.wait_for_state(State.RESOURCE_RELEASED)
            await stage.wait_for_deleted_children()
    await stage.recreate_pod(driver)
    async with run_rival(kubeconfig, stage, OURS) as ours:
        await stage.submit(build_application("other"))
        await stage.wait_for_state(State.DRIVER_REQUESTED, name="other")  # the first application was reconciled before
        assert read_claims(ours) == (1, 0, 0)
        assert await list_messages(stage, "DrivenByAnother") == []
    assert "pi-0-driver" in await stage.list_names(PODS)


async def test_takeover_enabled_at_run_time_claims_all_resources(kubeconfig: JsonObject, stage: Stage) -> None:
    async with leave_running(kubeconfig, stage, APACHE), run_rival(kubeconfig, stage, OURS) as ours:
        await wait_until_left_alone(stage, ours)
        ours.controller.apply(TAKE_OVER, NamedNamespaces((stage.namespace,)))
        await wait_until_claimed(stage, ours, 1)
        ours.controller.apply(QUICK, NamedNamespaces((stage.namespace,)))
        await stage.set_pod("pi-0-driver", "succeeded")
        await stage.wait_for_state(State.RESOURCE_RELEASED)


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
