"""Events of Kueue in any order: no cluster without admission, and no quota released while a pod exists."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from airflow_provider_spark_operator.core.kubernetes.times import read_time
from airflow_provider_spark_operator.core.kueue import state
from airflow_provider_spark_operator.core.kueue.admission import Admitted, Stale, read_admission
from airflow_provider_spark_operator.core.kueue.cluster_pods import build_cluster_pod_sets
from airflow_provider_spark_operator.core.kueue.steps import (
    GiveBackQuota,
    Granted,
    MarkPodsReady,
    QueueAnswer,
    QueueObservation,
    ReleaseQuota,
    RequestAdmission,
    Waiting,
)
from airflow_provider_spark_operator.core.kueue.workload import WantedWorkload
from airflow_provider_spark_operator.core.lifecycle.cluster_decision import ApplyCluster, ClusterAction, ClusterObserved
from tests.core.cluster_resources.clusters import OPERATOR
from tests.core.kueue.workloads import EVICTED, QUEUE, build_condition
from tests.core.lifecycle.test_cluster_machine import MAX_PASSES, SETS, ClusterMachine

STUCK = timedelta(minutes=5)
# The possible states of the resource before the first random event.
BEGINNINGS = ("created", "running", "preempted", "evicted", "deactivated")


class QueuedClusterMachine(ClusterMachine):
    """The machine of clusters in a queue of Kueue."""

    workload: dict[str, Any] | None = None

    @initialize(suspend=st.booleans(), trim=st.booleans(), beginning=st.sampled_from(BEGINNINGS))
    def create(self, suspend: bool, trim: bool, beginning: str = "created") -> None:
        super().create(suspend, trim)
        self.workload = None
        if beginning == "running":
            self.run_cluster()
        elif beginning == "preempted":
            self.preempt()
        elif beginning != "created":
            self.revoke_admission(deactivated=beginning == "deactivated")

    # --- actions of Kueue and its users ---

    @rule()
    def admit(self) -> None:
        if self.workload is not None and state.is_active(self.workload):
            self._set_conditions(build_condition("QuotaReserved"), build_condition("Admitted"))

    @rule()
    def evict_workload(self) -> None:
        if self.workload is not None and state.is_true(self.workload, state.ADMITTED):
            self._set_conditions(build_condition("QuotaReserved"), build_condition("Admitted"), EVICTED)

    @precondition(lambda self: self.exists)
    @rule(deactivated=st.booleans())
    def revoke_admission(self, deactivated: bool) -> None:
        """Admit the cluster, and revoke the admission before the controller has seen it."""
        self._reconcile_often()
        self.admit()
        if not deactivated:
            self.evict_workload()
        elif self.workload is not None:  # Kueue has not evicted it yet
            self.workload["spec"]["active"] = False
        self._reconcile_often()

    @precondition(lambda self: self.exists)
    @rule()
    def run_cluster(self) -> None:
        """Admit the cluster, and start its pods: random events rarely lead there."""
        self._reconcile_often()
        self.admit()
        self._reconcile_often()
        self.start_pod("master")
        self.start_pod("worker")

    @precondition(lambda self: self.exists)
    @rule()
    def preempt(self) -> None:
        """Run the cluster, and let the controller suspend it for Kueue. Its pods still exist."""
        self.run_cluster()
        self.evict_workload()
        self._reconcile_often()

    @precondition(lambda self: self.exists)
    @rule()
    def start_again(self) -> None:
        """Let the pods of a preempted cluster end, and admit it again."""
        self.preempt()
        self.terminate_pods()
        self.end_pods()
        self.run_cluster()

    def _reconcile_often(self) -> None:
        for _ in range(3):
            if self.exists:
                self.reconcile(MAX_PASSES)

    @rule(active=st.booleans())
    def set_active(self, active: bool) -> None:
        if self.workload is not None:
            self.workload["spec"]["active"] = active
            if not active:
                self.evict_workload()

    @rule()
    def delete_workload(self) -> None:
        if not self.objects & SETS:  # without its quota, a running cluster continues
            self.workload = None

    # --- actions of the controller ---

    def observe(self) -> ClusterObserved:
        return ClusterObserved(queue=QueueObservation(QUEUE, self.workload))

    def _apply(self, action: ClusterAction, observed: ClusterObserved) -> ClusterObserved:
        match action:
            case ApplyCluster():
                self._check_admission()
            case RequestAdmission(is_started):
                answer = Granted() if is_started else self._ask()
                return replace(observed, queue=QueueObservation(QUEUE, self.workload, answer))
            case ReleaseQuota():
                self._check_pods()
                self.workload = None
                return replace(observed, queue=QueueObservation(QUEUE, is_released=True))
            case GiveBackQuota():
                self._check_pods()
                assert self.workload is not None
                self.workload["status"] |= state.build_release_patch(self.workload, self.now)["status"]
                return replace(observed, queue=QueueObservation(QUEUE, self.workload, is_released=True))
            case MarkPodsReady():
                return observed
        return super()._apply(action, observed)

    def _ask(self) -> QueueAnswer:
        wanted = WantedWorkload(self.cluster, QUEUE, build_cluster_pod_sets(self.cluster, OPERATOR))
        if self.workload is None:
            self.workload = {**wanted.to_document(), "status": {}}
        answer = read_admission(self.workload, wanted, self.now)
        if isinstance(answer, Stale) and not self.pods:
            self.workload = None
        return Granted() if isinstance(answer, Admitted) else Waiting("It waits.")

    def _check_admission(self) -> None:
        """Fail if pods are created without an admission that is in force."""
        if self.objects & SETS:
            return
        assert self.workload is not None, "no Workload"
        assert state.is_true(self.workload, state.ADMITTED), "no quota"
        assert state.is_active(self.workload), "the Workload is deactivated"
        assert state.describe_eviction(self.workload) is None, "the Workload is evicted"

    def _check_pods(self) -> None:
        """Fail if quota is released that pods use, unless they have not terminated in time."""
        for pod in self.pods.values():
            metadata: Any = pod["metadata"]
            deleted = read_time(metadata.get("deletionTimestamp"))
            assert deleted is not None, "quota is released while a pod lives"
            assert self.now - deleted >= STUCK, "quota is released while a pod terminates"

    def _set_conditions(self, *conditions: dict[str, str]) -> None:
        assert self.workload is not None
        self.workload["status"] = {"conditions": list(conditions)}

    def teardown(self) -> None:
        """A queued cluster may wait for its admission indefinitely."""


QueuedClusterMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestQueuedClusterMachine = QueuedClusterMachine.TestCase
