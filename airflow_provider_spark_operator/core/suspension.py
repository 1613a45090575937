"""The rules of `spec.suspend`: a suspended application has no driver, and continues with its next attempt."""

from airflow_provider_spark_operator.core import observation, pods, policy, reasons
from airflow_provider_spark_operator.core.decision import Decision
from airflow_provider_spark_operator.core.observation import Present
from airflow_provider_spark_operator.core.release import release
from airflow_provider_spark_operator.core.situation import AT_ONCE, Situation
from airflow_provider_spark_operator.core.transitions import replace_reason


def hold_suspended(situation: Situation) -> Decision | None:
    """Create no driver for a suspended application, and delete one that exists."""
    if not situation.spec.suspend:
        return None
    message = "The application is suspended; set spec.suspend to false to start it."
    return release(situation) or situation.wait(reasons.SUSPENDED, message, None)


def stop_suspended(situation: Situation) -> Decision | None:
    """Stop the driver of a suspended application, then schedule the next attempt.

    The reason is recorded before the driver is deleted. Otherwise the end of a driver whose suspension is lifted
    meanwhile would count as a failure.
    """
    driver = situation.observed.driver
    marked = situation.status.current_state.reason == reasons.SUSPENDED
    if not (situation.spec.suspend or marked) or (
        isinstance(driver, Present) and _has_ended_by_itself(situation, driver)
    ):
        return None
    if not marked:
        message = "The application is suspended; its driver is being stopped."
        return _explain(situation, reasons.SUSPENDED, message)
    if not situation.spec.suspend and isinstance(driver, Present) and pods.find_deletion_start(driver.pod) is None:
        return _explain(situation, reasons.RESUMED, "The suspension was lifted before the driver was stopped.")
    return release(situation) or _schedule_next_attempt(situation)


def _explain(situation: Situation, reason: str, message: str) -> Decision:
    return Decision(reason, message, (), replace_reason(situation.status, reason, message), AT_ONCE)


def _schedule_next_attempt(situation: Situation) -> Decision:
    info = situation.status.current_attempt_summary.attempt_info
    message = "The application was suspended; another attempt follows when spec.suspend is false."
    following = info.model_copy(update={"id": policy.increment(info.id)})
    return situation.schedule_attempt(following, reasons.SUSPENDED, message)


def _has_ended_by_itself(situation: Situation, driver: Present) -> bool:
    # A driver that ends after the request to delete it ends because of that request, with any exit code.
    began = pods.find_deletion_start(driver.pod)
    ended = observation.find_driver_end(driver.pod, situation.main_container) is not None
    return ended and (began is None or pods.has_ended_before(driver.pod, began))
