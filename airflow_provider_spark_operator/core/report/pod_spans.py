"""The driver and the executors of an application over time, as far as pods, the status and Events show them."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from ..dialects.dialect import dialect_of
from ..dialects.progress import ExecutorState, Progress
from ..kubernetes import pods
from ..kubernetes.json_object import KubernetesObject
from ..kubernetes.times import read_first_time, read_last_time, read_time
from .events import EXECUTOR_INFIX, find_pod_names, is_as_young
from .executors import select_executors
from .observed_pods import Absence
from .resources import Resources, read_requests

# A driver that ends stops its executors with SIGTERM.
_STOPPED: Final = frozenset({0, 143})
_MANY: Final = 2**31
_NUMBER: Final = re.compile(r"-exec-([0-9]{1,9})$")
_POD_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]*-exec-[0-9]+")


@dataclass(frozen=True)
class PodSpan:
    """The life of the pod of a driver or an executor.

    Attributes:
        name: The name of the pod.
        state: What is known about it.
        begin: When its container started. None if it has not started, or if the time is unknown.
        end: When it ended. None while it runs, or if the time is unknown.
        detail: How it ended, for example `exit code 137 (OOMKilled)`. Empty if nothing is known.
        scheduled: When it was assigned to a node. None if it was not, or if the time is unknown.
        ready: When it became ready. None if it is not ready, or if the time is unknown.
        node: The name of its node. Empty if unknown.
        requested: The cores and the memory that it requests. None if unknown.
        selector: The labels that it requires of its node, in its `nodeSelector`. None if unknown.
        uid: The uid of the pod. Empty if only Events or the status show the pod.
        doubt: By how much its true end can be before or after `end`.
    """

    name: str
    state: ExecutorState
    begin: datetime | None = None
    end: datetime | None = None
    detail: str = ""
    scheduled: datetime | None = None
    ready: datetime | None = None
    node: str = ""
    requested: Resources | None = None
    selector: frozenset[tuple[str, str]] | None = None
    uid: str = ""
    doubt: timedelta = timedelta()


# Events of the scheduler and the kubelet about a pod, and of Kubeflow's operator about an application.
_ASSIGNED: Final = "Scheduled"
_ASSIGNMENT: Final = re.compile(r"Successfully assigned \S{1,600} to (\S{1,253})$")
REGISTERED: Final = "Registered"
"""The reason of an Event that stands for a line of the driver's log: the executor had started seconds before."""
_STARTS: Final = frozenset({"Started", "SparkExecutorRunning"})
_ENDS: Final[Mapping[str, ExecutorState]] = {
    "Killing": ExecutorState.ENDED,
    "SparkExecutorCompleted": ExecutorState.ENDED,
    "SparkExecutorFailed": ExecutorState.FAILED,
    "Evicted": ExecutorState.FAILED,
    "Preempted": ExecutorState.FAILED,
    "TaintManagerEviction": ExecutorState.FAILED,
}
_TAKEN: Final = {"Preempted": "Preempted: ", "Evicted": "Evicted: ", "TaintManagerEviction": "Evicted: "}
# Events have whole seconds, and the clocks of nodes differ.
_SKEW: Final = timedelta(seconds=5)


