"""Two controllers for the same resources. The stand-in of the Apache operator drives as it does, under its name."""

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
from airflow_provider_spark_operator.reconcile.managers import Identity
from airflow_provider_spark_operator.reconcile.metrics import Metrics
from airflow_provider_spark_operator.reconcile.scope import NamedNamespaces
from airflow_provider_spark_operator.reconcile.settings import ControllerSettings, TakeoverSettings
from tests.reconcile.stage import QUICK, FaultyClient, Stage, application, history_of, playing, running, value
from tests.reconcile.test_clusters import cluster
from tests.reconcile.test_clusters import until_state as until_cluster
from tests.reconcile.test_controller import UP_TO_RUNNING

State = ApplicationState
APACHE = "fabric8-kubernetes-client"
KIND = SPARK_APPLICATIONS.kind
TERMS = LeaseTerms(duration=60, renew_deadline=40, retry=0.05)
TAKE_OVER = replace(QUICK, takeover=TakeoverSettings(take_over=True))


@dataclass
class Rival:
    """One of the controllers, and what it has written, but for events."""

    controller: Controller
    metrics: Metrics
    writes: list[str] = field(default_factory=list)


@asynccontextmanager
async def driving(
    kubeconfig: JsonObject,
    stage: Stage,
    identity: Identity | None,
    settings: ControllerSettings = QUICK,
    *,
    manager: str = "",
) -> AsyncIterator[Rival]:
    """A controller beside the body; without an identity it writes as `manager`, and takes whatever it finds."""
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
        async with running(controller):
            yield Rival(controller, metrics, writes)


@asynccontextmanager
async def holding(stage: Stage, lease: LeaseReference) -> AsyncIterator[None]:
    """Somebody who holds a lease beside the body."""
    async with elect(Elector(stage.client, lease, "pod-1", TERMS)) as leadership:
        await leadership.wait_until_gained()
        yield


async def events(stage: Stage, reason: str) -> list[str]:
    return [event["message"] for event in await stage.objects(EVENTS) if event["reason"] == reason]


async def until_left_alone(stage: Stage, rival: Rival, kind: str = KIND) -> str:
    """What is told of the resource that is left alone."""

    async def is_told() -> bool:
        return bool(await events(stage, "DrivenByAnother"))

    await stage.until_true(is_told)
    assert value(rival.metrics, "left_alone", kind=kind) == 1
    assert rival.writes == []
    (message,) = await events(stage, "DrivenByAnother")
    return message


@asynccontextmanager
async def left_running(kubeconfig: JsonObject, stage: Stage, manager: str) -> AsyncIterator[None]:
    """An application that another controller has brought to run, beside whose driver the body is."""
    async with playing(stage, "run"):
        async with driving(kubeconfig, stage, None, manager=manager):
            await stage.submit(application())
            await stage.until_state(State.RUNNING_HEALTHY)
        yield


