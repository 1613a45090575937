"""An API for the controller, a simulation of scheduler, kubelet and driver, and clients that fail."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_ROLE, ROLE_DRIVER
from airflow_provider_spark_operator.core.lifecycle.decision import Settings
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError, NotFound
from airflow_provider_spark_operator.kube.listwatch import Changed, Listed, Removed, list_and_watch
from airflow_provider_spark_operator.kube.resources import (
    CONFIG_MAPS,
    EVENTS,
    NETWORK_POLICIES,
    PODS,
    SERVICES,
    SPARK_APPLICATIONS,
    ResourceType,
)
from airflow_provider_spark_operator.reconcile.controller import Controller
from airflow_provider_spark_operator.reconcile.objects.scope import NamedNamespaces, Scope
from airflow_provider_spark_operator.reconcile.ownership.election import Leadership
from airflow_provider_spark_operator.reconcile.serving.metrics import PREFIX, Metrics
from airflow_provider_spark_operator.reconcile.settings.settings import ControllerSettings
from tests import builders

DEADLINE = 60
CHILDREN = (PODS, SERVICES, CONFIG_MAPS, NETWORK_POLICIES)
QUICK = ControllerSettings(
    decisions=Settings(
        reconcile_interval=timedelta(seconds=2),
        missing_driver_grace_period=timedelta(seconds=2),
        missing_driver_requeue_interval=timedelta(seconds=0.1),
    ),
    workers=4,
    first_retry=0.01,
)
IMAGE = {"spark.kubernetes.container.image": "spark:4.3.0"}


def build_application(name: str = "pi", *, conf: Mapping[str, str] = IMAGE, **modifiers: Any) -> JsonObject:
    """Build an application as a user submits it."""
    document = builders.build_application_document(name=name, conf=conf, **modifiers)
    document["metadata"] = {"name": name}
    return document


@dataclass
class Api:
    """An API server, of which a test uses one namespace.

    Attributes:
        client: A client that does not fail.
        namespace: The namespace, which only this test uses.
        drivers: The uids of all driver pods that existed, by name, in the order of their creation.
    """

    client: KubeClient
    namespace: str
    drivers: dict[str, list[str]] = field(default_factory=dict)

    async def submit(self, document: JsonObject) -> JsonObject:
        return await self.client.create(SPARK_APPLICATIONS, document, self.namespace)

    async def delete(self, name: str = "pi") -> None:
        await self.client.delete(SPARK_APPLICATIONS, name, self.namespace)

    async def patch(self, patch: JsonObject, name: str = "pi", *, subresource: str | None = None) -> None:
        await self.client.patch(SPARK_APPLICATIONS, name, self.namespace, patch, subresource=subresource)

    async def wait_until(self, condition: Callable[[JsonObject | None], bool], name: str = "pi") -> JsonObject | None:
        """Wait until the application fulfills a condition, which gets None if the application does not exist."""
        selector = f"metadata.name={name}"
        watched = list_and_watch(self.client, SPARK_APPLICATIONS, self.namespace, field_selector=selector)
        async with asyncio.timeout(DEADLINE), aclosing(watched) as changes:
            async for change in changes:
                match change:
                    case Listed(items):
                        seen = items[0] if items else None
                    case Changed(document):
                        seen = document
                    case Removed():
                        seen = None
                if condition(seen):
                    return seen
        raise AssertionError("a watch without end has ended")

    async def wait_for_deletion(self, name: str = "pi") -> None:
        await self.wait_until(lambda seen: seen is None, name)

    async def wait_for_state(self, *states: ApplicationState, name: str = "pi") -> JsonObject:
        found = await self.wait_until(lambda seen: seen is not None and state_of(seen) in states, name)
        assert found is not None
        return found

    async def wait_until_true(self, condition: Callable[[], Awaitable[bool]]) -> None:
        """Wait for a condition that no single watch shows."""
        async with asyncio.timeout(DEADLINE):
            while not await condition():  # noqa: ASYNC110 - the state of an API is no Event
                await asyncio.sleep(0.01)

    async def list_objects(self, resource: ResourceType) -> list[JsonObject]:
        items = (await self.client.list(resource, self.namespace)).items
        # A real cluster creates this config map in every namespace.
        return [item for item in items if item["metadata"]["name"] != "kube-root-ca.crt"]

    async def list_names(self, resource: ResourceType) -> list[str]:
        return [item["metadata"]["name"] for item in await self.list_objects(resource)]

    async def wait_for_deleted_children(self) -> None:
        async def have_no_children() -> bool:
            return not any([await self.list_names(resource) for resource in CHILDREN])

        await self.wait_until_true(have_no_children)

    async def list_event_reasons(self) -> list[str]:
        return sorted(event["reason"] for event in await self.list_objects(EVENTS))

    async def list_events(self, reason: str) -> list[JsonObject]:
        return [event for event in await self.list_objects(EVENTS) if event["reason"] == reason]

    async def wait_for_events(self, reason: str) -> list[JsonObject]:
        """Wait until an Event has a reason; return all Events with this reason."""

        async def are_recorded() -> bool:
            return bool(await self.list_events(reason))

        await self.wait_until_true(are_recorded)
        return await self.list_events(reason)

    async def recreate_pod(self, pod: JsonObject) -> JsonObject:
        """Create a deleted pod again, as a controller does that has lost its lease."""
        metadata = {key: pod["metadata"][key] for key in ("name", "labels", "ownerReferences")}
        return await self.client.create(PODS, {**pod, "metadata": metadata, "status": {}}, self.namespace)

    async def set_pod(self, name: str, story: str) -> None:
        """Write the status of `builders.build_driver_pod(story)` to a driver pod."""
        status = builders.build_driver_pod(story)["status"]
        await self.client.patch(PODS, name, self.namespace, {"status": status}, subresource="status")

    @asynccontextmanager
    async def play_drivers(self, *endings: str) -> AsyncIterator[None]:
        """While the body runs, start every driver when it exists, and end it when its application is running.

        Args:
            endings: The end of each driver, in order. The last end also applies to all further drivers.
                With `run`, the driver keeps running.
        """
        task = asyncio.create_task(self._play_drivers(*endings))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])
        if not task.cancelled():
            task.result()

    async def _play_drivers(self, *endings: str) -> None:
        selector = f"{LABEL_ROLE}={ROLE_DRIVER}"
        async with asyncio.TaskGroup() as group:
            watched = list_and_watch(self.client, PODS, self.namespace, label_selector=selector)
            async with aclosing(watched) as changes:
                async for change in changes:
                    pods = change.items if isinstance(change, Listed) else [change.object]
                    for pod in pods:
                        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
                        if uid in self.drivers.setdefault(name, []):
                            continue
                        self.drivers[name].append(uid)
                        number = sum(map(len, self.drivers.values())) - 1
                        group.create_task(self._play_driver(name, endings[min(number, len(endings) - 1)]))

    async def _play_driver(self, name: str, ending: str) -> None:
        try:
            await self.set_pod(name, "ready")
            if ending != "run":
                await self.wait_for_state(ApplicationState.RUNNING_HEALTHY)
                await self.set_pod(name, ending)
        except NotFound:
            return


@asynccontextmanager
async def run_controller(
    api: Api,
    client: KubeClient | None = None,
    *,
    settings: ControllerSettings = QUICK,
    scope: Scope | None = None,
    metrics: Metrics | None = None,
    leadership: Leadership | None = None,
) -> AsyncIterator["asyncio.Task[None]"]:
    """Run a controller while the body runs. The body starts when the controller is ready or has failed.

    Args:
        api: The namespace whose resources the controller reconciles, unless `scope` contains others.
        client: The client of the controller, for example one that fails. Default: the client of `api`.
    """
    client, scope = client or api.client, scope or NamedNamespaces((api.namespace,))
    async with run_in_background(Controller(client, scope, settings, metrics=metrics, leadership=leadership)) as task:
        yield task


@asynccontextmanager
async def run_in_background(controller: Controller) -> AsyncIterator["asyncio.Task[None]"]:
    """Run a given controller while the body runs. The body starts when the controller is ready or has failed."""
    ready = asyncio.Event()
    task = asyncio.create_task(controller.run(ready.set))
    waiting = asyncio.create_task(ready.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED, timeout=DEADLINE)
        yield task
    finally:
        waiting.cancel()
        task.cancel()
        await asyncio.wait({task, waiting})
        if not task.cancelled():
            task.exception()  # otherwise, asyncio logs the exception if the body has failed, too
    if not task.cancelled():
        task.result()


class Killed(BaseException):
    """The simulated end of the controller's process at a request."""


