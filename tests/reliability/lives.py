"""The lives of applications that nothing may disturb: how each goes, and how it has to end."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from airflow_provider_spark_operator.core.names import LABEL_APPLICATION_NAME
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from airflow_provider_spark_operator.reconcile.cache import JsonObject, ObjectKey
from tests.reconcile.stage import CHILDREN, build_application, history_of, state_of
from tests.reliability.node import ScriptedNode

_CONFIG_MAPS = "configMapSpecs"


@dataclass(frozen=True)
class Life:
    """What happens to an application.

    Attributes:
        endings: of its drivers, one after the other.
        outcomes: the states in which its attempts end; empty where it is deleted while it runs.
        modifiers: of the plainest application.
        config_map: whether it has one of its own, named after it.
    """

    endings: tuple[str, ...]
    outcomes: tuple[str, ...]
    modifiers: dict[str, Any] = field(default_factory=dict)
    config_map: bool = False

    def document(self, name: str) -> JsonObject:
        """The application, as a user submits it."""
        specs: list[Any] = [{"name": f"{name}-extra", "data": {"a": "b"}}] if self.config_map else []
        return build_application(name, **{_CONFIG_MAPS: specs, **self.modifiers})


_RESTARTS = {"restartPolicy": "Always", "maxRestartAttempts": 1, "restartBackoffMillis": 1}
LIVES = {
    "success": Life(("succeeded",), ("Succeeded",), config_map=True),
    "failure": Life(("failed",), ("Failed",)),
    "restart": Life(("failed", "succeeded"), ("Failed", "Succeeded"), {"restart": _RESTARTS}, config_map=True),
    "deletion": Life(("run",), ()),
}


def parametrize_lives(quick: str) -> pytest.MarkDecorator:
    """Parametrise a test by the names of all lives; all but `quick` are for those who have the time."""
    lives = [pytest.param(name, marks=() if name == quick else pytest.mark.slow) for name in LIVES]
    return pytest.mark.parametrize("life", lives)


def find_life(name: str) -> Life:
    """That of an application, which is named after it."""
    return LIVES[name.partition("-")[0]]


def find_endings(name: str) -> tuple[str, ...]:
    """How the drivers of an application end; empty where it has none of these lives."""
    life = LIVES.get(name.partition("-")[0])
    return life.endings if life else ()


@dataclass
class TrackedApplication:
    """One application from its submission to its end.

    Args:
        client: the way to the API, past any fault.
        node: where its drivers run.
        key: where it is; its name begins with that of its life.
        is_over: whether `until_over` has come to its end.
    """

    client: KubeClient
    node: ScriptedNode
    key: ObjectKey
    is_over: bool = False

    async def submit(self) -> None:
        """Hand it in."""
        await self.client.create(
            SPARK_APPLICATIONS, find_life(self.key.name).document(self.key.name), self.key.namespace
        )
        await self.node.wait_until(self.key, lambda seen: seen is not None)

    async def wait_until_completed(self) -> None:
        """Do what its user does, and wait until it has ended and nothing of it is left."""
        if find_life(self.key.name).outcomes:
            await self.node.wait_until(self.key, _is_released)
        else:
            await self.node.wait_until(self.key, lambda seen: seen is None or state_of(seen) == "RunningHealthy")
            await self._delete()
            await self.node.wait_until(self.key, lambda seen: seen is None)
        while await self.children():  # noqa: ASYNC110 - the state of an API is no Event
            await asyncio.sleep(0.1)
        self.is_over = True

    def describe_progress(self) -> str:
        """How far it has come, for whoever has to find out why it went no further."""
        document = self.node.applications.get(self.key)
        way = "is gone"
        if document is not None:
            way = " > ".join(history_of(document)) if document.get("status") else "has no status"
        return f"{self.key.name} {way}, drivers {sorted(self.node.drivers[self.key])}"

    async def children(self) -> list[str]:
        """What there is of it beside itself."""
        selector = f"{LABEL_APPLICATION_NAME}={self.key.name}"
        lists = [await self.client.list(kind, self.key.namespace, label_selector=selector) for kind in CHILDREN]
        return [f"{item['kind']}/{item['metadata']['name']}" for listed in lists for item in listed.items]

    def check(self) -> None:
        """It has gone as it should have: one driver for each attempt, and every attempt's end in its history."""
        life = find_life(self.key.name)
        drivers = self.node.drivers[self.key]
        wanted = [f"{self.key.name}-{attempt}-driver" for attempt in range(max(1, len(life.outcomes)))]
        assert sorted(drivers) == wanted, self.key
        assert [len(uids) for uids in drivers.values()] == [1] * len(wanted), (self.key, dict(drivers))
        if life.outcomes:
            document = self.node.applications[self.key]
            ends = [state for state in history_of(document) if state in ("Failed", "Succeeded", "SchedulingFailure")]
            assert ends == list(life.outcomes), (self.key, history_of(document))

    async def _delete(self) -> None:
        try:
            await self.client.delete(SPARK_APPLICATIONS, self.key.name, self.key.namespace)
        except NotFound:
            return


def _is_released(document: JsonObject | None) -> bool:
    return document is not None and state_of(document) == ApplicationState.RESOURCE_RELEASED
