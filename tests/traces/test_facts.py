"""The comparison of facts finds each difference."""

import copy
from typing import Any

import pytest

from tests.traces.facts import find_differences, read_recording

POD = "Pod/app-0-driver"
OURS, OTHER_RUNS = read_recording("success")


def test_equal_facts_have_no_difference() -> None:
    assert find_differences(OURS, copy.deepcopy(OURS), OTHER_RUNS) == []


@pytest.mark.parametrize(
    ("path", "keys", "value", "found"),
    [
        ("states:SparkApplication/app", (5,), "Failed", ""),
        ("attempts:SparkApplication/app current", ("id",), 1, ".id"),
        (f"metadata:{POD} labels", ("spark-role",), "executor", ".spark-role"),
        (f"spec:{POD}", ("containers", 0, "image"), "spark", ".containers[0].image"),
        (f"spec:{POD}", ("restartPolicy",), "Always", ".restartPolicy"),
    ],
)
def test_changed_value_is_reported_with_its_path(path: str, keys: tuple[Any, ...], value: Any, found: str) -> None:
    ours = copy.deepcopy(OURS)
    *parents, last = keys
    holder = ours[path]
    for key in parents:
        holder = holder[key]
    holder[last] = value
    assert [difference[0] for difference in find_differences(OURS, ours, OTHER_RUNS)] == [path + found]


def test_absent_object_is_reported_once() -> None:
    ours = {path: value for path, value in OURS.items() if POD not in path}
    assert find_differences(OURS, ours, OTHER_RUNS) == [(f"objects:{POD}", "gone at the end", "absent")]


def test_value_of_another_run_is_no_difference() -> None:
    theirs, other_runs = read_recording("delete-foreground")
    for path, values in other_runs.items():
        for value in values:
            assert find_differences(theirs, theirs | {path: value}, other_runs) == []
        assert any(find_differences(theirs, theirs | {path: value}, {}) for value in values)