@pytest.mark.parametrize(
    ("before", "identity"),
    [
        pytest.param(APACHE, Identity("ours"), id="the Apache operator"),
        pytest.param(
            Identity("ours").field_manager, Identity("ours", LeaseReference("jobs", "ours")), id="ours without election"
        ),
    ],
)
async def test_what_a_controller_has_driven_that_names_no_lease_is_left_alone(
    before: str, identity: Identity, kubeconfig: JsonObject, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async with left_running(kubeconfig, stage, before), driving(kubeconfig, stage, identity) as ours:
        await stage.set_pod("pi-0-driver", "succeeded")
        message = await until_left_alone(stage, ours)
        assert message == (
            f"left alone: {before} managed it last and names no lease that shows whether it is still running. "
            "Stop that controller, then start this one with --take-over"
        )
        assert (value(ours.metrics, "reconciles_total", kind=KIND, result="left_alone") or 0) >= 1
    (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert (warning.getMessage(), warning.__dict__["application"]) == (message, "jobs/pi")


async def test_what_is_new_is_driven_beside_what_is_left_alone(kubeconfig: JsonObject, stage: Stage) -> None:
    async with left_running(kubeconfig, stage, APACHE), driving(kubeconfig, stage, Identity("ours")) as ours:
        await stage.submit(application("new"))
        await stage.until_state(State.DRIVER_REQUESTED, name="new")
        assert value(ours.metrics, "left_alone", kind=KIND) in (0, 1)


async def test_taking_over_from_the_apache_operator_and_going_back(kubeconfig: JsonObject, stage: Stage) -> None:
    # Theirs has gone; ours takes over while the driver runs, and ends; theirs comes back and goes on.
    async with playing(stage, "run"):
        async with driving(kubeconfig, stage, None, manager=APACHE):
            await stage.submit(application("first"))
            await stage.submit(application("second"))
            for name in ("first", "second"):
                await stage.until_state(State.RUNNING_HEALTHY, name=name)
        async with driving(kubeconfig, stage, Identity("ours"), TAKE_OVER) as ours:
            await stage.set_pod("first-0-driver", "succeeded")
            ended = await stage.until_state(State.RESOURCE_RELEASED, name="first")
            await stage.submit(application("third"))
            await stage.until_state(State.RUNNING_HEALTHY, name="third")
        assert "patch sparkapplications/status.spark.apache.org" in ours.writes
        assert await events(stage, "TakenOver") == 2 * [f"taken over from {APACHE}"]
        async with driving(kubeconfig, stage, None, manager=APACHE):
            for name in ("second", "third"):
                await stage.set_pod(f"{name}-0-driver", "succeeded")
                await stage.until_state(State.RESOURCE_RELEASED, name=name)
            for name in ("first", "second", "third"):
                await stage.delete(name)
                await stage.until(lambda seen: seen is None, name)
    assert history_of(ended) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
    assert [len(uids) for uids in stage.drivers.values()] == [1, 1, 1]


async def test_taking_over_can_be_allowed_while_it_works(kubeconfig: JsonObject, stage: Stage) -> None:
    async with left_running(kubeconfig, stage, APACHE), driving(kubeconfig, stage, Identity("ours")) as ours:
        await stage.set_pod("pi-0-driver", "succeeded")
        await until_left_alone(stage, ours)
        ours.controller.apply(TAKE_OVER, NamedNamespaces((stage.namespace,)))
        await stage.patch({"metadata": {"labels": {"look": "again"}}})
        await stage.until_state(State.RESOURCE_RELEASED)
        assert value(ours.metrics, "left_alone", kind=KIND) == 0


async def test_a_controller_that_holds_its_lease_is_named_and_left_its_resources(
    kubeconfig: JsonObject, stage: Stage
) -> None:
    lease = LeaseReference(stage.namespace, "theirs")
    theirs, ours = Identity("theirs", lease), Identity("ours", LeaseReference(stage.namespace, "ours"))
    async with (
        holding(stage, lease),
        left_running(kubeconfig, stage, theirs.field_manager),
        driving(kubeconfig, stage, ours) as second,
    ):
        await stage.set_pod("pi-0-driver", "succeeded")
        message = await until_left_alone(stage, second)
    assert message == (
        "left alone: spark-operator:jobs/theirs manages it: pod-1 holds its lease jobs/theirs. "
        "Stop that controller, or start this one with --take-over"
    )


async def test_what_a_controller_leaves_that_has_released_its_lease_is_taken_up(
    kubeconfig: JsonObject, stage: Stage
) -> None:
    lease = LeaseReference(stage.namespace, "theirs")
    async with left_running(kubeconfig, stage, Identity("theirs", lease).field_manager):
        async with holding(stage, lease):
            pass
        async with driving(kubeconfig, stage, Identity("ours")):
            await stage.set_pod("pi-0-driver", "succeeded")
            await stage.until_state(State.RESOURCE_RELEASED)
    assert len(await events(stage, "TakenOver")) == 1


async def test_an_apache_operator_is_seen_to_live_by_the_lease_that_the_settings_name(
    kubeconfig: JsonObject, stage: Stage
) -> None:
    lease = LeaseReference(stage.namespace, "spark-operator-lease")
    settings = replace(QUICK, takeover=TakeoverSettings(lease=lease))
    async with left_running(kubeconfig, stage, APACHE):
        async with holding(stage, lease), driving(kubeconfig, stage, Identity("ours"), settings) as ours:
            await stage.set_pod("pi-0-driver", "succeeded")
            assert "pod-1 holds its lease jobs/spark-operator-lease" in await until_left_alone(stage, ours)
        async with driving(kubeconfig, stage, Identity("ours"), settings):
            await stage.until_state(State.RESOURCE_RELEASED)


async def test_its_own_resources_are_driven_on_after_a_restart(kubeconfig: JsonObject, stage: Stage) -> None:
    async with playing(stage, "run"):
        async with driving(kubeconfig, stage, Identity("ours")):
            await stage.submit(application())
            await stage.until_state(State.RUNNING_HEALTHY)
        async with driving(kubeconfig, stage, Identity("ours")):
            await stage.set_pod("pi-0-driver", "succeeded")
            await stage.until_state(State.RESOURCE_RELEASED)
    assert await events(stage, "TakenOver") == []


async def test_two_that_begin_at_once_share_what_there_is_and_neither_fights(
    kubeconfig: JsonObject, stage: Stage
) -> None:
    leases = [LeaseReference(stage.namespace, name) for name in ("one", "two")]
    names = [f"pi-{number}" for number in range(6)]
    async with (
        holding(stage, leases[0]),
        holding(stage, leases[1]),
        driving(kubeconfig, stage, Identity("same", leases[0])),
        driving(kubeconfig, stage, Identity("same", leases[1])),
        playing(stage, "run"),
    ):
        for name in names:
            await stage.submit(application(name))
        for name in names:
            await stage.until_state(State.RUNNING_HEALTHY, name=name)
            await stage.set_pod(f"{name}-0-driver", "succeeded")
        ended = [await stage.until_state(State.RESOURCE_RELEASED, name=name) for name in names]
    for document in ended:
        assert history_of(document) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
        live = await stage.client.get(SPARK_APPLICATIONS, document["metadata"]["name"], stage.namespace)
        writers = {entry["manager"] for entry in live["metadata"]["managedFields"] if entry.get("subresource")}
        assert len(writers) == 1, writers
    assert [len(uids) for uids in stage.drivers.values()] == [1] * len(names)


async def test_who_sees_another_take_over_lets_go(kubeconfig: JsonObject, stage: Stage) -> None:
    lease = LeaseReference(stage.namespace, "theirs")
    access = ClusterAccess(kubeconfig_document=kubeconfig)
    async with playing(stage, "run"), driving(kubeconfig, stage, Identity("ours")) as ours, holding(stage, lease):
        await stage.submit(application())
        await stage.until_state(State.RUNNING_HEALTHY)
        written = datetime.now(UTC).replace(microsecond=0)

        async def another_second_has_begun() -> bool:  # managed fields know whole ones only
            return datetime.now(UTC).replace(microsecond=0) > written

        await stage.until_true(another_second_has_begun)
        theirs = Identity("theirs", lease).field_manager
        async with await open_client(access, field_manager=theirs) as other:
            patch = {"status": {"currentState": {"message": "mine"}}}
            await other.patch(SPARK_APPLICATIONS, "pi", stage.namespace, patch, subresource="status")
        await stage.set_pod("pi-0-driver", "succeeded")

        async def is_left_alone() -> bool:
            return value(ours.metrics, "left_alone", kind=KIND) == 1

        await stage.until_true(is_left_alone)
        assert (await events(stage, "DrivenByAnother"))[0].startswith(f"left alone: {theirs} manages it: pod-1 holds ")


async def test_clusters_are_left_alone_as_well(kubeconfig: JsonObject, stage: Stage) -> None:
    async with driving(kubeconfig, stage, None, manager=APACHE):
        await stage.client.create(SPARK_CLUSTERS, cluster(), stage.namespace)
        await until_cluster(stage, ClusterState.RUNNING_HEALTHY)
    async with driving(kubeconfig, stage, Identity("ours")) as ours:
        await stage.client.delete(SPARK_CLUSTERS, "cl", stage.namespace)
        await until_left_alone(stage, ours, SPARK_CLUSTERS.kind)


async def test_nothing_is_told_of_an_edit_of_a_cluster_that_another_drives(
    kubeconfig: JsonObject, stage: Stage
) -> None:
    async with driving(kubeconfig, stage, None, manager=APACHE):
        await stage.client.create(SPARK_CLUSTERS, cluster(), stage.namespace)
        await until_cluster(stage, ClusterState.RUNNING_HEALTHY)
    patch = {"spec": {"sparkConf": {"spark.executor.cores": "2"}}}
    await stage.client.patch(SPARK_CLUSTERS, "cl", stage.namespace, patch)
    async with driving(kubeconfig, stage, Identity("ours")) as ours:
        await until_left_alone(stage, ours, SPARK_CLUSTERS.kind)
        assert await events(stage, "SpecChangeIgnored") == []


async def test_a_lease_that_may_not_be_read_is_told_with_the_right_that_is_missing(stage: Stage) -> None:
    said = 'leases.coordination.k8s.io "theirs" is forbidden: User "we" cannot get resource "leases"'
    refused = Forbidden(403, "Forbidden", said, "get", "leases.coordination.k8s.io", "team", "theirs")
    client = FaultyClient(stage.client, ("get",), 1, refused, after=False)
    theirs = Identity("theirs", LeaseReference("team", "theirs")).field_manager
    arbiter = Arbiter(client, Identity("ours"), TakeoverSettings(), lambda: datetime.now(UTC))  # type: ignore[arg-type]
    problem = await arbiter.find_objection(theirs)
    assert problem is not None
    assert problem.startswith(f"could not check whether {theirs} is still running: ")
    assert problem.endswith('grant the verb "get" on leases.coordination.k8s.io in namespace team')


async def test_those_who_share_a_lease_exclude_each_other_by_it(stage: Stage) -> None:
    lease = LeaseReference(stage.namespace, "spark-operator-lease")
    settings = TakeoverSettings(lease=lease)
    arbiter = Arbiter(stage.client, Identity("ours", lease), settings, lambda: datetime.now(UTC))
    assert await arbiter.find_objection(APACHE) is None
