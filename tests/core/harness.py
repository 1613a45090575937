"""Run `decide()` in tests: make one decision for a given state, or run one reconcile pass.

A pass runs on a `SimulatedApplication`, whose pods a test controls, or for a `SimulatedController`, whose cluster plays
recorded scenarios on a virtual clock.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kueue.steps import (
    GiveBackQuota,
    MarkFinished,
    MarkPodsReady,
    QueueAction,
    QueueObservation,
    ReleaseQuota,
    RequestAdmission,
)
from airflow_provider_spark_operator.core.lifecycle.application import decide
from airflow_provider_spark_operator.core.lifecycle.decision import (
    Action,
    AddFinalizer,
    ConfirmAbsence,
    CreateAttempt,
    Decision,
    DeleteApplication,
    DeleteAttemptResources,
    DeleteDriver,
    DeletePod,
    ReadPods,
    RemoveFinalizer,
    Settings,
)
from airflow_provider_spark_operator.core.lifecycle.observation import (
    Absent,
    ApplicationPods,
    CreateOutcome,
    DriverObservation,
    Observed,
    Present,
    Unconfirmed,
)
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.status import ApplicationStatus
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import STOPPING, TERMINATED, ApplicationState
from tests.builders import NOW, build_application_model, build_status_at, seconds

# The first decision, one after a live read of the pods, two after requests to Kueue, and one after a creation.
_MAX_DECISIONS = 5


class Resources(Protocol):
    """The resources that a reconcile pass observes and changes."""

    def find_driver(self, application: SparkApplication, *, live: bool) -> JsonObject | None:
        """Return the driver pod of the current attempt, from the cache or by a live read."""

    def find_last_driver(self, application: SparkApplication) -> JsonObject | None:
        """Return the last known state of a driver pod that the watch has shown as deleted."""

    def list_executors(self, application: SparkApplication) -> list[JsonObject]:
        """Return the executor pods of the current driver."""

    def list_pods(self, application: SparkApplication, *, live: bool) -> ApplicationPods:
        """Return the pods of all attempts, from the cache or by a live read."""

    def create_attempt(self, application: SparkApplication, attempt_id: int) -> CreateOutcome:
        """Create the resources of an attempt."""

    def add_finalizer(self, application: SparkApplication) -> None:
        """Add the finalizer to the application."""

    def remove_finalizer(self, application: SparkApplication) -> None:
        """Remove the finalizer from the application."""

    def delete_application(self, application: SparkApplication) -> None:
        """Delete the application."""

    def delete_driver(self, application: SparkApplication, attempt_id: int, *, force: bool) -> None:
        """Delete the driver pod of an attempt."""

    def delete_pod(self, application: SparkApplication, uid: str, *, force: bool) -> None:
        """Delete a driver pod of any attempt."""

    def delete_attempt_resources(self, application: SparkApplication, attempt_id: int) -> None:
        """Delete the resources of an attempt by name."""

    def write_status(self, application: SparkApplication, status: ApplicationStatus) -> None:
        """Write the status, if the application still exists."""

    def observe_queue(self, application: SparkApplication) -> QueueObservation | None:
        """Return the Workload of the application; None without Kueue."""

    def apply_to_queue(self, application: SparkApplication, action: QueueAction) -> QueueObservation | None:
        """Carry out an action that concerns Kueue; return the observation after the action, None if it is unchanged."""


class TooManyPasses(AssertionError):
    """Reconciliation did not settle."""


def reconcile(resources: Resources, application: SparkApplication, settings: Settings, now: datetime) -> list[Decision]:
    """Run one pass as the controller does, and return its decisions. Only the last decision is applied.

    Raises:
        TooManyPasses: When no decision is final.
    """
    cached = resources.find_driver(application, live=False)
    driver: DriverObservation = Present(cached) if cached else Unconfirmed()
    observed = Observed(
        driver,
        tuple(resources.list_executors(application)),
        pods=resources.list_pods(application, live=False),
        queue=resources.observe_queue(application),
        last_driver=resources.find_last_driver(application),
    )
    decisions: list[Decision] = []
    for _ in range(_MAX_DECISIONS):
        decision = _decide(application, observed, settings, now)
        decisions.append(decision)
        if ConfirmAbsence() in decision.actions:
            live = resources.find_driver(application, live=True)
            observed = replace(observed, driver=Present(live) if live else Absent())
        elif ReadPods() in decision.actions:
            live = resources.find_driver(application, live=True)
            observed = replace(
                observed,
                driver=Present(live) if live else Absent(),
                executors=tuple(resources.list_executors(application)) if live else (),
                pods=resources.list_pods(application, live=True),
            )
        elif creation := next((each for each in decision.actions if isinstance(each, CreateAttempt)), None):
            observed = replace(observed, create_outcome=resources.create_attempt(application, creation.attempt_id))
        elif queue := _ask_queue(resources, application, decision):
            observed = replace(observed, queue=queue)
        else:
            for action in decision.actions:
                _apply(resources, application, action)
            if decision.status is not None:
                resources.write_status(application, decision.status)
            return decisions
    raise TooManyPasses([decision.reason for decision in decisions])


def _decide(application: SparkApplication, observed: Observed, settings: Settings, now: datetime) -> Decision:
    """Decide, and fail if the decision has no words for the user."""
    decision = decide(application, observed, settings, now)
    assert decision.reason, "the decision has no reason"
    assert decision.message or decision.reason == reasons.NOTHING_DUE, f"{decision.reason} has no message"
    return decision


def _ask_queue(resources: Resources, application: SparkApplication, decision: Decision) -> QueueObservation | None:
    """Carry out the action of a decision that needs another decision with the answer of Kueue."""
    for action in decision.actions:
        if isinstance(action, RequestAdmission | ReleaseQuota | GiveBackQuota):
            return resources.apply_to_queue(application, action)
    return None


def _apply(resources: Resources, application: SparkApplication, action: Action) -> None:
    match action:
        case AddFinalizer():
            resources.add_finalizer(application)
        case RemoveFinalizer():
            resources.remove_finalizer(application)
        case DeleteApplication():
            resources.delete_application(application)
        case DeleteDriver(attempt_id=attempt_id, force=force):
            _check_deletion(resources, application, force=force)
            resources.delete_driver(application, attempt_id, force=force)
        case DeletePod(uid=uid, force=force):
            _check_deletion(resources, application, force=force)
            resources.delete_pod(application, uid, force=force)
        case MarkPodsReady() | MarkFinished():
            resources.apply_to_queue(application, action)
        case DeleteAttemptResources(attempt_id=attempt_id):
            _check_deletion(resources, application, force=False)
            resources.delete_attempt_resources(application, attempt_id)


def _check_deletion(resources: Resources, application: SparkApplication, *, force: bool) -> None:
    """Fail if the driver must not be deleted, or if it is force-deleted without an earlier graceful deletion."""
    driver = resources.find_driver(application, live=True)
    if driver is None:
        return
    current = application.status.current_state if application.status else None
    state = current.current_state_summary if current else ApplicationState.SUBMITTED
    ended = state in STOPPING | TERMINATED | {ApplicationState.SUSPENDED}
    assert ended or application.deletion_timestamp is not None, (
        f"the driver is deleted in {state}, but neither deletion nor suspension is recorded"
    )
    if force:
        assert "deletionTimestamp" in driver["metadata"], (
            "the driver is force-deleted without an earlier graceful deletion"
        )


def decide_once(
    resource: SparkApplication, driver: DriverObservation | None = None, *, after: float = 0, **observed: Any
) -> Decision:
    """Return the decision about `resource` after `after` seconds; by default the cache holds no driver."""
    return _decide(resource, Observed(driver=driver or Unconfirmed(), **observed), Settings(), NOW + seconds(after))


def build_application_in_state(state: ApplicationState, **modifiers: Any) -> SparkApplication:
    """Build an application that has reached `state` through legal moves."""
    return build_application_model(status=build_status_at(state), **modifiers)


def get_entered_state(decision: Decision) -> ApplicationState | None:
    """Return the state that the decision writes, or None if it writes no status."""
    return decision.status.current_state.current_state_summary if decision.status else None
