"""Events about pods and their controllers, as `kubectl describe` shows them."""

import time
from collections.abc import Callable
from datetime import datetime

from ...api.kinds.documents import JsonObject, format_timestamp
from ...api.kinds.kinds import EVENTS
from ...api.kinds.status import ApiStatusError
from ...api.store.store import Store

_WARNINGS = ("Failed", "BackOff", "Evicted", "NodeFailure", "InspectFailed", "ErrImage", "DeadlineExceeded")


class EventRecorder:
    """Writes events. `EventRetention` bounds their number.

    Args:
        store: The cluster's objects.
        host: Name of the node; empty for a component without a node.
        clock: Returns the current time.
    """

    def __init__(self, store: Store, host: str, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._host = host
        self._clock = clock
        self._repeated: dict[tuple[str, str, str], str] = {}

    def record(
        self, pod: JsonObject, reason: str, message: str, *, container: str | None = None, component: str = "kubelet"
    ) -> None:
        """Record an event about a pod or another object; a repeated event increases the count of the first one.

        Args:
            pod: The pod or other object.
            reason: The reason as one word; reasons of failures make a Warning.
            message: The message as a sentence.
            container: The container of the pod that the event is about; empty for the whole pod.
            component: The component that reports the event.
        """
        metadata = pod["metadata"]
        namespace = str(metadata["namespace"])
        known = (str(metadata["uid"]), reason, message)
        try:
            repeated = self._repeated.get(known)
            if repeated and self._store.objects.exists(EVENTS, namespace, repeated):
                self._increase_count(namespace, repeated)
                return
            name = f"{metadata['name']}.{time.time_ns():x}"
            self._store.create(EVENTS, namespace, self._build_event(pod, name, reason, message, container, component))
        except ApiStatusError:
            return  # the namespace is being deleted, or the journal has no room
        self._repeated[known] = name

    def forget(self, uid: str) -> None:
        """Forget the events of a deleted pod, so that later ones are not counted with them."""
        self._repeated = {known: name for known, name in self._repeated.items() if known[0] != uid}

    def _increase_count(self, namespace: str, name: str) -> None:
        def count_again(event: JsonObject) -> JsonObject:
            return event | {"count": event.get("count", 1) + 1, "lastTimestamp": format_timestamp(self._clock())}

        self._store.update(EVENTS, namespace, name, count_again)

    def _build_event(
        self, pod: JsonObject, name: str, reason: str, message: str, container: str | None, component: str
    ) -> JsonObject:
        metadata = pod["metadata"]
        now = format_timestamp(self._clock())
        involved = {
            "apiVersion": pod.get("apiVersion", "v1"),
            "kind": pod.get("kind", "Pod"),
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
            "resourceVersion": metadata.get("resourceVersion", ""),
        }
        if container:
            involved["fieldPath"] = f"spec.containers{{{container}}}"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": metadata["namespace"]},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "type": "Warning" if reason.startswith(_WARNINGS) else "Normal",
            "source": {"component": component} | ({"host": self._host} if self._host else {}),
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "eventTime": None,
            "reportingComponent": component,
            "reportingInstance": self._host,
        }
