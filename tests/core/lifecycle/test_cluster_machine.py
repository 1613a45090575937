"""Events in any order: every move of a cluster is legal, its pods are released, and it never starts twice."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from airflow_provider_spark_operator.core.kubernetes.json_object import KubernetesObject
from airflow_provider_spark_operator.core.kubernetes.names import CLUSTER_FINALIZER
from airflow_provider_spark_operator.core.lifecycle import cluster
from airflow_provider_spark_operator.core.lifecycle.cluster_decision import (
    CLUSTER_MOVES,
    ApplyCluster,
    ClusterAction,
    ClusterDecision,
    ClusterObserved,
    DeleteNetwork,
    DeleteScaling,
    FindMaster,
    StopCluster,
)
from airflow_provider_spark_operator.core.lifecycle.decision import AddFinalizer, RemoveFinalizer, Settings
from airflow_provider_spark_operator.core.lifecycle.observation import Created, Refused
from airflow_provider_spark_operator.core.models.cluster import ClusterState, ClusterStateRecord, SparkCluster
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import SuspendReason
from tests.core.cluster_builders import NOW, build_cluster, build_pod

State = ClusterState
SETS = frozenset({"master", "worker"})
SCALING = frozenset({"autoscaler", "budget"})
NETWORK = frozenset({"services", "policy"})
MAX_PASSES = 8


class ClusterMachine(RuleBasedStateMachine):
    """A cluster, its objects and pods, and a controller that can be killed after each of its writes."""

    @initialize(suspend=st.booleans(), trim=st.booleans())
    def create(self, suspend: bool, trim: bool) -> None:
        self.now = NOW
        self.settings = Settings(trim_state_transition_history=trim)
        self.cluster = build_cluster(finalizer=False, suspend=suspend)
        self.objects: frozenset[str] = frozenset()
        # The deletion time of each pod, None while it is not being deleted.
        self.pods = dict[str, KubernetesObject]()
        self.refused = False
        self.exists = True
        self.last_decision = ClusterDecision(reasons.NOTHING_DUE)

    # --- actions of other controllers, the kubelet and users ---

    @rule(suspend=st.booleans())
    def edit(self, suspend: bool) -> None:
        spec = self.cluster.spec.model_copy(update={"suspend": suspend})
        metadata = {**self.cluster.metadata, "generation": self.cluster.generation + 1}
        self.cluster = self.cluster.model_copy(update={"spec": spec, "metadata": metadata})

    @rule(refused=st.booleans())
    def change_permissions(self, refused: bool) -> None:
        self.refused = refused

    @rule(role=st.sampled_from(["master", "worker"]))
    def start_pod(self, role: str) -> None:
        if role in self.objects:
            self.pods.setdefault(role, build_pod(role))

    @precondition(lambda self: self.pods)
    @rule()
    def terminate_pods(self) -> None:
        """The garbage collector deletes the pods of deleted StatefulSets."""
        for role in self.pods.keys() - self.objects:
            if "deletionTimestamp" not in self.pods[role]["metadata"]:  # type: ignore[operator]
                self.pods[role] = build_pod(role, deleted=self.now)

    @rule()
    def end_pods(self) -> None:
        """Nodes confirm the end of the pods that are being deleted."""
        for role in [each for each in self.pods if "deletionTimestamp" in self.pods[each]["metadata"]]:  # type: ignore[operator]
            del self.pods[role]

    @rule(seconds=st.sampled_from([-60, 1, 5, 299, 301, 4000]))
    def pass_time(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @precondition(lambda self: self.state is State.RUNNING_HEALTHY)
    @rule()
    def evict(self) -> None:
        """Another controller suspends the cluster for Kueue, with the status that it writes."""
        assert self.cluster.status
        record = ClusterStateRecord(
            current_state_summary=State.SUSPENDED,
            last_transition_time=self.now,
            suspend_reason=SuspendReason.KUEUE_EVICTION,
        )
        key = str(max(map(int, self.cluster.status.state_transition_history)) + 1)
        history = {**self.cluster.status.state_transition_history, key: record}
        status = self.cluster.status.model_copy(update={"current_state": record, "state_transition_history": history})
        self.cluster = self.cluster.model_copy(update={"status": status})

    @rule()
    def delete(self) -> None:
        metadata = {**self.cluster.metadata, "deletionTimestamp": NOW.isoformat()}
        self.cluster = self.cluster.model_copy(update={"metadata": metadata})
        self.exists = bool(self.cluster.finalizers) and self.exists

    # --- actions of the controller ---

    @precondition(lambda self: self.exists)
    @rule(writes=st.integers(0, MAX_PASSES))
    def reconcile(self, writes: int) -> None:
        """Reconcile once, or until the process is killed after some writes."""
        observed = self.observe()
        for _ in range(MAX_PASSES):
            decision = cluster.decide(self.cluster, observed, self.settings, self.now)
            known = observed
            for action in decision.actions:
                if writes == 0:
                    return
                writes -= 1
                observed = self._apply(action, observed)
            if observed is known:
                self._write(decision)
                return
        raise AssertionError("one reconcile did not finish")

    def observe(self) -> ClusterObserved:
        """Return the facts at the start of a reconcile."""
        return ClusterObserved()

    def _apply(self, action: ClusterAction, observed: ClusterObserved) -> ClusterObserved:
        match action:
            case AddFinalizer():
                self._set_finalizers([CLUSTER_FINALIZER])
            case RemoveFinalizer():
                self.exists = False
            case ApplyCluster():
                # No pod of an earlier start exists when the objects are created.
                assert self.objects & SETS or not self.pods
                self.objects = NETWORK | SETS if self.refused else NETWORK | SETS | SCALING
                return replace(observed, outcome=Refused("quota") if self.refused else Created())
            case FindMaster():
                return replace(observed, has_master="master" in self.objects)
            case StopCluster():
                self.objects -= SETS
                return replace(observed, pods=tuple(self.pods.values()))
            case DeleteScaling():
                assert not self.objects & SETS
                self.objects -= SCALING
            case DeleteNetwork():
                assert not self.objects & (SETS | SCALING)
                self.objects -= NETWORK
        return observed

    def _write(self, decision: ClusterDecision) -> None:
        self.last_decision = decision
        if decision.status is None:
            return
        assert not self.cluster.deletion_timestamp
        target = decision.status.current_state
        assert target.current_state_summary in CLUSTER_MOVES[self.state]
        assert (target.suspend_reason is not None) == (target.current_state_summary is State.SUSPENDED)
        if self.state is State.SUSPENDED and target.current_state_summary is State.SUBMITTED:
            assert not self.pods
            assert not self.cluster.spec.suspend
        self.cluster = self.cluster.model_copy(update={"status": decision.status})

    def _set_finalizers(self, finalizers: list[str]) -> None:
        metadata = {**self.cluster.metadata, "finalizers": finalizers}
        self.cluster = self.cluster.model_copy(update={"metadata": metadata})

    # --- invariants ---

    @property
    def state(self) -> ClusterState:
        """The current state."""
        status = self.cluster.status
        return status.current_state.current_state_summary if status else State.SUBMITTED

    @invariant()
    def history_grows_by_legal_moves(self) -> None:
        status = self.cluster.status
        if status is None:
            return
        keys = sorted(map(int, status.state_transition_history))
        assert keys == list(range(keys[0], keys[-1] + 1))
        records = [status.state_transition_history[str(key)] for key in keys]
        assert records[-1] == status.current_state
        states = [each.current_state_summary for each in records if isinstance(each, ClusterStateRecord)]
        assert all(after in CLUSTER_MOVES[before] for before, after in pairwise(states))

    @invariant()
    def released_cluster_has_no_objects(self) -> None:
        if self.state is State.RESOURCE_RELEASED:
            assert not self.objects

    @invariant()
    def held_cluster_has_no_master(self) -> None:
        if self.last_decision.reason == reasons.SUSPEND_HELD and self.state is State.SUBMITTED:
            assert not self.objects & SETS or not self.cluster.spec.suspend

    def teardown(self) -> None:
        """Let the controller and the nodes work undisturbed: the cluster reaches the state that its user wants."""
        if not hasattr(self, "cluster"):
            return
        for _ in range(3 * MAX_PASSES):
            self.terminate_pods()
            self.end_pods()
            if self.exists:
                self.reconcile(writes=MAX_PASSES)
        wanted = _find_wanted_states(self.cluster)
        assert self.exists is not bool(self.cluster.deletion_timestamp)
        assert not self.exists or self.state in wanted
        if self.exists and self.cluster.spec.suspend:
            assert not self.pods
            assert not self.objects & (SETS | SCALING)


def _find_wanted_states(one: SparkCluster) -> set[ClusterState]:
    ended = {State.RESOURCE_RELEASED}
    return ended | ({State.SUBMITTED, State.SUSPENDED} if one.spec.suspend else {State.RUNNING_HEALTHY})


ClusterMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestClusterMachine = ClusterMachine.TestCase
