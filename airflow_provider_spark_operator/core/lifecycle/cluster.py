"""The lifecycle of a SparkCluster: decide the next step from its spec, its status and the time.

A cluster is created once, and again after each suspension. As with the Apache operator, the controller does not wait
for its pods: the StatefulSets manage them. Other edits of the spec do not change a running cluster, because new pods
would end its applications.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from ..kubernetes.names import CLUSTER_FINALIZER
from ..models.cluster import SparkCluster
from ..models.cluster_status import ClusterState
from ..states import reasons
from .cluster_decision import ApplyCluster, ClusterDecision, ClusterObserved, ClusterRule, ClusterSituation
from .cluster_queue_rules import (
    await_cluster_admission,
    leave_cluster_queue,
    release_cluster_quota,
    report_cluster_readiness,
    suspend_evicted_cluster,
)
from .cluster_suspension import (
    await_resumption,
    hold_suspended,
    record_spec_suspension,
    release_failed,
    release_pods,
    report_stuck_pods,
    suspend_running,
)
from .cluster_transitions import create_cluster_status
from .decision import AT_ONCE, AddFinalizer, RemoveFinalizer, Settings
from .observation import Created
from .policy import measure_elapsed

_State = ClusterState
# No operator restarts a cluster. If the status shows a previous attempt, the controller waits for this time.
_PAUSE_BETWEEN_ATTEMPTS: Final = timedelta(seconds=300)


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
    remaining = _PAUSE_BETWEEN_ATTEMPTS - measure_elapsed(
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
