"""The rules of suspension and of queues: a suspended application has no pods, and continues with another attempt.

The states and moves are those of the Apache operator 1.1.0. The driver of a suspended application is deleted only
after the state is written, so that its end does not count as a failure.

In a queue of Kueue, no driver is created before the admission. The quota is returned only when no pod of the
application exists.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from ..kubernetes import pods
from ..kubernetes.json_object import KubernetesObject
from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from ..kubernetes.times import to_duration
from ..kueue import steps
from ..kueue.state import needs_ready_condition
from ..kueue.steps import Unsuitable, find_eviction
from ..states import reasons
from ..states.states import ApplicationState, SuspendReason
from . import policy
from .decision import Action, Decision
from .driver_end import find_driver_end
from .observation import Present, Unconfirmed
from .release import confirm_absence, read_pods
from .situation import Situation

_State = ApplicationState


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


def await_admission(situation: Situation) -> Decision | None:
    """Ask Kueue for the admission of an attempt, and wait for it; no state is written."""
    is_started = isinstance(situation.observed.driver, Present)
    step = steps.choose_admission_step(situation.observed.queue, is_started=is_started)
    if isinstance(step, Unsuitable):
        return situation.move(_State.SCHEDULING_FAILURE, step.reason, step.detail)
    return None if step is None else _take(situation, step)


def report_readiness(situation: Situation) -> Decision | None:
    """Tell Kueue once that all pods of the attempt are ready."""
    queue = situation.observed.queue
    if queue is None or queue.workload is None:
        return None
    members = {ROLE_DRIVER: [situation.driver_pod], ROLE_EXECUTOR: situation.observed.executors}
    if not needs_ready_condition(queue.workload, members):
        return None
    message = "All pods are ready. The controller records this on the Workload."
    interval = situation.settings.reconcile_interval
    return situation.wait(reasons.KUEUE_PODS_READY, message, interval, steps.MarkPodsReady())


def release_quota(situation: Situation) -> Decision | None:
    """Return the quota of an application without a driver, when its executors have ended too."""
    step = steps.choose_release_step(situation.observed.queue)
    if step is None:
        return None
    return _await_executors(situation) or _take(situation, step)


def leave_queue(situation: Situation) -> Decision | None:
    """Return the quota of a suspended application without pods. After an eviction it may keep its Workload."""
    evicted = situation.status.current_state.suspend_reason is SuspendReason.KUEUE_EVICTION
    queue = situation.observed.queue
    step = steps.choose_requeue_step(queue, situation.now) if evicted else steps.choose_release_step(queue)
    return None if step is None else _take(situation, step)


def list_finishing_actions(situation: Situation, message: str) -> tuple[Action, ...]:
    """Return the actions for a driver that has ended and is retained: its quota is returned nevertheless."""
    queue = situation.observed.queue
    if queue is None or not queue.may_have_workload or situation.state not in _ENDED:
        return ()
    return (steps.MarkFinished(situation.state is _State.SUCCEEDED, message),)


_ENDED = frozenset({_State.SUCCEEDED, _State.FAILED, _State.DRIVER_EVICTED})


def _await_executors(situation: Situation) -> Decision | None:
    """Wait for executors, which the garbage collector deletes after their driver, for a limited time."""
    known = situation.observed.pods
    if not known.is_live:
        return read_pods(situation)
    live_pods = [pod for pod in (*known.drivers, *known.executors) if not pods.has_ended(pod)]
    grace = to_duration(situation.tolerations.application_timeout_config.force_termination_grace_period_millis)
    remaining = situation.measure_remaining(grace, _find_stop(situation))
    if not live_pods or remaining <= timedelta(0):
        return None
    message = f"The quota is returned when the pods have ended (pods left: {len(live_pods)})."
    after = min(remaining, situation.settings.reconcile_interval)
    return situation.wait(reasons.KUEUE_QUOTA_DUE, message, after)


def _find_stop(situation: Situation) -> datetime:
    """Return when the release of the attempt began: at its stop, or at the deletion."""
    stop = policy.find_last_stop(situation.status)
    stopped = situation.since if stop is None else stop.last_transition_time
    deleted = situation.application.deletion_timestamp
    return stopped if deleted is None else max(stopped, deleted)


def _take(situation: Situation, step: steps.QueueStep) -> Decision:
    after = situation.settings.reconcile_interval if step.after is None else step.after
    return situation.wait(step.reason, step.message, after, *step.actions)
