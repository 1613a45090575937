"""The end of one application, as the watchers of a namespace receive it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.dialects.progress import find_last_stop
from ...core.verdict.verdict import FailureKind, Outcome
from ...kube.resources import ResourceType
from ..access.reference import ApplicationReference
from .end import Ending, is_deleted, judge

# Spark's messages can contain a whole stack trace. Airflow stores the sentence with every asset event.
_LONGEST_SENTENCE = 1000


@dataclass(frozen=True)
class Completion:
    """The end of one application.

    Attributes:
        reference: The application.
        labels: The labels of the application when it ended.
        outcome: Whether the application succeeded or failed.
        failure_kind: The origin of the failure. None without a failure.
        reason: A constant of `core.states.reasons`.
        sentence: What happened, for the user.
        state: The last state that shows the result, in the words of the dialect.
        application_id: Spark's id of the last attempt. None if unknown.
        attempts: How often the operator has started the application.
    """

    reference: ApplicationReference
    labels: Mapping[str, str]
    outcome: Outcome
    failure_kind: FailureKind | None
    reason: str
    sentence: str
    state: str
    application_id: str | None
    attempts: int


def read_completion(resource: Mapping[str, Any], kind: ResourceType, ending: Ending | None = None) -> Completion | None:
    """Return the end of an application. None while it runs, and if it was deleted before it ended.

    Args:
        resource: The application as the API returned it.
        kind: The kind of the application.
        ending: The end according to the driver pods. None to judge from the status alone.
    """
    ending = ending or judge(resource)
    if ending is None or is_deleted(resource):
        return None
    stop = find_last_stop(ending.progress.history)
    sentence = ending.verdict.sentence
    return Completion(
        reference=ApplicationReference.of(resource, kind),
        labels=dict(resource["metadata"].get("labels") or {}),
        outcome=ending.verdict.outcome,
        failure_kind=ending.verdict.failure_kind,
        reason=ending.verdict.reason,
        sentence=sentence if len(sentence) <= _LONGEST_SENTENCE else f"{sentence[: _LONGEST_SENTENCE - 1]}…",
        state=stop.state if stop else ending.progress.state,
        application_id=ending.progress.application_id,
        attempts=ending.progress.attempt + 1,
    )
