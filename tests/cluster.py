"""A cluster whose operator and kubelet are a script: the real API server, and applications that do as told.

It runs on a thread of its own, since the code under test may block or have an event loop of its own.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeAlias

from airflow_provider_spark_operator.core.names import (
    GROUP,
    LABEL_APPLICATION_NAME,
    LABEL_ROLE,
    ROLE_DRIVER,
    ROLE_EXECUTOR,
)
from airflow_provider_spark_operator.core.states import TERMINATED
from airflow_provider_spark_operator.crds import custom_resource_definitions
from airflow_provider_spark_operator.local.api.kinds import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS
from airflow_provider_spark_operator.local.api.registry import KindRegistry
from airflow_provider_spark_operator.local.api.server import ApiServer
from airflow_provider_spark_operator.local.api.status import ApiStatusError
from airflow_provider_spark_operator.local.api.store import Store
from airflow_provider_spark_operator.triggers.loop import LoopThread
from tests.builders import DRIVER, container

NAMESPACE = "jobs"
DEADLINE = 60.0
_TOKEN = "only-for-tests"


class Log:
    """The log of one driver."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.ended = False
        self.grown = asyncio.Event()

    def write(self, line: str) -> None:
        stamp = datetime.now(UTC).isoformat().removesuffix("+00:00")
        self.lines.append(f"{stamp}Z {line}")
        self.grown.set()

    def end(self) -> None:
        self.ended = True
        self.grown.set()

    async def read(self, *, follow: bool, timestamps: bool) -> AsyncIterator[bytes]:
        position = 0
        while True:
            while position < len(self.lines):
                line = self.lines[position]
                position += 1
                yield (line if timestamps else line.partition(" ")[2]).encode() + b"\n"
            if self.ended or not follow:
                return
            self.grown.clear()
            await self.grown.wait()


class Application:
    """What a script does to one application. Everything runs on the cluster's loop."""

    def __init__(self, cluster: "Cluster", document: dict[str, Any]) -> None:
        self._cluster = cluster
        self.name: str = document["metadata"]["name"]
        self.namespace: str = document["metadata"]["namespace"]
        self.uid: str = document["metadata"]["uid"]
        self.driver = f"{self.name}-{self.uid[:8]}-driver"
        self.log = cluster.logs.setdefault((self.namespace, self.driver), Log())

    def enter(
        self,
        *states: str,
        message: str | None = None,
        driver: dict[str, Any] | None = None,
        reason: str | None = None,
    ) -> None:
        """Move through states, as an operator writes them."""
        for state in states:
            entry = {"currentStateSummary": state, "lastTransitionTime": datetime.now(UTC).isoformat()}
            entry |= {"message": message} if message else {}
            entry |= {"reason": reason} if reason else {}
            entry |= {"lastObservedDriverStatus": driver} if driver else {}
            self._cluster.store.update(
                self._cluster.kind,
                self.namespace,
                self.name,
                lambda old, entry=entry: _with(old, entry),
                subresource="status",
            )

    def start_driver(self, executors: int = 0) -> None:
        """Create the driver pod, running, and executors that are ready."""
        driver = self._pod(self.driver, ROLE_DRIVER, DRIVER, "SparkApplication", self.name, self.uid)
        for number in range(executors):
            self._pod(
                f"{self.name}-{self.uid[:8]}-exec-{number}", ROLE_EXECUTOR, "spark-kubernetes-executor", "Pod",
                driver["metadata"]["name"], driver["metadata"]["uid"],
            )  # fmt: skip

    def end_driver(self, exit_code: int, message: str | None = None) -> dict[str, Any]:
        """Let the driver's container end; the pod's status."""
        word = "Error" if exit_code else "Completed"
        status = self._end_pod(self.driver, container(exit_code=exit_code, reason=word, message=message))
        self.log.end()
        return status

    def end_executor(self, number: int, *, exit_code: int, reason: str) -> None:
        """Let an executor's container end, with one line in its log."""
        name = f"{self.name}-{self.uid[:8]}-exec-{number}"
        log = self._cluster.logs.setdefault((self.namespace, name), Log())
        log.write(f"executor {number} ends")
        log.end()
        self._end_pod(name, container("spark-kubernetes-executor", exit_code=exit_code, reason=reason))

    def _end_pod(self, name: str, ended: dict[str, Any]) -> dict[str, Any]:
        failed = ended["state"]["terminated"]["exitCode"]
        status = {"phase": "Failed" if failed else "Succeeded", "containerStatuses": [_container(ended)]}
        self._cluster.store.update(
            PODS, self.namespace, name, lambda old: old | {"status": status}, subresource="status"
        )
        return status

    def delete_driver(self) -> None:
        """Let the driver pod go, as the operator does when it releases the resources."""
        self._cluster.store.delete(PODS, self.namespace, self.driver, grace_seconds=0)

    def _pod(self, name: str, role: str, only: str, kind: str, owner: str, uid: str) -> dict[str, Any]:
        owner_version = f"{GROUP}/v1" if kind == "SparkApplication" else "v1"
        document = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "labels": {LABEL_APPLICATION_NAME: self.name, LABEL_ROLE: role},
                "ownerReferences": [
                    {"apiVersion": owner_version, "kind": kind, "name": owner, "uid": uid, "controller": True}
                ],
            },
            "spec": {"nodeName": "node", "containers": [{"name": only, "image": "spark:4.3.0"}]},
        }
        created = self._cluster.store.create(PODS, self.namespace, document)
        status = {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [_container(container(only))],
        }
        self._cluster.store.update(
            PODS, self.namespace, name, lambda old: old | {"status": status}, subresource="status"
        )
        return created


