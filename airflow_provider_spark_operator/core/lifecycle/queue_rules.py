"""The rules of an application in a queue of Kueue.

No driver is created before the admission. The quota is returned only when no pod of the application exists.
"""

from datetime import datetime, timedelta

from ..kubernetes import pods
from ..kubernetes.json_object import to_duration
from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from ..kueue import steps
from ..kueue.observation import Unsuitable
from ..kueue.state import needs_ready_condition
from ..states import reasons
from ..states.states import ApplicationState, SuspendReason
from . import policy
from .decision import Action, Decision
from .observation import Present
from .release import read_pods
from .situation import Situation

_State = ApplicationState


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
