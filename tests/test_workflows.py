"""The workflows call targets that `make` knows, and run each tier of `.ci/run`."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.selection import read_selections

ROOT = Path(__file__).parents[1]
PREPARATIONS = {"envtest", "kind", "check-tag"}
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def list_jobs(path: Path) -> dict[str, Any]:
    jobs: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return jobs


def list_targets(job: dict[str, Any]) -> set[str]:
    """Return the targets that the steps of a job call."""
    commands = [step.get("run", "") for step in job["steps"]]
    return {target for command in commands for target in re.findall(r"^make (\S+)$", command, re.MULTILINE)}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_each_job_has_a_time_limit_and_calls_one_target_after_its_preparations(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    defined = set(re.findall(r"^([a-z0-9-]+)[a-z0-9 -]*:.*##", makefile, re.MULTILINE))
    for job in list_jobs(path).values():
        assert job["timeout-minutes"] <= 90
        assert list_targets(job) <= defined
        assert len(list_targets(job) - PREPARATIONS) <= 1


def test_each_tier_of_the_script_runs_in_a_workflow() -> None:
    tiers = set(re.findall(r"\btimed make ([a-z0-9-]+)", (ROOT / ".ci" / "run").read_text(encoding="utf-8")))
    called = set().union(*(list_targets(job) for path in WORKFLOWS for job in list_jobs(path).values()))
    assert tiers
    assert tiers <= called


def test_each_selection_names_tests_that_exist() -> None:
    for arguments in read_selections().values():
        for path in arguments:
            assert "tests" not in path or path.startswith("-") or (ROOT / path.partition("::")[0]).exists(), path
