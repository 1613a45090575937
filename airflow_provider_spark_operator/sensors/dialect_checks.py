"""Checks of arguments that depend on the dialect of the application.

The dialects take about 15 ms to load. A DAG file loads them only if it sets one of these arguments.
"""

from collections.abc import Iterable

from ..core.dialects.dialect import dialect_of, find_api_version_problem


def select_states(expects: str | Iterable[str] | None, api_version: str) -> list[str]:
    """Return the states that a sensor waits for, in alphabetical order.

    Args:
        expects: One or more states. If None, the state of success is expected.
        api_version: The apiVersion of the application.

    Raises:
        ValueError: The API version is not supported, or `expects` is empty or contains an unknown state.
    """
    problem = find_api_version_problem(api_version)
    if problem:
        raise ValueError(str(problem))
    dialect = dialect_of(api_version)
    if expects is None:
        return [str(dialect.success)]
    words = [expects] if isinstance(expects, str) else list(expects)
    unknown = sorted(set(words) - set(dialect.states))
    if unknown or not words:
        raise ValueError(
            "`expects` must be a state of an application, or a list of states, not "
            f"{', '.join(map(repr, unknown)) or 'nothing'}. "
            f"The states are {', '.join(dialect.states)}"
        )
    return sorted(map(str, words))
