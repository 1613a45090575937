"""Find web interfaces of Spark in logs."""

import re

DRIVER_UI = "SparkUI"
"""The name of the Spark UI in the log of a driver."""

MASTER_UI = "MasterUI"
"""The name of the web interface in the log of the master of a SparkCluster."""

# Spark writes this line when an interface listens, with the chosen port, also if the configured port is 0.
_STARTED = re.compile(r"Successfully started service '(\w+)' on port ([0-9]{1,5})\b")


def find_ui_url(line: str, host: str, name: str = DRIVER_UI) -> str | None:
    """Return the URL of a web interface if a line of a log reports its start, else None.

    Args:
        line: The line.
        host: The host of the process.
        name: The interface: `DRIVER_UI` or `MASTER_UI`.
    """
    found = _STARTED.search(line)
    return f"http://{host}:{found[2]}" if found and found[1] == name else None
