"""Describe what keeps an application and its pods from running."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Final

from airflow_provider_spark_operator.core import pods
from airflow_provider_spark_operator.core.dialects.dialect import dialect_of
from airflow_provider_spark_operator.core.dialects.progress import Phase, Progress
from airflow_provider_spark_operator.core.reasons import SUSPENDED
from airflow_provider_spark_operator.core.times import read_time
from airflow_provider_spark_operator.core.verdict import driver_obstacle

# Why a container that will run does not run yet.
_ON_THE_WAY: Final = frozenset({"", "ContainerCreating", "PodInitializing"})


def driver_waits_for(pod: Mapping[str, object], progress: Progress, events: Sequence[str]) -> str | None:
    """What a driver pod that does not run yet waits for; None if it only needs a moment.

    Args:
        pod: The driver pod.
        progress: The progress of its application.
        events: The latest warnings about the pod, oldest first.
    """
    status = pods.status_of(pod)
    if pods.phase(status) not in ("", "pending"):
        return None
    return driver_obstacle(status, progress.settings) or pod_waits_for("the driver pod", pod, events)


def pod_waits_for(name: str, pod: Mapping[str, object], events: Sequence[str]) -> str | None:
    """What a pending pod waits for: a node, a container, or what its latest warning names.

    Args:
        name: The pod in words, the beginning of the sentence.
        pod: The pod.
        events: The latest warnings about it, oldest first.
    """
    status = pods.status_of(pod)
    scheduled = pods.condition(status, "PodScheduled")
    if pods.text(scheduled.get("status")).lower() == "false" and scheduled.get("message"):
        return f"{name} waits for a node: {pods.text(scheduled.get('message'))}"
    for container in pods.all_containers(status):
        if container.waiting and container.reason not in _ON_THE_WAY:
            said = ": ".join(part for part in (container.reason, container.message) if part)
            return f"{name} cannot start: {said}"
    return f"{name} is pending: {events[-1]}" if events else None


def executors_wait_for(executors: Iterable[Mapping[str, object]]) -> str | None:
    """Why executors have no node, as the scheduler says of the first of them; None if all have one."""
    waiting = [pod for pod in executors if pods.text(_scheduled(pod).get("status")).lower() == "false"]
    if not waiting:
        return None
    what = "1 executor waits" if len(waiting) == 1 else f"{len(waiting)} executors wait"
    return f"{what} for a node: {pods.text(_scheduled(waiting[0]).get('message')) or 'no reason given'}"


def is_held_back(resource: Mapping[str, object]) -> bool:
    """Whether the application asks to be suspended."""
    return dialect_of(resource.get("apiVersion")).is_suspended(resource)


def ignores_suspension(progress: Progress, resource: Mapping[str, object], *, settled: bool) -> bool:
    """Whether the operator runs a driver although the application asks to be suspended.

    Args:
        progress: The progress of `resource`.
        resource: The application.
        settled: The operator has had the time to stop a driver that ran before.
    """
    if not is_held_back(resource) or progress.reason == SUSPENDED:
        return False
    asked_from_the_beginning = pods.mapping(resource.get("metadata")).get("generation") == 1
    has_driver = progress.driver_expected or progress.phase is Phase.RUNNING
    return has_driver and (asked_from_the_beginning or settled)


@dataclass(frozen=True)
class BlockedExecutor:
    """An executor that does not start, however long it waits.

    Attributes:
        created: The creation time of its pod, None if unknown.
        sentence: A clause that names the pod, its image and the cause.
    """

    created: datetime | None
    sentence: str


def find_blocked_executors(executors: Iterable[Mapping[str, object]]) -> list[BlockedExecutor]:
    """Return those of `executors` that cannot start, the oldest first, those of unknown age last."""
    found = [each for each in map(_find_block, executors) if each]
    return sorted(found, key=lambda each: each.created.timestamp() if each.created else inf)


def describe_executor_obstacle(executors: Sequence[Mapping[str, object]]) -> str | None:
    """Return the cause of the oldest executor that cannot start, else of the first without a node, else None."""
    stuck = find_blocked_executors(executors)
    return stuck[0].sentence if stuck else next((said for said in map(_describe_unscheduled, executors) if said), None)


def _describe_unscheduled(executor: Mapping[str, object]) -> str | None:
    scheduled = pods.condition(pods.status_of(executor), "PodScheduled")
    said = pods.text(scheduled.get("message")).rstrip(".")
    if pods.text(scheduled.get("status")).lower() != "false" or not said:
        return None
    return f"executor pod {pods.text(pods.mapping(executor.get('metadata')).get('name'))} waits for a node: {said}"


def _find_block(executor: Mapping[str, object]) -> BlockedExecutor | None:
    for container in pods.all_containers(pods.status_of(executor)):
        if container.waiting and container.reason in pods.PULL_FAILURES | pods.CREATION_FAILURES:
            metadata = pods.mapping(executor.get("metadata"))
            image = f" (image {container.image})" if container.image else ""
            said = f": {container.message.rstrip('.')}" if container.message else ""
            sentence = f"executor pod {pods.text(metadata.get('name'))} cannot start: {container.reason}{image}{said}"
            return BlockedExecutor(read_time(metadata.get("creationTimestamp")), sentence)
    return None


def _scheduled(pod: Mapping[str, object]) -> Mapping[str, object]:
    return pods.condition(pods.status_of(pod), "PodScheduled")
