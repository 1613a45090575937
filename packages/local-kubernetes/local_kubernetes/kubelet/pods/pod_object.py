"""The API object of one pod."""

import asyncio
from collections.abc import Callable

from ...api.kinds.documents import JsonObject
from ...api.kinds.kinds import PODS
from ...api.kinds.status import ApiStatusError
from ..node.node import NODE_NAME, Node
from ..node.pod_status import PENDING, merge_conditions


class PodObject:
    """The API object of one pod: its latest version, and every write to it.

    A pod that was created later under the same name has another UID and is never written.

    Args:
        node: State that all pods of the node share.
        document: The pod as the API server has it.

    Attributes:
        document: The latest known version of the pod.
        gone: Set when the object no longer exists or the node stops.
    """

    def __init__(self, node: Node, document: JsonObject) -> None:
        metadata = document["metadata"]
        self.namespace = str(metadata["namespace"])
        self.name = str(metadata["name"])
        self.uid = str(metadata["uid"])
        self.document = document
        self.gone = asyncio.Event()
        self._store = node.store
        self._recorder = node.recorder

    def bind(self) -> None:
        """Bind the pod to this node.

        Raises:
            ApiStatusError: The pod does not exist, or the API server refused the change.
        """

        def with_node(pod: JsonObject) -> JsonObject:
            pod["spec"]["nodeName"] = NODE_NAME
            return pod

        self._update(with_node)

    def write_status(self, change: Callable[[JsonObject], JsonObject]) -> None:
        """Write the pod's status, unless the API server refuses it.

        Args:
            change: Returns the pod with its new status.
        """
        try:
            self._update(change, subresource="status")
        except ApiStatusError:
            return  # the pod was deleted; the watch reports it

    def write_condition(self, condition: JsonObject) -> None:
        """Write one condition of a pod that has no place on the node yet.

        Args:
            condition: Replaces the condition of the same type.
        """

        def with_condition(pod: JsonObject) -> JsonObject:
            status = pod.get("status") or {}
            conditions = merge_conditions(status.get("conditions") or (), [condition])
            return pod | {"status": {"phase": PENDING} | status | {"conditions": conditions}}

        self.write_status(with_condition)

    def record_event(self, reason: str, message: str, *, component: str = "kubelet") -> None:
        """Record an event about the pod.

        Args:
            reason: The reason as one word.
            message: The message as a sentence.
            component: The component that reports the event.
        """
        self._recorder.record(self.document, reason, message, component=component)

    def delete(self) -> None:
        """Delete the object for good; its containers must have terminated."""
        if self.gone.is_set():
            return
        try:
            self._store.delete(PODS, self.namespace, self.name, grace_seconds=0, uid=self.uid)
        except ApiStatusError:
            self.gone.set()

    def _update(self, change: Callable[[JsonObject], JsonObject], *, subresource: str | None = None) -> None:
        if self._store.objects.get_shared(PODS, self.namespace, self.name)["metadata"]["uid"] == self.uid:
            self.document = self._store.update(PODS, self.namespace, self.name, change, subresource=subresource)