class FaultyClient:
    """A client whose n-th request with certain verbs fails.

    Args:
        client: The real client.
        verbs: The verbs of the requests that count. Requests for Events never count, because nothing depends on them.
        number: The number of the failing request, from 1.
        fault: The exception that the request raises.
        after: Whether the request has its effect nevertheless.
        for_good: Whether all later requests fail as well, as after the end of the process.
    """

    def __init__(
        self,
        client: KubeClient,
        verbs: tuple[str, ...],
        number: int,
        fault: BaseException,
        *,
        after: bool = True,
        for_good: bool = False,
    ) -> None:
        self._client = client
        self._verbs = verbs
        self._number = number
        self._fault = fault
        self._after = after
        self._for_good = for_good
        self._calls = 0
        self.has_struck = False

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._client, name)
        if name not in ("get", "list", "create", "patch", "delete"):
            return real

        async def call(resource: ResourceType, *arguments: Any, **options: Any) -> Any:
            if self.has_struck and self._for_good:
                raise self._fault
            if name not in self._verbs or resource == EVENTS:
                return await real(resource, *arguments, **options)
            self._calls += 1
            strikes = self._calls == self._number
            if strikes and not self._after:
                self.has_struck = True
                raise self._fault
            result = await real(resource, *arguments, **options)
            if strikes:
                self.has_struck = True
                raise self._fault
            return result

        return call


def build_error(kind: type[KubeError], status: int | None) -> KubeError:
    """Build an error as the client raises it."""
    return kind(status, kind.__name__, "injected by a test")


def state_of(document: JsonObject) -> str | None:
    current = (document.get("status") or {}).get("currentState") or {}
    return current.get("currentStateSummary")


def history_of(document: JsonObject) -> list[str]:
    """Return all states of the history, including those of the previous attempt."""
    status = document["status"]
    histories = [
        (status.get("previousAttemptSummary") or {}).get("stateTransitionHistory") or {},
        status["stateTransitionHistory"],
    ]
    return [
        record["currentStateSummary"]
        for history in histories
        for _, record in sorted(history.items(), key=lambda item: int(item[0]))
    ]


def get_value(metrics: Metrics, name: str, **labels: str) -> float | None:
    """Return the value of the only sample with a name and labels; None if there is none."""
    found = [
        sample.value
        for metric in metrics.collect()
        for sample in metric.samples
        if sample.name == PREFIX + name and labels.items() <= sample.labels.items()
    ]
    assert len(found) <= 1, found
    return found[0] if found else None
