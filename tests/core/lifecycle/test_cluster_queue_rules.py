from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kueue.cluster_pods import build_cluster_pod_sets
from airflow_provider_spark_operator.core.kueue.steps import (
    GiveBackQuota,
    Granted,
    MarkPodsReady,
    QueueObservation,
    ReleaseQuota,
    RequestAdmission,
    Unsuitable,
    Waiting,
)
from airflow_provider_spark_operator.core.kueue.workload import WantedWorkload
from airflow_provider_spark_operator.core.lifecycle import cluster
from airflow_provider_spark_operator.core.lifecycle.cluster_decision import (
    ApplyCluster,
    ClusterDecision,
    ClusterObserved,
    FindMaster,
)
from airflow_provider_spark_operator.core.lifecycle.observation import Created
from airflow_provider_spark_operator.core.models.cluster import ClusterState, SparkCluster
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import SuspendReason
from tests.core.cluster_builders import NOW, SETTINGS, build_cluster, build_pod, build_status, get_current, get_state
from tests.core.cluster_resources.clusters import OPERATOR
from tests.core.kueue.workloads import ADMITTED, EVICTED, QUEUE, build_condition, build_workload

S = ClusterState
QUEUED = QueueObservation(QUEUE)


def build_queue(*conditions: dict[str, str], **modifiers: Any) -> QueueObservation:
    one = build_cluster()
    wanted = WantedWorkload(one, QUEUE, build_cluster_pod_sets(one, OPERATOR))
    return QueueObservation(QUEUE, build_workload(wanted, *conditions, **modifiers))


def decide(one: SparkCluster, queue: QueueObservation | None, **observed: Any) -> ClusterDecision:
    return cluster.decide(one, ClusterObserved(queue=queue, **observed), SETTINGS, NOW)


def build_evicted() -> SparkCluster:
    return build_cluster(status=build_status(S.SUSPENDED, cause=SuspendReason.KUEUE_EVICTION))


def test_queued_cluster_asks_for_admission_before_it_is_created() -> None:
    one = build_cluster(S.SUBMITTED)
    assert decide(one, QUEUED).actions == (FindMaster(),)
    assert decide(one, QUEUED, has_master=False).actions == (RequestAdmission(),)
    assert decide(one, QUEUED, has_master=True).actions == (RequestAdmission(is_started=True),)


@pytest.mark.parametrize("queue", [None, QueueObservation()], ids=["without Kueue", "without a queue"])
def test_cluster_outside_of_queues_is_created_at_once(queue: QueueObservation | None) -> None:
    assert decide(build_cluster(S.SUBMITTED), queue).actions == (ApplyCluster(),)


def test_answer_of_kueue_decides_about_the_creation() -> None:
    one = build_cluster(S.SUBMITTED)

    def answer(given: Granted | Waiting | Unsuitable, **observed: Any) -> ClusterDecision:
        return decide(one, QueueObservation(QUEUE, answer=given), has_master=False, **observed)

    waiting = answer(Waiting("Full."))
    assert (waiting.reason, waiting.actions, waiting.requeue_after) == (
        reasons.KUEUE_ADMISSION_PENDING,
        (),
        SETTINGS.reconcile_interval,
    )
    assert get_state(answer(Unsuitable("minWorkers"))) is S.SCHEDULING_FAILURE
    assert answer(Granted()).actions == (ApplyCluster(),)
    assert get_state(answer(Granted(), outcome=Created())) is S.RUNNING_HEALTHY


def test_held_cluster_leaves_the_queue() -> None:
    one = build_cluster(suspend=True)
    assert decide(one, build_queue(), has_master=False).actions == (ReleaseQuota(),)
    held = decide(one, QueueObservation(QUEUE, is_released=True), has_master=False)
    assert held.reason == reasons.SUSPEND_HELD


def test_evicted_cluster_is_suspended_and_queued_again() -> None:
    suspended = decide(build_cluster(S.RUNNING_HEALTHY), build_queue(*ADMITTED, EVICTED))
    assert get_state(suspended) is S.SUSPENDED
    assert get_current(suspended).suspend_reason is SuspendReason.KUEUE_EVICTION
    one = build_evicted()
    queue, release = build_queue(*ADMITTED, EVICTED), ReleaseQuota(is_evicted=True)
    assert release not in decide(one, queue, pods=(build_pod(),)).actions
    assert decide(one, queue, pods=()).actions == (release,)
    assert get_state(decide(one, QueueObservation(QUEUE, is_released=True), pods=())) is S.SUBMITTED


def test_deactivated_cluster_returns_its_quota_and_waits() -> None:
    one = build_evicted()
    first = decide(one, build_queue(*ADMITTED, EVICTED, spec={"active": False}), pods=())
    assert first.actions == (GiveBackQuota(),)
    waiting = decide(one, build_queue(EVICTED, spec={"active": False}), pods=())
    assert (waiting.actions, waiting.requeue_after) == ((), timedelta(seconds=1800))


def test_suspended_cluster_releases_its_quota_after_its_pods() -> None:
    one = build_cluster(S.SUSPENDED, suspend=True)
    queue = build_queue(*ADMITTED)
    assert ReleaseQuota() not in decide(one, queue, pods=(build_pod(),)).actions
    assert decide(one, queue, pods=()).actions == (ReleaseQuota(),)


def test_cluster_that_could_not_be_created_releases_its_quota_after_its_pods() -> None:
    one = build_cluster(S.SCHEDULING_FAILURE)
    queue = build_queue(*ADMITTED)
    assert ReleaseQuota() not in decide(one, queue, pods=(build_pod(),)).actions
    assert decide(one, queue, pods=()).actions == (ReleaseQuota(),)
    assert get_state(decide(one, QueueObservation(is_released=True), pods=())) is S.RESOURCE_RELEASED


@pytest.mark.parametrize(
    ("conditions", "asks"),
    [(ADMITTED, True), ((), False), ((*ADMITTED, build_condition("PodsReady")), False)],
    ids=["admitted", "without admission", "already ready"],
)
def test_readiness_of_an_admitted_cluster_is_checked_until_it_is_recorded(
    conditions: tuple[dict[str, str], ...], asks: bool
) -> None:
    decision = decide(build_cluster(S.RUNNING_HEALTHY), build_queue(*conditions))
    assert decision.actions == ((MarkPodsReady(),) if asks else ())
    assert (decision.reason == reasons.KUEUE_PODS_READY) is asks


def test_running_cluster_without_kueue_needs_nothing() -> None:
    assert decide(build_cluster(S.RUNNING_HEALTHY), None).reason == reasons.NOTHING_DUE
