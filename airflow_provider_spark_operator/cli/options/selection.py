"""Select applications by the task of Airflow that submitted them, and by their state."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import click

from ...core.dialects.dialect import DIALECTS, list_known_states
from ...core.report.summary import TaskOrigin
from ..base.usage_errors import suggest
from .declaration import Complete


@dataclass(frozen=True)
class TaskFilter:
    """Selects applications by their task. A criterion that is None accepts all, also applications without a task.

    The criteria are compared with the annotations of an application, which contain the complete ids. Its name contains
    shortened ids, and its label a hash.

    Attributes:
        dag: The id of the DAG. A `*` at its end stands for any text.
        task: The id of the task, or `id[index]` of one mapped task.
        run: The id of the DAG run.
    """

    dag: str | None = None
    task: str | None = None
    run: str | None = None

    def __bool__(self) -> bool:
        """Return whether there is a criterion."""
        return any((self.dag, self.task, self.run))

    def accepts(self, origin: TaskOrigin | None) -> bool:
        """Return whether an application with this task is selected."""
        if origin is None:
            return not self
        task = f"{origin.task_id}[{origin.map_index}]" if (self.task or "").endswith("]") else origin.task_id
        return matches(self.dag, origin.dag_id) and matches(self.task, task) and matches(self.run, origin.run_id)

    def suggest(self, origins: Iterable[TaskOrigin | None]) -> str:
        """Return `: did you mean …?` for the first id that no task has; empty if no id is similar."""
        tasks = [origin for origin in origins if origin]
        for criterion, attribute in ((self.dag, "dag_id"), (self.task, "task_id"), (self.run, "run_id")):
            wanted, known = (criterion or "").partition("[")[0], {getattr(task, attribute) for task in tasks}
            if wanted and not any(matches(wanted, each) for each in known):
                return suggest(wanted, sorted(known))
        return ""

    def __str__(self) -> str:
        """Return the criteria as on the command line, for messages."""
        words = (("--dag", self.dag), ("--task", self.task), ("--run", self.run))
        return " ".join(f"{option} {value}" for option, value in words if value)


def matches(wanted: str | None, value: str) -> bool:
    """Return whether an id meets a criterion: an id, a text with `*` at its end, or None for any id."""
    if wanted is None:
        return True
    return value.startswith(wanted[:-1]) if wanted.endswith("*") else value == wanted


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