def list_executor_spans(
    resource: KubernetesObject,
    seen: Progress,
    all_pods: Iterable[KubernetesObject] = (),
    events: Iterable[KubernetesObject] = (),
    absences: Mapping[str, Absence] | None = None,
) -> tuple[PodSpan, ...]:
    """Return the executors of an application in the order of their start; those without a start come last.

    Args:
        resource: The application.
        seen: Its progress.
        all_pods: Pods, among them those of the application.
        events: Events of the namespace. They describe executors whose pods no longer exist.
        absences: The deletions of pods in `all_pods` that no longer exist, by their uids.
    """
    executors, missed = select_executors(resource, all_pods), absences or {}
    # Attempts can have executors of the same names.
    own = [read_pod(pod) for pod in executors]
    present = {span.name for span in own}
    deleted = {span.name: index for index, span in enumerate(own) if span.uid in missed and span.end is None}
    states = dialect_of(resource.get("apiVersion")).read_executor_states(resource)
    gone = {name: PodSpan(name, state) for name, state in states.items() if name not in present}
    names, selectors = find_pod_names(resource, seen, executors), {span.selector for span in own}
    usual = next(iter(selectors)) if len(selectors) == 1 else None
    for event in events:
        name = _read_executor_name(event)
        is_own = name not in present and (name in gone or names.has_executor(name))
        if is_own and is_as_young(read_last_time(event), resource):
            gone[name] = _apply(event, gone.get(name) or PodSpan(name, ExecutorState.UNKNOWN, selector=usual))
        elif name in deleted:
            span = own[deleted[name]]
            own[deleted[name]] = _apply_end(event, span, missed[span.uid])
    return tuple(sorted((*own, *gone.values()), key=_rank))


def count_over_time(spans: Sequence[PodSpan]) -> tuple[tuple[datetime, int], ...]:
    """Return the number of executors that run from each time on. Executors with an unknown end are left out."""
    changes: dict[datetime, int] = {}
    for span in spans:
        if span.begin is None or (span.end is None and span.state is not ExecutorState.RUNNING):
            continue
        changes[span.begin] = changes.get(span.begin, 0) + 1
        if span.end is not None:
            changes[span.end] = changes.get(span.end, 0) - 1
    counts, running = [], 0
    for time in sorted(changes):
        running += changes[time]
        counts.append((time, running))
    return tuple(counts)


def count_unknown_executors(spans: Iterable[PodSpan]) -> int:
    """Return how many executors are not known. Spark numbers the executors of a driver from 1, without gaps."""
    return sum(max(numbers) - len(numbers - {0}) for numbers in _group_numbers(spans).values())


def list_unclear_executors(spans: Sequence[PodSpan], *, may_have_later: bool) -> Iterator[str]:
    """Yield the names of executors that were not seen, or whose times are not exact. They can be very many.

    Args:
        spans: The known executors.
        may_have_later: Whether executors with greater numbers than the known ones may have existed.
    """
    yield from (span.name for span in spans if span.doubt or (not span.uid and span.scheduled is None))
    for prefix, numbers in reversed(_group_numbers(spans).items()):
        first = max(numbers) + may_have_later
        yield from (f"{prefix}{EXECUTOR_INFIX}{number}" for number in range(first, 0, -1) if number not in numbers)


def _group_numbers(spans: Iterable[PodSpan]) -> dict[str, set[int]]:
    """Return the numbers of executors by the beginning of their names."""
    known: dict[str, set[int]] = {}
    for span in spans:
        if number := _NUMBER.search(span.name):
            known.setdefault(span.name[: number.start()], set()).add(int(number[1]))
    return known


def read_pod(pod: KubernetesObject, regular_exits: Container[int | None] = _STOPPED) -> PodSpan:
    """Return the life of a pod, as far as the pod shows it.

    Args:
        pod: The pod.
        regular_exits: Exit codes that are no failure.
    """
    status = pods.get_status(pod)
    containers = pods.list_containers(status)
    scheduled, ready = (pods.find_condition(status, kind) for kind in ("PodScheduled", "Ready"))
    requested, spec = read_requests(pod), pods.get_object(pod.get("spec"))
    span = PodSpan(
        name=pods.get_text(pods.get_object(pod.get("metadata")).get("name")),
        state=ExecutorState.PENDING,
        begin=min((each.started for each in containers if each.started), default=None),
        scheduled=_read_since(scheduled),
        ready=_read_since(ready),
        node=pods.get_text(spec.get("nodeName")),
        requested=requested if requested != Resources() else None,
        selector=frozenset(
            (key, pods.get_text(value)) for key, value in pods.get_object(spec.get("nodeSelector")).items()
        ),
        uid=pods.get_uid(pod),
    )
    ended = [each for each in containers if each.exit_code is not None]
    phase = pods.read_phase(status)
    if phase in ("failed", "succeeded") or (ended and len(ended) == len(containers)):
        failed = next((each for each in ended if each.exit_code not in regular_exits), None)
        taken = pods.describe_disruption(status) or pods.get_text(status.get("reason"))
        is_failed = failed is not None or (phase == "failed" and not ended)
        end = max((each.finished for each in ended if each.finished), default=None) or pods.find_deletion_start(pod)
        return replace(
            span,
            state=ExecutorState.FAILED if is_failed else ExecutorState.ENDED,
            end=_not_before(end, span.begin),
            detail="; ".join(part for part in (pods.describe_exit(failed) if failed else "", taken) if part),
        )
    return replace(span, state=ExecutorState.RUNNING) if span.begin else span


