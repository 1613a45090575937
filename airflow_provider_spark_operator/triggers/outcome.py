"""Describe the end of waiting for an application as the event that its task receives."""

from airflow_provider_spark_operator.core.dialects.progress import Progress, find_last_stop, had_driver
from airflow_provider_spark_operator.core.names import DRIVER_CONTAINER
from airflow_provider_spark_operator.core.pods import list_containers
from airflow_provider_spark_operator.core.reasons import OUT_OF_MEMORY
from airflow_provider_spark_operator.core.verdict import Outcome
from airflow_provider_spark_operator.follow.evidence import Evidence, describe_failure
from airflow_provider_spark_operator.follow.wait import Conclusion, ReachedState
from airflow_provider_spark_operator.triggers.event import ApplicationEvent, EventKind


def describe_end(conclusion: Conclusion) -> ApplicationEvent:
    """Return the event for an application that has ended."""
    reference, evidence = conclusion.reference, conclusion.evidence
    verdict, seen = conclusion.ending.verdict, conclusion.ending.progress
    failed = verdict.outcome is Outcome.FAILED
    out_of_memory = ["driver"] if verdict.reason == OUT_OF_MEMORY else []
    out_of_memory += ["executor"] if failed and any(one.out_of_memory for one in conclusion.executors) else []
    return ApplicationEvent(
        kind=EventKind.ENDED,
        namespace=reference.namespace,
        name=reference.name,
        uid=reference.uid,
        api_version=reference.resource.api_version,
        state=_find_decisive_state(seen),
        outcome=verdict.outcome.value,
        failure_kind=verdict.failure_kind.value if verdict.failure_kind else None,
        reason=verdict.reason,
        sentence=describe_failure(verdict, evidence) if failed else f"{reference}: {verdict.sentence}",
        application_id=seen.application_id,
        attempts=seen.attempt + 1,
        log_lines=evidence.log_lines,
        seconds_per_state=_compute_seconds_per_state(seen),
        retry_worthy=verdict.retry_worthy,
        out_of_memory=tuple(out_of_memory),
        driver_message=_read_driver_message(evidence),
        had_driver=had_driver(seen) or not failed,
    )


def describe_state(reached: ReachedState) -> ApplicationEvent:
    """Return the event for an application that has reached a state."""
    reference, seen = reached.reference, reached.progress
    return ApplicationEvent(
        kind=EventKind.REACHED,
        namespace=reference.namespace,
        name=reference.name,
        uid=reference.uid,
        api_version=reference.resource.api_version,
        state=reached.state,
        sentence=f"{reference} has reached {reached.state}",
        application_id=seen.application_id,
        attempts=seen.attempt + 1,
        seconds_per_state=_compute_seconds_per_state(seen),
    )


def _read_driver_message(evidence: Evidence) -> str | None:
    present = list_containers(evidence.driver_status or {})
    named = [container for container in present if container.name == DRIVER_CONTAINER] or present
    return next((one.message for one in named if one.exit_code == 0 and one.message), None)


def _find_decisive_state(seen: Progress) -> str:
    # ResourceReleased does not show the result; the state before it does.
    stop = find_last_stop(seen.history)
    return stop.state if stop else seen.state


def _compute_seconds_per_state(seen: Progress) -> dict[str, float]:
    """Return how long each state of the recorded history lasted, without the last state, which has not ended."""
    seconds: dict[str, float] = {}
    for entry, following in zip(seen.history, seen.history[1:], strict=False):
        if entry.time and following.time:
            lasted = max(0.0, (following.time - entry.time).total_seconds())
            seconds[entry.state] = round(seconds.get(entry.state, 0.0) + lasted, 3)
    return seconds
