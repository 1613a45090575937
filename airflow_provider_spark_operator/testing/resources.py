"""The resources that the operator and the kubelet of a scripted cluster write, and the container logs."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

from local_kubernetes.api.kinds.kinds import EVENTS, PODS
from local_kubernetes.api.kinds.status import ApiStatusError
from local_kubernetes.api.server.podlogs import LogOptions
from local_kubernetes.api.store.registry import KindRegistry
from local_kubernetes.api.store.store import Store

from ..core.kubernetes.json_object import JsonObject
from ..core.kubernetes.pods import get_status, list_containers
from .scripting import IMAGE, Log, build_ended_pod_status, build_running_pod_status


class ScriptedResources:
    """The pods, the statuses and the container logs that scripts write. All calls are on the cluster's thread.

    Args:
        store: The objects of the API server.
        kinds: The kinds of the API server.
        group: The API group of the SparkApplications and SparkClusters.

    Attributes:
        logs: The logs of the containers, by namespace and pod.
    """

    def __init__(self, store: Store, kinds: KindRegistry, group: str) -> None:
        self.logs = dict[tuple[str, str], Log]()
        self._store = store
        self._kinds = kinds
        self._group = group

    @property
    def kind(self) -> Any:
        """The kind of the SparkApplications."""
        return self._find_kind("sparkapplications")

    @property
    def cluster_kind(self) -> Any:
        """The kind of the SparkClusters."""
        return self._find_kind("sparkclusters")

    def set_pod_status(self, namespace: str, name: str, status: JsonObject) -> None:
        """Write the status of a pod."""
        self._store.update(PODS, namespace, name, lambda old: old | {"status": status}, subresource="status")

    def write_status(self, namespace: str, name: str, change: Callable[[JsonObject], JsonObject]) -> None:
        """Change the status of an application."""
        self._store.update(self.kind, namespace, name, change, subresource="status")

    def write_cluster_status(self, namespace: str, name: str, status: JsonObject) -> None:
        """Write the status of a SparkCluster."""
        self._store.update(
            self.cluster_kind, namespace, name, lambda old: old | {"status": status}, subresource="status"
        )

    def create_pod(
        self, namespace: str, name: str, labels: JsonObject, owner: JsonObject, container: JsonObject
    ) -> JsonObject:
        """Create a running pod with one container, and return it."""
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
        created = self._store.create(PODS, namespace, document)
        self.set_pod_status(namespace, name, build_running_pod_status(container))
        return created

    def end_pod(self, namespace: str, name: str, container: JsonObject) -> JsonObject:
        """Terminate a pod with the status of its container, and return the status of the pod."""
        running = list_containers(get_status(self._store.objects.get(PODS, namespace, name)))
        started = next((each.started for each in running if each.started), None)
        if started is not None:
            container["state"]["terminated"]["startedAt"] = started.isoformat()
        status = build_ended_pod_status(container)
        self.set_pod_status(namespace, name, status)
        return status

    def delete_pod(self, namespace: str, name: str) -> None:
        """Delete a pod without a grace period."""
        self._store.delete(PODS, namespace, name, grace_seconds=0)

    def record_event(self, document: JsonObject, reason: str, message: str, *, warning: bool) -> None:
        """Record an Event about a resource. A later Event of the same reason replaces the message."""
        metadata, now = document["metadata"], datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        name, namespace = f"{metadata['name']}.{reason.lower()}", metadata["namespace"]

        def repeat(old: JsonObject) -> JsonObject:
            return {**old, "message": message, "lastTimestamp": now, "count": old["count"] + 1}

        try:
            self._store.update(EVENTS, namespace, name, repeat)
        except ApiStatusError:
            subject = {key: document[key] for key in ("apiVersion", "kind")}
            event = {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": name, "namespace": namespace},
                "involvedObject": {**subject, "name": metadata["name"], "namespace": namespace, "uid": metadata["uid"]},
                "type": "Warning" if warning else "Normal",
                "reason": reason,
                "message": message,
                "firstTimestamp": now,
                "lastTimestamp": now,
                "count": 1,
            }
            self._store.create(EVENTS, namespace, event)

    async def read(
        self,
        namespace: str,
        pod: str,
        container: str,  # noqa: ARG002 - each pod has one container
        options: LogOptions,
    ) -> AsyncIterator[bytes]:
        """Return the log of a container, as a kubelet does.

        Raises:
            ApiStatusError: The pod does not exist or has no log.
        """
        log = self.logs.get((namespace, pod))
        if log is None:
            raise ApiStatusError(404, "NotFound", f'pods "{pod}" not found')
        return log.read(follow=options.follow, timestamps=options.timestamps, tail_lines=options.tail_lines)

    def _collect_garbage(self, namespace: str, name: str, owner_uid: str) -> None:
        """Delete the pod of that name if an earlier application of the same name owns it."""
        try:
            pod = self._store.objects.get(PODS, namespace, name)
        except ApiStatusError:
            return
        if owner_uid not in [reference["uid"] for reference in pod["metadata"].get("ownerReferences", [])]:
            self.delete_pod(namespace, name)

    def _find_kind(self, plural: str) -> Any:
        return next(one.kind for one in self._kinds if (one.group, one.kind.plural) == (self._group, plural))
