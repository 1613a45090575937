"""The lifecycle of a SparkCluster: decide the next step from its spec, its status and the time.

A cluster is created once, and again after each suspension. As with the Apache operator, the controller does not wait
for its pods: the StatefulSets manage them. Other edits of the spec do not change a running cluster, because new pods
would end its applications.

A cluster is suspended before its StatefulSets are deleted, so that a controller that is killed in between continues.
Its Services and its NetworkPolicy stay. Pods are never deleted by force: a StatefulSet could then have two pods of one
identity. In a queue of Kueue, no pod is created before the admission. The quota is returned only when the pods of the
cluster have ended.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from ..kubernetes.json_object import KubernetesObject
from ..kubernetes.names import CLUSTER_FINALIZER
from ..kubernetes.pods import get_object, get_text, read_deletion_deadline
from ..kubernetes.problems import join_first
from ..kueue import state, steps
from ..kueue.steps import Unsuitable
from ..models.cluster import ClusterState, SparkCluster
from ..states import reasons
from ..states.states import SuspendReason
from . import policy
from .cluster_decision import (
    ApplyCluster,
    ClusterDecision,
    ClusterObserved,
    ClusterRule,
    ClusterSituation,
    DeleteNetwork,
    DeleteScaling,
    FindMaster,
    StopCluster,
    create_cluster_status,
    describe_cluster_failure,
    is_resumed,
)
from .decision import AT_ONCE, AddFinalizer, RemoveFinalizer, Settings
from .observation import Created

_State = ClusterState
# No operator restarts a cluster. If the status shows a previous attempt, the controller waits for this time.
_PAUSE_BETWEEN_ATTEMPTS: Final = timedelta(seconds=300)
# The controller does not watch the pods of clusters.
_READINESS_INTERVAL: Final = timedelta(seconds=15)
_ZERO: Final = timedelta(0)
# Most pods end within seconds, so the interval grows with the time that has passed.
_SHORTEST_INTERVAL: Final = timedelta(seconds=1)
_LONGEST_INTERVAL: Final = timedelta(seconds=15)
# The time after the end of its grace period, which the deletion time includes, after which a pod counts as stuck.
_TERMINATION_LIMIT: Final = timedelta(minutes=5)
# How a pod that the garbage collector does not delete, for example a user's pod with these labels, is reported.
_RELEASE_PROBLEMS: Final = {
    ClusterState.SUSPENDED: reasons.SUSPEND_RELEASE_FAILED,
    ClusterState.SCHEDULING_FAILURE: reasons.CLUSTER_RELEASE_FAILED,
}
_MAX_NAMES: Final = 10
_SUSPENDED: Final = "The cluster is suspended; set spec.suspend to false to start it."


def decide(cluster: SparkCluster, observed: ClusterObserved, settings: Settings, now: datetime) -> ClusterDecision:
    """Decide what to do next with `cluster`; change nothing and never raise.

    Args:
        cluster: The resource as it was read, with the status on which the decision builds.
        observed: What the actions of this pass have shown, empty before the first one.
        settings: The settings of the controller.
        now: The time, with an offset. It may be earlier than in the pass before.
    """
    status = cluster.status or create_cluster_status(cluster.creation_timestamp or now)
    situation = ClusterSituation(cluster, status, observed, settings, now)
    for rule in _RULES_OF_DELETION if cluster.deletion_timestamp else (_add_finalizer, *RULES[situation.state]):
        if decision := rule(situation):
            return decision
    return ClusterDecision(reasons.NOTHING_DUE)


def _add_finalizer(situation: ClusterSituation) -> ClusterDecision | None:
    if CLUSTER_FINALIZER in situation.cluster.finalizers:
        return None
    message = "The finalizer is added before anything is created."
    return situation.wait(reasons.FINALIZER_MISSING, message, AT_ONCE, AddFinalizer())


def _remove_finalizer(situation: ClusterSituation) -> ClusterDecision:
    held = CLUSTER_FINALIZER in situation.cluster.finalizers
    message = "The cluster is deleted; the garbage collector deletes its objects."
    return ClusterDecision(reasons.CLUSTER_DELETED, message, (RemoveFinalizer(),) if held else ())


def _await_backoff(situation: ClusterSituation) -> ClusterDecision | None:
    remaining = _PAUSE_BETWEEN_ATTEMPTS - policy.measure_elapsed(
        situation.status.current_state.last_transition_time, situation.now
    )
    if situation.status.previous_attempt_summary is None or remaining <= AT_ONCE:
        return None
    return situation.wait(reasons.RESTART_BACKOFF, "The next attempt starts after its backoff.", remaining)


def _create(situation: ClusterSituation) -> ClusterDecision:
    outcome = situation.observed.outcome
    if outcome is None:
        message = "The objects of the SparkCluster have not all been applied yet."
        return situation.wait(reasons.CLUSTER_DUE, message, AT_ONCE, ApplyCluster())
    if isinstance(outcome, Created):
        message = "All objects of the cluster were applied."
        return situation.apply_spec(_State.RUNNING_HEALTHY, reasons.CLUSTER_CREATED, message)
    return situation.apply_spec(_State.SCHEDULING_FAILURE, outcome.reason, outcome.detail)


def _warn_of_edit(situation: ClusterSituation) -> ClusterDecision | None:
    applied = situation.status.observed_generation
    # A status of another controller does not show which version of the spec was applied.
    if applied is None or situation.cluster.generation <= applied:
        return None
    if situation.state is _State.RESOURCE_RELEASED:
        message = (
            "The change of the spec has no effect, because the cluster has failed. "
            "Delete the cluster and create it again to apply the change."
        )
    else:
        message = (
            "The change of the spec has no effect yet, because the objects of the cluster already exist. "
            "To apply the change, suspend and resume the cluster, or delete it and create it again."
        )
    return ClusterDecision(reasons.SPEC_CHANGE_IGNORED, message)


_RULES_OF_DELETION: Final[tuple[ClusterRule, ...]] = (_remove_finalizer,)


def await_cluster_admission(situation: ClusterSituation) -> ClusterDecision | None:
    """Ask Kueue for the admission of a cluster, and wait for it; no state is written."""
    is_started = situation.observed.has_master
    step = steps.choose_admission_step(situation.observed.queue, is_started=bool(is_started))
    if step is not None and is_started is None:
        message = "The controller checks with the API whether the master of the queued cluster exists."
        return situation.wait(reasons.KUEUE_ADMISSION_DUE, message, AT_ONCE, FindMaster())
    if isinstance(step, Unsuitable):
        return situation.apply_spec(ClusterState.SCHEDULING_FAILURE, step.reason, step.detail)
    return None if step is None else _take(situation, step)


def suspend_evicted_cluster(situation: ClusterSituation) -> ClusterDecision | None:
    """Suspend a running cluster that Kueue has evicted."""
    eviction = steps.find_eviction(situation.observed.queue)
    if eviction is None:
        return None
    message = f"Kueue has evicted the cluster ({eviction}): its pods are deleted, and it is queued again."
    return situation.suspend(SuspendReason.KUEUE_EVICTION, message)


def report_cluster_readiness(situation: ClusterSituation) -> ClusterDecision | None:
    """Tell Kueue once that all pods of the cluster are ready."""
    queue = situation.observed.queue
    if queue is None or queue.workload is None:
        return None
    if not state.is_true(queue.workload, state.ADMITTED) or state.is_true(queue.workload, state.PODS_READY):
        return None
    message = "Some pods are not ready yet. When all pods are ready, the controller records this on the Workload."
    return situation.wait(reasons.KUEUE_PODS_READY, message, _READINESS_INTERVAL, steps.MarkPodsReady())


def release_cluster_quota(situation: ClusterSituation) -> ClusterDecision | None:
    """Return the quota of a cluster without pods."""
    step = steps.choose_release_step(situation.observed.queue)
    return None if step is None else _take(situation, step)


def leave_cluster_queue(situation: ClusterSituation) -> ClusterDecision | None:
    """Return the quota of a suspended cluster without pods. After an eviction it may keep its Workload."""
    if situation.status.current_state.suspend_reason is not SuspendReason.KUEUE_EVICTION:
        return release_cluster_quota(situation)
    step = steps.choose_requeue_step(situation.observed.queue, situation.now)
    return None if step is None else _take(situation, step)


def _take(situation: ClusterSituation, step: steps.QueueStep) -> ClusterDecision:
    after = situation.settings.reconcile_interval if step.after is None else step.after
    return situation.wait(step.reason, step.message, after, *step.actions)


def hold_suspended(situation: ClusterSituation) -> ClusterDecision | None:
    """Create nothing for a suspended cluster, unless an earlier pass has already created its master.

    A cluster that was resumed would keep a status that says so. It becomes Suspended again instead.
    """
    if not situation.is_suspended:
        return None
    if is_resumed(situation.status):
        return situation.suspend(SuspendReason.SPEC_SUSPEND, "The cluster was suspended again before it started.")
    interval = situation.settings.suspend_hold_requeue_interval
    if situation.observed.has_master is None:
        message = "The controller checks with the API whether the master of the suspended cluster exists."
        return situation.wait(reasons.SUSPENDED, message, interval, FindMaster())
    # A master without a state would run unobserved: its creation is completed first.
    if situation.observed.has_master:
        return None
    return release_cluster_quota(situation) or situation.wait(reasons.SUSPEND_HELD, _SUSPENDED, interval)


def suspend_running(situation: ClusterSituation) -> ClusterDecision | None:
    """Suspend a running cluster."""
    if not situation.is_suspended:
        return None
    return situation.suspend(SuspendReason.SPEC_SUSPEND, "The cluster is suspended; its pods are being deleted.")


def record_spec_suspension(situation: ClusterSituation) -> ClusterDecision | None:
    """Record that the user has suspended a cluster that Kueue had evicted: it now waits for the user."""
    evicted = situation.status.current_state.suspend_reason is SuspendReason.KUEUE_EVICTION
    if not (evicted and situation.is_suspended):
        return None
    return situation.suspend(
        SuspendReason.SPEC_SUSPEND,
        "Kueue evicted the cluster. The cluster stays suspended, because spec.suspend is true.",
    )


def release_pods(situation: ClusterSituation) -> ClusterDecision | None:
    """Delete the master and the workers; None if no pod holds resources any more, or if all others are stuck."""
    elapsed = policy.measure_elapsed(situation.status.current_state.last_transition_time, situation.now)
    interval = min(max(elapsed, _SHORTEST_INTERVAL), _LONGEST_INTERVAL)
    if situation.observed.pods is None:
        return situation.wait(reasons.RELEASING, "The StatefulSets are being deleted.", interval, StopCluster())
    holds = [_measure_hold(pod, situation.now) for pod in situation.observed.pods]
    longest = max(holds, default=_ZERO)
    if longest <= _ZERO:
        return None
    kept = [pod for pod in situation.observed.pods if read_deletion_deadline(pod) is None]
    if elapsed >= _TERMINATION_LIMIT and (names := _list_names(kept)):
        return situation.wait(_RELEASE_PROBLEMS[situation.state], _describe_kept_pods(names), interval)
    message = f"{len(holds)} pods of the cluster are terminating."
    return situation.wait(reasons.RELEASING, message, min(longest, interval))


def report_stuck_pods(situation: ClusterSituation) -> ClusterDecision | None:
    """Keep a suspended cluster from starting while pods of it exist; name them in a state, once for each list."""
    names = _list_names(situation.observed.pods or ())
    if not names:
        return None
    message = (
        f"The cluster is suspended, but these pods did not terminate: {join_first(names, _MAX_NAMES)}. It starts again "
        "only after they are gone. Check their nodes and finalizers."
    )
    current = situation.status.current_state
    if current.message != message:
        return situation.suspend(current.suspend_reason or SuspendReason.SPEC_SUSPEND, message, (DeleteScaling(),))
    return situation.wait(reasons.SUSPENDED, message, situation.settings.reconcile_interval, DeleteScaling())


def await_resumption(situation: ClusterSituation) -> ClusterDecision:
    """Wait until the user resumes the cluster, then submit it again."""
    if situation.is_suspended:
        interval = situation.settings.suspend_hold_requeue_interval
        return situation.wait(reasons.SUSPENDED, _SUSPENDED, interval, DeleteScaling())
    return situation.resume("The cluster was resumed; its objects are applied again.", (DeleteScaling(),))


def release_failed(situation: ClusterSituation) -> ClusterDecision:
    """Delete the other objects of a cluster that could not be created. The message repeats the cause."""
    cause = situation.status.current_state.message or "its objects could not be created."
    message = describe_cluster_failure(cause)
    actions = (DeleteScaling(), DeleteNetwork())
    return situation.move(ClusterState.RESOURCE_RELEASED, reasons.CLUSTER_RELEASED, message, actions)


def _describe_kept_pods(names: list[str]) -> str:
    return (
        f"These pods have the labels of the cluster, but are not being deleted: {join_first(names, _MAX_NAMES)}. The "
        "controller waits until they do not exist. Delete them, or remove the labels."
    )


def _measure_hold(pod: KubernetesObject, now: datetime) -> timedelta:
    """Return how long to wait for a pod at most; 0 or less if it counts as stuck."""
    deleted = read_deletion_deadline(pod)
    # The garbage collector has yet to delete a pod without a deletion time.
    return _TERMINATION_LIMIT if deleted is None else policy.measure_remaining(_TERMINATION_LIMIT, deleted, now)


def _list_names(pods: Iterable[KubernetesObject]) -> list[str]:
    return sorted(get_text(get_object(pod.get("metadata")).get("name")) for pod in pods)


# The order of the rules of a state:
#
# - Nothing is requested from Kueue for a cluster that is held or waits for its backoff: it would use quota.
# - Pods are deleted before quota is returned, and quota before the state changes. A later state would not return it.
# - `spec.suspend` counts before an eviction: the cluster then waits for the user, not for Kueue. In Suspended, the
#   cause is corrected first, because it decides whether the Workload stays.
# - Readiness and warnings are last, because they do not change the cluster.
RULES: Final[Mapping[ClusterState, tuple[ClusterRule, ...]]] = {
    _State.SUBMITTED: (hold_suspended, _await_backoff, await_cluster_admission, _create),
    _State.SCHEDULING_FAILURE: (release_pods, release_cluster_quota, release_failed),
    _State.RUNNING_HEALTHY: (suspend_running, suspend_evicted_cluster, report_cluster_readiness, _warn_of_edit),
    _State.SUSPENDED: (
        record_spec_suspension,
        release_pods,
        leave_cluster_queue,
        report_stuck_pods,
        await_resumption,
    ),
    _State.RESOURCE_RELEASED: (_warn_of_edit,),
    _State.FAILED: (),
}
"""The rules of each state, in order: the first one that applies decides."""
