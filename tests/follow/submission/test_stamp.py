import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.validation.application import validate_application
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp, owner_of
from tests.follow.applications import build_document, build_stamp


@pytest.mark.parametrize(
    ("dag", "task", "expected"),
    [
        ("spark_pi", "run", r"spark-pi-run-[0-9a-f]{8}-1"),
        ("My DAG", "group.task", r"my-dag-group-task-[0-9a-f]{8}-1"),
        ("2fast", "x", r"spark-2fast-x-[0-9a-f]{8}-1"),
        ("日本", "語", r"spark-[0-9a-f]{8}-1"),
        ("d" * 80, "t", r"d{52}-[0-9a-f]{8}-1"),
    ],
)
def test_name_contains_dag_and_task(dag: str, task: str, expected: str) -> None:
    assert re.fullmatch(expected, TaskStamp(dag, task, "r", -1, 1, "id").build_default_name())


@given(st.text(max_size=80), st.text(max_size=80), st.integers(1, 10**6))
def test_every_name_is_valid_in_kubernetes(dag: str, task: str, attempt: int) -> None:
    name = TaskStamp(dag, task, "run", 3, attempt, "id").build_default_name()
    assert validate_application(build_document(name)) == []


def test_names_of_mapped_tasks_tries_and_iterations_differ() -> None:
    base = build_stamp()
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"map_index": 0},
        {"run_id": "other"},
        {"try_number": 2},
        {"loop_index": 0},
        {"loop_index": 1},
    )
    assert len({replace(base, **change).build_default_name() for change in changes}) == len(changes)


def test_owner_is_described_with_its_place_in_a_loop() -> None:
    stamp = replace(build_stamp(), map_index=2, loop_index=0)
    document = {"metadata": {"labels": stamp.build_labels(), "annotations": stamp.build_annotations()}}
    assert owner_of(document).endswith(", map index 2, loop index 0")


def test_all_tries_of_a_task_share_a_label_and_only_one_is_the_owner() -> None:
    marked = {"metadata": {"labels": build_stamp(1).build_labels(), "annotations": build_stamp(1).build_annotations()}}
    assert build_stamp(2).is_task_of(marked)
    assert not build_stamp(2).is_try_of(marked)
    assert build_stamp(1).is_try_of(marked)
    assert not build_stamp(1, task="other").is_task_of(marked)


@pytest.mark.parametrize(
    ("before", "now", "cleared"),
    [
        ({"max_tries": 2, "trace_parent": "a"}, {"max_tries": 2, "trace_parent": "a"}, False),
        ({"max_tries": 2, "trace_parent": "a"}, {"max_tries": 3, "trace_parent": "b"}, True),
        ({"max_tries": 2, "trace_parent": "a"}, {"max_tries": 3, "trace_parent": "a"}, True),
        ({"max_tries": 2, "trace_parent": "a"}, {"max_tries": 2, "trace_parent": "b"}, True),
        ({"max_tries": 2, "trace_parent": "a"}, {"trace_parent": "a"}, False),
        ({"trace_parent": "a"}, {"trace_parent": "b"}, True),
        ({}, {"max_tries": 3, "trace_parent": "a"}, False),
    ],
    ids=[
        "a retry",
        "cleared",
        "cleared without a reset of the run",
        "cleared while the worker was lost",
        "a retry in the triggerer",
        "cleared in the triggerer",
        "submitted by an older release",
    ],
)
def test_clear_differs_from_retry_in_recorded_values(
    before: dict[str, Any], now: dict[str, Any], cleared: bool
) -> None:
    first = build_stamp(1, **before)
    marked = {"metadata": {"labels": first.build_labels(), "annotations": first.build_annotations()}}
    assert build_stamp(2, **now).was_cleared_since(marked) is cleared
    assert not build_stamp(1, **now).was_cleared_since(marked), "the same try"


def test_later_try_and_another_task_are_never_cleared_by_this_one() -> None:
    later = build_stamp(2, max_tries=1)
    marked = {"metadata": {"labels": later.build_labels(), "annotations": later.build_annotations()}}
    assert not build_stamp(1, max_tries=0).was_cleared_since(marked)
    assert build_stamp(1, max_tries=0).is_earlier_than_owner_of(marked)
    assert not build_stamp(3, task="other", max_tries=3).was_cleared_since(marked)


def test_stamp_of_another_release_is_read() -> None:
    fields = {"dag_id": "d", "task_id": "t", "run_id": "r", "map_index": -1, "try_number": 1, "task_instance_id": "id"}
    assert TaskStamp.from_arguments(fields) == TaskStamp.from_arguments({**fields, "colour": "red"})


def test_owner_is_described_as_far_as_it_is_known() -> None:
    marked = {"metadata": {"labels": build_stamp().build_labels(), "annotations": build_stamp().build_annotations()}}
    assert owner_of(marked) == "task pi of DAG spark, run manual__1"
    mapped = replace(build_stamp(), map_index=3)
    marked = {"metadata": {"labels": mapped.build_labels(), "annotations": mapped.build_annotations()}}
    assert owner_of(marked) == "task pi of DAG spark, run manual__1, map index 3"
    assert owner_of({"metadata": {}}) == "no Airflow task"
