"""The results of an application for its task: the exception, the XComs, the extras of asset events, the links."""

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow.sdk import Asset, AssetAlias, Context

from ..airflow_compat import AirflowException, AirflowFailException, mask_secrets
from ..core.compose.application import apply_parameters
from ..core.kubernetes.problems import InvalidResource
from ..core.parameters.parameters import Parameters
from ..core.report.figures import RunFigures, read_figures
from ..core.states import reasons
from ..core.verdict.verdict import FailureKind
from ..exceptions import SparkApplicationError, SparkStreamStalled, build_budget_failure, build_deletion, build_failure
from ..follow.access.reference import ApplicationReference, resource_of
from ..follow.ending.end import find_final_progress
from ..follow.submission.submit import Submission
from ..kube.resources import SPARK_APPLICATIONS, ResourceType
from ..links.link_target import build_link_target
from ..links.target import LinkTarget
from ..triggers.event import ApplicationEvent, EventKind

if TYPE_CHECKING:
    from pydantic import JsonValue


logger = logging.getLogger(__name__)


def build_error(
    event: ApplicationEvent, retry_delay: timedelta | None, policy: object | None = None
) -> AirflowException | None:
    """Return the exception that the task raises for this event; None if the application has succeeded.

    Args:
        event: An event of any kind except TIMED_OUT and LOST, after which the application may still run.
        retry_delay: The delay before a retry by the restartConfig of the application.
        policy: The retry policy of the task, which decides about a deletion and an exceeded budget.
    """
    if event.kind is EventKind.DELETED:
        return build_deletion(event.sentence, policy=policy)
    if event.kind is EventKind.OVER_BUDGET:
        return build_budget_failure(event.sentence, reasons.BUDGET_EXCEEDED, policy=policy)
    if event.kind is EventKind.STALLED:
        return SparkStreamStalled(event.sentence, reason=reasons.STREAM_STALLED)
    if event.kind is EventKind.REACHED:
        return None
    if event.kind is EventKind.REFUSED:
        return AirflowFailException(mask_secrets(event.sentence))
    if event.kind is not EventKind.ENDED:
        return SparkApplicationError(event.sentence)
    if event.outcome == "Succeeded":
        return None
    return build_failure(
        event.failure_kind,
        event.sentence,
        state=event.state,
        reason=event.reason,
        retry_worthy=event.retry_worthy,
        retry_delay=retry_delay,
        out_of_memory=event.out_of_memory,
        lacks_capacity=event.lacks_capacity,
    )


def has_ended(submission: Submission) -> bool:
    """Return whether the adopted application has ended, so that its task must not defer.

    Airflow fails a task whose trigger fires before the scheduler has recorded the deferral.
    """
    return submission.adopted and find_final_progress(submission.resource) is not None


def reference_of(event: ApplicationEvent, kind: ResourceType = SPARK_APPLICATIONS) -> ApplicationReference:
    """Return the reference to the resource of the event, of the given kind."""
    return ApplicationReference(event.namespace, event.name, event.uid, resource_of(event.api_version, kind))


def accept_failed_checks(event: ApplicationEvent) -> ApplicationEvent:
    """Return the event of a success in place of one whose only failure is a check that the job reported."""
    if event.failure_kind != FailureKind.CHECK:
        return event
    sentence = event.sentence.partition("\n")[0]
    logger.warning("%s; the task succeeds, because on_failed_check is 'warn'", sentence)
    verdict = {"outcome": "Succeeded", "reason": reasons.SUCCEEDED, "sentence": "The application succeeded."}
    record = {**event.record, "verdict": verdict} if event.record else event.record
    return replace(event, outcome="Succeeded", failure_kind=None, reason=None, sentence=sentence, record=record)


def build_xcoms(event: ApplicationEvent) -> dict[str, Any]:
    """Return the XComs that are known only at the end."""
    return {
        "namespace": event.namespace,  # unknown before if the task started in the triggerer
        "uid": event.uid,
        "application_id": event.application_id,
        "state": event.state,
        "attempts": event.attempts,
        "seconds_per_state": dict(event.seconds_per_state),
        **({"spark_report": event.report} if event.report else {}),
    }


def record_on_assets(context: Context, outlets: Iterable[object], event: ApplicationEvent) -> None:
    """Add the application and its figures to the extras of the task's asset events. Extras of the user remain.

    The function adds the asset of the task to each asset alias, because an alias without an asset creates no event.
    """
    extra: dict[str, JsonValue] = {
        "spark_application": f"{event.namespace}/{event.name}",
        "spark_application_id": event.application_id,
        "spark_application_uid": event.uid,
        "spark_outcome": event.outcome,
    }
    figures = read_figures(event.record) if event.record else RunFigures()
    known: dict[str, JsonValue] = {
        "spark_seconds": figures.seconds,
        "spark_core_hours": figures.core_hours,
        "spark_cost": figures.cost,
        "spark_currency": figures.currency,
        "spark_incomplete": [f"spark_{name}" for name in ("core_hours", "cost") if name in figures.incomplete] or None,
        "spark_report": dict(event.report) if event.report else None,
    }
    extra |= {name: value for name, value in known.items() if value is not None}
    for outlet in outlets:
        if isinstance(outlet, Asset):
            own = context["outlet_events"][outlet].extra
            own.update({name: value for name, value in extra.items() if name not in own})
        elif isinstance(outlet, AssetAlias):
            context["outlet_events"][outlet].add(_build_task_asset(context), extra=extra)


def _build_task_asset(context: Context) -> Asset:
    # Not named after the application: names differ from run to run, and Airflow keeps every asset.
    task_instance = context["ti"]
    parts = [quote(one) for one in (task_instance.dag_id, task_instance.task_id)]
    return Asset(name=f"spark_application:{'.'.join(parts)}", uri=f"spark-application://{'/'.join(parts)}")


def build_link_target_from_event(
    event: ApplicationEvent, document: Mapping[str, Any], parameters: Parameters, conn_id: str | None
) -> LinkTarget | None:
    """Return the target of the task's links after the event; None if the event has no application.

    Args:
        event: The event of the trigger.
        document: The application as the task knows it when it resumes.
        parameters: The parameters of the operator, which may also name the driver pod.
        conn_id: Id of the connection of the task. If None, the default cluster is used.
    """
    if not event.uid:
        return None
    document = {**document, "apiVersion": event.api_version}
    with suppress(InvalidResource):  # its file may have changed since the submission
        document = apply_parameters(dict(document), parameters)
    target = build_link_target(
        document,
        ApplicationReference(event.namespace, event.name, event.uid),
        conn_id=conn_id,
        spark_id=event.application_id,
        created=event.created,
    )
    target = replace(target, end=datetime.now(UTC) if event.kind is EventKind.ENDED else None)
    return target if event.had_driver else replace(target, driver_pod="")
