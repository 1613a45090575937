"""A stage for the controller: its API, a stand-in for scheduler, kubelet and driver, and clients that fail."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from airflow_provider_spark_operator.core.decision import Settings
from airflow_provider_spark_operator.core.names import LABEL_ROLE, ROLE_DRIVER
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.crds import custom_resource_definitions
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError, NotFound
from airflow_provider_spark_operator.kube.listwatch import Changed, Listed, Removed, list_and_watch
from airflow_provider_spark_operator.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    NAMESPACES,
    NETWORK_POLICIES,
    PODS,
    SERVICES,
    SPARK_APPLICATIONS,
    ResourceType,
)
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.controller import Controller
from airflow_provider_spark_operator.reconcile.leadership import Leadership
from airflow_provider_spark_operator.reconcile.metrics import PREFIX, Metrics
from airflow_provider_spark_operator.reconcile.scope import NamedNamespaces, Scope
from airflow_provider_spark_operator.reconcile.settings import ControllerSettings
from local_kubernetes.api.registry import KindRegistry
from local_kubernetes.api.server import ApiServer
from local_kubernetes.api.status import ApiStatusError
from local_kubernetes.api.store import Store
from tests import builders

DEADLINE = 60
NAMESPACE = "jobs"
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
    """An application as a user submits it."""
    document = builders.application_document(name=name, conf=conf, **modifiers)
    document["metadata"] = {"name": name}
    return document


class NoLogs:
    """No container ever runs here."""

    async def read(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        follow: bool,
        tail_lines: int | None,
        since_time: datetime | None,
        since_seconds: int | None,
        timestamps: bool,
        limit_bytes: int | None,
        previous: bool,
    ) -> AsyncIterator[bytes]:
        raise ApiStatusError(400, "BadRequest", f"container {container} of pod {namespace}/{pod} has no log")


@asynccontextmanager
async def serve_api() -> AsyncIterator[JsonObject]:
    """A new and empty API server; its kubeconfig."""
    store, token = Store(), secrets.token_hex()
    server = ApiServer(store, KindRegistry(store), token=token, tls=None, logs=NoLogs())
    try:
        yield build_kubeconfig(await server.start(), token)
    finally:
        await server.stop()


def build_kubeconfig(port: int, token: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": NAMESPACE}}],
    }


async def install_definitions(client: KubeClient) -> None:
    """Install the definitions of Spark's kinds, and make the namespace."""
    for definition in custom_resource_definitions():
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition, None)
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await client.create(NAMESPACES, document, None)


@dataclass
class Stage:
    """One namespace of an API server.

    Attributes:
        client: one that does not fail.
        namespace: for this test alone.
        drivers: the uids of all driver pods that were ever seen, by name, in the order of their coming.
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
        """Wait until the application is so; None stands for one that is gone."""
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

    async def wait_for_state(self, *states: ApplicationState, name: str = "pi") -> JsonObject:
        found = await self.wait_until(lambda seen: seen is not None and state_of(seen) in states, name)
        assert found is not None
        return found

    async def wait_until_true(self, condition: Callable[[], Awaitable[bool]]) -> None:
        """Wait for what no single watch can show."""
        async with asyncio.timeout(DEADLINE):
            while not await condition():  # noqa: ASYNC110 - the state of an API is no Event
                await asyncio.sleep(0.01)

    async def list_objects(self, resource: ResourceType) -> list[JsonObject]:
        items = (await self.client.list(resource, self.namespace)).items
        # A real cluster puts a config map of its own into every namespace.
        return [item for item in items if item["metadata"]["name"] != "kube-root-ca.crt"]

    async def list_names(self, resource: ResourceType) -> list[str]:
        return [item["metadata"]["name"] for item in await self.list_objects(resource)]

    async def wait_for_deleted_children(self) -> None:
        async def nothing_left() -> bool:
            return not any([await self.list_names(resource) for resource in CHILDREN])

        await self.wait_until_true(nothing_left)

    async def list_event_reasons(self) -> list[str]:
        return sorted(event["reason"] for event in await self.list_objects(EVENTS))

    async def set_pod(self, name: str, story: str) -> None:
        """Have a driver pod appear as `builders.driver_pod` has it."""
        status = builders.driver_pod(story)["status"]
        await self.client.patch(PODS, name, self.namespace, {"status": status}, subresource="status")

    async def play(self, *endings: str) -> None:
        """Have every driver run as soon as it is there, and end when its application runs.

        Args:
            endings: of the first driver, the second, and so on; the last one is for all that follow.
                `run` leaves the driver running.
        """
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
async def play_drivers(stage: Stage, *endings: str) -> AsyncIterator[None]:
    """`stage.play` beside the body."""
    task = asyncio.create_task(stage.play(*endings))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()


@asynccontextmanager
async def run_controller(
    client: KubeClient,
    namespace: str,
    *,
    settings: ControllerSettings = QUICK,
    scope: Scope | None = None,
    metrics: Metrics | None = None,
    leadership: Leadership | None = None,
) -> AsyncIterator["asyncio.Task[None]"]:
    """A controller beside the body, which is entered when it is ready (or has died)."""
    scope = scope or NamedNamespaces((namespace,))
    async with run_in_background(Controller(client, scope, settings, metrics=metrics, leadership=leadership)) as task:
        yield task


@asynccontextmanager
async def run_in_background(controller: Controller) -> AsyncIterator["asyncio.Task[None]"]:
    """A controller of the test's own making beside the body, which is entered when it is ready (or has died)."""
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
        task.result()


class Killed(BaseException):
    """The controller's process has ended at this very call."""


class FaultyClient:
    """A client whose n-th call of a kind goes wrong; all others are the real one's.

    Args:
        client: the real one.
        verbs: the calls that count; Events never do, since nothing depends on them.
        number: of the call that goes wrong, from 1.
        fault: what that call raises.
        after: whether the call has its effect all the same.
        for_good: whether every call afterwards fails as well, as with a process that has died.
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
    """An error as the client raises it."""
    return kind(status, kind.__name__, "injected by a test")


def state_of(document: JsonObject) -> str | None:
    current = (document.get("status") or {}).get("currentState") or {}
    return current.get("currentStateSummary")


def history_of(document: JsonObject) -> list[str]:
    """The states since the beginning, those of the previous attempt included."""
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
    """The one sample of that name with these labels, None if there is none."""
    found = [
        sample.value
        for metric in metrics.collect()
        for sample in metric.samples
        if sample.name == PREFIX + name and labels.items() <= sample.labels.items()
    ]
    assert len(found) <= 1, found
    return found[0] if found else None
