import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.models.parse import validate_document
from airflow_provider_spark_operator.follow.stamp import TaskStamp, owner_of
from tests.follow.applications import document, stamp


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
def test_a_name_tells_dag_and_task(dag: str, task: str, expected: str) -> None:
    assert re.fullmatch(expected, TaskStamp(dag, task, "r", -1, 1, "id").default_name())


@given(st.text(max_size=80), st.text(max_size=80), st.integers(1, 10**6))
def test_every_name_is_one_that_kubernetes_takes(dag: str, task: str, attempt: int) -> None:
    name = TaskStamp(dag, task, "run", 3, attempt, "id").default_name()
    assert validate_document(document(name)) == []


def test_names_of_mapped_tasks_and_tries_differ() -> None:
    base = stamp()
    variants = [base, replace(base, map_index=0), replace(base, run_id="other"), replace(base, try_number=2)]
    assert len({one.default_name() for one in variants}) == 4


def test_all_tries_of_a_task_share_a_label_and_only_one_is_the_owner() -> None:
    marked = {"metadata": {"labels": stamp(1).labels(), "annotations": stamp(1).annotations()}}
    assert stamp(2).is_task_of(marked)
    assert not stamp(2).is_try_of(marked)
    assert stamp(1).is_try_of(marked)
    assert not stamp(1, task="other").is_task_of(marked)


def test_the_owner_is_named_as_far_as_it_is_known() -> None:
    marked = {"metadata": {"labels": stamp().labels(), "annotations": stamp().annotations()}}
    assert owner_of(marked) == "task pi of DAG spark, run manual__1"
    assert owner_of({"metadata": {}}) == "nobody that left a mark of an Airflow task on it"
