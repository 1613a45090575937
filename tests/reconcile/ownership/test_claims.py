"""Two controllers for the same resources. One of them writes under the field manager of the Apache operator."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_CLAIM
from airflow_provider_spark_operator.core.kubernetes.ownership import APACHE, LeaseReference, find_owner
from airflow_provider_spark_operator.core.models.cluster import ClusterState
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.resources import EVENTS, SPARK_APPLICATIONS, SPARK_CLUSTERS
from airflow_provider_spark_operator.reconcile.controller import Controller
from airflow_provider_spark_operator.reconcile.objects.kinds import APPLICATION
from airflow_provider_spark_operator.reconcile.objects.lease import LeaseTerms
from airflow_provider_spark_operator.reconcile.objects.scope import NamedNamespaces
from airflow_provider_spark_operator.reconcile.ownership.claims import Claims, ManagedElsewhere, is_settled
from airflow_provider_spark_operator.reconcile.ownership.election import Elector, elect
from airflow_provider_spark_operator.reconcile.reports.event_filter import EventSettings
from airflow_provider_spark_operator.reconcile.reports.events import EventRecorder
from airflow_provider_spark_operator.reconcile.serving.metrics import Metrics
from airflow_provider_spark_operator.reconcile.settings.settings import ControllerSettings, TakeoverSettings
from tests.core.kubernetes.test_ownership import build_entry, build_resource
from tests.local_api import NAMESPACE
from tests.reconcile.harness import (
    QUICK,
    Api,
    FaultyClient,
    build_application,
    get_value,
    history_of,
    run_in_background,
)
from tests.reconcile.reconcilers.test_clusters import build_cluster
from tests.reconcile.reconcilers.test_clusters import wait_for_state as until_cluster
from tests.reconcile.test_controller import UP_TO_RUNNING

State = ApplicationState
KIND = SPARK_APPLICATIONS.kind
OURS, THEIRS = (LeaseReference(NAMESPACE, name) for name in ("ours", "theirs"))
TERMS = LeaseTerms(duration=60, renew_deadline=40, retry=0.05)
TAKE_OVER = replace(QUICK, takeover=TakeoverSettings(take_over=True))


@dataclass
class Rival:
    """One of the controllers, and its writes except Events."""

    controller: Controller
    metrics: Metrics
    writes: list[str] = field(default_factory=list)


@asynccontextmanager
async def run_rival(
    kubeconfig: JsonObject,
    api: Api,
    lease: LeaseReference | None,
    settings: ControllerSettings = QUICK,
    *,
    manager: str = "",
) -> AsyncIterator[Rival]:
    """Run a controller while the body runs. Without a Lease, it writes as `manager` and manages all resources."""
    writes: list[str] = []

    async def gate(call: Call) -> None:
        if call.verb not in ("get", "list", "watch") and call.resource != EVENTS:
            writes.append(f"{call.verb} {call.rbac_resource}")

    access = ClusterAccess(kubeconfig_document=kubeconfig)
    name = manager if lease is None else lease.field_manager
    async with await open_client(access, gate=gate, field_manager=name) as client:
        metrics = Metrics()
        scope = NamedNamespaces((api.namespace,))
        controller = Controller(client, scope, settings, metrics=metrics, lease=lease)
        async with run_in_background(controller):
            yield Rival(controller, metrics, writes)


@asynccontextmanager
async def hold_lease(api: Api, lease: LeaseReference) -> AsyncIterator[None]:
    """Hold a lease while the body runs."""
    async with elect(Elector(api.client, lease, "pod-1", TERMS)) as leadership:
        await leadership.wait_until_gained()
        yield


async def list_messages(api: Api, reason: str) -> list[str]:
    return [event["message"] for event in await api.list_events(reason)]


async def wait_until_left_alone(api: Api, rival: Rival, kind: str = KIND) -> str:
    """Wait until one resource is left alone; return the message of its Event."""
    (event,) = await api.wait_for_events("DrivenByAnother")
    assert get_value(rival.metrics, "left_alone", kind=kind) == 1
    assert rival.writes == []
    return str(event["message"])


@asynccontextmanager
async def leave_claimed(kubeconfig: JsonObject, api: Api) -> AsyncIterator[None]:
    """Run an application with the controller THEIRS until it is running; the driver keeps running."""
    async with api.play_drivers("run"):
        async with run_rival(kubeconfig, api, THEIRS):
            await api.submit(build_application())
            await api.wait_for_state(State.RUNNING_HEALTHY)
        yield


@asynccontextmanager
async def leave_running(kubeconfig: JsonObject, api: Api, manager: str) -> AsyncIterator[None]:
    """Run an application with another controller until it is running. The driver keeps running while the body runs."""
    async with api.play_drivers("run"):
        async with run_rival(kubeconfig, api, None, manager=manager):
            await api.submit(build_application())
            await api.wait_for_state(State.RUNNING_HEALTHY)
        yield


async def test_resource_of_the_apache_operator_without_a_lease_is_left_alone(
    kubeconfig: JsonObject, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    async with leave_running(kubeconfig, api, APACHE), run_rival(kubeconfig, api, OURS) as ours:
        await api.set_pod("pi-0-driver", "succeeded")
        message = await wait_until_left_alone(api, ours)
        assert message == (
            "left alone: the Apache operator managed this resource last, and no Lease shows whether it is still "
            "running. Stop that controller, then set takeOver: true or start this controller with --take-over"
        )
        assert (get_value(ours.metrics, "reconciles_total", kind=KIND, result="left_alone") or 0) >= 1
    (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert (warning.getMessage(), warning.__dict__["application"]) == (message, "jobs/pi")


async def test_new_application_runs_although_another_is_left_alone(kubeconfig: JsonObject, api: Api) -> None:
    async with leave_running(kubeconfig, api, APACHE), run_rival(kubeconfig, api, OURS) as ours:
        await api.submit(build_application("new"))
        await api.wait_for_state(State.DRIVER_REQUESTED, name="new")
        assert get_value(ours.metrics, "left_alone", kind=KIND) in (0, 1)


async def test_takeover_from_the_apache_operator_and_return(kubeconfig: JsonObject, api: Api) -> None:
    # The controller takes over while the drivers are running. Later, the other controller continues.
    async with api.play_drivers("run"):
        async with run_rival(kubeconfig, api, None, manager=APACHE):
            await api.submit(build_application("first"))
            await api.submit(build_application("second"))
            for name in ("first", "second"):
                await api.wait_for_state(State.RUNNING_HEALTHY, name=name)
        async with run_rival(kubeconfig, api, OURS, TAKE_OVER) as ours:
            await api.set_pod("first-0-driver", "succeeded")
            ended = await api.wait_for_state(State.RESOURCE_RELEASED, name="first")
            await api.submit(build_application("third"))
            await api.wait_for_state(State.RUNNING_HEALTHY, name="third")
        assert "patch sparkapplications/status.spark.apache.org" in ours.writes
        assert await list_messages(api, "TakenOver") == 2 * ["taken over from the Apache operator"]
        async with run_rival(kubeconfig, api, None, manager=APACHE):
            for name in ("second", "third"):
                await api.set_pod(f"{name}-0-driver", "succeeded")
                await api.wait_for_state(State.RESOURCE_RELEASED, name=name)
            for name in ("first", "second", "third"):
                await api.delete(name)
                await api.wait_until(lambda seen: seen is None, name)
    assert history_of(ended) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
    assert [len(uids) for uids in api.drivers.values()] == [1, 1, 1]


async def test_takeover_can_be_enabled_at_run_time(kubeconfig: JsonObject, api: Api) -> None:
    async with leave_running(kubeconfig, api, APACHE), run_rival(kubeconfig, api, OURS) as ours:
        await api.set_pod("pi-0-driver", "succeeded")
        await wait_until_left_alone(api, ours)
        ours.controller.apply(TAKE_OVER, NamedNamespaces((api.namespace,)))
        await api.patch({"metadata": {"labels": {"look": "again"}}})
        await api.wait_for_state(State.RESOURCE_RELEASED)
        assert get_value(ours.metrics, "left_alone", kind=KIND) == 0


async def test_resource_of_a_controller_that_holds_its_lease_is_left_alone(kubeconfig: JsonObject, api: Api) -> None:
    async with hold_lease(api, THEIRS), leave_claimed(kubeconfig, api), run_rival(kubeconfig, api, OURS) as ours:
        await api.set_pod("pi-0-driver", "succeeded")
        message = await wait_until_left_alone(api, ours)
    assert message == (
        "left alone: the controller with the Lease jobs/theirs manages this resource: pod-1 holds the Lease "
        "jobs/theirs. Stop that controller; this controller then takes over. If the Lease stays held, set takeOver: "
        "true or start this controller with --take-over"
    )


@pytest.mark.parametrize("is_released", [True, False], ids=["released Lease", "no Lease"])
async def test_claim_without_a_process_that_holds_the_lease_counts_as_none(
    kubeconfig: JsonObject, api: Api, is_released: bool
) -> None:
    async with leave_claimed(kubeconfig, api):
        if is_released:
            async with hold_lease(api, THEIRS):
                pass
        async with run_rival(kubeconfig, api, OURS):
            await api.set_pod("pi-0-driver", "succeeded")
            ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert find_owner(ended) == str(OURS)
    assert await list_messages(api, "TakenOver") == ["taken over from the controller with the Lease jobs/theirs"]


async def test_restored_application_is_managed_although_its_copy_names_running_controllers(
    kubeconfig: JsonObject, api: Api
) -> None:
    # A backup tool restores annotations, finalizer, status and managed fields, and a dashboard writes a label. The
    # API server gives the copy another uid.
    async with hold_lease(api, THEIRS), leave_claimed(kubeconfig, api):
        original = await api.client.get(SPARK_APPLICATIONS, "pi", api.namespace)
        await api.patch({"metadata": {"finalizers": None}})
        await api.delete()
        await api.wait_for_deletion()
        await restore(kubeconfig, api, original)
        async with await open_client(
            ClusterAccess(kubeconfig_document=kubeconfig), field_manager="dashboard"
        ) as dashboard:
            patch = {"metadata": {"labels": {"seen-by": "dashboard"}}}
            await dashboard.patch(SPARK_APPLICATIONS, "pi", api.namespace, patch)
        async with run_rival(kubeconfig, api, OURS):
            restored = await api.wait_until(
                lambda seen: seen is not None and str(OURS) in str(seen["metadata"]["annotations"])
            )
            await api.delete()
            await api.wait_for_deletion()
    assert restored is not None
    assert restored["metadata"]["uid"] != original["metadata"]["uid"]
    assert await list_messages(api, "DrivenByAnother") == []


async def restore(kubeconfig: JsonObject, api: Api, original: JsonObject) -> None:
    """Create a resource again as a backup tool does, with its status and its managed fields."""
    kept = {key: value for key, value in original["metadata"].items() if key not in ("uid", "resourceVersion")}
    access = ClusterAccess(kubeconfig_document=kubeconfig)
    async with await open_client(access, field_manager="velero-server") as velero:
        await velero.create(SPARK_APPLICATIONS, {**original, "metadata": kept}, api.namespace)
        status = {"status": original["status"]}
        await velero.patch(SPARK_APPLICATIONS, "pi", api.namespace, status, subresource="status")


async def test_configured_lease_shows_whether_the_apache_operator_is_running(kubeconfig: JsonObject, api: Api) -> None:
    lease = LeaseReference(api.namespace, "spark-operator-lease")
    settings = replace(QUICK, takeover=TakeoverSettings(lease=lease))
    async with leave_running(kubeconfig, api, APACHE):
        async with hold_lease(api, lease), run_rival(kubeconfig, api, OURS, settings) as ours:
            await api.set_pod("pi-0-driver", "succeeded")
            assert "pod-1 holds the Lease jobs/spark-operator-lease" in await wait_until_left_alone(api, ours)
        async with run_rival(kubeconfig, api, OURS, settings):
            await api.wait_for_state(State.RESOURCE_RELEASED)


async def test_controller_continues_its_own_resources_after_a_restart(kubeconfig: JsonObject, api: Api) -> None:
    async with api.play_drivers("run"):
        async with run_rival(kubeconfig, api, OURS):
            await api.submit(build_application())
            await api.wait_for_state(State.RUNNING_HEALTHY)
        async with run_rival(kubeconfig, api, OURS):
            await api.set_pod("pi-0-driver", "succeeded")
            await api.wait_for_state(State.RESOURCE_RELEASED)
    assert await list_messages(api, "TakenOver") == []


async def test_each_new_application_is_managed_by_one_of_two_controllers(kubeconfig: JsonObject, api: Api) -> None:
    leases = [LeaseReference(api.namespace, name) for name in ("one", "two")]
    names = [f"pi-{number}" for number in range(6)]
    async with (
        hold_lease(api, leases[0]),
        hold_lease(api, leases[1]),
        run_rival(kubeconfig, api, leases[0]),
        run_rival(kubeconfig, api, leases[1]),
        api.play_drivers("run"),
    ):
        for name in names:
            await api.submit(build_application(name))
        for name in names:
            await api.wait_for_state(State.RUNNING_HEALTHY, name=name)
            await api.set_pod(f"{name}-0-driver", "succeeded")
        ended = [await api.wait_for_state(State.RESOURCE_RELEASED, name=name) for name in names]
    for document in ended:
        assert history_of(document) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
        live = await api.client.get(SPARK_APPLICATIONS, document["metadata"]["name"], api.namespace)
        writers = {entry["manager"] for entry in live["metadata"]["managedFields"] if entry.get("subresource")}
        assert len(writers) == 1, writers
    assert [len(uids) for uids in api.drivers.values()] == [1] * len(names)


async def test_controller_releases_a_resource_that_another_has_claimed(kubeconfig: JsonObject, api: Api) -> None:
    async with api.play_drivers("run"), run_rival(kubeconfig, api, OURS) as ours, hold_lease(api, THEIRS):
        await api.submit(build_application())
        running = await api.wait_for_state(State.RUNNING_HEALTHY)
        claim = f"{THEIRS} {running['metadata']['uid']}"
        await api.patch({"metadata": {"annotations": {ANNOTATION_CLAIM: claim}}})
        await api.set_pod("pi-0-driver", "succeeded")

        async def is_left_alone() -> bool:
            return get_value(ours.metrics, "left_alone", kind=KIND) == 1

        await api.wait_until_true(is_left_alone)
    assert "pod-1 holds the Lease jobs/theirs" in (await list_messages(api, "DrivenByAnother"))[0]


async def test_cluster_of_another_controller_is_left_alone(kubeconfig: JsonObject, api: Api) -> None:
    async with run_rival(kubeconfig, api, None, manager=APACHE):
        await api.client.create(SPARK_CLUSTERS, build_cluster(), api.namespace)
        await until_cluster(api, ClusterState.RUNNING_HEALTHY)
    async with run_rival(kubeconfig, api, OURS) as ours:
        await api.client.delete(SPARK_CLUSTERS, "cl", api.namespace)
        await wait_until_left_alone(api, ours, SPARK_CLUSTERS.kind)


async def test_edit_of_a_cluster_of_another_controller_is_not_reported(kubeconfig: JsonObject, api: Api) -> None:
    async with run_rival(kubeconfig, api, None, manager=APACHE):
        await api.client.create(SPARK_CLUSTERS, build_cluster(), api.namespace)
        await until_cluster(api, ClusterState.RUNNING_HEALTHY)
    patch = {"spec": {"sparkConf": {"spark.executor.cores": "2"}}}
    await api.client.patch(SPARK_CLUSTERS, "cl", api.namespace, patch)
    async with run_rival(kubeconfig, api, OURS) as ours:
        await wait_until_left_alone(api, ours, SPARK_CLUSTERS.kind)
        assert await list_messages(api, "SpecChangeIgnored") == []


def build_claims(client: Any, settings: TakeoverSettings) -> Claims:
    recorder = EventRecorder(client, "ours", EventSettings())
    return Claims(client, OURS, APPLICATION, settings, recorder, lambda: datetime.now(UTC))


async def test_unreadable_lease_is_reported_with_the_missing_permission(api: Api) -> None:
    message = 'leases.coordination.k8s.io "theirs" is forbidden: User "we" cannot get resource "leases"'
    refused = Forbidden(403, "Forbidden", message, "get", "leases.coordination.k8s.io", "jobs", "theirs")
    claims = build_claims(FaultyClient(api.client, ("get",), 1, refused, after=False), TakeoverSettings())
    with pytest.raises(ManagedElsewhere) as objection:
        await claims.require_claimable(build_resource(claim="jobs/theirs u1"))
    assert str(objection.value).startswith("could not check whether the controller with the Lease jobs/theirs is still")
    assert str(objection.value).endswith('grant the verb "get" on leases.coordination.k8s.io in namespace jobs')


async def test_missing_lease_of_the_setting_is_reported(api: Api) -> None:
    claims = build_claims(api.client, TakeoverSettings(lease=THEIRS))
    with pytest.raises(ManagedElsewhere, match="the Lease jobs/theirs, which the setting otherControllerLease names, "):
        await claims.require_claimable(build_resource(build_entry(APACHE)))


async def test_controllers_that_share_a_lease_do_not_exclude_each_other(api: Api) -> None:
    await build_claims(api.client, TakeoverSettings(lease=OURS)).require_claimable(build_resource(build_entry(APACHE)))


async def test_controllers_that_both_take_over_pause(api: Api) -> None:
    claims = build_claims(api.client, TakeoverSettings(take_over=True))
    resource = build_resource(claim="jobs/theirs u1")
    await claims.require_claimable(resource)
    claims.confirm(resource)
    with pytest.raises(ManagedElsewhere, match="jobs/theirs still manages this resource after the takeover"):
        await claims.require_claimable(resource)


def build_released(state: str, tolerations: JsonObject | None = None, **metadata: str) -> JsonObject:
    status = {"currentState": {"currentStateSummary": state}}
    return {"metadata": metadata, "spec": {"applicationTolerations": tolerations}, "status": status}


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        pytest.param(build_released("ResourceReleased"), True, id="released"),
        pytest.param(build_released("ResourceReleased", {"ttlAfterStopMillis": -1}), True, id="is never deleted"),
        pytest.param(build_released("ResourceReleased", {"ttlAfterStopMillis": 0}), False, id="released, TTL of zero"),
        pytest.param(build_released("ResourceReleased", {"ttlAfterStopMillis": 1}), False, id="released, has a TTL"),
        pytest.param(build_released("ResourceReleased", {"ttlAfterStopMillis": "1"}), True, id="unreadable TTL"),
        pytest.param(build_released("ResourceReleased", deletionTimestamp="2026-03-01T12:00:00Z"), False, id="deleted"),
        pytest.param(build_released("TerminatedWithoutReleaseResources"), False, id="driver retained"),
        pytest.param(build_released("Succeeded"), False, id="not released yet"),
    ],
)
def test_released_application_is_settled_unless_its_deletion_is_due(resource: JsonObject, expected: bool) -> None:
    assert is_settled(resource) is expected
