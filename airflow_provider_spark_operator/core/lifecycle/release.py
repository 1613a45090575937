"""Release an attempt: delete its driver, and do nothing else until the driver does not exist.

This order ensures that an application never has two drivers. A driver that does not terminate is deleted without
grace after the application's grace period. The period starts with the deletion, not with the state: otherwise a
driver that has run for long would get no time to end.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from ..kubernetes import pods
from ..kubernetes.names import LABEL_OPERATOR_NAME
from ..kubernetes.times import format_seconds, to_duration
from ..states import reasons
from ..states.states import INITIALIZING, ApplicationState
from . import policy
from .decision import Action, ConfirmAbsence, Decision, DeleteAttemptResources, DeleteDriver, DeletePod, ReadPods
from .drivers import get_label, get_name, has_id_of_earlier_attempt
from .observation import Absent, Present, Unconfirmed
from .situation import Situation

# The end of a driver is an event, so a shorter period would only repeat requests.
_SHORTEST_PERIOD = timedelta(seconds=1)
_ZERO = timedelta(0)
# Spark deletes the executors when the driver ends, and an executor without a driver ends by itself.
_EXECUTOR_GRACE = timedelta(minutes=1)
_MAX_NAMES = 5


def release(situation: Situation) -> Decision | None:
    """Decide the next step to release the current attempt; None if its driver does not exist."""
    driver = situation.observed.driver
    if isinstance(driver, Unconfirmed):
        return None if _was_deleted_after_its_end(situation.observed.last_driver or {}) else confirm_absence(situation)
    if not isinstance(driver, Present):
        return None
    config = situation.tolerations.application_timeout_config
    period = max(to_duration(config.termination_requeue_period_millis), _SHORTEST_PERIOD)
    began = pods.find_deletion_start(driver.pod)
    if began is None:
        # Deletion by name misses a driver that was created from an earlier version of the resource.
        deletions = (*list_leftovers(situation), DeleteDriver(situation.attempt_id))
        return situation.wait(reasons.RELEASING, "The driver is being deleted.", period, *deletions)
    grace = to_duration(config.force_termination_grace_period_millis)
    remaining = situation.measure_remaining(grace, began)
    if remaining > timedelta(0):
        # The end of the driver is an event: no request is needed, and thousands of drivers may terminate at once.
        return situation.wait(reasons.RELEASING, "The driver is terminating.", remaining)
    message = (
        f"The driver did not finish terminating within {format_seconds(grace)}; it is deleted without a grace period."
    )
    return situation.wait(reasons.RELEASE_FORCED, message, period, DeleteDriver(situation.attempt_id, force=True))


def release_all_pods(situation: Situation) -> Decision | None:
    """Decide the next step to release the pods of all attempts; None if a live read shows that none is left.

    The driver is deleted, and the garbage collector deletes its executors. An executor that does not terminate within
    the grace period of the application is not waited for. A driver is, because there must never be two.
    """
    grace = to_duration(situation.tolerations.application_timeout_config.force_termination_grace_period_millis)
    known = situation.observed.pods
    deletions: list[DeletePod] = []
    waits: list[timedelta] = []
    for pod in known.drivers:
        remaining = _measure_grace(situation, pod, grace)
        if remaining is None or remaining <= _ZERO:
            deletions.append(_build_deletion(pod, force=remaining is not None))
        waits.append(_choose_wait(situation, remaining))
    for pod in known.executors:
        remaining = _measure_grace(situation, pod, grace)
        if remaining is None or remaining > _ZERO:
            waits.append(_choose_wait(situation, remaining))
    if waits:
        reason = reasons.RELEASE_FORCED if any(each.force for each in deletions) else reasons.RELEASING
        message = f"The pods of the application are being deleted (pods left: {len(waits)})."
        return situation.wait(reason, message, min(waits), *deletions)
    return None if known.is_live else read_pods(situation)


def delete_unexpected_drivers(situation: Situation) -> Decision | None:
    """Decide to delete the drivers of ended attempts; None if there are none.

    An attempt starts only after the drivers of earlier attempts have been deleted. But a controller that has lost its
    lease can create a driver again, because its request may arrive late. The driver would run the application a second
    time.
    """
    known = situation.observed.pods
    unexpected = [pod for pod in known.drivers if _is_unexpected(situation, pod)]
    if not unexpected:
        return None
    if not known.is_live:
        return read_pods(situation)
    deletions = [_build_deletion(pod) for pod in unexpected]
    cause = (
        "The resources of the application are released, but driver pods exist"
        if situation.state is ApplicationState.RESOURCE_RELEASED
        else f"Attempt {situation.attempt_id + 1} is the latest attempt, but driver pods of earlier attempts exist"
    )
    names = ", ".join(each.name for each in deletions)
    message = f"{cause}: {names}. They are deleted. A controller that had lost its lease may have created them."
    interval = situation.settings.reconcile_interval
    return situation.wait(reasons.UNEXPECTED_DRIVER, message, interval, *deletions)


def retain(situation: Situation, remaining: timedelta | None) -> Decision:
    """Decide to keep the resources of an ended attempt, and to report executors that still run after a minute.

    Args:
        situation: The situation.
        remaining: The rest of the retention period; None if it has no end.
    """
    running = [pod for pod in situation.observed.executors if not pods.has_ended(pod)]
    grace = situation.measure_remaining(_EXECUTOR_GRACE)
    if not running or grace > _ZERO:
        waits = [each for each in (remaining, grace if running else None) if each is not None]
        return situation.wait(reasons.NOTHING_DUE, "", min(waits, default=None))
    names = ", ".join(sorted(_get_name(pod) for pod in running)[:_MAX_NAMES])
    message = (
        f"The driver has ended and is retained, but its executors still run (pods: {len(running)}): {names}. They "
        "stop when the driver pod is deleted. Delete the executor pods if you need their resources before."
    )
    return situation.wait(reasons.EXECUTORS_REMAIN, message, remaining)


def read_pods(situation: Situation) -> Decision:
    """Decide to read the pods of all attempts with a live read."""
    after = situation.settings.missing_driver_requeue_interval
    return situation.wait(
        reasons.DRIVER_UNCONFIRMED, "The controller asks the API which pods exist.", after, ReadPods()
    )


def confirm_absence(situation: Situation) -> Decision:
    """Decide to confirm with a live read that the driver does not exist.

    If a live read has shown this, but the cache still holds the driver, the watch will show the driver's last state.
    """
    after = situation.settings.missing_driver_requeue_interval
    if situation.observed.pods.is_live:
        message = "The driver pod does not exist any more, but the watch has not shown its end yet."
        return situation.wait(reasons.DRIVER_UNCONFIRMED, message, after)
    return situation.wait(
        reasons.DRIVER_UNCONFIRMED,
        "The controller checks with the API whether the driver pod exists.",
        after,
        ConfirmAbsence(),
    )


def poll_unwatched_driver(situation: Situation, decision: Decision) -> Decision:
    """Return `decision`, with a new reconcile soon if the watch cannot show the driver, because its label was changed.

    The label is not restored: a policy of the Kubernetes cluster may have changed it, and would do so again.
    """
    label, value = LABEL_OPERATOR_NAME, situation.settings.operator_name
    driver, after = situation.driver_pod, situation.settings.missing_driver_requeue_interval
    if not driver or get_label(driver, label) == value or decision.status is not None:
        return decision
    if decision.requeue_after is not None and decision.requeue_after <= after:
        return decision
    if decision.actions:
        return replace(decision, requeue_after=after)
    message = (
        f"The label {label} of driver pod {get_name(driver)} was changed, so the controller does not watch the pod and "
        f"reads it every {format_seconds(after)}. Restore the value {value}."
    )
    return situation.wait(reasons.DRIVER_UNWATCHED, message, after)


def describe_namesake(situation: Situation) -> str:
    """Return a sentence about a pod that has the name of the driver but is not the driver; empty if there is none."""
    driver = situation.observed.driver
    if not isinstance(driver, Absent) or driver.namesake is None:
        return ""
    return f" Pod {driver.namesake} has the driver's name, but does not belong to the application: it is left alone."


def list_leftovers(situation: Situation) -> tuple[Action, ...]:
    """Return the actions that delete what a failed creation left without an owner, once there is no driver."""
    return (DeleteAttemptResources(situation.attempt_id),) if _has_failed_creation(situation) else ()


def _was_deleted_after_its_end(last: Mapping[str, Any]) -> bool:
    """Return whether the last state of a driver that the watch does not show any more rules out that it still runs.

    A watch shows a driver as deleted also if only its label was changed. If the driver had ended and was being deleted,
    this makes no difference.
    """
    return pods.has_ended(last) and pods.find_deletion_start(last) is not None


def _measure_grace(situation: Situation, pod: Mapping[str, object], grace: timedelta) -> timedelta | None:
    """Return how long to wait for a pod that terminates; None if it is not being deleted.

    The grace period of the pod itself ends with its deletion timestamp.
    """
    deadline = pods.read_deletion_deadline(pod)
    return None if deadline is None else deadline - situation.now + grace


def _is_unexpected(situation: Situation, pod: Mapping[str, Any]) -> bool:
    if pods.find_deletion_start(pod) is not None:
        return False
    if situation.state is ApplicationState.RESOURCE_RELEASED:
        return True
    if situation.state not in INITIALIZING:
        # A driver that has the id of an earlier attempt can be the current one: see `drivers.find_driver`.
        current = situation.observed.driver
        if not isinstance(current, Present) or pods.get_uid(current.pod) == pods.get_uid(pod):
            return False
    return has_id_of_earlier_attempt(situation.application, situation.attempt_id, pod)


def _build_deletion(pod: Mapping[str, object], *, force: bool = False) -> DeletePod:
    return DeletePod(_get_name(pod), pods.get_uid(pod), force=force)


def _get_name(pod: Mapping[str, object]) -> str:
    return pods.get_text(pods.get_object(pod.get("metadata")).get("name"))


def _choose_wait(situation: Situation, remaining: timedelta | None) -> timedelta:
    interval = situation.settings.reconcile_interval
    return interval if remaining is None or remaining <= _ZERO else min(remaining, interval)


def _has_failed_creation(situation: Situation) -> bool:
    if situation.state in INITIALIZING:
        return True
    stop = policy.find_last_stop(situation.status)
    return stop is not None and stop.current_state_summary is ApplicationState.SCHEDULING_FAILURE
