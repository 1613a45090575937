"""A cluster whose operator and kubelet are a script: the embedded API server, and applications that do as told.

It runs on a thread of its own, since the code under test may block or have an event loop of its own.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from airflow_provider_spark_operator.core.dialects.dialect import APACHE
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.core.dialects.record import Dialect
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.testing.applications import Application, Script, succeed
from airflow_provider_spark_operator.testing.lives import life_in
from airflow_provider_spark_operator.testing.log import Log
from airflow_provider_spark_operator.testing.pods import IMAGE, pod_ended, pod_running
from airflow_provider_spark_operator.testing.spark_clusters import SparkCluster, SparkClusterScript, come_up
from airflow_provider_spark_operator.triggers.loop import LoopThread
from local_kubernetes.api.kinds import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS
from local_kubernetes.api.registry import KindRegistry
from local_kubernetes.api.server import ApiServer
from local_kubernetes.api.status import ApiStatusError
from local_kubernetes.api.store import Store

NAMESPACE = "jobs"
DEADLINE = 60.0
_TOKEN = "only-for-tests"  # noqa: S105 - it guards nothing but this process's own store
_CLUSTERS = "sparkclusters"


class ScriptedCluster:
    """The API server, and what is in it.

    Args:
        definitions: The CustomResourceDefinitions in it; those of the dialect, unless others are given.
        dialect: Of its SparkApplications.

    Attributes:
        script: What new applications do; a test may change it at any time.
        cluster_script: What new SparkClusters do.
        store: What the API serves; to be used on the cluster's thread alone, by `do`.
        logs: Of the containers, by namespace and pod.
    """

    def __init__(self, definitions: list[JsonObject] | None = None, *, dialect: Dialect = APACHE) -> None:
        self.script: Script = succeed
        self.cluster_script: SparkClusterScript = come_up
        self.dialect = dialect
        self.store = Store()
        self.logs = dict[tuple[str, str], Log]()
        self._life = life_in(dialect)
        self._definitions = definitions or self._life.definitions()
        self._kinds = KindRegistry(self.store)
        self._loop = LoopThread()
        self._server = ApiServer(self.store, self._kinds, token=_TOKEN, tls=None, logs=self)
        self._port = 0
        self._acting: list[asyncio.Task[None]] = []

    @property
    def kind(self) -> Any:
        """The kind of its SparkApplications, as `store` wants it."""
        return self._kind("sparkapplications")

    @property
    def cluster_kind(self) -> Any:
        """The kind of its SparkClusters, as `store` wants it."""
        return self._kind(_CLUSTERS)

    @property
    def kubeconfig(self) -> JsonObject:
        """How clients find it; its default namespace is `NAMESPACE`."""
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{self._port}"}}],
            "users": [{"name": "test", "user": {"token": _TOKEN}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": NAMESPACE}}],
        }

    def applications(self) -> list[JsonObject]:
        """Every application there is."""
        return list(self.do(self._applications))

    def application(self, name: str | None = None) -> JsonObject:
        """The one application there is, or the one of that name."""
        (found,) = [one for one in self.applications() if name in (None, one["metadata"]["name"])]
        return found

    def spark_clusters(self) -> list[JsonObject]:
        """Every SparkCluster there is."""
        return list(self.do(lambda: self.store.list(self.cluster_kind, None, labels=None, fields=None)[0]))

    def create(self, name: str, **metadata: Any) -> JsonObject:
        """Create an application as somebody else would."""
        document = {
            "apiVersion": f"{self.dialect.group}/{self.dialect.versions[0]}",
            "kind": "SparkApplication",
            "metadata": {"name": name, "namespace": NAMESPACE, **metadata},
            "spec": dict(self._life.example),
        }
        return dict(self.do(lambda: self.store.create(self.kind, NAMESPACE, document)))

    def delete(self, name: str) -> None:
        """Delete an application as somebody else would."""
        self.do(lambda: self.store.delete(self.kind, NAMESPACE, name))

    def annotate(self, name: str, **annotations: str) -> None:
        """Put annotations (with - for _) of this package on an application."""
        notes = {f"airflow.spark-operator/{key.replace('_', '-')}": value for key, value in annotations.items()}

        def change(old: JsonObject) -> JsonObject:
            old["metadata"]["annotations"] = {**old["metadata"].get("annotations", {}), **notes}
            return old

        self.do(lambda: self.store.update(self.kind, NAMESPACE, name, change))

    def play(self, script: Script, name: str | None = None) -> None:
        """Let the application (the only one, or the one of that name) act by another script."""
        document = self.application(name)
        self._loop.run(self._play(script, document), timeout=DEADLINE)

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
        """Wait until an application is in `state`."""
        self.wait_until(lambda: any(self._life.state(item) == state for item in self._applications()))

    def wait_for_end(self) -> None:
        """Wait until every application has ended."""
        ended = Phase.ENDED
        self.wait_until(lambda: all(self.dialect.progress(item).phase is ended for item in self._applications()))

    def do(self, function: Callable[[], Any]) -> Any:
        """Run a function on the cluster's thread."""

        async def run() -> Any:
            return function()

        return self._loop.run(run(), timeout=DEADLINE)

    @contextmanager
    def running(self) -> Iterator[Self]:
        """The server runs, and what is created acts by its script."""
        with self._loop as loop:
            self._port = loop.run(self._start(), timeout=DEADLINE)
            try:
                yield self
            finally:
                loop.run(self._server.stop(), timeout=DEADLINE)

    def set_pod_status(self, namespace: str, name: str, status: JsonObject) -> None:
        """Write a pod's status; on the cluster's thread, as all that follow."""
        self.store.update(PODS, namespace, name, lambda old: old | {"status": status}, subresource="status")

    def write_status(self, namespace: str, name: str, change: Callable[[JsonObject], JsonObject]) -> None:
        """Change an application's status."""
        self.store.update(self.kind, namespace, name, change, subresource="status")

    def write_cluster_status(self, namespace: str, name: str, status: JsonObject) -> None:
        """Write a SparkCluster's status."""
        self.store.update(
            self.cluster_kind, namespace, name, lambda old: old | {"status": status}, subresource="status"
        )

    def create_pod(
        self, namespace: str, name: str, labels: JsonObject, owner: JsonObject, container: JsonObject
    ) -> JsonObject:
        """Create a pod with one container, which runs."""
        self._collect_garbage(namespace, name, owner["uid"])
        document = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": labels,
                "ownerReferences": [{**owner, "controller": True}],
            },
            "spec": {"nodeName": "node", "containers": [{"name": container["name"], "image": IMAGE}]},
        }
        created = self.store.create(PODS, namespace, document)
        self.set_pod_status(namespace, name, pod_running(container))
        return created

    def end_pod(self, namespace: str, name: str, container: JsonObject) -> JsonObject:
        """Let the pod end as its container has; its status."""
        status = pod_ended(container)
        self.set_pod_status(namespace, name, status)
        return status

    def delete_pod(self, namespace: str, name: str) -> None:
        """Let the pod go at once."""
        self.store.delete(PODS, namespace, name, grace_seconds=0)

    async def read(
        self,
        namespace: str,
        pod: str,
        container: str,  # noqa: ARG002 - each pod here has one
        *,
        follow: bool,
        timestamps: bool,
        **options: Any,  # noqa: ARG002 - how much of it; a test's log is short
    ) -> AsyncIterator[bytes]:
        """The log of a container, as a kubelet gives it."""
        log = self.logs.get((namespace, pod))
        if log is None:
            raise ApiStatusError(404, "NotFound", f'pods "{pod}" not found')
        return log.read(follow=follow, timestamps=timestamps)

    def _collect_garbage(self, namespace: str, name: str, owner_uid: str) -> None:
        """Delete the pod of that name if an earlier application of the same name owns it."""
        for pod in self.store.list(PODS, namespace, labels=None, fields=None)[0]:
            owners = [reference["uid"] for reference in pod["metadata"].get("ownerReferences", [])]
            if pod["metadata"]["name"] == name and owner_uid not in owners:
                self.delete_pod(namespace, name)

    def _applications(self) -> list[JsonObject]:
        return self.store.list(self.kind, None, labels=None, fields=None)[0]

    def _kind(self, plural: str) -> Any:
        return next(one.kind for one in self._kinds if (one.group, one.kind.plural) == (self.dialect.group, plural))

    async def _start(self) -> int:
        for name in ("default", NAMESPACE):
            document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self.store.create(NAMESPACES, None, document)
        for definition in self._definitions:
            self.store.create(CUSTOM_RESOURCE_DEFINITIONS, None, definition)
        self._acting = [asyncio.create_task(self._act())]
        if any(definition["spec"]["names"]["plural"] == _CLUSTERS for definition in self._definitions):
            self._acting.append(asyncio.create_task(self._act_on_clusters()))
        return await self._server.start()

    async def _act(self) -> None:
        async for event in self.store.subscribe(self.kind, None, None):
            if event.type == "ADDED":
                await self._play(self.script, event.object)

    async def _act_on_clusters(self) -> None:
        async for event in self.store.subscribe(self.cluster_kind, None, None):
            if event.type == "ADDED":
                await self.cluster_script(SparkCluster(self, event.object))

    async def _play(self, script: Script, document: JsonObject) -> None:
        await script(Application(self, document))
