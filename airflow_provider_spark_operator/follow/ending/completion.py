"""The end of one application, as the watchers of a namespace receive it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...core.dialects.progress import Progress
from ...core.verdict.verdict import Verdict, judge_progress
from ...kube.resources import ResourceType
from ..access.reference import ApplicationReference
from .end import find_final_progress, is_deleted

# Spark's messages can contain a whole stack trace. Airflow stores the sentence with every asset event.
_LONGEST_SENTENCE = 1000


@dataclass(frozen=True)
class Completion:
    """The end of one application.

    Attributes:
        reference: The application.
        labels: The labels of the application when it ended.
        verdict: How the application ended. The sentence is shortened.
    """

    reference: ApplicationReference
    labels: Mapping[str, str]
    verdict: Verdict


def read_completion(resource: Mapping[str, Any], kind: ResourceType, seen: Progress | None = None) -> Completion | None:
    """Return the end of an application. None while it runs, and if it was deleted before it ended.

    Args:
        resource: The application as the API returned it.
        kind: The kind of the application.
        seen: The final progress according to the driver pods. None to judge from the status alone.
    """
    seen = seen or find_final_progress(resource)
    if seen is None or is_deleted(resource):
        return None
    verdict = judge_progress(seen)
    if len(verdict.sentence) > _LONGEST_SENTENCE:
        verdict = replace(verdict, sentence=f"{verdict.sentence[: _LONGEST_SENTENCE - 1]}…")
    labels = dict(resource["metadata"].get("labels") or {})
    return Completion(ApplicationReference.of(resource, kind), labels, verdict)
