"""A scripted cluster: the embedded API server, with scripts in place of the operator and the kubelet.

The cluster runs on its own thread, because the code under test may block or run its own event loop.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

from local_kubernetes.api.kinds.kinds import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from local_kubernetes.api.server.server import ApiServer
from local_kubernetes.api.store.registry import KindRegistry
from local_kubernetes.api.store.store import Store

from ..core.dialects.base import Dialect
from ..core.dialects.dialect import APACHE
from ..core.dialects.progress import Phase
from ..core.kubernetes.json_object import JsonObject
from ..hooks.loop import LoopThread
from .applications import Application, Script, succeed
from .dialect_states import find_states
from .resources import ScriptedResources
from .spark_clusters import ScriptedSparkCluster, SparkClusterScript, come_up

__all__ = ["ScriptedCluster"]

logger = logging.getLogger(__name__)

NAMESPACE = "jobs"
DEADLINE = 60.0
_TOKEN = "only-for-tests"  # noqa: S105 - it protects only the store of this process
_CLUSTERS = "sparkclusters"
_Actor = TypeVar("_Actor", Application, ScriptedSparkCluster)


class ScriptedCluster:
    """An API server in the process of the test, whose applications follow a script.

    Args:
        definitions: CustomResourceDefinitions that the API server serves, as dicts. If None, those of the dialect are
            served.
        dialect: Dialect of the SparkApplications: `APACHE` (the default) or `KUBEFLOW` of
            `airflow_provider_spark_operator.core.dialects.dialect`.

    Attributes:
        script: The script of new applications, for example `fail`. The default is `succeed`. A test can change the
            script at any time.
        cluster_script: The script of new SparkClusters. The default is `come_up`.
        store: The objects that the API serves. Use the store only on the cluster's thread, with `do`.
        resources: Writes pods, statuses and container logs. Use the resources only on the cluster's thread.
        logs: The logs of the containers, by namespace and pod.

    Raises:
        ValueError: The scripted cluster does not support the dialect.
    """

    def __init__(self, definitions: list[JsonObject] | None = None, *, dialect: Dialect = APACHE) -> None:
        self.script: Script = succeed
        self.cluster_script: SparkClusterScript = come_up
        self.dialect = dialect
        self.store = Store()
        self._states = find_states(dialect)
        self._definitions = definitions or self._states.definitions()
        kinds = KindRegistry(self.store)
        self.resources = ScriptedResources(self.store, kinds, dialect.group)
        self.logs = self.resources.logs
        self._kinds = kinds
        self._loop = LoopThread()
        self._server = ApiServer(self.store, kinds, token=_TOKEN, tls=None, logs=self.resources)
        self._port = 0
        self._acting: list[asyncio.Task[None]] = []
        self._script_errors: list[Exception] = []

    @property
    def kind(self) -> Any:
        """The kind of the SparkApplications, as the methods of `store` expect it."""
        return self.resources.kind

    @property
    def cluster_kind(self) -> Any:
        """The kind of the SparkClusters, as the methods of `store` expect it."""
        return self.resources.cluster_kind

    @property
    def kubeconfig(self) -> JsonObject:
        """The kubeconfig for clients of the API server, with the default namespace "jobs"."""
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{self._port}"}}],
            "users": [{"name": "test", "user": {"token": _TOKEN}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": NAMESPACE}}],
        }

    def applications(self) -> list[JsonObject]:
        """Return all applications."""
        return list(self.do(self._applications))

    def application(self, name: str | None = None) -> JsonObject:
        """Return an application.

        Args:
            name: Name of the application. If None, the only application is returned.

        Raises:
            ValueError: Not exactly one application matches.
        """
        (found,) = [one for one in self.applications() if name in (None, one["metadata"]["name"])]
        return found

    def spark_clusters(self) -> list[JsonObject]:
        """Return all SparkClusters."""
        return list(self.do(lambda: self.store.objects.list(self.cluster_kind, None)[0]))

    def create(self, name: str, **metadata: Any) -> JsonObject:
        """Create an application outside of Airflow, and return it.

        Args:
            name: Name of the application.
            **metadata: Further fields of its metadata, for example `labels`.
        """
        document = {
            "apiVersion": f"{self.dialect.group}/{self.dialect.versions[0]}",
            "kind": "SparkApplication",
            "metadata": {"name": name, "namespace": NAMESPACE, **metadata},
            "spec": dict(self._states.example),
        }
        self.do(lambda: self.store.create(self.kind, NAMESPACE, document))
        return self.application(name)

    def delete(self, name: str) -> None:
        """Delete an application outside of Airflow.

        Args:
            name: Name of the application.
        """
        self.do(lambda: self.store.delete(self.kind, NAMESPACE, name))

    def annotate(self, name: str, **annotations: str) -> None:
        """Write annotations of this package on an application.

        Args:
            name: Name of the application.
            **annotations: Values of annotations. Each keyword is a name without the prefix `airflow.spark-operator/`,
                and with `_` instead of `-`.
        """
        notes = {f"airflow.spark-operator/{key.replace('_', '-')}": value for key, value in annotations.items()}

        def change(old: JsonObject) -> JsonObject:
            old["metadata"]["annotations"] = {**old["metadata"].get("annotations", {}), **notes}
            return old

        self.do(lambda: self.store.update(self.kind, NAMESPACE, name, change))

    def play(self, script: Script, name: str | None = None) -> None:
        """Run a script for an existing application, and wait for the end of the script.

        Args:
            script: Script to run, for example `succeed`.
            name: Name of the application. If None, the only application is used.
        """
        document = self.application(name)
        self._loop.run(self._play(script, document), timeout=DEADLINE)

    def wait_until(self, holds: Callable[[], Any]) -> None:
        """Wait until a condition is true. The condition is checked after each change of an application.

        Args:
            holds: Function that returns whether the condition is true. It runs on the cluster's thread.

        Raises:
            TimeoutError: The condition is still false after a minute.
        """

        async def wait() -> None:
            changes = self.store.changes.subscribe(self.kind, None, None)
            try:
                if not holds():
                    await anext(change async for change in changes if holds())
            finally:
                changes.close()

        self._loop.run(wait(), timeout=DEADLINE)

    def wait_for_state(self, state: str) -> None:
        """Wait until an application is in a state.

        Args:
            state: The state, for example "RunningHealthy".

        Raises:
            TimeoutError: No application is in the state after a minute.
        """
        self.wait_until(lambda: any(self._states.read_state(item) == state for item in self._applications()))

    def wait_for_end(self) -> None:
        """Wait until all applications have ended.

        Raises:
            TimeoutError: An application has not ended after a minute.
        """
        ended = Phase.ENDED
        self.wait_until(lambda: all(self.dialect.read_progress(item).phase is ended for item in self._applications()))

    def do(self, function: Callable[[], Any]) -> Any:
        """Run a function on the cluster's thread, and return its result.

        Args:
            function: Function without parameters.
        """

        async def run() -> Any:
            return function()

        return self._loop.run(run(), timeout=DEADLINE)

    @contextmanager
    def serve(self) -> Iterator[Self]:
        """Start the API server and the scripts, and stop them at the end of the `with` block.

        Raises:
            Exception: The first exception that a script has raised, at the end of the block.
        """
        with self._loop as loop:
            self._port = loop.run(self._start(), timeout=DEADLINE)
            try:
                yield self
            finally:
                loop.run(self._server.stop(), timeout=DEADLINE)
            if self._script_errors:
                raise self._script_errors[0]

    def _applications(self) -> list[JsonObject]:
        return self.store.objects.list(self.kind, None)[0]

    async def _start(self) -> int:
        for name in ("default", NAMESPACE):
            document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self.store.create(NAMESPACES, None, document)
        for definition in self._definitions:
            self.store.create(CUSTOM_RESOURCE_DEFINITIONS, None, definition)
        self._acting = [asyncio.create_task(self._act())]
        served = [(one["spec"]["group"], one["spec"]["names"]["plural"]) for one in self._definitions]
        if (self.dialect.group, _CLUSTERS) in served:
            self._acting.append(asyncio.create_task(self._act_on_clusters()))
        return await self._server.start()

    async def _act(self) -> None:
        async for event in self.store.changes.subscribe(self.kind, None, None):
            if event.type == "ADDED":
                await self._run(self.script, Application(self.resources, event.object))

    async def _act_on_clusters(self) -> None:
        async for event in self.store.changes.subscribe(self.cluster_kind, None, None):
            if event.type == "ADDED":
                await self._run(self.cluster_script, ScriptedSparkCluster(self.resources, event.object))

    async def _play(self, script: Script, document: JsonObject) -> None:
        await script(Application(self.resources, document))

    async def _run(self, script: Callable[[_Actor], Awaitable[None]], actor: _Actor) -> None:
        try:
            await script(actor)
        except Exception as error:
            # The code under test may wait for what the script has not done.
            logger.exception("the script of %s failed", actor.name)
            self._script_errors.append(error)
