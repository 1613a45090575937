"""What keeps executors from starting: an image, a container that cannot be created, nodes that are full."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf

from airflow_provider_spark_operator.core import pods
from airflow_provider_spark_operator.core.times import read_time


@dataclass(frozen=True)
class HeldUp:
    """An executor that waiting longer does not start; `created` is None where its pod does not say.

    `sentence` names the pod, its image and the reason, as the part of a sentence.
    """

    created: datetime | None
    sentence: str


def held_up(executors: Iterable[Mapping[str, object]]) -> list[HeldUp]:
    """Those of `executors` that cannot start, the oldest first; those of unknown age come last."""
    found = [each for each in map(_held_up, executors) if each]
    return sorted(found, key=lambda each: each.created.timestamp() if each.created else inf)


def hindrance(executors: Sequence[Mapping[str, object]]) -> str | None:
    """What the oldest executor that cannot start waits for, else the first that no node takes; None where none does."""
    stuck = held_up(executors)
    return stuck[0].sentence if stuck else next((said for said in map(_unscheduled, executors) if said), None)


def _unscheduled(executor: Mapping[str, object]) -> str | None:
    scheduled = pods.condition(pods.status_of(executor), "PodScheduled")
    said = pods.text(scheduled.get("message")).rstrip(".")
    if pods.text(scheduled.get("status")).lower() != "false" or not said:
        return None
    return f"executor pod {pods.text(pods.mapping(executor.get('metadata')).get('name'))} waits for a node: {said}"


def _held_up(executor: Mapping[str, object]) -> HeldUp | None:
    for container in pods.all_containers(pods.status_of(executor)):
        if container.waiting and container.reason in pods.PULL_FAILURES | pods.CREATION_FAILURES:
            metadata = pods.mapping(executor.get("metadata"))
            image = f" (image {container.image})" if container.image else ""
            said = f": {container.message.rstrip('.')}" if container.message else ""
            sentence = f"executor pod {pods.text(metadata.get('name'))} cannot start: {container.reason}{image}{said}"
            return HeldUp(read_time(metadata.get("creationTimestamp")), sentence)
    return None
