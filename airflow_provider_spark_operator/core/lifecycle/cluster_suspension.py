"""The rules of `spec.suspend` of a SparkCluster, and of the release of its pods.

A cluster is suspended before its StatefulSets are deleted, so that a controller that is killed in between continues.
Its Services and its NetworkPolicy stay. Pods are never deleted by force: a StatefulSet could then have two pods of one
identity.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from ..kubernetes.json_object import KubernetesObject, join_first, read_time
from ..kubernetes.pods import get_object, get_text
from ..models.cluster_status import ClusterState
from ..states import reasons
from ..states.states import SuspendReason
from . import policy
from .cluster_decision import ClusterDecision, ClusterSituation, DeleteNetwork, DeleteScaling, FindMaster, StopCluster
from .cluster_queue_rules import release_cluster_quota
from .cluster_transitions import describe_cluster_failure, is_resumed

_ZERO: Final = timedelta(0)
# The controller does not watch the pods of clusters. Most pods end within seconds, so the interval grows with the time
# that has passed.
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
    kept = [pod for pod in situation.observed.pods if _read_deletion_time(pod) is None]
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
    deleted = _read_deletion_time(pod)
    # The garbage collector has yet to delete a pod without a deletion time.
    return _TERMINATION_LIMIT if deleted is None else policy.measure_remaining(_TERMINATION_LIMIT, deleted, now)


def _read_deletion_time(pod: KubernetesObject) -> datetime | None:
    return read_time(get_object(pod.get("metadata")).get("deletionTimestamp"))


def _list_names(pods: Iterable[KubernetesObject]) -> list[str]:
    return sorted(get_text(get_object(pod.get("metadata")).get("name")) for pod in pods)
