"""Release an attempt: delete its driver, and do nothing else until the driver does not exist.

This order ensures that an application never has two drivers. A driver that does not terminate is deleted without
grace after the application's grace period. The period starts with the deletion, not with the state: otherwise a
driver that has run for long would get no time to end.
"""

from datetime import timedelta

from airflow_provider_spark_operator.core import pods, policy, reasons
from airflow_provider_spark_operator.core.decision import (
    Action,
    ConfirmAbsence,
    Decision,
    DeleteAttemptResources,
    DeleteDriver,
)
from airflow_provider_spark_operator.core.observation import Present, Unconfirmed
from airflow_provider_spark_operator.core.situation import Situation
from airflow_provider_spark_operator.core.states import INITIALIZING, ApplicationState
from airflow_provider_spark_operator.core.times import format_seconds, to_duration

# The end of a driver is an event, so a shorter period would only repeat requests.
_SHORTEST_PERIOD = timedelta(seconds=1)


def release(situation: Situation) -> Decision | None:
    """Decide the next step to release the current attempt; None if its driver does not exist."""
    driver = situation.observed.driver
    if isinstance(driver, Unconfirmed):
        return confirm_absence(situation)
    if not isinstance(driver, Present):
        return None
    config = situation.tolerations.application_timeout_config
    period = max(to_duration(config.termination_requeue_period_millis), _SHORTEST_PERIOD)
    began = pods.find_deletion_start(driver.pod)
    if began is None:
        return situation.wait(reasons.RELEASING, "The driver is being deleted.", period, *_list_deletions(situation))
    grace = to_duration(config.force_termination_grace_period_millis)
    left = situation.remaining(grace, began)
    if left > timedelta(0):
        # The end of the driver is an event: no request is needed, and thousands of drivers may terminate at once.
        return situation.wait(reasons.RELEASING, "The driver is terminating.", left)
    message = (
        f"The driver did not finish terminating within {format_seconds(grace)}; it is deleted without a grace period."
    )
    return situation.wait(reasons.RELEASE_FORCED, message, period, DeleteDriver(situation.attempt_id, force=True))


def confirm_absence(situation: Situation) -> Decision:
    """Decide to confirm with a live read that the driver does not exist."""
    after = situation.settings.missing_driver_requeue_interval
    return situation.wait(
        reasons.DRIVER_UNCONFIRMED, "A live read checks whether the driver pod exists.", after, ConfirmAbsence()
    )


def list_leftovers(situation: Situation) -> tuple[Action, ...]:
    """Return the actions that delete what a failed creation left without an owner, once there is no driver."""
    return (DeleteAttemptResources(situation.attempt_id),) if _has_failed_creation(situation) else ()


def _list_deletions(situation: Situation) -> tuple[Action, ...]:
    # Deletion by name misses a driver that was created from an earlier version of the resource.
    return (*list_leftovers(situation), DeleteDriver(situation.attempt_id))


def _has_failed_creation(situation: Situation) -> bool:
    if situation.state in INITIALIZING:
        return True
    stop = policy.find_last_stop(situation.status)
    return stop is not None and stop.current_state_summary is ApplicationState.SCHEDULING_FAILURE
