"""The rules of a SparkCluster in a queue of Kueue.

No pod is created before the admission. The quota is returned only when the pods of the cluster have ended.
"""

from datetime import timedelta
from typing import Final

from ..kueue import state, steps
from ..kueue.observation import Unsuitable
from ..models.cluster_status import ClusterState
from ..states import reasons
from ..states.states import SuspendReason
from .cluster_decision import ClusterDecision, ClusterSituation, FindMaster
from .decision import AT_ONCE

# The controller does not watch the pods of clusters.
_READINESS_INTERVAL: Final = timedelta(seconds=15)


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
