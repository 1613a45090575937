"""The colours of cells on a terminal. A colour repeats what the cell says: nothing is lost without it."""

from ...core.states.states import FAILURE, RUNNING, ApplicationOutcome, ApplicationState

_RED = frozenset({*FAILURE, ApplicationOutcome.FAILED, "FAILED", "FAILING", "SUBMISSION_FAILED", "INVALIDATING"})
_GREEN = frozenset({*RUNNING, ApplicationState.SUCCEEDED, "RUNNING", "SUCCEEDING", "COMPLETED"})


def style_state(state: str) -> str:
    """Return the colour of a state or an outcome of any dialect, as a style of rich; empty for no colour."""
    if state in _RED:
        return "red"
    return "green" if state in _GREEN else ""
