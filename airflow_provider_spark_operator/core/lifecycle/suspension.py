"""The rules of suspension: a suspended application has no pods, and continues with another attempt.

The states and moves are those of the Apache operator 1.1.0. The driver of a suspended application is deleted only
after the state is written, so that its end does not count as a failure.
"""

from typing import NamedTuple

from ..kubernetes import pods
from ..kubernetes.json_object import KubernetesObject
from ..kueue.steps import find_eviction
from ..states import reasons
from ..states.states import ApplicationState, SuspendReason
from . import policy
from .decision import Decision
from .driver_end import find_driver_end
from .observation import Present, Unconfirmed
from .queue_rules import release_quota
from .release import confirm_absence, read_pods
from .situation import Situation


class Cause(NamedTuple):
    """Why an application with a driver must be suspended; `message` is a sentence for the user."""

    reason: SuspendReason
    message: str


def hold(situation: Situation) -> Decision | None:
    """Request no driver while `spec.suspend` is true; no status is written.

    A driver that was requested although the status does not say so is not held: it must not run unobserved. The
    application is suspended afterwards.
    """
    driver = situation.observed.driver
    if not situation.spec.suspend or isinstance(driver, Present):
        return None
    if isinstance(driver, Unconfirmed):
        return confirm_absence(situation)
    if decision := release_quota(situation):
        return decision
    message = "spec.suspend holds the application: no driver is requested until the field is false."
    return situation.wait(reasons.SUSPEND_HELD, message, situation.settings.suspend_hold_requeue_interval)


def suspend(situation: Situation) -> Decision | None:
    """Suspend an application that has a driver; a driver that has ended is judged first.

    A live read decides, because the cache may not show the end yet. If the driver no longer exists, an eviction by
    Kueue still suspends the application, because a preemption must not count as a restart. With `spec.suspend`, the
    application fails, as it does without the field.
    """
    cause = _find_cause(situation)
    if cause is None:
        return None
    if not situation.observed.pods.is_live:
        return read_pods(situation)
    driver = situation.observed.driver
    if isinstance(driver, Unconfirmed):
        return confirm_absence(situation)
    if isinstance(driver, Present):
        if find_driver_end(driver.pod, situation.main_container) and not _has_ended_by_deletion(driver.pod):
            return None
    elif cause.reason is not SuspendReason.KUEUE_EVICTION or _may_have_completed(situation.observed.last_driver or {}):
        return None
    return _enter_suspended(situation, cause)


def update_cause(situation: Situation) -> Decision | None:
    """Record that `spec.suspend` holds an application that Kueue had evicted."""
    # An entry without a cause counts as SpecSuspend.
    evicted = situation.status.current_state.suspend_reason is SuspendReason.KUEUE_EVICTION
    if not evicted or not situation.spec.suspend:
        return None
    message = "spec.suspend is true: the application stays suspended until the field is false."
    return _enter_suspended(situation, Cause(SuspendReason.SPEC_SUSPEND, message))


def stay_suspended(situation: Situation) -> Decision | None:
    """Stay suspended while `spec.suspend` is true."""
    if not situation.spec.suspend:
        return None
    message = "The application is suspended and has no pods; another attempt starts when spec.suspend is false."
    return situation.wait(reasons.SUSPENDED, message, situation.settings.suspend_hold_requeue_interval)


def resume(situation: Situation) -> Decision:
    """Submit a suspended application again, as another attempt that does not count as a restart."""
    following = policy.count_resumed_attempt(situation.status)
    if situation.status.current_state.suspend_reason is SuspendReason.KUEUE_EVICTION:
        message = f"The application is queued again after its eviction: attempt {following.id + 1} follows."
    else:
        message = f"The application is resumed: attempt {following.id + 1} follows."
    return situation.submit_again(following, reasons.RESUMED, message)


def _find_cause(situation: Situation) -> Cause | None:
    if not situation.spec.suspend:
        eviction = find_eviction(situation.observed.queue)
        message = (
            f"Kueue has evicted the application ({eviction}): the driver is deleted, and another attempt is queued."
        )
        return None if eviction is None else Cause(SuspendReason.KUEUE_EVICTION, message)
    message = "spec.suspend is true: the driver is deleted, and another attempt starts when the field is false."
    return Cause(SuspendReason.SPEC_SUSPEND, message)


def _enter_suspended(situation: Situation, cause: Cause) -> Decision:
    return situation.move(ApplicationState.SUSPENDED, reasons.SUSPENDED, cause.message, suspend_reason=cause.reason)


def _may_have_completed(driver: KubernetesObject) -> bool:
    return bool(pods.list_ended_containers(pods.get_status(driver))) and not _has_ended_by_deletion(driver)


def _has_ended_by_deletion(driver: KubernetesObject) -> bool:
    # A driver that ends after the request to delete it ends because of that request, with any exit code.
    began = pods.find_deletion_start(driver)
    return began is not None and not pods.has_ended_before(driver, began)
