"""The documented differences from the Apache operator: docs/differences.yaml."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

PATH = Path(__file__).parents[1] / "docs" / "differences.yaml"
# The parts of a trace that depend on decisions alone. Other parts, such as specs and events, need a controller.
_DECIDED = ("states", "attempts", "history", "driver_status", "end", "objects")


@dataclass(frozen=True)
class Explanation:
    """An expected difference in recorded scenarios. `*` in any part matches anything.

    Attributes:
        entry: The id of the entry that gives the reason.
        scenario: The name of the scenario.
        path: The category and path of the differing value.
        theirs: The value in the trace of the Apache operator.
        ours: The value in the trace of this controller.
    """

    entry: str
    scenario: str
    path: str
    theirs: Any
    ours: Any

    def explains(self, scenario: str, path: str, theirs: Any, ours: Any) -> bool:
        """Return whether a difference is the expected one."""
        texts = ((self.scenario, scenario), (self.path, path))
        values = ((self.theirs, theirs), (self.ours, ours))
        return all(_matches(*pair) for pair in texts) and all(known in ("*", value) for known, value in values)

    @property
    def is_exact(self) -> bool:
        """Return whether the explanation covers one path in one scenario."""
        return "*" not in self.scenario + self.path


@cache
def read_differences() -> tuple[dict[str, Any], ...]:
    """Return all entries, in order."""
    return tuple(yaml.safe_load(PATH.read_text()))


@cache
def list_explanations() -> tuple[Explanation, ...]:
    """Return the expected differences in recorded scenarios."""
    return tuple(
        Explanation(entry["id"], trace["scenario"], trace["path"], trace["theirs"], trace["ours"])
        for entry in read_differences()
        for trace in entry.get("traces", ())
    )


def list_traced_differences(scenario: str) -> dict[str, tuple[Any, Any]]:
    """Return the differences in a scenario that decisions cause, from the path of the difference to both values."""
    return {
        each.path: (each.theirs, each.ours)
        for each in list_explanations()
        if each.is_exact and each.scenario == scenario and each.path.partition(":")[0] in _DECIDED
    }


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None
