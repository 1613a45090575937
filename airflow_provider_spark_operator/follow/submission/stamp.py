"""The stamp that connects an application with a task instance, and the rules of ownership that depend on it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from ...core.kubernetes import names
from ...core.kubernetes.names import APPLICATION_IDENTITY, CLUSTER_IDENTITY


@dataclass(frozen=True)
class TaskStamp:
    """The task instance of Airflow that submits, in one of its tries.

    DAG, task, run, map index and loop index are the identity, which all tries of the task share. `task_instance_id` is
    new in every try and decides which try can delete the application.

    Attributes:
        dag_id: The id of the DAG.
        task_id: The id of the task.
        run_id: The id of the DAG run.
        map_index: The index of a mapped task; -1 for a task that is not mapped.
        try_number: The number of the try, from 1.
        task_instance_id: The id of the task instance in this try.
        max_tries: The `max_tries` of the task instance. A clear increases it, a retry does not. None where it is
            unknown, as in the triggerer.
        trace_parent: The `traceparent` of the task instance's trace context. A clear renews it, a retry does not.
            None where it is unknown.
        logical_date: The logical date of the run in ISO format. Airflow uses it to look up the current try of a
            task. None if the run has no logical date.
        loop_index: The number of the iteration, from 0, for a task in a loop (Airflow 3.4). None outside of loops.
    """

    dag_id: str
    task_id: str
    run_id: str
    map_index: int
    try_number: int
    task_instance_id: str
    max_tries: int | None = None
    trace_parent: str | None = None
    logical_date: str | None = None
    loop_index: int | None = None

    @classmethod
    def from_arguments(cls, stored: Mapping[str, Any]) -> Self:
        """Read a stamp that a trigger stored, possibly in another release: unknown fields are ignored."""
        known = {one.name for one in fields(cls)}
        return cls(**{key: value for key, value in stored.items() if key in known})

    @property
    def has_retry_left(self) -> bool:
        """Whether Airflow would start another try after this one. False if that is unknown."""
        return self.max_tries is not None and self.try_number <= self.max_tries

    def is_first_try(self, retries: int) -> bool:
        """Return whether no try of the task preceded this one, apart from tries before the task was cleared.

        Args:
            retries: Maximum number of retries of the task. A clear permits that many again.
        """
        if self.try_number == 1 or self.max_tries is None:
            return self.try_number == 1
        return self.max_tries - self.try_number >= retries - 1

    @property
    def identity(self) -> str:
        """The label value that all tries of this task share."""
        return names.compute_task_identity(self.dag_id, self.task_id, self.run_id, self.map_index, self.loop_index)

    @property
    def selector(self) -> str:
        """The label selector of this task's applications."""
        return f"{names.LABEL_TASK}={self.identity}"

    def build_labels(self) -> dict[str, str]:
        """Build the labels of an application that this task submits."""
        return {names.LABEL_TASK: self.identity}

    def build_annotations(self) -> dict[str, str]:
        """Build the annotations of an application that this try submits or adopts."""
        return {
            names.ANNOTATION_DAG_ID: self.dag_id,
            names.ANNOTATION_TASK_ID: self.task_id,
            names.ANNOTATION_RUN_ID: self.run_id,
            names.ANNOTATION_MAP_INDEX: str(self.map_index),
            **({} if self.loop_index is None else {names.ANNOTATION_LOOP_INDEX: str(self.loop_index)}),
            **self.build_try_annotations(),
        }

    def build_try_annotations(self) -> dict[str, str]:
        """Build the annotations that change when another try adopts the application."""
        return {
            names.ANNOTATION_TRY_NUMBER: str(self.try_number),
            names.ANNOTATION_TASK_INSTANCE_ID: self.task_instance_id,
            **({} if self.max_tries is None else {names.ANNOTATION_MAX_TRIES: str(self.max_tries)}),
            **({} if self.trace_parent is None else {names.ANNOTATION_TRACE_PARENT: self.trace_parent}),
        }

    def build_default_name(self) -> str:
        """Build `<dag>-<task>-<hash>-<try>`, at most 63 characters. A try always yields the same name."""
        return self._build_name(f"-{self.identity[:8]}-{self.try_number}", APPLICATION_IDENTITY.longest_name)

    def build_cluster_name(self) -> str:
        """Build `<dag>-<task>-<hash>` for a shared resource, for all tries. A SparkCluster permits the length."""
        return self._build_name(f"-{self.identity[:8]}", CLUSTER_IDENTITY.longest_name)

    def _build_name(self, suffix: str, longest: int) -> str:
        words = re.sub(r"[^a-z0-9]+", "-", f"{self.dag_id}-{self.task_id}".lower()).strip("-")
        if not words[:1].isalpha():  # services are named after the application and must begin with a letter
            words = f"spark-{words}".rstrip("-")
        return words[: longest - len(suffix)].rstrip("-") + suffix

    def is_task_of(self, document: Mapping[str, Any]) -> bool:
        """Return whether any try of this task submitted the application."""
        return labels_of(document).get(names.LABEL_TASK) == self.identity

    def is_try_of(self, document: Mapping[str, Any]) -> bool:
        """Return whether exactly this try submitted or adopted the application, and can therefore delete it."""
        return (
            self.is_task_of(document)
            and annotations_of(document).get(names.ANNOTATION_TASK_INSTANCE_ID) == self.task_instance_id
        )

    def is_another_run_of(self, document: Mapping[str, Any]) -> bool:
        """Return whether another run of the same task, with the same map index, submitted the application."""
        notes = annotations_of(document)
        same = {
            names.ANNOTATION_DAG_ID: self.dag_id,
            names.ANNOTATION_TASK_ID: self.task_id,
            names.ANNOTATION_MAP_INDEX: str(self.map_index),
        }
        return (
            names.LABEL_TASK in labels_of(document)
            and not self.is_task_of(document)
            and all(notes.get(key) == value for key, value in same.items())
        )

    def is_earlier_than_owner_of(self, document: Mapping[str, Any]) -> bool:
        """Return whether a later try of this task submitted or adopted the application."""
        return self.is_task_of(document) and self._count_tries_since(document) < 0

    def was_cleared_since(self, document: Mapping[str, Any]) -> bool:
        """Return whether the task was cleared after an earlier try submitted or adopted the application.

        A value that one of the two tries did not know, as in an older release or in the triggerer, is not compared.
        """
        if not self.is_task_of(document) or self._count_tries_since(document) <= 0:
            return False
        notes, now = annotations_of(document), self.build_try_annotations()
        return any(
            key in notes and key in now and notes[key] != now[key]
            for key in (names.ANNOTATION_MAX_TRIES, names.ANNOTATION_TRACE_PARENT)
        )

    def _count_tries_since(self, document: Mapping[str, Any]) -> int:
        value = annotations_of(document).get(names.ANNOTATION_TRY_NUMBER, "")
        return self.try_number - int(value) if value.isdecimal() else 0


NO_TASK: Final = "no Airflow task"
"""The owner of an application that no task of Airflow submitted."""


def owner_of(document: Mapping[str, Any]) -> str:
    """Return a description of the owner of an application, according to its annotations."""
    notes = annotations_of(document)
    if names.LABEL_TASK not in labels_of(document):
        return NO_TASK
    dag, task, run = (
        notes.get(key, "?") for key in (names.ANNOTATION_DAG_ID, names.ANNOTATION_TASK_ID, names.ANNOTATION_RUN_ID)
    )
    indexes = (("map index", names.ANNOTATION_MAP_INDEX), ("loop index", names.ANNOTATION_LOOP_INDEX))
    places = [f", {words} {notes[key]}" for words, key in indexes if notes.get(key, "-1") != "-1"]
    return f"task {task} of DAG {dag}, run {run}{''.join(places)}"


def labels_of(document: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the labels of a resource."""
    return document.get("metadata", {}).get("labels") or {}


def annotations_of(document: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the annotations of a resource."""
    return document.get("metadata", {}).get("annotations") or {}
