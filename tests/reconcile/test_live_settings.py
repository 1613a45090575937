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
from tests.reconcile.stage import QUICK, Stage, build_application, get_value, play_drivers, run_in_background

State = ApplicationState
KIND = SPARK_APPLICATIONS.kind


@pytest.fixture
async def elsewhere(stage: Stage) -> Stage:
    """Create another namespace of the same API."""
    await stage.client.create(NAMESPACES, {"metadata": {"name": "elsewhere"}}, None)
    return Stage(stage.client, "elsewhere")


@pytest.mark.parametrize("scope", [NamedNamespaces(("jobs", "elsewhere")), EveryNamespace()], ids=["named", "all"])
async def test_added_namespace_is_watched(stage: Stage, elsewhere: Stage, scope: Scope) -> None:
    await elsewhere.submit(build_application())
    controller = Controller(stage.client, NamedNamespaces(("jobs",)), QUICK)
    async with run_in_background(controller), play_drivers(stage, "run"):
        await stage.submit(build_application("here"))
        await stage.wait_for_state(State.RUNNING_HEALTHY, name="here")
        controller.apply(QUICK, scope)
        await elsewhere.wait_for_state(State.DRIVER_REQUESTED)
        assert controller.is_ready
        await stage.set_pod("here-0-driver", "succeeded")  # the first namespace is still watched
        await stage.wait_for_state(State.RESOURCE_RELEASED, name="here")


async def test_removed_namespace_is_left_alone(stage: Stage, elsewhere: Stage) -> None:
    metrics = Metrics()
    controller = Controller(stage.client, EveryNamespace(), QUICK, metrics=metrics)
    async with run_in_background(controller):
        await elsewhere.submit(build_application())
        await elsewhere.wait_for_state(State.DRIVER_REQUESTED)
        controller.apply(QUICK, NamedNamespaces(("jobs",)))

        async def is_forgotten() -> bool:
            return get_value(metrics, "applications", state="DriverRequested") == 0

        await stage.wait_until_true(is_forgotten)
        await stage.submit(build_application("here"))
        await stage.wait_for_state(State.DRIVER_REQUESTED, name="here")
        await elsewhere.set_pod("pi-0-driver", "succeeded")
        await stage.submit(build_application("later"))
        await stage.wait_for_state(State.DRIVER_REQUESTED, name="later")
        unwatched = await elsewhere.wait_until(lambda seen: seen is not None)
    assert unwatched is not None
    assert unwatched["status"]["currentState"]["currentStateSummary"] == State.DRIVER_REQUESTED


async def test_changed_settings_of_events_apply_to_later_events(stage: Stage) -> None:
    silent = replace(QUICK, events=EventSettings(is_enabled=False))
    controller = Controller(stage.client, NamedNamespaces(("jobs",)), silent)
    async with run_in_background(controller), play_drivers(stage, "run"):
        await stage.submit(build_application())
        await stage.wait_for_state(State.RUNNING_HEALTHY)
        controller.apply(QUICK, NamedNamespaces(("jobs",)))
        await stage.set_pod("pi-0-driver", "succeeded")
        await stage.wait_for_state(State.RESOURCE_RELEASED)
    assert await stage.list_event_reasons() == ["ResourceReleased", "Succeeded"]


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


async def test_reconcile_in_progress_in_a_removed_namespace_is_not_continued(stage: Stage, elsewhere: Stage) -> None:
    metrics, held = Metrics(), HeldClient(stage.client)
    without_grace_period = replace(QUICK, decisions=Settings(missing_driver_grace_period=timedelta(0)))
    controller = Controller(held, EveryNamespace(), without_grace_period, metrics=metrics)  # type: ignore[arg-type]
    async with run_in_background(controller):
        await elsewhere.submit(build_application(timeouts={"driverStartTimeoutMillis": 100}))
        await held.is_asked.wait()
        controller.apply(without_grace_period, NamedNamespaces(("jobs",)))

        async def is_forgotten() -> bool:
            states = ("Submitted", "DriverRequested")
            return not any(get_value(metrics, "applications", state=state) for state in states)

        await stage.wait_until_true(is_forgotten)
        held.may_go.set()
        await stage.submit(build_application(timeouts={"driverStartTimeoutMillis": 500}))
        await stage.wait_for_state(State.RESOURCE_RELEASED)
        unwatched = await elsewhere.wait_until(lambda seen: seen is not None)
    assert unwatched is not None
    assert unwatched["status"]["currentState"]["currentStateSummary"] == State.DRIVER_REQUESTED


async def test_changed_grace_period_applies_to_the_next_reconcile(stage: Stage) -> None:
    long_grace_period = replace(QUICK, decisions=Settings(missing_driver_grace_period=timedelta(hours=1)))
    scope = NamedNamespaces((stage.namespace,))
    controller = Controller(stage.client, scope, long_grace_period)
    async with run_in_background(controller):
        await stage.submit(build_application())
        await stage.wait_for_state(State.DRIVER_REQUESTED)
        controller.apply(QUICK, scope)
        await stage.client.delete(PODS, "pi-0-driver", stage.namespace, grace_seconds=0)
        await stage.wait_for_state(State.RESOURCE_RELEASED)


async def test_reconcile_limit_applies_to_each_resource(stage: Stage) -> None:
    metrics = Metrics()
    limited = replace(QUICK, reconciles=ReconcileLimit(2, 3600))
    scope = NamedNamespaces((stage.namespace,))
    controller = Controller(stage.client, scope, limited, metrics=metrics)
    async with run_in_background(controller), play_drivers(stage, "succeeded"):
        await stage.submit(build_application())
        await stage.wait_for_state(State.DRIVER_REQUESTED)
        for number in range(5):
            await stage.patch({"metadata": {"labels": {"look": str(number)}}})
        await stage.submit(build_application("other"))  # each resource has its own count
        await stage.wait_for_state(State.DRIVER_REQUESTED, name="other")
        assert get_value(metrics, "reconciles_total", kind=KIND, result="done") in (2, 3, 4)
        controller.apply(QUICK, scope)
        await stage.patch({"metadata": {"labels": {"look": "again"}}})
        await stage.wait_for_state(State.RESOURCE_RELEASED)
