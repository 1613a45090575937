"""The colours of cells on a terminal. A colour repeats what the cell says: nothing is lost without it."""

from ...core.dialects.dialect import DIALECTS


def style_state(state: str) -> str:
    """Return the colour of a state or an outcome of any dialect, as a style of rich; empty for no colour."""
    if any(state in dialect.failed_states for dialect in DIALECTS):
        return "red"
    return "green" if any(state in dialect.healthy_states for dialect in DIALECTS) else ""
