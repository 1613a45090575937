from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.hooks.task_stamp import stamp_of


@pytest.mark.parametrize(("map_index", "stamped"), [(None, -1), (-1, -1), (4, 4)])
def test_stamp_is_read_from_the_task_instance(map_index: int | None, stamped: int) -> None:
    class TaskInstance:
        dag_id, task_id, run_id, try_number = "dag", "task", "run", 2
        map_index: int | None
        id = UUID(int=7)

    TaskInstance.map_index = map_index
    assert stamp_of(cast("Any", TaskInstance())) == TaskStamp("dag", "task", "run", stamped, 2, str(UUID(int=7)))


def test_stamp_contains_values_that_a_clear_changes() -> None:
    class TaskInstance:
        dag_id, task_id, run_id, map_index, try_number, max_tries, id = "dag", "task", "run", -1, 2, 5, UUID(int=7)
        context_carrier = {"traceparent": "00-1-2-01"}  # noqa: RUF012

    stamp = stamp_of(cast("Any", TaskInstance()))
    assert (stamp.max_tries, stamp.trace_parent) == (5, "00-1-2-01")


def test_stamp_contains_the_logical_date() -> None:
    class TaskInstance:
        dag_id, task_id, run_id, map_index, try_number, id = "dag", "task", "run", -1, 1, UUID(int=7)

        def get_template_context(self) -> dict[str, Any]:
            return {"logical_date": datetime(2026, 1, 1, tzinfo=UTC)}

    assert stamp_of(cast("Any", TaskInstance())).logical_date == "2026-01-01T00:00:00+00:00"


def test_stamp_of_a_task_in_a_loop_contains_the_iteration() -> None:
    class TaskInstance:
        dag_id, task_id, run_id, map_index, try_number, id = "dag", "task", "run", -1, 1, UUID(int=7)
        iteration = 0

        def get_template_context(self) -> dict[str, Any]:
            return {"loop": SimpleNamespace(index=self.iteration)}

    first, second = TaskInstance(), TaskInstance()
    second.iteration = 1
    stamps = [stamp_of(cast("Any", each)) for each in (first, second)]
    assert [stamp.loop_index for stamp in stamps] == [0, 1]
    assert stamps[0].identity != stamps[1].identity


@pytest.mark.parametrize(("map_index", "loop_index"), [(-1, 1), (None, 1), (0, None)])
def test_stamp_in_the_triggerer_contains_the_iteration_of_a_task_that_is_not_mapped(
    map_index: int | None, loop_index: int | None
) -> None:
    ids: dict[str, Any] = {"dag_id": "dag", "task_id": "task", "run_id": "run", "try_number": 1, "id": UUID(int=7)}
    task_instance = SimpleNamespace(**ids, map_index=map_index, region_id=UUID(int=8), region_index=1)
    assert stamp_of(cast("Any", task_instance)).loop_index == loop_index
