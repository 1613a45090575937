import math
import os
import subprocess
import sys

import pytest

from bench.__main__ import PARTS
from bench.goals import GOALS, Goal, NotMeasured, format_goals

SPEED = Goal("engine", "speed", 10, is_minimum=True)
NOISE = Goal("engine", "noise", 0.5)
WEIGHT = Goal("engine", "weight", None)
COLOUR = Goal("body", "colour", 1)


@pytest.mark.parametrize(
    ("goal", "value", "verdict"),
    [
        (SPEED, 10, "met"),
        (SPEED, 9.9, "not met"),
        (NOISE, 0.5, "met"),
        (NOISE, 0.51, "not met"),
        (WEIGHT, 10**9, "-"),
    ],
)
def test_value_is_judged_by_the_goal(goal: Goal, value: float, verdict: str) -> None:
    assert format_goals({"engine": {goal.measure: value}}, (goal,)).endswith(f"  {verdict}")


def test_table_contains_the_goals_of_the_parts_that_ran() -> None:
    table = format_goals({"engine": {"speed": 12.345, "noise": math.nan}}, (SPEED, NOISE, WEIGHT, COLOUR))
    assert [" ".join(line.split()) for line in table.splitlines()] == [
        "measure value goal result",
        "speed 12.3 ≥ 10 met",
        "noise ≤ 0.5 not measured: the arguments of engine exclude it",
        "weight not measured: the arguments of engine exclude it",
    ]


def test_part_that_cannot_run_is_not_measured() -> None:
    table = format_goals({"body": NotMeasured("set PAINT to a colour")}, (SPEED, COLOUR))
    assert " ".join(table.splitlines()[1].split()) == "colour ≤ 1 not measured: set PAINT to a colour"


def test_each_goal_belongs_to_a_part_that_runs_by_default() -> None:
    assert {goal.part for goal in GOALS} == {part.split()[0] for part in PARTS}


@pytest.mark.parametrize(("environment", "exit_code"), [({}, 0), ({"CI": "true"}, 1)])
def test_part_without_its_cluster_fails_only_in_continuous_integration(
    environment: dict[str, str], exit_code: int
) -> None:
    inherited = {key: value for key, value in os.environ.items() if key not in ("SIM_KUBECONFIG", "CI")}
    command = [sys.executable, "-m", "bench", "reaction", "controller --rounds 1"]
    ended = subprocess.run(command, env=inherited | environment, capture_output=True, text=True)
    rows = [line for line in ended.stdout.splitlines() if "not measured: set SIM_KUBECONFIG" in line]
    assert len(rows) == sum(goal.part in ("reaction", "controller") for goal in GOALS)
    assert (ended.returncode, ended.stderr) == (exit_code, "")
