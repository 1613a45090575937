"""The differences from the Apache operator that are written down: docs/differences.yaml."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

PATH = Path(__file__).parents[1] / "docs" / "differences.yaml"
# What decisions alone bring about. The rest of a trace, such as specs and events, takes the whole controller.
_DECIDED = ("states", "attempts", "history", "driver_status", "end", "objects")


@dataclass(frozen=True)
class Explanation:
    """A difference in recorded scenarios that is meant; `*` in any part stands for anything.

    Attributes:
        entry: the id of the entry that says why.
        scenario: where.
        path: of what differs, with its category.
        theirs: what the Apache operator did.
        ours: what is done here.
    """

    entry: str
    scenario: str
    path: str
    theirs: Any
    ours: Any

    def explains(self, scenario: str, path: str, theirs: Any, ours: Any) -> bool:
        """Whether it is this very difference."""
        texts = ((self.scenario, scenario), (self.path, path))
        values = ((self.theirs, theirs), (self.ours, ours))
        return all(_fits(*pair) for pair in texts) and all(known in ("*", value) for known, value in values)

    @property
    def is_exact(self) -> bool:
        """Whether it speaks of one thing in one scenario."""
        return "*" not in self.scenario + self.path


@cache
def differences() -> tuple[dict[str, Any], ...]:
    """Every entry, in order."""
    return tuple(yaml.safe_load(PATH.read_text()))


@cache
def explanations() -> tuple[Explanation, ...]:
    """What all entries say about recorded scenarios."""
    return tuple(
        Explanation(entry["id"], trace["scenario"], trace["path"], trace["theirs"], trace["ours"])
        for entry in differences()
        for trace in entry.get("traces", ())
    )


def traced_differences(scenario: str) -> dict[str, tuple[Any, Any]]:
    """The differences that decisions make in a scenario: from the path of what differs to theirs and ours."""
    return {
        each.path: (each.theirs, each.ours)
        for each in explanations()
        if each.is_exact and each.scenario == scenario and each.path.partition(":")[0] in _DECIDED
    }


def _fits(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None
