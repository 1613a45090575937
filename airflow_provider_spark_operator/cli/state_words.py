"""The words of the options that select applications by their state."""

from collections.abc import Callable, Iterable, Sequence

import typer

from airflow_provider_spark_operator.cli.usage_errors import suggest
from airflow_provider_spark_operator.core.dialects.dialect import list_known_states


def list_state_words(others: Iterable[str] = ()) -> list[str]:
    """Return the words that an option accepts, each once whatever its case.

    Args:
        others: Words in addition to the states of all dialects, for example the phases.
    """
    words = {word.lower(): word for word in sorted(list_known_states())}
    words.update((word.lower(), word.lower()) for word in others)
    return list(words.values())


def require_states(others: Sequence[str] = ()) -> Callable[[list[str] | None], list[str]]:
    """Return a callback of an option. It returns the values as `list_state_words` writes them.

    Args:
        others: See `list_state_words`.

    Raises:
        typer.BadParameter: A value is not one of the words. Raised by the callback.
    """

    def check(values: list[str] | None) -> list[str]:
        known = {word.lower(): word for word in list_state_words(others)}
        for value in values or ():
            if value.lower() not in known:
                meant = suggest(value, known.values()) or f": must be one of {', '.join(known.values())}"
                raise typer.BadParameter(f"unknown state {value}{meant}")
        return [known[value.lower()] for value in values or ()]

    return check
