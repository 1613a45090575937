"""Several controllers with one leader."""

import asyncio
import itertools
import math
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.ownership import LeaseReference
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.collection import WatchEvent
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS, ResourceType
from airflow_provider_spark_operator.reconcile.controller import Controller
from airflow_provider_spark_operator.reconcile.objects.scope import NamedNamespaces
from airflow_provider_spark_operator.reconcile.ownership.election import Leadership
from airflow_provider_spark_operator.reconcile.serving.metrics import Metrics
from tests.reconcile.harness import QUICK, Api, build_application, get_value, history_of, run_in_background
from tests.reconcile.test_controller import UP_TO_RUNNING

State = ApplicationState


class Replica:
    """A controller whose leadership the test sets, and its writes."""

    def __init__(self) -> None:
        self.leadership = Leadership()
        self.metrics = Metrics()
        self.writes: list[str] = []
        self.controller: Controller | None = None

    def lead(self) -> None:
        self.leadership.extend(math.inf)

    def check(self, call: Call) -> None:
        self.leadership.check(call)
        if call.verb not in ("get", "list", "watch"):
            self.writes.append(f"{call.verb} {call.rbac_resource}")


@asynccontextmanager
async def run_replica(kubeconfig: JsonObject, api: Api) -> AsyncIterator[Replica]:
    """Run a standby while the body runs."""
    one = Replica()
    access = ClusterAccess(kubeconfig_document=kubeconfig)
    async with await open_client(access, check=one.check) as client:
        scope = NamedNamespaces((api.namespace,))
        one.controller = Controller(client, scope, QUICK, metrics=one.metrics, leadership=one.leadership)
        async with run_in_background(one.controller):
            yield one


async def test_standby_fills_its_caches_and_writes_nothing(kubeconfig: JsonObject, api: Api) -> None:
    async with run_replica(kubeconfig, api) as one:
        await api.submit(build_application())

        async def is_known() -> bool:
            return get_value(one.metrics, "applications", state="Submitted") == 1

        await api.wait_until_true(is_known)
        assert one.controller is not None
        assert one.controller.is_ready
        assert get_value(one.metrics, "leader") == 0
        assert get_value(one.metrics, "reconciles_total") is None
        assert one.writes == []
        assert get_value(one.metrics, "queue_depth", kind="SparkApplication") == 0
        one.lead()
        await api.wait_for_state(State.DRIVER_REQUESTED)
        assert get_value(one.metrics, "leader") == 1


async def test_former_leader_has_an_empty_queue(kubeconfig: JsonObject, api: Api) -> None:
    async with run_replica(kubeconfig, api) as one:
        one.lead()
        await api.submit(build_application())
        await api.wait_for_state(State.DRIVER_REQUESTED)
        one.leadership.end()
        await api.delete()
        await api.submit(build_application("other"))

        async def is_known() -> bool:
            return get_value(one.metrics, "applications", state="Submitted") == 1

        await api.wait_until_true(is_known)
        assert get_value(one.metrics, "queue_depth", kind="SparkApplication") == 0


@pytest.mark.parametrize("changed_in", [State.DRIVER_REQUESTED, State.RUNNING_HEALTHY, State.SUCCEEDED])
async def test_next_leader_continues_the_application(
    kubeconfig: JsonObject, api: Api, changed_in: ApplicationState
) -> None:
    async with run_replica(kubeconfig, api) as one, run_replica(kubeconfig, api) as other:
        one.lead()
        async with api.play_drivers("succeeded"):
            await api.submit(build_application())
            # Later states may also be written by now.
            await api.wait_until(lambda seen: seen is not None and changed_in in list_states(seen))
            one.leadership.end()
            written = len(one.writes)
            other.lead()
            ended = await api.wait_for_state(State.RESOURCE_RELEASED)
            await api.wait_for_deleted_children()
        assert len(one.writes) == written
    assert history_of(ended) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
    assert [len(uids) for uids in api.drivers.values()] == [1]


