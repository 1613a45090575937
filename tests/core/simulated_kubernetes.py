"""A simulated cluster on a virtual clock, with an API, a garbage collector and a kubelet."""

import heapq
import itertools
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timedelta
from typing import NamedTuple

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from tests.builders import NOW

_GRACE_SECONDS = 30
_COLLECTOR_DELAY = 0.02
KUBELET_DELAY = 0.25
KUBELET_REMOVAL_DELAY = 0.15
_FOREGROUND = "foregroundDeletion"
_KNOWN_SERVICE_ACCOUNTS = (None, "default")


class Key(NamedTuple):
    """The key of an object."""

    kind: str
    namespace: str
    name: str


class RefusedByApi(Exception):
    """The API permanently rejects an object. `str()` returns one sentence."""


def key_of(document: JsonObject) -> Key:
    return Key(document["kind"], document["metadata"]["namespace"], document["metadata"]["name"])


class SimulatedKubernetes:
    """The objects of the cluster. Time passes only in `advance`.

    Attributes:
        now: The current time.
        objects: The existing objects, by key.
        created: The keys of all objects that were ever created, in order.
        stuck: Whether pods terminate only when they are force-deleted.
        on_change: The function to call with the key and the object after each change.
    """

    def __init__(self) -> None:
        self.now: datetime = NOW
        self.objects: dict[Key, JsonObject] = {}
        self.created: list[Key] = []
        self.stuck = False
        self.on_change: Callable[[Key, JsonObject], None] = lambda key, document: None
        self._due: list[tuple[datetime, int, Callable[[], None]]] = []
        self._numbers = itertools.count(1)

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._due, (self.compute_due_time(seconds), next(self._numbers), call))

    def compute_due_time(self, seconds: float) -> datetime:
        return self.now + timedelta(seconds=seconds)

    def advance(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Advance the clock by `seconds`, or until `until` returns True. Return whether it did."""
        end = self.compute_due_time(seconds)
        while not until():
            if not self._due or self._due[0][0] > end:
                self.now = end
                return until()
            self.now, _, call = heapq.heappop(self._due)
            call()
        return True

    def create(self, document: JsonObject) -> JsonObject:
        """Create `document`, or return the existing object of that name."""
        key = key_of(document)
        if key in self.objects:
            return self.objects[key]
        account = (document.get("spec") or {}).get("serviceAccountName")
        if key.kind == "Pod" and account not in _KNOWN_SERVICE_ACCOUNTS:
            raise RefusedByApi(f"pods {key.name!r} is forbidden: service account {account!r} not found")
        created = deepcopy(document)
        created["metadata"] |= {"uid": f"uid-{next(self._numbers)}", "creationTimestamp": self.now.isoformat()}
        if key.kind == "Pod":
            created["status"] = {"phase": "Pending"}
        self.objects[key] = created
        self.created.append(key)
        self.on_change(key, created)
        return created

    def notify(self, key: Key) -> None:
        """Report a written object. A deleted object without finalizers is removed."""
        document = self.objects[key]
        metadata = document["metadata"]
        if key.kind != "Pod" and "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            self.remove(key)
        else:
            self.on_change(key, document)

    def delete(self, key: Key, *, propagation: str = "Background", grace: int | None = None) -> None:
        document = self.objects.get(key)
        if document is None:
            return
        metadata = document["metadata"]
        if propagation == "Foreground":
            metadata["finalizers"] = [*metadata.get("finalizers", []), _FOREGROUND]
            self.call_later(_COLLECTOR_DELAY, lambda: self._delete_in_foreground(key, metadata["uid"]))
        seconds = 0 if grace == 0 or not _needs_kubelet(document) else _GRACE_SECONDS
        already = "deletionTimestamp" in metadata
        if not already:
            metadata["deletionTimestamp"] = self.compute_due_time(seconds).isoformat()
            if key.kind == "Pod":
                metadata["deletionGracePeriodSeconds"] = seconds
        if seconds == 0 and not metadata.get("finalizers"):
            self.remove(key)
            return
        self.on_change(key, document)
        if key.kind == "Pod" and not already:
            self.call_later(KUBELET_DELAY, lambda: self._terminate(key, metadata["uid"]))

    def remove(self, key: Key) -> None:
        """Remove an object immediately. The garbage collector then deletes its dependents."""
        document = self.objects.pop(key, None)
        if document is None:
            return
        self.on_change(key, document)
        self.call_later(_COLLECTOR_DELAY, lambda: self._delete_dependents(document["metadata"]["uid"]))

    def list_owned(self, uid: str) -> list[Key]:
        return [
            key
            for key, document in self.objects.items()
            if any(reference["uid"] == uid for reference in document["metadata"].get("ownerReferences", ()))
        ]

    def _has_object(self, key: Key, uid: str) -> bool:
        return key in self.objects and self.objects[key]["metadata"]["uid"] == uid

    def _delete_dependents(self, uid: str) -> None:
        for key in self.list_owned(uid):
            self.delete(key)

    def _delete_in_foreground(self, key: Key, uid: str) -> None:
        if not self._has_object(key, uid):
            return
        metadata = self.objects[key]["metadata"]
        dependents = self.list_owned(uid)
        for dependent in dependents:
            if "deletionTimestamp" not in self.objects[dependent]["metadata"]:
                self.delete(dependent, propagation="Foreground")
        if dependents:
            self.call_later(_COLLECTOR_DELAY, lambda: self._delete_in_foreground(key, uid))
            return
        metadata["finalizers"] = [each for each in metadata["finalizers"] if each != _FOREGROUND]
        if key.kind != "Pod" or not metadata["deletionGracePeriodSeconds"]:
            self.notify(key)
            if key.kind == "Pod":
                self.remove(key)

    def _terminate(self, key: Key, uid: str) -> None:
        if not self._has_object(key, uid):
            return
        if self.stuck:
            self.call_later(KUBELET_DELAY, lambda: self._terminate(key, uid))
            return
        pod = self.objects[key]
        if pod["status"]["phase"] == "Running":
            pod["status"] = build_pod_status(pod, complete_story("stopped"))
            self.on_change(key, pod)
            self.call_later(KUBELET_REMOVAL_DELAY, lambda: self._terminate(key, uid))
        elif pod["metadata"].get("finalizers"):
            self.call_later(_COLLECTOR_DELAY, lambda: self._terminate(key, uid))
        else:
            self.remove(key)


def _needs_kubelet(document: JsonObject) -> bool:
    """Return whether `document` is a pod that a kubelet must stop: bound to a node and not terminated."""
    bound = document["kind"] == "Pod" and bool(document["spec"].get("nodeName"))
    return bound and document["status"]["phase"] in ("Pending", "Running")


_STORIES: dict[str, JsonObject] = {
    "pending": {"phase": "Pending"},
    "unschedulable": {"phase": "Pending", "scheduled": False},
    "notready": {"phase": "Running", "ready": False},
    "started": {"phase": "Running", "ready": False, "default": {"state": "running", "ready": True}},
    "ready": {"phase": "Running", "ready": True},
    "succeeded": {"phase": "Succeeded"},
    "failed": {"phase": "Failed"},
    "evicted": {"phase": "Failed", "reason": "Evicted", "default": {"state": "terminated", "exit": 137}},
    "stopped": {"phase": "Failed", "default": {"state": "terminated", "exit": 143}},
    "oom": {"phase": "Failed", "default": {"state": "terminated", "exit": 137, "reason": "OOMKilled"}},
}


def complete_story(story: str | JsonObject) -> JsonObject:
    """Return the complete story of a step. A step gives it as a word, as `{as: word}`, or as phase and containers."""
    if isinstance(story, str):
        return _STORIES[story]
    return {**_STORIES.get(story.get("as", ""), {}), **{k: v for k, v in story.items() if k not in ("as", "app")}}


def build_pod_status(pod: JsonObject, story: JsonObject) -> JsonObject:
    """Return the pod status that a kubelet writes. Each container has its own state or the story's default state."""
    phase, ready = story["phase"], story.get("ready", False)
    conditions = [{"type": "PodScheduled", "status": str(story.get("scheduled", True))}]
    if not story.get("scheduled", True):
        return {"phase": phase, "conditions": conditions}
    default = (
        story.get("default")
        or {
            "Pending": {"state": "waiting"},
            "Running": {"state": "running", "ready": ready},
            "Succeeded": {"state": "terminated", "exit": 0},
            "Failed": {"state": "terminated", "exit": 1},
        }[phase]
    )
    statuses = [
        _build_container_status(container["name"], default | story.get("containers", {}).get(container["name"], {}))
        for container in pod["spec"]["containers"]
    ]
    ended = {"state": "terminated", "exit": 0}
    init = [
        _build_container_status(container["name"], story.get("init", {}).get(container["name"], ended))
        for container in pod["spec"].get("initContainers") or []
    ]
    conditions.append({"type": "Ready", "status": str(ready)})
    reason = {"reason": story["reason"]} if "reason" in story else {}
    return {
        "phase": phase,
        "conditions": conditions,
        "containerStatuses": statuses,
        "initContainerStatuses": init,
        **reason,
    }


def _build_container_status(name: str, container_story: JsonObject) -> JsonObject:
    code = container_story.get("exit", 0)
    state = {
        "running": {"running": {}},
        "waiting": {"waiting": {"reason": "ContainerCreating"}},
        "terminated": {
            "terminated": {"exitCode": code, "reason": container_story.get("reason", "Error" if code else "Completed")}
        },
    }[container_story["state"]]
    return {"name": name, "ready": container_story.get("ready", False), "restartCount": 0, "state": state}
