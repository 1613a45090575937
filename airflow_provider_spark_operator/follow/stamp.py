"""The mark that ties an application to a task instance, and the rules of ownership that rest on it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from airflow_provider_spark_operator.core.names import (
    ANNOTATION_DAG_ID,
    ANNOTATION_MAP_INDEX,
    ANNOTATION_MAX_TRIES,
    ANNOTATION_RUN_ID,
    ANNOTATION_TASK_ID,
    ANNOTATION_TASK_INSTANCE_ID,
    ANNOTATION_TRACE_PARENT,
    ANNOTATION_TRY_NUMBER,
    LABEL_TASK,
    compute_task_identity,
)

_MAX_NAME_LENGTH = 63
# What a cluster's pods are labelled with is longer than its name, and has to fit into as much.
_MAX_CLUSTER_NAME_LENGTH = 45


@dataclass(frozen=True)
class TaskStamp:
    """Who submits: a task instance of Airflow, in one of its tries.

    Dag, task, run and map index are the identity: every try of the task has the same. `task_instance_id`
    is new with every try and decides who may delete the application.

    Attributes:
        max_tries: The `max_tries` of the task instance. A clear raises it, a retry leaves it; None where it is unknown,
            as in the triggerer.
        trace_parent: The `traceparent` of the task instance's trace context. A clear renews it, a retry leaves it; None
            where it is unknown.
        logical_date: Of the run, in ISO format. Airflow reports the present try of a task by it; None if the run has
            none.
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

    @classmethod
    def from_arguments(cls, stored: Mapping[str, Any]) -> Self:
        """Read a stamp that a trigger stored, in this release or another one: unknown fields are ignored."""
        known = {one.name for one in fields(cls)}
        return cls(**{key: value for key, value in stored.items() if key in known})

    @property
    def has_retry_left(self) -> bool:
        """Whether Airflow would start another try after this one; False where that is unknown."""
        return self.max_tries is not None and self.try_number <= self.max_tries

    @property
    def identity(self) -> str:
        """The label value that all tries of this task share."""
        return compute_task_identity(self.dag_id, self.task_id, self.run_id, self.map_index)

    @property
    def selector(self) -> str:
        """The label selector of this task's applications."""
        return f"{LABEL_TASK}={self.identity}"

    def build_labels(self) -> dict[str, str]:
        """The labels of an application submitted by this task."""
        return {LABEL_TASK: self.identity}

    def build_annotations(self) -> dict[str, str]:
        """The annotations of an application submitted, or taken over, by this try."""
        return {
            ANNOTATION_DAG_ID: self.dag_id,
            ANNOTATION_TASK_ID: self.task_id,
            ANNOTATION_RUN_ID: self.run_id,
            ANNOTATION_MAP_INDEX: str(self.map_index),
            **self.build_try_annotations(),
        }

    def build_try_annotations(self) -> dict[str, str]:
        """The part of the annotations that changes when another try takes the application over."""
        return {
            ANNOTATION_TRY_NUMBER: str(self.try_number),
            ANNOTATION_TASK_INSTANCE_ID: self.task_instance_id,
            **({} if self.max_tries is None else {ANNOTATION_MAX_TRIES: str(self.max_tries)}),
            **({} if self.trace_parent is None else {ANNOTATION_TRACE_PARENT: self.trace_parent}),
        }

    def build_default_name(self) -> str:
        """`<dag>-<task>-<hash>-<try>`, the same however often this try submits; at most 63 characters."""
        return self._build_name(f"-{self.identity[:8]}-{self.try_number}", _MAX_NAME_LENGTH)

    def build_cluster_name(self) -> str:
        """`<dag>-<task>-<hash>`, the same in every try; as long as a SparkCluster's name may be."""
        return self._build_name(f"-{self.identity[:8]}", _MAX_CLUSTER_NAME_LENGTH)

    def _build_name(self, suffix: str, longest: int) -> str:
        words = re.sub(r"[^a-z0-9]+", "-", f"{self.dag_id}-{self.task_id}".lower()).strip("-")
        if not words[:1].isalpha():  # services are named after the application and begin with a letter
            words = f"spark-{words}".rstrip("-")
        return words[: longest - len(suffix)].rstrip("-") + suffix

    def is_task_of(self, document: Mapping[str, Any]) -> bool:
        """Whether any try of this task submitted the application."""
        return labels_of(document).get(LABEL_TASK) == self.identity

    def is_try_of(self, document: Mapping[str, Any]) -> bool:
        """Whether this very try submitted the application or took it over: whether it may delete it."""
        return (
            self.is_task_of(document)
            and annotations_of(document).get(ANNOTATION_TASK_INSTANCE_ID) == self.task_instance_id
        )

    def is_another_run_of(self, document: Mapping[str, Any]) -> bool:
        """Whether the same task of the same DAG, mapped instance included, submitted the application in another run."""
        notes = annotations_of(document)
        same = {
            ANNOTATION_DAG_ID: self.dag_id,
            ANNOTATION_TASK_ID: self.task_id,
            ANNOTATION_MAP_INDEX: str(self.map_index),
        }
        return (
            LABEL_TASK in labels_of(document)
            and not self.is_task_of(document)
            and all(notes.get(key) == value for key, value in same.items())
        )

    def is_earlier_than_owner_of(self, document: Mapping[str, Any]) -> bool:
        """Whether a later try of this task submitted or adopted the application."""
        return self.is_task_of(document) and self._count_tries_since(document) < 0

    def was_cleared_since(self, document: Mapping[str, Any]) -> bool:
        """Whether the task was cleared after an earlier try submitted or adopted the application.

        What one of the two tries did not know, as in an older release or in the triggerer, is not compared.
        """
        if not self.is_task_of(document) or self._count_tries_since(document) <= 0:
            return False
        notes, now = annotations_of(document), self.build_try_annotations()
        return any(
            key in notes and key in now and notes[key] != now[key]
            for key in (ANNOTATION_MAX_TRIES, ANNOTATION_TRACE_PARENT)
        )

    def _count_tries_since(self, document: Mapping[str, Any]) -> int:
        value = annotations_of(document).get(ANNOTATION_TRY_NUMBER, "")
        return self.try_number - int(value) if value.isdecimal() else 0


def owner_of(document: Mapping[str, Any]) -> str:
    """Whose application this is, in words, as far as its annotations tell."""
    notes = annotations_of(document)
    if LABEL_TASK not in labels_of(document):
        return "no Airflow task"
    dag, task, run = (notes.get(key, "?") for key in (ANNOTATION_DAG_ID, ANNOTATION_TASK_ID, ANNOTATION_RUN_ID))
    mapped = notes.get(ANNOTATION_MAP_INDEX, "-1")
    return f"task {task} of DAG {dag}, run {run}" + (f", map index {mapped}" if mapped != "-1" else "")


def labels_of(document: Mapping[str, Any]) -> Mapping[str, str]:
    """The labels of a resource."""
    return document.get("metadata", {}).get("labels") or {}


def annotations_of(document: Mapping[str, Any]) -> Mapping[str, str]:
    """The annotations of a resource."""
    return document.get("metadata", {}).get("annotations") or {}
