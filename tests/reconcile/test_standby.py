"""Several controllers, of which one leads."""

import asyncio
import itertools
import math
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import pytest

from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.client import KubeClient, WatchEvent
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS, ResourceType
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.controller import Controller
from airflow_provider_spark_operator.reconcile.leadership import Leadership
from airflow_provider_spark_operator.reconcile.lease import LeaseReference
from airflow_provider_spark_operator.reconcile.managers import Identity
from airflow_provider_spark_operator.reconcile.metrics import Metrics
from airflow_provider_spark_operator.reconcile.scope import NamedNamespaces
from tests.reconcile.stage import QUICK, Stage, application, history_of, playing, running, value
from tests.reconcile.test_controller import UP_TO_RUNNING

State = ApplicationState


class Replica:
    """A controller whose leadership is in the test's hands, and all that it has sent to be written."""

    def __init__(self) -> None:
        self.leadership = Leadership()
        self.metrics = Metrics()
        self.writes: list[str] = []
        self.controller: Controller | None = None

    def lead(self) -> None:
        self.leadership.extend(math.inf)

    async def gate(self, call: Call) -> None:
        await self.leadership.gate(call)
        if call.verb not in ("get", "list", "watch"):
            self.writes.append(f"{call.verb} {call.rbac_resource}")


@asynccontextmanager
async def replica(kubeconfig: JsonObject, stage: Stage) -> AsyncIterator[Replica]:
    """A controller that stands by, beside the body."""
    one = Replica()
    access = ClusterAccess(kubeconfig_document=kubeconfig)
    async with await open_client(access, gate=one.gate) as client:
        scope = NamedNamespaces((stage.namespace,))
        one.controller = Controller(client, scope, QUICK, metrics=one.metrics, leadership=one.leadership)
        async with running(one.controller):
            yield one


async def test_who_stands_by_knows_everything_and_writes_nothing(kubeconfig: JsonObject, stage: Stage) -> None:
    async with replica(kubeconfig, stage) as one:
        await stage.submit(application())

        async def is_known() -> bool:
            return value(one.metrics, "applications", state="Submitted") == 1

        await stage.until_true(is_known)
        assert one.controller is not None
        assert one.controller.is_ready
        assert value(one.metrics, "leader") == 0
        assert value(one.metrics, "reconciles_total") is None
        assert one.writes == []
        assert value(one.metrics, "queue_depth", kind="SparkApplication") == 0
        one.lead()
        await stage.until_state(State.DRIVER_REQUESTED)
        assert value(one.metrics, "leader") == 1


async def test_who_has_stopped_leading_keeps_nothing_to_do(kubeconfig: JsonObject, stage: Stage) -> None:
    async with replica(kubeconfig, stage) as one:
        one.lead()
        await stage.submit(application())
        await stage.until_state(State.DRIVER_REQUESTED)
        one.leadership.end()
        await stage.delete()
        await stage.submit(application("other"))

        async def is_known() -> bool:
            return value(one.metrics, "applications", state="Submitted") == 1

        await stage.until_true(is_known)
        assert value(one.metrics, "queue_depth", kind="SparkApplication") == 0


@pytest.mark.parametrize("changed_in", [State.DRIVER_REQUESTED, State.RUNNING_HEALTHY, State.SUCCEEDED])
async def test_another_goes_on_where_the_leader_has_stopped(
    kubeconfig: JsonObject, stage: Stage, changed_in: ApplicationState
) -> None:
    async with replica(kubeconfig, stage) as one, replica(kubeconfig, stage) as other:
        one.lead()
        async with playing(stage, "succeeded"):
            await stage.submit(application())
            # What comes after this state may have been written by the time.
            await stage.until(lambda seen: seen is not None and changed_in in reached(seen))
            one.leadership.end()
            written = len(one.writes)
            other.lead()
            ended = await stage.until_state(State.RESOURCE_RELEASED)
            await stage.until_no_child_is_left()
        assert len(one.writes) == written
    assert history_of(ended) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
    assert [len(uids) for uids in stage.drivers.values()] == [1]


