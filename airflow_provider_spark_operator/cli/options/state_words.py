"""The words of the options that select applications by their state."""

from collections.abc import Callable, Collection, Iterable, Sequence

import click

from ...core.dialects.dialect import DIALECTS, list_known_states
from ..base.usage_errors import suggest
from .declaration import Complete


def list_state_words(others: Iterable[str] = (), states: Iterable[str] | None = None) -> list[str]:
    """Return the words that an option accepts, each once whatever its case.

    Args:
        others: Words in addition to the states, for example the phases. They come first.
        states: The states. None for those of all dialects.
    """
    words = {word.lower(): word.lower() for word in others}
    known = list_known_states() if states is None else states
    for state in sorted(known, key=lambda state: (state.lower(), state.isupper())):
        words.setdefault(state.lower(), state)
    return list(words.values())


def complete_states(others: Iterable[str] = (), states: Collection[str] | None = None) -> Complete:
    """Return a completer of the words of `list_state_words`, which has the same arguments."""
    return lambda *_: list_state_words(others, states)


def require_states(
    others: Collection[str] = (), states: Collection[str] | None = None
) -> Callable[[list[str]], list[str]]:
    """Return a callback of an option. It returns the values as `list_state_words` writes them.

    Args:
        others: See `list_state_words`.
        states: See `list_state_words`.

    Raises:
        click.BadParameter: A value is not one of the words. Raised by the callback.
    """

    def check(values: list[str]) -> list[str]:
        known = {word.lower(): word for word in list_state_words(others, states)}
        for value in values:
            if value.lower() not in known:
                meant = suggest(value, known.values()) or f": must be one of {_group(others, [*known.values()])}"
                raise click.BadParameter(f"unknown state {value}{meant}")
        return [known[value.lower()] for value in values]

    return check


def _group(others: Collection[str], words: Sequence[str]) -> str:
    """Return words by their kind: first the words that are no states, then the states of each API group."""
    groups = {f"states of {dialect.group}": [*map(str, dialect.states)] for dialect in DIALECTS}
    kinds = {"": list_state_words(others, ()), **groups}
    known = {kind: [word for word in members if word in words] for kind, members in kinds.items()}
    return "; ".join(f"{kind}: {', '.join(members)}".lstrip(": ") for kind, members in known.items() if members)
