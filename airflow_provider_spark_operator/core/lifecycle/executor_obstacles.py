"""Describe what keeps executors from running."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf

from ..kubernetes import pods
from ..kubernetes.times import read_time
from ..states.reasons import UNSCHEDULABLE


def describe_executor_wait(executors: Iterable[Mapping[str, object]]) -> str | None:
    """Describe how many executors wait for a node, and the scheduler's message for the first; None if none waits."""
    waiting = [
        pod for pod in executors if pods.get_text(_find_scheduled_condition(pod).get("status")).lower() == "false"
    ]
    if not waiting:
        return None
    count = "1 executor waits" if len(waiting) == 1 else f"{len(waiting)} executors wait"
    message = pods.get_text(_find_scheduled_condition(waiting[0]).get("message"))
    return f"{count} for a node: {message or 'no reason given'}"


@dataclass(frozen=True)
class BlockedExecutor:
    """An executor that cannot start without a change.

    Attributes:
        created: The creation time of its pod. None if unknown.
        reason: The cause in one word, for example `ImagePullBackOff`.
        sentence: A clause that names the pod, its image and the cause.
    """

    created: datetime | None
    reason: str
    sentence: str


def find_blocked_executors(executors: Iterable[Mapping[str, object]]) -> list[BlockedExecutor]:
    """Return the executors that cannot start, the oldest first and those of unknown age last."""
    found = [each for each in map(_find_block, executors) if each]
    return sorted(found, key=lambda each: each.created.timestamp() if each.created else inf)


def describe_executor_obstacle(executors: Sequence[Mapping[str, object]]) -> str | None:
    """Describe the oldest executor that cannot start, else the first that waits for a node; None if there is none."""
    stuck = find_blocked_executors(executors)
    if stuck:
        return stuck[0].sentence
    return next(filter(None, map(_describe_unscheduled, executors)), None)


def name_executor_obstacle(executors: Sequence[Mapping[str, object]]) -> str:
    """Return the reason why an executor does not start, in one word; empty if its status shows none."""
    stuck = find_blocked_executors(executors)
    if stuck:
        return stuck[0].reason
    return UNSCHEDULABLE if any(map(_describe_unscheduled, executors)) else ""


def _describe_unscheduled(executor: Mapping[str, object]) -> str | None:
    scheduled = pods.find_condition(pods.get_status(executor), "PodScheduled")
    message = pods.get_text(scheduled.get("message")).rstrip(".")
    if pods.get_text(scheduled.get("status")).lower() != "false" or not message:
        return None
    name = pods.get_text(pods.get_object(executor.get("metadata")).get("name"))
    return f"executor pod {name} waits for a node: {message}"


def _find_block(executor: Mapping[str, object]) -> BlockedExecutor | None:
    for container in pods.list_all_containers(pods.get_status(executor)):
        if container.waiting and container.reason in pods.PULL_FAILURES | pods.CREATION_FAILURES:
            metadata = pods.get_object(executor.get("metadata"))
            image = f" (image {container.image})" if container.image else ""
            detail = f": {container.message.rstrip('.')}" if container.message else ""
            sentence = (
                f"executor pod {pods.get_text(metadata.get('name'))} cannot start: {container.reason}{image}{detail}"
            )
            return BlockedExecutor(read_time(metadata.get("creationTimestamp")), container.reason, sentence)
    return None


def _find_scheduled_condition(pod: Mapping[str, object]) -> Mapping[str, object]:
    return pods.find_condition(pods.get_status(pod), "PodScheduled")