Script: TypeAlias = Callable[[Application], Awaitable[None]]


async def succeed(application: Application) -> None:
    """Run with two executors and end well."""
    application.enter("Submitted", "DriverRequested")
    application.start_driver(executors=2)
    application.enter("DriverStarted", "DriverReady", "RunningHealthy")
    application.log.write("Pi is roughly 3.14")
    application.enter("Succeeded", driver=application.end_driver(0))
    application.enter("ResourceReleased")


async def fail(application: Application) -> None:
    """Run without executors and end with exit code 3; the driver pod goes at once."""
    application.enter("Submitted", "DriverRequested")
    application.start_driver()
    application.enter("DriverStarted", "DriverReady", "RunningHealthy")
    application.log.write("something went wrong")
    application.enter("Failed", message="the driver failed", driver=application.end_driver(3))
    application.enter("TerminatedWithoutReleaseResources")


async def run_on(application: Application) -> None:
    """Run and never end."""
    application.enter("Submitted", "DriverRequested")
    application.start_driver(executors=2)
    application.enter("DriverStarted", "DriverReady", "RunningHealthy")


async def stay_submitted(application: Application) -> None:
    """Show no sign of an operator."""


class Cluster:
    """The API server, and the applications in it.

    Args:
        definitions: The CustomResourceDefinitions in it; this package's, unless others are given.

    Attributes:
        script: What new applications do; a test may change it at any time.
    """

    def __init__(self, definitions: list[dict[str, Any]] | None = None) -> None:
        self.script: Script = succeed
        self._definitions = definitions or custom_resource_definitions()
        self.store = Store()
        self.logs: dict[tuple[str, str], Log] = {}
        self._kinds = KindRegistry(self.store)
        self._loop = LoopThread()
        self._server = ApiServer(self.store, self._kinds, token=_TOKEN, tls=None, logs=self)
        self._port = 0

    @property
    def kind(self) -> Any:
        return next(one.kind for one in self._kinds if (one.group, one.kind.plural) == (GROUP, "sparkapplications"))

    @property
    def kubeconfig(self) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{self._port}"}}],
            "users": [{"name": "test", "user": {"token": _TOKEN}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": NAMESPACE}}],
        }

    def applications(self) -> list[dict[str, Any]]:
        """Every application there is."""
        return self.do(lambda: self.store.list(self.kind, None, labels=None, fields=None)[0])

    def application(self, name: str | None = None) -> dict[str, Any]:
        """The one application there is, or the one of that name."""
        (found,) = [one for one in self.applications() if name in (None, one["metadata"]["name"])]
        return found

    def create(self, name: str, **metadata: Any) -> dict[str, Any]:
        """Create an application as somebody else would."""
        document = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "SparkApplication",
            "metadata": {"name": name, "namespace": NAMESPACE, **metadata},
            "spec": {"mainClass": "A", "jars": "local:///a.jar", "runtimeVersions": {"sparkVersion": "4.3.0"}},
        }
        return self.do(lambda: self.store.create(self.kind, NAMESPACE, document))

    def delete(self, name: str) -> None:
        """Delete an application as somebody else would."""
        self.do(lambda: self.store.delete(self.kind, NAMESPACE, name))

    def annotate(self, name: str, **annotations: str) -> None:
        """Put annotations (with - for _) of this package on an application."""
        notes = {f"airflow.spark-operator/{key.replace('_', '-')}": value for key, value in annotations.items()}

        def change(old: dict[str, Any]) -> dict[str, Any]:
            old["metadata"]["annotations"] = {**old["metadata"].get("annotations", {}), **notes}
            return old

        self.do(lambda: self.store.update(self.kind, NAMESPACE, name, change))

    def play(self, script: Script, name: str | None = None) -> None:
        """Let the application (the only one, or the one of that name) act by another script."""
        document = self.application(name)
        self._loop.run(self._played(script, document), timeout=DEADLINE)

    def wait_until(self, holds: Callable[[], Any]) -> None:
        """Wait for a condition on the applications.

        Raises:
            TimeoutError: It does not come true.
        """

        async def wait() -> None:
            changes = self.store.subscribe(self.kind, None, None)
            try:
                if not holds():
                    await anext(change async for change in changes if holds())
            finally:
                changes.close()

        self._loop.run(wait(), timeout=DEADLINE)

    def wait_for_state(self, state: str) -> None:
        """Wait until the only application is in `state`."""

        def holds() -> bool:
            items, _ = self.store.list(self.kind, None, labels=None, fields=None)
            return any(_state(item) == state for item in items)

        self.wait_until(holds)

    def wait_for_end(self) -> None:
        """Wait until every application has ended."""

        def holds() -> bool:
            items, _ = self.store.list(self.kind, None, labels=None, fields=None)
            return all(_state(item) in TERMINATED for item in items)

        self.wait_until(holds)

    def do(self, function: Callable[[], Any]) -> Any:
        """Run a function on the cluster's thread."""

        async def run() -> Any:
            return function()

        return self._loop.run(run(), timeout=DEADLINE)

    @contextmanager
    def running(self) -> Iterator["Cluster"]:
        with self._loop as loop:
            self._port = loop.run(self._start(), timeout=DEADLINE)
            try:
                yield self
            finally:
                loop.run(self._server.stop(), timeout=DEADLINE)

    async def _start(self) -> int:
        for name in ("default", NAMESPACE):
            document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self.store.create(NAMESPACES, None, document)
        for definition in self._definitions:
            self.store.create(CUSTOM_RESOURCE_DEFINITIONS, None, definition)
        self._acting = asyncio.create_task(self._act())
        return await self._server.start()

    async def _act(self) -> None:
        async for event in self.store.subscribe(self.kind, None, None):
            if event.type == "ADDED":
                await self._played(self.script, event.object)

    async def _played(self, script: Script, document: dict[str, Any]) -> None:
        await script(Application(self, document))

    async def read(
        self, namespace: str, pod: str, container: str, *, follow: bool, timestamps: bool, **options: Any
    ) -> Any:
        """The log of a driver, as a kubelet gives it."""
        log = self.logs.get((namespace, pod))
        if log is None:
            raise ApiStatusError(404, "NotFound", f'pods "{pod}" not found')
        return log.read(follow=follow, timestamps=timestamps)


def _with(document: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    status = document.setdefault("status", {})
    history = status.setdefault("stateTransitionHistory", {})
    history[str(len(history))] = entry
    status["currentState"] = entry
    status.setdefault("currentAttemptSummary", {"attemptInfo": {"id": 0}})
    return document


def _state(document: dict[str, Any]) -> str | None:
    return document.get("status", {}).get("currentState", {}).get("currentStateSummary")


def _container(status: dict[str, Any]) -> dict[str, Any]:
    return {**status, "image": "spark:4.3.0", "imageID": ""}