def _read_since(condition: KubernetesObject) -> datetime | None:
    """Return when a condition became true; None if it is not true."""
    is_true = pods.get_text(condition.get("status")).lower() == "true"
    return read_time(condition.get("lastTransitionTime")) if is_true else None


def _read_executor_name(event: KubernetesObject) -> str:
    subject = pods.get_object(event.get("involvedObject"))
    if subject.get("kind") == "Pod":
        return pods.get_text(subject.get("name"))
    named = _POD_NAME.search(pods.get_text(event.get("message"))[:1000])
    return named[0] if named else ""


def _apply(event: KubernetesObject, span: PodSpan) -> PodSpan:
    """Return `span` with what an Event shows. The Events of a namespace are in no particular order."""
    reason = pods.get_text(event.get("reason"))
    first, last = read_first_time(event), read_last_time(event)
    if reason == _ASSIGNED and first is not None:
        node = _ASSIGNMENT.match(pods.get_text(event.get("message"))[:1000])
        return replace(span, scheduled=first, node=node[1] if node else "")
    if reason == REGISTERED and first is not None:
        return replace(span, begin=min(first, span.begin or first), ready=first)
    if reason in _STARTS and first is not None:
        begin = min(first, span.begin) if span.begin else first
        return replace(span, begin=begin, end=_not_before(span.end, begin))
    if reason in _ENDS and last is not None:
        state = span.state if span.state is ExecutorState.FAILED else _ENDS[reason]
        # A container ends after the driver has lost the executor, and after the kubelet has begun to stop it.
        end = max(last, span.end or last)
        return replace(span, state=state, end=_not_before(end, span.begin), detail=span.detail or _describe_end(event))
    return span


def _apply_end(event: KubernetesObject, span: PodSpan, absence: Absence) -> PodSpan:
    """Return the executor with the end that an Event shows, if the pod was deleted at that time."""
    time, uid = read_last_time(event), pods.get_object(event.get("involvedObject")).get("uid")
    is_own = uid in (None, span.uid) and pods.get_text(event.get("reason")) in _ENDS
    if not is_own or time is None or not absence.seen <= time + _SKEW or not time - _SKEW <= absence.missed:
        return span
    return _apply(event, span)


def _describe_end(event: KubernetesObject) -> str:
    reason, message = pods.get_text(event.get("reason")), pods.get_text(event.get("message"))
    is_of_log = reason == "SparkExecutorFailed" and "uid" not in pods.get_object(event.get("involvedObject"))
    return _TAKEN.get(reason, "") + message if reason in _TAKEN or is_of_log else ""


def _not_before(end: datetime | None, begin: datetime | None) -> datetime | None:
    return max(end, begin) if end and begin else end


def _rank(span: PodSpan) -> tuple[float, int, str]:
    number = _NUMBER.search(span.name)
    begin = span.begin.timestamp() if span.begin else float("inf")
    return begin, int(number[1]) if number else _MANY, span.name
