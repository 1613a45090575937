"""A task instance of Airflow as this package sees it: its stamp, and whether a person has killed it."""

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from airflow.sdk import TaskInstanceState

if TYPE_CHECKING:
    from airflow.sdk.types import RuntimeTaskInstanceProtocol

    from airflow_provider_spark_operator.follow.stamp import TaskStamp


class Fate(Enum):
    """What has become of a task instance whose process was told to stop."""

    KILLED = "killed"
    """Marked, cleared or removed by a person: its application is to go."""
    MOVED = "moved"
    """It lives on, here or in another process, or its next try will take the application over."""


# Spelled out: a state that a later Airflow adds must not count as killed before somebody has thought about it.
# None is a cleared task instance, RESTARTING one that was cleared while it ran on a worker. UP_FOR_RETRY is a
# worker that the scheduler took for dead: its next try adopts the application.
_KILLED = frozenset(
    {
        None,
        TaskInstanceState.SUCCESS,
        TaskInstanceState.FAILED,
        TaskInstanceState.SKIPPED,
        TaskInstanceState.UPSTREAM_FAILED,
        TaskInstanceState.REMOVED,
        TaskInstanceState.RESTARTING,
    }
)


def stamp_of(task_instance: "RuntimeTaskInstanceProtocol") -> "TaskStamp":
    """The stamp of a task instance in its present try."""
    from airflow_provider_spark_operator.follow.stamp import TaskStamp

    return TaskStamp(
        dag_id=task_instance.dag_id,
        task_id=task_instance.task_id,
        run_id=task_instance.run_id,
        map_index=-1 if task_instance.map_index is None else task_instance.map_index,
        try_number=task_instance.try_number,
        task_instance_id=str(task_instance.id),
    )


def fate(stamp: "TaskStamp") -> Fate:
    """Ask Airflow what state the task instance is in. Blocks; in an event loop call it by `sync_to_async`.

    A signal or a cancelled trigger alone says nothing: a drained worker and a triggerer that lost its triggers
    to another one get the same ones as a killed task.
    """
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

    runs = RuntimeTaskInstance.get_task_states(
        dag_id=stamp.dag_id,
        task_ids=[stamp.task_id],
        run_ids=[stamp.run_id],
        map_index=stamp.map_index,
    )
    return Fate.KILLED if _state(stamp, runs) in _KILLED else Fate.MOVED


def _state(stamp: "TaskStamp", runs: Mapping[str, Mapping[str, str | None]]) -> str | None:
    # A task instance that is not there counts as None too: its run was deleted.
    key = stamp.task_id if stamp.map_index < 0 else f"{stamp.task_id}_{stamp.map_index}"
    return runs.get(stamp.run_id, {}).get(key)
