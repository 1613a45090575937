from uuid import UUID

import pytest

from airflow_provider_spark_operator.follow.stamp import TaskStamp
from airflow_provider_spark_operator.triggers.task_instance import Fate, fate, stamp_of

STAMP = TaskStamp("dag", "task", "run", -1, 1, "id-1")
MAPPED = TaskStamp("dag", "task", "run", 3, 1, "id-1")


@pytest.fixture
def states(monkeypatch):
    """What Airflow answers; filled by the test."""
    answer = {}

    def get_task_states(*, dag_id, task_ids, run_ids, map_index):
        assert (dag_id, task_ids, run_ids) == ("dag", ["task"], ["run"])
        return answer

    monkeypatch.setattr(
        "airflow.sdk.execution_time.task_runner.RuntimeTaskInstance.get_task_states", staticmethod(get_task_states)
    )
    return answer


@pytest.mark.parametrize("state", [None, "success", "failed", "skipped", "upstream_failed", "removed", "restarting"])
def test_a_task_that_a_person_has_marked_or_cleared_is_killed(states, state):
    states["run"] = {"task": state}
    assert fate(STAMP) is Fate.KILLED


@pytest.mark.parametrize(
    "state", ["running", "deferred", "queued", "scheduled", "up_for_retry", "up_for_reschedule", "a state of tomorrow"]
)
def test_a_task_that_lives_on_elsewhere_is_moved(states, state):
    states["run"] = {"task": state}
    assert fate(STAMP) is Fate.MOVED


def test_a_task_whose_run_was_deleted_is_killed(states):
    assert fate(STAMP) is Fate.KILLED


def test_a_mapped_task_has_its_own_state(states):
    states["run"] = {"task_3": "running", "task": "failed"}
    assert fate(MAPPED) is Fate.MOVED


@pytest.mark.parametrize(("map_index", "stamped"), [(None, -1), (-1, -1), (4, 4)])
def test_a_stamp_is_made_of_the_task_instance(map_index, stamped):
    class TaskInstance:
        dag_id, task_id, run_id, try_number = "dag", "task", "run", 2
        id = UUID(int=7)

    TaskInstance.map_index = map_index
    assert stamp_of(TaskInstance()) == TaskStamp("dag", "task", "run", stamped, 2, str(UUID(int=7)))
