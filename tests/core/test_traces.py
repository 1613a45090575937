"""Comparison of decisions with recorded scenarios of the Apache operator.

The differences found must equal the entries of docs/differences.yaml.
"""

from typing import Any

import pytest

from tests.core.scenario import ApplicationTrace, Scenario, list_scenarios, read_scenario
from tests.differences import list_traced_differences

_ABSENT = "absent"
# The recorded gaps include delays of the Apache operator, but these are much shorter than the specified waits.
_TOLERANCE_SECONDS = 1.5
_WAITED_FOR_IN = ("ScheduledToRestart",)
_WAITED_FOR_UNTIL = ("DriverStartTimedOut", "DriverReadyTimedOut", "ExecutorsStartTimedOut")


@pytest.mark.parametrize("name", list_scenarios())
def test_scenario_equals_recording_except_for_documented_differences(name: str) -> None:
    script = read_scenario(name)
    played = Scenario(script).play()
    theirs, ours = _build_recorded_facts(script["recorded"]), _build_played_facts(played)
    found = {
        path: (theirs.get(path, _ABSENT), ours.get(path, _ABSENT))
        for path in sorted(theirs.keys() | ours.keys())
        if theirs.get(path, _ABSENT) != ours.get(path, _ABSENT) and not _is_of_another_run(script, path, ours)
    }
    assert found == list_traced_differences(name)


def _list_timed_scenarios() -> list[str]:
    return [name for name in list_scenarios() if not any("controller" in step for step in read_scenario(name)["steps"])]


@pytest.mark.parametrize("name", _list_timed_scenarios())
def test_specified_waits_are_as_long_as_recorded(name: str) -> None:
    script = read_scenario(name)
    played = Scenario(script).play()
    for label, recorded in script["recorded"]["applications"].items():
        waits = _list_waits(recorded["states"], recorded["seconds"])
        course = played.applications[label]
        gaps = [
            (later - earlier).total_seconds() for earlier, later in zip(course.times, course.times[1:], strict=False)
        ]
        assert _list_waits(course.states, gaps) == pytest.approx(waits, abs=_TOLERANCE_SECONDS)


def _list_waits(states: list[str], seconds: list[float]) -> list[float]:
    return [
        gap
        for origin, target, gap in zip(states, states[1:], seconds, strict=False)
        if origin in _WAITED_FOR_IN or target in _WAITED_FOR_UNTIL
    ]


def _build_recorded_facts(recorded: dict[str, Any]) -> dict[str, Any]:
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
            f"end:{name}.state": course["states"][-1],
        }
    return facts | _build_object_facts(recorded["created"], recorded["left"])


def _build_played_facts(played: Scenario) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for label, course in played.applications.items():
        facts |= _build_course_facts(f"SparkApplication/{label}", course)
    return facts | _build_object_facts(played.created, played.remaining)


def _build_course_facts(name: str, course: ApplicationTrace) -> dict[str, Any]:
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
        f"end:{name}.state": course.states[-1],
    }


def _build_object_facts(created: list[str], remaining: list[str]) -> dict[str, str]:
    """Return whether each created object still exists at the end. Later objects of the same name are numbered."""
    facts = {}
    for position, name in enumerate(created):
        number = created[: position + 1].count(name)
        last = number == created.count(name)
        end = "left at the end" if last and name in remaining else "gone at the end"
        facts[f"objects:{name}" + (f"#{number}" if number > 1 else "")] = end
    return facts


def _is_of_another_run(script: dict[str, Any], path: str, ours: dict[str, Any]) -> bool:
    """Return whether another recorded run of the Apache operator has the same states as this run."""
    kind, _, name = path.partition(":SparkApplication/")
    others = script["recorded"]["applications"].get(name, {}).get("states_of_other_runs", [])
    return kind == "states" and ours[path] in others
