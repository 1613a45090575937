"""Find the address of the Spark UI in the log of a driver."""

import re

# Spark writes this line when the UI is ready. Its port is the chosen one, also if the configured port is 0.
_BOUND = re.compile(r"Bound SparkUI to \S+ and started at (https?://[A-Za-z0-9.\-_:\[\]]+)")


def find_ui_url(line: str) -> str | None:
    """Return the URL of the Spark UI that a line of a driver's log contains; None if it contains none."""
    found = _BOUND.search(line)
    return found[1] if found else None
