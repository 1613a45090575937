"""Scripts of applications that must complete despite faults: what happens to them, and their expected ends."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_APPLICATION_NAME
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from airflow_provider_spark_operator.reconcile.objects.cache import ObjectKey
from tests.reconcile.harness import CHILDREN, build_application, history_of, state_of
from tests.reliability.node import ScriptedNode

_CONFIG_MAPS = "configMapSpecs"
_SUSPENDED = ApplicationState.SUSPENDED
_ENDS = (ApplicationState.FAILED, ApplicationState.SUCCEEDED, ApplicationState.SCHEDULING_FAILURE, _SUSPENDED)


@dataclass(frozen=True)
class Script:
    """What happens to an application.

    Attributes:
        endings: How its drivers end, in order.
        outcomes: The states in which its attempts end. `Suspended` stands for a suspension while it runs. Empty if
            the application is deleted while it runs.
        modifiers: Changes to the default application.
        config_map: Whether the application has its own config map, named after it.
    """

    endings: tuple[str, ...]
    outcomes: tuple[str, ...]
    modifiers: dict[str, Any] = field(default_factory=dict)
    config_map: bool = False

    def document(self, name: str) -> JsonObject:
        """Build the application as a user submits it."""
        specs: list[Any] = [{"name": f"{name}-extra", "data": {"a": "b"}}] if self.config_map else []
        return build_application(name, **{_CONFIG_MAPS: specs, **self.modifiers})


_RESTARTS = {"restartPolicy": "Always", "maxRestartAttempts": 1, "restartBackoffMillis": 1}
SCRIPTS = {
    "success": Script(("succeeded",), ("Succeeded",), config_map=True),
    "failure": Script(("failed",), ("Failed",)),
    "restart": Script(("failed", "succeeded"), ("Failed", "Succeeded"), {"restart": _RESTARTS}, config_map=True),
    "deletion": Script(("run",), ()),
    "suspension": Script(("run", "succeeded"), ("Suspended", "Succeeded"), config_map=True),
}


def parametrize_scripts(quick: str) -> pytest.MarkDecorator:
    """Parametrize a test by the names of all scripts; all but `quick` are marked slow."""
    scripts = [pytest.param(name, marks=() if name == quick else pytest.mark.slow) for name in SCRIPTS]
    return pytest.mark.parametrize("script", scripts)


def find_script(name: str) -> Script:
    """Return the script of an application, whose name starts with the name of the script."""
    return SCRIPTS[name.partition("-")[0]]


def find_endings(name: str) -> tuple[str, ...]:
    """Return how the drivers of an application end; empty if its name names no script."""
    script = SCRIPTS.get(name.partition("-")[0])
    return script.endings if script else ()


@dataclass
class TrackedApplication:
    """One application from its submission to its completion.

    Args:
        client: Client that bypasses all faults.
        node: Node that runs the drivers.
        key: Namespace and name of the application. The name starts with the name of its script.
        is_over: Whether `wait_until_completed` has returned.
    """

    client: KubeClient
    node: ScriptedNode
    key: ObjectKey
    is_over: bool = False

    async def submit(self) -> None:
        """Submit the application."""
        await self.client.create(
            SPARK_APPLICATIONS, find_script(self.key.name).document(self.key.name), self.key.namespace
        )
        await self.node.wait_until(self.key, lambda seen: seen is not None)

    async def wait_until_completed(self) -> None:
        """Act as the user, and wait until the application has ended and its objects are deleted."""
        outcomes = find_script(self.key.name).outcomes
        if outcomes:
            if _SUSPENDED in outcomes:
                await self._suspend_and_resume()
            await self.node.wait_until(self.key, _is_released)
        else:
            await self.node.wait_until(self.key, lambda seen: seen is None or state_of(seen) == "RunningHealthy")
            await self._delete()
            await self.node.wait_until(self.key, lambda seen: seen is None)
        while await self.children():  # noqa: ASYNC110 - the state of an API is no Event
            await asyncio.sleep(0.1)
        self.is_over = True

    async def describe_progress(self) -> str:
        """Return the states, drivers and existing objects of the application, for the message of a failed test."""
        document = self.node.applications.get(self.key)
        way = "is gone"
        if document is not None:
            way = " > ".join(history_of(document)) if document.get("status") else "has no status"
        drivers, children = sorted(self.node.drivers[self.key]), await self.children()
        return f"{self.key.name} {way}, drivers {drivers}, existing objects {children}"

    async def children(self) -> list[str]:
        """Return the kinds and names of all objects of the application except the application itself."""
        selector = f"{LABEL_APPLICATION_NAME}={self.key.name}"
        lists = [await self.client.list(kind, self.key.namespace, label_selector=selector) for kind in CHILDREN]
        return [f"{item['kind']}/{item['metadata']['name']}" for listed in lists for item in listed.items]

    def check(self) -> None:
        """Assert that each attempt had one driver and that the history has the end of each attempt."""
        script = find_script(self.key.name)
        drivers = self.node.drivers[self.key]
        wanted = [f"{self.key.name}-{attempt}-driver" for attempt in range(max(1, len(script.outcomes)))]
        assert sorted(drivers) == wanted, self.key
        assert [len(uids) for uids in drivers.values()] == [1] * len(wanted), (self.key, dict(drivers))
        if script.outcomes:
            document = self.node.applications[self.key]
            ends = [state for state in history_of(document) if state in _ENDS]
            assert ends == list(script.outcomes), (self.key, history_of(document))

    async def _suspend_and_resume(self) -> None:
        for state, suspend in ((ApplicationState.RUNNING_HEALTHY, True), (_SUSPENDED, False)):
            await self._wait_for(state)
            patch = {"spec": {"suspend": suspend}}
            await self.client.patch(SPARK_APPLICATIONS, self.key.name, self.key.namespace, patch)

    async def _wait_for(self, state: ApplicationState) -> None:
        await self.node.wait_until(self.key, lambda seen: seen is not None and state_of(seen) == state)

    async def _delete(self) -> None:
        try:
            await self.client.delete(SPARK_APPLICATIONS, self.key.name, self.key.namespace)
        except NotFound:
            return


def _is_released(document: JsonObject | None) -> bool:
    return document is not None and state_of(document) == ApplicationState.RESOURCE_RELEASED
