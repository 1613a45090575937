"""How often the figures of a running application are read and logged."""

from typing import Final

SAMPLE_SECONDS: Final = 30.0
"""The time between two samples of one application."""

FIRST_SECONDS: Final = 10.0
"""The time from the start of an application to its first sample."""

MAX_FAILURES: Final = 5
"""After this number of failed samples in a row, the figures of an attempt are not read any more."""

_LONGEST_LINE_PAUSE: Final = 900.0


def find_line_pause(lines: int) -> float:
    """Return the shortest time between two lines about the progress of an attempt, in seconds.

    The first ten lines follow each sample. A day has about 120 lines.

    Args:
        lines: How many lines were logged.
    """
    return min(SAMPLE_SECONDS * 2.0 ** min(lines // 10, 8), _LONGEST_LINE_PAUSE)
