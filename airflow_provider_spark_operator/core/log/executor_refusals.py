"""Find in a driver's log that the API rejects the executors that Spark requests, for example because of a quota."""

import re
from typing import Final

REFUSED: Final = "Spark could not create executors: "
"""The beginning of the sentence about a rejected executor."""
_REJECTED: Final = re.compile(
    r"KubernetesClientException: Failure executing: POST at: \S+/pods\. Message: "
    r'(?:pods "[^"]*" is forbidden: )?(.+?)\.?(?: Received status: |$)'
)
_REGISTERED: Final = ": Registered executor "
# Spark ends the driver. Before Spark 4, rejected executors do not count: such a driver waits indefinitely.
_LIMIT: Final = ": Max number of executor failures ("


class ExecutorRefusals:
    """Finds the latest rejected executor in a log that is read line by line.

    Attributes:
        latest: The sentence about the executor that the API rejected last. None if none was, or if one has started
            since.
        ended_driver: Whether Spark ended the driver after these rejections.
    """

    def __init__(self) -> None:
        self.latest: str | None = None
        self.ended_driver = False

    def add(self, line: str) -> None:
        """Add the next line."""
        if rejected := _REJECTED.search(line):
            self.latest = f"{REFUSED}{rejected[1]}"
        elif _REGISTERED in line:
            self.latest = None
        elif _LIMIT in line and self.latest is not None:
            self.ended_driver = True
