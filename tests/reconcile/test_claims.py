"""Two controllers for the same resources. One of them writes under the field manager of the Apache operator."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from airflow_provider_spark_operator.core.models.cluster_status import ClusterState
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.resources import EVENTS, SPARK_APPLICATIONS, SPARK_CLUSTERS
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.claims import Arbiter
from airflow_provider_spark_operator.reconcile.controller import Controller
from airflow_provider_spark_operator.reconcile.election import Elector, elect
from airflow_provider_spark_operator.reconcile.lease import LeaseReference, LeaseTerms
from airflow_provider_spark_operator.reconcile.managers import ControllerIdentity
from airflow_provider_spark_operator.reconcile.metrics import Metrics
from airflow_provider_spark_operator.reconcile.scope import NamedNamespaces
from airflow_provider_spark_operator.reconcile.settings import ControllerSettings, TakeoverSettings
from tests.reconcile.stage import (
    QUICK,
    FaultyClient,
    Stage,
    build_application,
    get_value,
    history_of,
    play_drivers,
    run_in_background,
)
from tests.reconcile.test_clusters import build_cluster
from tests.reconcile.test_clusters import wait_for_state as until_cluster
from tests.reconcile.test_controller import UP_TO_RUNNING

State = ApplicationState
APACHE = "fabric8-kubernetes-client"
KIND = SPARK_APPLICATIONS.kind
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
    stage: Stage,
    identity: ControllerIdentity | None,
    settings: ControllerSettings = QUICK,
    *,
    manager: str = "",
) -> AsyncIterator[Rival]:
    """Run a controller while the body runs. Without an identity, it writes as `manager` and claims all resources."""
    writes: list[str] = []

    async def gate(call: Call) -> None:
        if call.verb not in ("get", "list", "watch") and call.resource != EVENTS:
            writes.append(f"{call.verb} {call.rbac_resource}")

    access = ClusterAccess(kubeconfig_document=kubeconfig)
    name = manager if identity is None else identity.field_manager
    async with await open_client(access, gate=gate, field_manager=name) as client:
        metrics = Metrics()
        scope = NamedNamespaces((stage.namespace,))
        controller = Controller(client, scope, settings, metrics=metrics, identity=identity)
        async with run_in_background(controller):
            yield Rival(controller, metrics, writes)


@asynccontextmanager
async def hold_lease(stage: Stage, lease: LeaseReference) -> AsyncIterator[None]:
    """Hold a lease while the body runs."""
    async with elect(Elector(stage.client, lease, "pod-1", TERMS)) as leadership:
        await leadership.wait_until_gained()
        yield


async def list_messages(stage: Stage, reason: str) -> list[str]:
    return [event["message"] for event in await stage.list_objects(EVENTS) if event["reason"] == reason]


async def wait_until_left_alone(stage: Stage, rival: Rival, kind: str = KIND) -> str:
    """Wait until one resource is left alone; return the message of its Event."""

    async def is_recorded() -> bool:
        return bool(await list_messages(stage, "DrivenByAnother"))

    await stage.wait_until_true(is_recorded)
    assert get_value(rival.metrics, "left_alone", kind=kind) == 1
    assert rival.writes == []
    (message,) = await list_messages(stage, "DrivenByAnother")
    return message


@asynccontextmanager
async def leave_running(kubeconfig: JsonObject, stage: Stage, manager: str) -> AsyncIterator[None]:
    """Run an application with another controller until it is running. The driver keeps running while the body runs."""
    async with play_drivers(stage, "run"):
        async with run_rival(kubeconfig, stage, None, manager=manager):
            await stage.submit(build_application())
            await stage.wait_for_state(State.RUNNING_HEALTHY)
        yield


@pytest.mark.parametrize(
    ("before", "identity"),
    [
        pytest.param(APACHE, ControllerIdentity("ours"), id="the Apache operator"),
        pytest.param(
            ControllerIdentity("ours").field_manager,
            ControllerIdentity("ours", LeaseReference("jobs", "ours")),
            id="ours without election",
        ),
    ],
)
async def test_resource_of_a_controller_without_a_lease_is_left_alone(
    before: str, identity: ControllerIdentity, kubeconfig: JsonObject, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async with leave_running(kubeconfig, stage, before), run_rival(kubeconfig, stage, identity) as ours:
        await stage.set_pod("pi-0-driver", "succeeded")
        message = await wait_until_left_alone(stage, ours)
        assert message == (
            f"left alone: {before} managed this resource last, and does not name a Lease that shows whether it is "
            "still running. "
            "Stop that controller, then set takeOver: true or start this controller with --take-over"
        )
        assert (get_value(ours.metrics, "reconciles_total", kind=KIND, result="left_alone") or 0) >= 1
    (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert (warning.getMessage(), warning.__dict__["application"]) == (message, "jobs/pi")


async def test_new_application_runs_although_another_is_left_alone(kubeconfig: JsonObject, stage: Stage) -> None:
    async with (
        leave_running(kubeconfig, stage, APACHE),
        run_rival(kubeconfig, stage, ControllerIdentity("ours")) as ours,
    ):
        await stage.submit(build_application("new"))
        await stage.wait_for_state(State.DRIVER_REQUESTED, name="new")
        assert get_value(ours.metrics, "left_alone", kind=KIND) in (0, 1)


async def test_takeover_from_the_apache_operator_and_return(kubeconfig: JsonObject, stage: Stage) -> None:
    # The controller takes over while the drivers are running. Later, the other controller continues.
    async with play_drivers(stage, "run"):
        async with run_rival(kubeconfig, stage, None, manager=APACHE):
            await stage.submit(build_application("first"))
            await stage.submit(build_application("second"))
            for name in ("first", "second"):
                await stage.wait_for_state(State.RUNNING_HEALTHY, name=name)
        async with run_rival(kubeconfig, stage, ControllerIdentity("ours"), TAKE_OVER) as ours:
            await stage.set_pod("first-0-driver", "succeeded")
            ended = await stage.wait_for_state(State.RESOURCE_RELEASED, name="first")
            await stage.submit(build_application("third"))
            await stage.wait_for_state(State.RUNNING_HEALTHY, name="third")
        assert "patch sparkapplications/status.spark.apache.org" in ours.writes
        assert await list_messages(stage, "TakenOver") == 2 * [f"taken over from {APACHE}"]
        async with run_rival(kubeconfig, stage, None, manager=APACHE):
            for name in ("second", "third"):
                await stage.set_pod(f"{name}-0-driver", "succeeded")
                await stage.wait_for_state(State.RESOURCE_RELEASED, name=name)
            for name in ("first", "second", "third"):
                await stage.delete(name)
                await stage.wait_until(lambda seen: seen is None, name)
    assert history_of(ended) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
    assert [len(uids) for uids in stage.drivers.values()] == [1, 1, 1]


async def test_takeover_can_be_enabled_at_run_time(kubeconfig: JsonObject, stage: Stage) -> None:
    async with (
        leave_running(kubeconfig, stage, APACHE),
        run_rival(kubeconfig, stage, ControllerIdentity("ours")) as ours,
    ):
        await stage.set_pod("pi-0-driver", "succeeded")
        await wait_until_left_alone(stage, ours)
        ours.controller.apply(TAKE_OVER, NamedNamespaces((stage.namespace,)))
        await stage.patch({"metadata": {"labels": {"look": "again"}}})
        await stage.wait_for_state(State.RESOURCE_RELEASED)
        assert get_value(ours.metrics, "left_alone", kind=KIND) == 0


async def test_resource_of_a_controller_that_holds_its_lease_is_left_alone(
    kubeconfig: JsonObject, stage: Stage
) -> None:
    lease = LeaseReference(stage.namespace, "theirs")
    theirs, ours = (
        ControllerIdentity("theirs", lease),
        ControllerIdentity("ours", LeaseReference(stage.namespace, "ours")),
    )
    async with (
        hold_lease(stage, lease),
        leave_running(kubeconfig, stage, theirs.field_manager),
        run_rival(kubeconfig, stage, ours) as second,
    ):
        await stage.set_pod("pi-0-driver", "succeeded")
        message = await wait_until_left_alone(stage, second)
    assert message == (
        "left alone: spark-operator:jobs/theirs manages this resource: pod-1 holds the Lease jobs/theirs of that "
        "controller. Stop that controller; this controller then takes over. If the Lease stays held, set takeOver: "
        "true or start this controller with --take-over"
    )


async def test_resource_of_a_controller_that_released_its_lease_is_taken_over(
    kubeconfig: JsonObject, stage: Stage
) -> None:
    lease = LeaseReference(stage.namespace, "theirs")
    async with leave_running(kubeconfig, stage, ControllerIdentity("theirs", lease).field_manager):
        async with hold_lease(stage, lease):
            pass
        async with run_rival(kubeconfig, stage, ControllerIdentity("ours")):
            await stage.set_pod("pi-0-driver", "succeeded")
            await stage.wait_for_state(State.RESOURCE_RELEASED)
    assert len(await list_messages(stage, "TakenOver")) == 1


async def test_configured_lease_shows_whether_the_apache_operator_is_running(
    kubeconfig: JsonObject, stage: Stage
) -> None:
    lease = LeaseReference(stage.namespace, "spark-operator-lease")
    settings = replace(QUICK, takeover=TakeoverSettings(lease=lease))
    async with leave_running(kubeconfig, stage, APACHE):
        async with hold_lease(stage, lease), run_rival(kubeconfig, stage, ControllerIdentity("ours"), settings) as ours:
            await stage.set_pod("pi-0-driver", "succeeded")
            assert "pod-1 holds the Lease jobs/spark-operator-lease" in await wait_until_left_alone(stage, ours)
        async with run_rival(kubeconfig, stage, ControllerIdentity("ours"), settings):
            await stage.wait_for_state(State.RESOURCE_RELEASED)


async def test_controller_continues_its_own_resources_after_a_restart(kubeconfig: JsonObject, stage: Stage) -> None:
    async with play_drivers(stage, "run"):
        async with run_rival(kubeconfig, stage, ControllerIdentity("ours")):
            await stage.submit(build_application())
            await stage.wait_for_state(State.RUNNING_HEALTHY)
        async with run_rival(kubeconfig, stage, ControllerIdentity("ours")):
            await stage.set_pod("pi-0-driver", "succeeded")
            await stage.wait_for_state(State.RESOURCE_RELEASED)
    assert await list_messages(stage, "TakenOver") == []


async def test_each_new_application_is_managed_by_one_of_two_controllers(kubeconfig: JsonObject, stage: Stage) -> None:
    leases = [LeaseReference(stage.namespace, name) for name in ("one", "two")]
    names = [f"pi-{number}" for number in range(6)]
    async with (
        hold_lease(stage, leases[0]),
        hold_lease(stage, leases[1]),
        run_rival(kubeconfig, stage, ControllerIdentity("same", leases[0])),
        run_rival(kubeconfig, stage, ControllerIdentity("same", leases[1])),
        play_drivers(stage, "run"),
    ):
        for name in names:
            await stage.submit(build_application(name))
        for name in names:
            await stage.wait_for_state(State.RUNNING_HEALTHY, name=name)
            await stage.set_pod(f"{name}-0-driver", "succeeded")
        ended = [await stage.wait_for_state(State.RESOURCE_RELEASED, name=name) for name in names]
    for document in ended:
        assert history_of(document) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
        live = await stage.client.get(SPARK_APPLICATIONS, document["metadata"]["name"], stage.namespace)
        writers = {entry["manager"] for entry in live["metadata"]["managedFields"] if entry.get("subresource")}
        assert len(writers) == 1, writers
    assert [len(uids) for uids in stage.drivers.values()] == [1] * len(names)


async def test_controller_releases_a_resource_that_another_has_taken_over(kubeconfig: JsonObject, stage: Stage) -> None:
    lease = LeaseReference(stage.namespace, "theirs")
    access = ClusterAccess(kubeconfig_document=kubeconfig)
    async with (
        play_drivers(stage, "run"),
        run_rival(kubeconfig, stage, ControllerIdentity("ours")) as ours,
        hold_lease(stage, lease),
    ):
        await stage.submit(build_application())
        await stage.wait_for_state(State.RUNNING_HEALTHY)
        written = datetime.now(UTC).replace(microsecond=0)

        async def has_second_passed() -> bool:  # managed fields have times in whole seconds
            return datetime.now(UTC).replace(microsecond=0) > written

        await stage.wait_until_true(has_second_passed)
        theirs = ControllerIdentity("theirs", lease).field_manager
        async with await open_client(access, field_manager=theirs) as other:
            patch = {"status": {"currentState": {"message": "mine"}}}
            await other.patch(SPARK_APPLICATIONS, "pi", stage.namespace, patch, subresource="status")
        await stage.set_pod("pi-0-driver", "succeeded")

        async def is_left_alone() -> bool:
            return get_value(ours.metrics, "left_alone", kind=KIND) == 1

        await stage.wait_until_true(is_left_alone)
        assert (await list_messages(stage, "DrivenByAnother"))[0].startswith(
            f"left alone: {theirs} manages this resource: pod-1 holds "
        )


async def test_cluster_of_another_controller_is_left_alone(kubeconfig: JsonObject, stage: Stage) -> None:
    async with run_rival(kubeconfig, stage, None, manager=APACHE):
        await stage.client.create(SPARK_CLUSTERS, build_cluster(), stage.namespace)
        await until_cluster(stage, ClusterState.RUNNING_HEALTHY)
    async with run_rival(kubeconfig, stage, ControllerIdentity("ours")) as ours:
        await stage.client.delete(SPARK_CLUSTERS, "cl", stage.namespace)
        await wait_until_left_alone(stage, ours, SPARK_CLUSTERS.kind)


async def test_edit_of_a_cluster_of_another_controller_is_not_reported(kubeconfig: JsonObject, stage: Stage) -> None:
    async with run_rival(kubeconfig, stage, None, manager=APACHE):
        await stage.client.create(SPARK_CLUSTERS, build_cluster(), stage.namespace)
        await until_cluster(stage, ClusterState.RUNNING_HEALTHY)
    patch = {"spec": {"sparkConf": {"spark.executor.cores": "2"}}}
    await stage.client.patch(SPARK_CLUSTERS, "cl", stage.namespace, patch)
    async with run_rival(kubeconfig, stage, ControllerIdentity("ours")) as ours:
        await wait_until_left_alone(stage, ours, SPARK_CLUSTERS.kind)
        assert await list_messages(stage, "SpecChangeIgnored") == []


async def test_unreadable_lease_is_reported_with_the_missing_permission(stage: Stage) -> None:
    message = 'leases.coordination.k8s.io "theirs" is forbidden: User "we" cannot get resource "leases"'
    refused = Forbidden(403, "Forbidden", message, "get", "leases.coordination.k8s.io", "team", "theirs")
    client = FaultyClient(stage.client, ("get",), 1, refused, after=False)
    theirs = ControllerIdentity("theirs", LeaseReference("team", "theirs")).field_manager
    arbiter = Arbiter(client, ControllerIdentity("ours"), TakeoverSettings(), lambda: datetime.now(UTC))  # type: ignore[arg-type]
    problem = await arbiter.find_objection(theirs)
    assert problem is not None
    assert problem.startswith(f"could not check whether {theirs} is still running: ")
    assert problem.endswith('grant the verb "get" on leases.coordination.k8s.io in namespace team')


async def test_controllers_that_share_a_lease_have_no_objection(stage: Stage) -> None:
    lease = LeaseReference(stage.namespace, "spark-operator-lease")
    settings = TakeoverSettings(lease=lease)
    arbiter = Arbiter(stage.client, ControllerIdentity("ours", lease), settings, lambda: datetime.now(UTC))
    assert await arbiter.find_objection(APACHE) is None
