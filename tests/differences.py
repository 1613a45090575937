"""The differences from the Apache operator that are written down: docs/differences.yaml."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

PATH = Path(__file__).parents[1] / "docs" / "differences.yaml"


@cache
def differences() -> tuple[dict[str, Any], ...]:
    """Every entry, in order."""
    return tuple(yaml.safe_load(PATH.read_text()))


def traced_differences(scenario: str) -> dict[str, tuple[Any, Any]]:
    """The differences in a recorded scenario: from the path of what differs to theirs and ours."""
    return {
        trace["path"]: (trace["theirs"], trace["ours"])
        for entry in differences()
        for trace in entry.get("traces", ())
        if trace["scenario"] == scenario
    }
