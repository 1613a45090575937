"""Select applications by the task of Airflow that submitted them."""

from collections.abc import Iterable
from dataclasses import dataclass

from ...core.report.summary import TaskOrigin
from ..base.usage_errors import suggest


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
