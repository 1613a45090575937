"""The colours of a terminal. A colour repeats what the text says: nothing is lost without it."""

import logging

from ...core.dialects.dialect import DIALECTS


def style_state(state: str) -> str:
    """Return the colour of a state or an outcome of any dialect, as `paint` names it; empty for no colour."""
    if any(state in dialect.failed_states for dialect in DIALECTS):
        return "red"
    return "green" if any(state in dialect.healthy_states for dialect in DIALECTS) else ""


def style_level(level: int) -> str:
    """Return the colour of a line of a log with a level, a constant of `logging`; empty for no colour."""
    if level >= logging.ERROR:
        return "red"
    return "yellow" if level >= logging.WARNING else ""
