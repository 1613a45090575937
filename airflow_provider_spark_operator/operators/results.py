"""The results of an application for its task: the exception, the XComs, the extras of asset events, the links."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from airflow.sdk import Asset, Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_provider_spark_operator.core.compose.application import apply_parameters
from airflow_provider_spark_operator.core.dialects.dialect import dialect_of
from airflow_provider_spark_operator.core.parameters import Parameters
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.exceptions import (
    SparkApplicationError,
    build_deletion,
    build_failure,
)
from airflow_provider_spark_operator.follow.ending import judge
from airflow_provider_spark_operator.follow.reference import ApplicationReference, resource_of
from airflow_provider_spark_operator.follow.submit import Submission
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS, ResourceType
from airflow_provider_spark_operator.links.spark_application import LinkTarget
from airflow_provider_spark_operator.triggers.event import ApplicationEvent, EventKind


def build_error(
    event: ApplicationEvent,
    retry_delay: timedelta | None,
    policy: object | None = None,
    *,
    has_retry_left: bool = False,
) -> AirflowException | None:
    """Return the exception that the task raises for this event; None if the application has succeeded.

    Args:
        event: An event of any kind except TIMED_OUT, for which the application must be cancelled first.
        retry_delay: The delay before a retry by the restartConfig of the application.
        policy: The retry policy of the task, which decides about a deletion.
        has_retry_left: Whether another try of the task follows a failure.
    """
    if event.kind is EventKind.DELETED:
        return build_deletion(event.sentence, policy=policy)
    if event.kind is EventKind.REFUSED:
        return AirflowFailException(event.sentence)
    if event.kind in (EventKind.UNSUBMITTED, EventKind.REPLACED):
        return SparkApplicationError(event.sentence)
    if event.kind is not EventKind.ENDED:
        return SparkApplicationError(f"{event.sentence}; it may still be running: {describe_successor(has_retry_left)}")
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
    )


def describe_successor(has_retry_left: bool) -> str:
    """Return what happens to a resource that may still run after the task has failed.

    Args:
        has_retry_left: Whether another try of the task follows.
    """
    return "a retry adopts it" if has_retry_left else "no retry is left to adopt it. Delete it if you do not need it"


def has_ended(submission: Submission) -> bool:
    """Return whether the adopted application has ended, so that its task must not defer.

    Airflow fails a task whose trigger fires before the scheduler has recorded the deferral.
    """
    return submission.adopted and judge(submission.resource) is not None


def reference_of(event: ApplicationEvent, kind: ResourceType = SPARK_APPLICATIONS) -> ApplicationReference:
    """Return the reference to the resource of the event, of the given kind."""
    return ApplicationReference(event.namespace, event.name, event.uid, resource_of(event.api_version, kind))


def build_xcoms(event: ApplicationEvent) -> dict[str, Any]:
    """Return the XComs that are known only at the end."""
    return {
        "namespace": event.namespace,  # unknown before if the task started in the triggerer
        "uid": event.uid,
        "application_id": event.application_id,
        "state": event.state,
        "attempts": event.attempts,
        "seconds_per_state": dict(event.seconds_per_state),
    }


def record_on_assets(context: Context, outlets: Iterable[object], event: ApplicationEvent) -> None:
    """Add the application to the extras of the task's asset events."""
    for outlet in outlets:
        if isinstance(outlet, Asset):
            context["outlet_events"][outlet].extra.update(
                spark_application=f"{event.namespace}/{event.name}",
                spark_application_id=event.application_id,
                spark_application_uid=event.uid,
            )


def build_link_target(
    document: Mapping[str, Any], namespace: str, name: str, uid: str, spark_id: str | None = None
) -> LinkTarget:
    """Return the target of the task's links.

    Args:
        document: The application.
        namespace: Namespace of the application, which the document need not contain.
        name: Name of the application, which the document need not contain.
        uid: UID of the application.
        spark_id: Spark's id of the latest attempt; None for that of the first, if the name determines it.
    """
    dialect = dialect_of(document.get("apiVersion"))
    metadata = document.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    document = {**document, "metadata": {**known, "namespace": namespace, "name": name}}
    identifier = spark_id or dialect.read_application_id(document, 0)
    pod = dialect.read_driver_pod_name(document, identifier)
    return LinkTarget(namespace, name, uid, identifier or "", pod or "", dialect.read_ui_url(document))


def build_link_target_from_event(
    event: ApplicationEvent, document: Mapping[str, Any], parameters: Parameters
) -> LinkTarget | None:
    """Return the target of the task's links after the event; None if the event has no application.

    Args:
        event: The event of the trigger.
        document: The application as the task knows it when it resumes.
        parameters: The parameters of the operator, which may also name the driver pod.
    """
    if not event.uid:
        return None
    document = {**document, "apiVersion": event.api_version}
    with suppress(InvalidResource):  # its file may have changed since the submission
        document = apply_parameters(dict(document), parameters)
    target = build_link_target(document, event.namespace, event.name, event.uid, event.application_id)
    return target if event.had_driver else replace(target, driver_pod="")
