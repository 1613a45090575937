"""Find the web interface of a driver in its log."""

import re

# Spark writes this line when an interface listens, with the chosen port, also if the configured port is 0.
_STARTED = re.compile(r"Successfully started service 'SparkUI' on port ([0-9]{1,5})\b")


def find_ui_url(line: str, host: str) -> str | None:
    """Return the URL of the Spark UI if a line of a log reports its start, else None.

    Args:
        line: The line.
        host: The host of the process.
    """
    found = _STARTED.search(line)
    return f"http://{host}:{found[1]}" if found else None
