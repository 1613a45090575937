"""The waits of an application and its pods: for a queue, quota, a node or an image.

Only conditions of pods, Events and states show it. Kubernetes deletes Events after an hour.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from ..kubernetes import pods
from ..kubernetes.json_object import KubernetesObject
from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from ..kubernetes.times import read_first_time, read_last_time, read_time
from ..states import reasons
from ..states.states import INITIALIZING, ApplicationState
from .attempts import Attempt
from .events import EXECUTOR_INFIX

_APPLICATION: Final = "application"
_QUOTA: Final = "exceeded quota"
_SHORTEST: Final = timedelta(seconds=1)
_QUEUED: Final = frozenset({reasons.KUEUE_ADMISSION_PENDING, reasons.KUEUE_ADMISSION_REQUEST_FAILED})
# Events of the kubelet; of these, only those whose message names the image.
_IMAGE_FAILED: Final = frozenset({"Failed", "BackOff"})


class WaitKind(StrEnum):
    """The cause of a wait."""

    QUEUE = "queue"
    QUOTA = "quota"
    NODE = "node"
    IMAGE = "image"


@dataclass(frozen=True)
class Wait:
    """A time in which an application, or pods of one role, waited for the same thing.

    Attributes:
        kind: What they waited for.
        role: `application`, `driver` or `executor`.
        begin: When the first one began to wait.
        end: When the last one stopped to wait. None if it still waits, or if the time is unknown.
        text: The latest message about it.
        pods: The uids of the pods. The name of a pod whose uid is unknown.
    """

    kind: WaitKind
    role: str
    begin: datetime
    end: datetime | None
    text: str
    pods: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Pod:
    """A pod. Later attempts can have executors of the same names."""

    name: str
    uid: str

    @property
    def key(self) -> str:
        return self.uid or self.name


_Key: TypeAlias = tuple[WaitKind, str]
_BEGINS: Final[Mapping[str, WaitKind]] = {"FailedScheduling": WaitKind.NODE, "Pulling": WaitKind.IMAGE}
_ENDS: Final[Mapping[str, WaitKind]] = {
    "Scheduled": WaitKind.NODE,
    "Pulled": WaitKind.IMAGE,
    "Started": WaitKind.IMAGE,
}


def list_waits(
    attempts: Sequence[Attempt],
    queue: str,
    all_pods: Iterable[KubernetesObject],
    events: Sequence[KubernetesObject],
    queue_causes: Sequence[tuple[datetime, str]] = (),
) -> tuple[Wait, ...]:
    """Return what an application and its pods have waited for, in the order of the beginnings.

    Waits of one role for the same thing that overlap are one wait.

    Args:
        attempts: The attempts of the application.
        queue: The queue of Kueue in its labels. Empty if there is none.
        all_pods: Its pods.
        events: The Events about it and its pods, oldest first.
        queue_causes: Why it was not admitted to its queue, with the times at which this was read, oldest first.
    """
    waits = [
        *_list_state_waits(attempts, queue, events, queue_causes),
        *_list_quota_waits(events),
        *_list_pod_waits(all_pods, events),
    ]
    return tuple(_merge(waits))


def _list_state_waits(
    attempts: Sequence[Attempt],
    queue: str,
    events: Sequence[KubernetesObject],
    queue_causes: Sequence[tuple[datetime, str]],
) -> Iterator[Wait]:
    """Yield the states in which an application waits for its queue, or for quota to create a pod."""
    pending = [pods.get_text(event.get("message")) for event in events if event.get("reason") in _QUEUED]
    causes = list(queue_causes)
    for state in (state for attempt in attempts for state in attempt.states):
        begin, end = state.begin, state.end
        if begin is None:
            continue
        is_queued = queue and state.apache_state in INITIALIZING | {ApplicationState.SUSPENDED}
        if is_queued and (end is None or end - begin >= _SHORTEST):
            # The times of a status can be whole seconds, and the first one can be late.
            known = [text for time, text in causes if end is None or time - end <= _SHORTEST]
            del causes[: len(known)]  # of this wait, not of the next one
            text = (pending[-1] if pending else "") or ": ".join((f"queue {queue}", *known[-1:]))
            yield Wait(WaitKind.QUEUE, _APPLICATION, begin, end, text)
        if _QUOTA in (state.message or ""):
            yield Wait(WaitKind.QUOTA, _APPLICATION, begin, end or begin, state.message or "")


def _list_quota_waits(events: Iterable[KubernetesObject]) -> Iterator[Wait]:
    for event in events:
        begin, end, text = read_first_time(event), read_last_time(event), pods.get_text(event.get("message"))
        if begin and end and _QUOTA in text:
            pod = _read_subject(event)
            yield Wait(WaitKind.QUOTA, _name_role(pod.name), begin, max(begin, end), text, frozenset({pod.key} - {""}))


def _list_pod_waits(all_pods: Iterable[KubernetesObject], events: Iterable[KubernetesObject]) -> Iterator[Wait]:
    """Yield the times in which pods waited for a node, and for an image."""
    waits: dict[_Key, Wait] = {}
    ends: dict[_Key, datetime] = {}
    for event in events:
        subject, begin, end = _read_subject(event), read_first_time(event), read_last_time(event)
        if subject.name and begin and end:
            _read_event(event, subject, begin, waits)
            if kind := _ENDS.get(pods.get_text(event.get("reason"))):
                ends[kind, subject.key] = end
    for pod in all_pods:
        _read_pod(pod, waits, ends)
    for key, wait in waits.items():
        yield replace(wait, end=max(ends[key], wait.begin) if key in ends else None)


def _read_event(event: KubernetesObject, subject: _Pod, begin: datetime, waits: dict[_Key, Wait]) -> None:
    reason, text = pods.get_text(event.get("reason")), pods.get_text(event.get("message"))
    kind = WaitKind.IMAGE if reason in _IMAGE_FAILED and "image" in text else _BEGINS.get(reason)
    if kind is None and reason == "Pulled" and (WaitKind.IMAGE, subject.key) in waits:
        kind = WaitKind.IMAGE  # its message contains how long it took
    if kind:
        _begin(waits, kind, subject, begin, text)


def _read_pod(pod: KubernetesObject, waits: dict[_Key, Wait], ends: dict[_Key, datetime]) -> None:
    metadata, status = pods.get_object(pod.get("metadata")), pods.get_status(pod)
    subject, created = _identify(metadata), read_time(metadata.get("creationTimestamp"))
    scheduled = pods.find_condition(status, "PodScheduled")
    since, word = read_time(scheduled.get("lastTransitionTime")), pods.get_text(scheduled.get("status")).lower()
    if created and word == "false" and scheduled.get("message"):
        _begin(waits, WaitKind.NODE, subject, created, pods.get_text(scheduled.get("message")))
    if since and word == "true":
        ends[WaitKind.NODE, subject.key] = since
    for container in pods.list_all_containers(status):
        if container.reason in pods.PULL_FAILURES and (begin := since or created):
            _begin(waits, WaitKind.IMAGE, subject, begin, container.message or container.reason)
        if container.started:
            ends[WaitKind.IMAGE, subject.key] = container.started


def _begin(waits: dict[_Key, Wait], kind: WaitKind, pod: _Pod, begin: datetime, text: str) -> None:
    wait = waits.get((kind, pod.key)) or Wait(kind, _name_role(pod.name), begin, None, text, frozenset({pod.key}))
    waits[kind, pod.key] = replace(wait, begin=min(begin, wait.begin), text=text or wait.text)


def _read_subject(event: KubernetesObject) -> _Pod:
    """Return the pod of an Event, without name and uid if it is about something else."""
    subject = pods.get_object(event.get("involvedObject"))
    return _identify(subject if subject.get("kind") == "Pod" else {})


def _identify(members: KubernetesObject) -> _Pod:
    return _Pod(pods.get_text(members.get("name")), pods.get_text(members.get("uid")))


def _name_role(pod: str) -> str:
    if not pod:
        return _APPLICATION
    return ROLE_EXECUTOR if EXECUTOR_INFIX in pod else ROLE_DRIVER


def _merge(waits: Iterable[Wait]) -> list[Wait]:
    """Return waits without overlaps of the same kind and role. An unknown end is later than all others."""
    merged: list[Wait] = []
    latest: dict[tuple[WaitKind, str], int] = {}
    members: list[set[str]] = []
    for wait in sorted(waits, key=lambda each: each.begin):
        key = (wait.kind, wait.role)
        index = latest.get(key)
        if index is None or ((end := merged[index].end) and end < wait.begin):
            latest[key] = len(merged)
            merged.append(wait)
            members.append(set(wait.pods))
        else:
            before = merged[index]
            end = max(before.end, wait.end) if before.end and wait.end else None
            merged[index] = replace(before, end=end, text=wait.text)
            members[index] |= wait.pods
    return [replace(wait, pods=frozenset(found)) for wait, found in zip(merged, members, strict=True)]