async def test_leader_after_its_deadline_writes_nothing(
    kubeconfig: JsonObject, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with run_replica(kubeconfig, api) as one:
        one.leadership.extend(-math.inf)
        await api.submit(build_application())

        async def is_held_back() -> bool:
            return "because this replica is not the leader: could not patch" in caplog.text

        await api.wait_until_true(is_held_back)
        assert one.writes == []
        one.leadership.end()
        one.lead()
        await api.wait_for_state(State.DRIVER_REQUESTED)


async def test_changing_leaders_create_one_driver_per_attempt(kubeconfig: JsonObject, api: Api) -> None:
    async with AsyncExitStack() as stack:
        replicas = [await stack.enter_async_context(run_replica(kubeconfig, api)) for _ in range(3)]
        turns = asyncio.create_task(take_turns(replicas))
        async with api.play_drivers("failed", "succeeded"):
            again = {"restartPolicy": "OnFailure", "maxRestartAttempts": 1, "restartBackoffMillis": 1}
            await api.submit(build_application(restart=again))
            ended = await api.wait_for_state(State.RESOURCE_RELEASED)
        turns.cancel()
        await asyncio.wait([turns])
    assert list(api.drivers) == ["pi-0-driver", "pi-1-driver"]
    assert [len(uids) for uids in api.drivers.values()] == [1, 1]
    assert history_of(ended)[-2:] == ["Succeeded", "ResourceReleased"]
    assert await api.list_names(PODS) == []


class LaggingClient:
    """A client whose watch of applications waits until `flows` is set."""

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


async def test_returning_leader_keeps_the_driver_that_another_leader_created(kubeconfig: JsonObject, api: Api) -> None:
    lease = LeaseReference(api.namespace, "lease")
    access, scope = ClusterAccess(kubeconfig_document=kubeconfig), NamedNamespaces((api.namespace,))
    leaderships = Leadership(), Leadership()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(await open_client(access, field_manager=lease.field_manager))
        lagging = LaggingClient(client)
        for each, leadership in zip((lagging, client), leaderships, strict=True):
            controller = Controller(each, scope, QUICK, leadership=leadership, lease=lease)  # type: ignore[arg-type]
            await stack.enter_async_context(run_in_background(controller))
        one, other = leaderships
        one.extend(math.inf)
        await api.submit(build_application(restart={"restartPolicy": "Always", "restartBackoffMillis": 1}))
        await api.wait_for_state(State.DRIVER_REQUESTED)
        await api.client.patch(PODS, "pi-0-driver", api.namespace, {"metadata": {"finalizers": ["test/held"]}})
        await api.set_pod("pi-0-driver", "failed")
        await api.wait_for_state(State.FAILED)
        one.end()
        lagging.flows.clear()
        other.extend(math.inf)
        await api.client.patch(PODS, "pi-0-driver", api.namespace, {"metadata": {"finalizers": None}})
        await api.wait_for_state(State.DRIVER_REQUESTED)
        other.end()
        one.extend(math.inf)
        await api.set_pod("pi-1-driver", "ready")
        await api.wait_for_state(State.RUNNING_HEALTHY, State.FAILED, State.SCHEDULED_TO_RESTART)
        (driver,) = await api.list_objects(PODS)
    assert driver["metadata"]["name"] == "pi-1-driver"
    assert "deletionTimestamp" not in driver["metadata"]


async def take_turns(replicas: list[Replica]) -> None:
    """Make one replica after the other the leader, each for a few writes or 0.1 seconds."""
    for one, writes in zip(itertools.cycle(replicas), itertools.cycle(range(1, 15)), strict=True):
        before = len(one.writes)
        one.lead()
        for _ in range(50):
            await asyncio.sleep(0.002)
            if len(one.writes) >= before + writes:
                break
        one.leadership.end()


def list_states(document: JsonObject) -> list[str]:
    """Return the history of an application; empty without a status."""
    return history_of(document) if document.get("status") else []
