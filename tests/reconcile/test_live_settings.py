"""Changes of settings at run time."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.lifecycle.decision import Settings
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import NAMESPACES, PODS, SPARK_APPLICATIONS
from airflow_provider_spark_operator.reconcile.controller import Controller
from airflow_provider_spark_operator.reconcile.objects.limits import ReconcileLimit
from airflow_provider_spark_operator.reconcile.objects.scope import EveryNamespace, NamedNamespaces, Scope
from airflow_provider_spark_operator.reconcile.reports.event_filter import EventSettings
from airflow_provider_spark_operator.reconcile.serving.metrics import Metrics
from tests.reconcile.harness import QUICK, Api, build_application, get_value, run_in_background

State = ApplicationState
KIND = SPARK_APPLICATIONS.kind


@pytest.fixture
async def elsewhere(api: Api) -> Api:
    """Create another namespace of the same API."""
    await api.client.create(NAMESPACES, {"metadata": {"name": "elsewhere"}}, None)
    return Api(api.client, "elsewhere")


@pytest.mark.parametrize("scope", [NamedNamespaces(("jobs", "elsewhere")), EveryNamespace()], ids=["named", "all"])
async def test_added_namespace_is_watched(api: Api, elsewhere: Api, scope: Scope) -> None:
    await elsewhere.submit(build_application())
    controller = Controller(api.client, NamedNamespaces(("jobs",)), QUICK)
    async with run_in_background(controller), api.play_drivers("run"):
        await api.submit(build_application("here"))
        await api.wait_for_state(State.RUNNING_HEALTHY, name="here")
        controller.apply(QUICK, scope)
        await elsewhere.wait_for_state(State.DRIVER_REQUESTED)
        assert controller.is_ready
        await api.set_pod("here-0-driver", "succeeded")  # the first namespace is still watched
        await api.wait_for_state(State.RESOURCE_RELEASED, name="here")


async def test_removed_namespace_is_left_alone(api: Api, elsewhere: Api) -> None:
    metrics = Metrics()
    controller = Controller(api.client, EveryNamespace(), QUICK, metrics=metrics)
    async with run_in_background(controller):
        await elsewhere.submit(build_application())
        await elsewhere.wait_for_state(State.DRIVER_REQUESTED)
        controller.apply(QUICK, NamedNamespaces(("jobs",)))

        async def is_forgotten() -> bool:
            return get_value(metrics, "applications", state="DriverRequested") == 0

        await api.wait_until_true(is_forgotten)
        await api.submit(build_application("here"))
        await api.wait_for_state(State.DRIVER_REQUESTED, name="here")
        await elsewhere.set_pod("pi-0-driver", "succeeded")
        await api.submit(build_application("later"))
        await api.wait_for_state(State.DRIVER_REQUESTED, name="later")
        unwatched = await elsewhere.wait_until(lambda seen: seen is not None)
    assert unwatched is not None
    assert unwatched["status"]["currentState"]["currentStateSummary"] == State.DRIVER_REQUESTED


async def test_changed_settings_of_events_apply_to_later_events(api: Api) -> None:
    silent = replace(QUICK, events=EventSettings(is_enabled=False))
    controller = Controller(api.client, NamedNamespaces(("jobs",)), silent)
    async with run_in_background(controller), api.play_drivers("run"):
        await api.submit(build_application())
        await api.wait_for_state(State.RUNNING_HEALTHY)
        controller.apply(QUICK, NamedNamespaces(("jobs",)))
        await api.set_pod("pi-0-driver", "succeeded")
        await api.wait_for_state(State.RESOURCE_RELEASED)
    assert await api.list_event_reasons() == ["Succeeded"]


class HeldClient:
    """A client whose writes of a status return only on request.

    Attributes:
        is_asked: Set when a status was written.
        may_go: Lets the write return.
    """

    def __init__(self, client: KubeClient) -> None:
        self.is_asked = asyncio.Event()
        self.may_go = asyncio.Event()
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def patch(self, *arguments: Any, subresource: str | None = None, **options: Any) -> JsonObject:
        answer = await self._client.patch(*arguments, subresource=subresource, **options)
        if subresource == "status":
            self.is_asked.set()
            await self.may_go.wait()
        return answer


async def test_reconcile_in_progress_in_a_removed_namespace_is_not_continued(api: Api, elsewhere: Api) -> None:
    metrics, held = Metrics(), HeldClient(api.client)
    without_grace_period = replace(QUICK, decisions=Settings(missing_driver_grace_period=timedelta(0)))
    controller = Controller(held, EveryNamespace(), without_grace_period, metrics=metrics)  # type: ignore[arg-type]
    async with run_in_background(controller):
        await elsewhere.submit(build_application(timeouts={"driverStartTimeoutMillis": 100}))
        await held.is_asked.wait()
        controller.apply(without_grace_period, NamedNamespaces(("jobs",)))

        async def is_forgotten() -> bool:
            states = ("Submitted", "DriverRequested")
            return not any(get_value(metrics, "applications", state=state) for state in states)

        await api.wait_until_true(is_forgotten)
        held.may_go.set()
        await api.submit(build_application(timeouts={"driverStartTimeoutMillis": 500}))
        await api.wait_for_state(State.RESOURCE_RELEASED)
        unwatched = await elsewhere.wait_until(lambda seen: seen is not None)
    assert unwatched is not None
    assert unwatched["status"]["currentState"]["currentStateSummary"] == State.DRIVER_REQUESTED


async def test_changed_grace_period_applies_to_the_next_reconcile(api: Api) -> None:
    long_grace_period = replace(QUICK, decisions=Settings(missing_driver_grace_period=timedelta(hours=1)))
    scope = NamedNamespaces((api.namespace,))
    controller = Controller(api.client, scope, long_grace_period)
    async with run_in_background(controller):
        await api.submit(build_application())
        await api.wait_for_state(State.DRIVER_REQUESTED)
        controller.apply(QUICK, scope)
        await api.client.delete(PODS, "pi-0-driver", api.namespace, grace_seconds=0)
        await api.wait_for_state(State.RESOURCE_RELEASED)


async def test_reconcile_limit_applies_to_each_resource(api: Api) -> None:
    metrics = Metrics()
    limited = replace(QUICK, reconciles=ReconcileLimit(2, 3600))
    scope = NamedNamespaces((api.namespace,))
    controller = Controller(api.client, scope, limited, metrics=metrics)
    async with run_in_background(controller), api.play_drivers("succeeded"):
        await api.submit(build_application())
        await api.wait_for_state(State.DRIVER_REQUESTED)
        for number in range(5):
            await api.patch({"metadata": {"labels": {"look": str(number)}}})
        await api.submit(build_application("other"))  # each resource has its own count
        await api.wait_for_state(State.DRIVER_REQUESTED, name="other")
        assert get_value(metrics, "reconciles_total", kind=KIND, result="done") in (2, 3, 4)
        controller.apply(QUICK, scope)
        await api.patch({"metadata": {"labels": {"look": "again"}}})
        await api.wait_for_state(State.RESOURCE_RELEASED)
