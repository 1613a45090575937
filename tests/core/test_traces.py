"""What the Apache operator did in recorded scenarios, and what is decided here in the same ones.

Every difference between the two is an entry of docs/differences.yaml, and every entry is still one.
"""

from typing import Any

import pytest

from tests.core.scenario import ApplicationTrace, Scenario, list_scenarios, read_scenario
from tests.differences import traced_differences

_ABSENT = "absent"
# Recorded gaps hold the operator's own delays; a wait that the specification asks for shows all the same.
_TOLERANCE_SECONDS = 1.5
_WAITED_FOR_IN = ("ScheduledToRestart",)
_WAITED_FOR_UNTIL = ("DriverStartTimedOut", "DriverReadyTimedOut", "ExecutorsStartTimedOut")


@pytest.mark.parametrize("name", list_scenarios())
def test_a_scenario_ends_as_it_did_with_the_apache_operator_or_as_is_written_down(name: str) -> None:
    script = read_scenario(name)
    played = Scenario(script).play()
    theirs, ours = _recorded_facts(script["recorded"]), _played_facts(played)
    found = {
        path: (theirs.get(path, _ABSENT), ours.get(path, _ABSENT))
        for path in sorted(theirs.keys() | ours.keys())
        if theirs.get(path, _ABSENT) != ours.get(path, _ABSENT) and not _is_of_another_run(script, path, ours)
    }
    assert found == traced_differences(name)


def _timed() -> list[str]:
    return [name for name in list_scenarios() if not any("controller" in step for step in read_scenario(name)["steps"])]


@pytest.mark.parametrize("name", _timed())
def test_a_wait_that_the_specification_asks_for_is_as_long(name: str) -> None:
    script = read_scenario(name)
    played = Scenario(script).play()
    for label, recorded in script["recorded"]["applications"].items():
        waits = _waits(recorded["states"], recorded["seconds"])
        course = played.applications[label]
        gaps = [
            (later - earlier).total_seconds() for earlier, later in zip(course.times, course.times[1:], strict=False)
        ]
        assert _waits(course.states, gaps) == pytest.approx(waits, abs=_TOLERANCE_SECONDS)


def _waits(states: list[str], seconds: list[float]) -> list[float]:
    return [
        gap
        for origin, target, gap in zip(states, states[1:], seconds, strict=False)
        if origin in _WAITED_FOR_IN or target in _WAITED_FOR_UNTIL
    ]


def _recorded_facts(recorded: dict[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for label, course in recorded["applications"].items():
        name = f"SparkApplication/{label}"
        facts |= {
            f"states:{name}": course["states"],
            f"attempts:{name} current": course["attempts"]["current"],
            f"attempts:{name} previous": course["attempts"]["previous"],
            f"history:{name} ids": course["history"],
            f"history:{name} previous ids": course["previous_history"],
            f"driver_status:{name}": course["drivers_observed"],
            f"end:{name}": {"exists": course["exists"], "finalizers": course["finalizers"]},
        }
    return facts | _object_facts(recorded["created"], recorded["left"])


def _played_facts(played: Scenario) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for label, course in played.applications.items():
        facts |= _course_facts(f"SparkApplication/{label}", course)
    return facts | _object_facts(played.created, played.left)


def _course_facts(name: str, course: ApplicationTrace) -> dict[str, Any]:
    status = course.document["status"]
    current, previous = status["currentAttemptSummary"], status.get("previousAttemptSummary")
    observed = {
        position: entry["lastObservedDriverStatus"]["phase"]
        for position, (_, entry) in enumerate(sorted(course.entries.items()))
        if "lastObservedDriverStatus" in entry
    }
    finalizers = course.document["metadata"].get("finalizers", []) if course.exists else []
    return {
        f"states:{name}": course.states,
        f"attempts:{name} current": current["attemptInfo"],
        f"attempts:{name} previous": previous["attemptInfo"] if previous else None,
        f"history:{name} ids": sorted(map(int, status["stateTransitionHistory"])),
        f"history:{name} previous ids": sorted(map(int, (previous or {}).get("stateTransitionHistory", ()))),
        f"driver_status:{name}": observed,
        f"end:{name}": {"exists": course.exists, "finalizers": finalizers},
    }


def _object_facts(created: list[str], left: list[str]) -> dict[str, str]:
    """Whether each created object is left at the end; a later one of the same name is told by its number."""
    facts = {}
    for position, name in enumerate(created):
        number = created[: position + 1].count(name)
        last = number == created.count(name)
        end = "left at the end" if last and name in left else "gone at the end"
        facts[f"objects:{name}" + (f"#{number}" if number > 1 else "")] = end
    return facts


def _is_of_another_run(script: dict[str, Any], path: str, ours: dict[str, Any]) -> bool:
    """Whether the Apache operator, whose runs of some scenarios differ, has also done what is done here."""
    kind, _, name = path.partition(":SparkApplication/")
    others = script["recorded"]["applications"].get(name, {}).get("states_of_other_runs", [])
    return kind == "states" and ours[path] in others