async def test_a_leader_whose_deadline_is_over_writes_nothing_though_nobody_has_told_it(
    kubeconfig: JsonObject, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with replica(kubeconfig, stage) as one:
        one.leadership.extend(-math.inf)
        await stage.submit(application())

        async def is_held_back() -> bool:
            return "left to the next leader: could not patch sparkapplications.spark.apache.org pi" in caplog.text

        await stage.until_true(is_held_back)
        assert one.writes == []
        one.leadership.end()
        one.lead()
        await stage.until_state(State.DRIVER_REQUESTED)


async def test_leadership_that_comes_and_goes_makes_one_driver(kubeconfig: JsonObject, stage: Stage) -> None:
    async with AsyncExitStack() as stack:
        replicas = [await stack.enter_async_context(replica(kubeconfig, stage)) for _ in range(3)]
        turns = asyncio.create_task(take_turns(replicas))
        async with playing(stage, "failed", "succeeded"):
            again = {"restartPolicy": "OnFailure", "maxRestartAttempts": 1, "restartBackoffMillis": 1}
            await stage.submit(application(restart=again))
            ended = await stage.until_state(State.RESOURCE_RELEASED)
        turns.cancel()
        await asyncio.wait([turns])
    assert list(stage.drivers) == ["pi-0-driver", "pi-1-driver"]
    assert [len(uids) for uids in stage.drivers.values()] == [1, 1]
    assert history_of(ended)[-2:] == ["Succeeded", "ResourceReleased"]
    assert await stage.names(PODS) == []


class LaggingClient:
    """A client whose watch of applications shows nothing more as long as `flows` is not set."""

    def __init__(self, client: KubeClient) -> None:
        self.flows = asyncio.Event()
        self.flows.set()
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def watch(
        self, resource: ResourceType, namespace: str | None = None, **options: Any
    ) -> AsyncGenerator[WatchEvent, None]:
        async with aclosing(self._client.watch(resource, namespace, **options)) as events:
            async for event in events:
                if resource == SPARK_APPLICATIONS:
                    await self.flows.wait()
                yield event


async def test_who_leads_again_deletes_no_driver_of_an_attempt_that_another_has_begun(
    kubeconfig: JsonObject, stage: Stage
) -> None:
    identity = Identity(QUICK.decisions.operator_name, LeaseReference(stage.namespace, "lease"))
    access, scope = ClusterAccess(kubeconfig_document=kubeconfig), NamedNamespaces((stage.namespace,))
    leaderships = Leadership(), Leadership()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(await open_client(access, field_manager=identity.field_manager))
        lagging = LaggingClient(client)
        for each, leadership in zip((lagging, client), leaderships, strict=True):
            controller = Controller(each, scope, QUICK, leadership=leadership, identity=identity)  # type: ignore[arg-type]
            await stack.enter_async_context(running(controller))
        one, other = leaderships
        one.extend(math.inf)
        await stage.submit(application(restart={"restartPolicy": "Always", "restartBackoffMillis": 1}))
        await stage.until_state(State.DRIVER_REQUESTED)
        await stage.client.patch(PODS, "pi-0-driver", stage.namespace, {"metadata": {"finalizers": ["test/held"]}})
        await stage.set_pod("pi-0-driver", "failed")
        await stage.until_state(State.FAILED)
        one.end()
        lagging.flows.clear()
        other.extend(math.inf)
        await stage.client.patch(PODS, "pi-0-driver", stage.namespace, {"metadata": {"finalizers": None}})
        await stage.until_state(State.DRIVER_REQUESTED)
        other.end()
        one.extend(math.inf)
        await stage.set_pod("pi-1-driver", "ready")
        await stage.until_state(State.RUNNING_HEALTHY, State.FAILED, State.SCHEDULED_TO_RESTART)
        (driver,) = await stage.objects(PODS)
    assert driver["metadata"]["name"] == "pi-1-driver"
    assert "deletionTimestamp" not in driver["metadata"]


async def take_turns(replicas: list[Replica]) -> None:
    """Have one after the other lead, for one write or some more, or for a moment where there is nothing to do."""
    for one, writes in zip(itertools.cycle(replicas), itertools.cycle(range(1, 15)), strict=True):
        before = len(one.writes)
        one.lead()
        for _ in range(50):
            await asyncio.sleep(0.002)
            if len(one.writes) >= before + writes:
                break
        one.leadership.end()


def reached(document: JsonObject) -> list[str]:
    """The states that an application has come through."""
    return history_of(document) if document.get("status") else []
