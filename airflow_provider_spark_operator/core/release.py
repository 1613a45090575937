"""Letting go of an attempt: its driver is deleted, and nothing else happens until it is gone.

Only so can no application ever have two drivers. A driver that does not go is forced after the
application's grace period, counted from when its deletion began: not from when its state did, or a
healthy driver of a long run would be given no time to end.
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
from airflow_provider_spark_operator.core.times import in_seconds

# A shorter period would only ask again and again about a driver whose end is an event anyway.
_SHORTEST_PERIOD = timedelta(seconds=1)


def release(seen: Situation) -> Decision | None:
    """The next step of releasing the current attempt; None when its driver is known to be gone."""
    driver = seen.observed.driver
    if isinstance(driver, Unconfirmed):
        return confirm_absence(seen)
    if not isinstance(driver, Present):
        return None
    config = seen.tolerations.application_timeout_config
    period = max(policy.duration(config.termination_requeue_period_millis), _SHORTEST_PERIOD)
    began = pods.deletion_began(driver.pod)
    if began is None:
        return seen.wait(reasons.RELEASING, "The driver is being deleted.", period, *_deletion(seen))
    grace = policy.duration(config.force_termination_grace_period_millis)
    left = seen.remaining(grace, began)
    if left > timedelta(0):
        # Its end is an event. Asking meanwhile would tell nothing, and thousands may take their time to go at once.
        return seen.wait(reasons.RELEASING, "The driver is terminating.", left)
    message = f"The driver did not finish terminating within {in_seconds(grace)}; it is deleted without grace."
    return seen.wait(reasons.RELEASE_FORCED, message, period, DeleteDriver(seen.attempt_id, force=True))


def confirm_absence(seen: Situation) -> Decision:
    """The decision to look for the driver by a live read."""
    after = seen.settings.missing_driver_requeue_interval
    return seen.wait(
        reasons.DRIVER_UNCONFIRMED, "The driver pod is looked for by a live read.", after, ConfirmAbsence()
    )


def leftovers(seen: Situation) -> tuple[Action, ...]:
    """What remains to be deleted once there is no driver: what a broken-off creation has left unowned."""
    return (DeleteAttemptResources(seen.attempt_id),) if _creation_broke_off(seen) else ()


def _deletion(seen: Situation) -> tuple[Action, ...]:
    # What is deleted by name leaves a driver out that was created from an earlier version of the resource.
    return (*leftovers(seen), DeleteDriver(seen.attempt_id))


def _creation_broke_off(seen: Situation) -> bool:
    if seen.state in INITIALIZING:
        return True
    stop = policy.last_stop(seen.status)
    return stop is not None and stop.current_state_summary is ApplicationState.SCHEDULING_FAILURE
