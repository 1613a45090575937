"""Events in any order cause no exception, no illegal move and no second driver, and time limits are kept."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.kubernetes import pods
from airflow_provider_spark_operator.core.kubernetes.times import to_duration
from airflow_provider_spark_operator.core.lifecycle import policy
from airflow_provider_spark_operator.core.lifecycle.application import decide
from airflow_provider_spark_operator.core.lifecycle.decision import Settings
from airflow_provider_spark_operator.core.lifecycle.observation import (
    Absent,
    ApplicationPods,
    Created,
    CreateOutcome,
    DriverObservation,
    Observed,
    Present,
    Refused,
    Unconfirmed,
)
from airflow_provider_spark_operator.core.lifecycle.policy import TIMED_OUT
from airflow_provider_spark_operator.core.lifecycle.transitions import MOVES
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.states.states import RUNNING, STARTING, STOPPING, TERMINATED, ApplicationState
from airflow_provider_spark_operator.core.verdict.verdict import Outcome, judge_progress
from tests.builders import (
    DRIVER,
    NOW,
    build_application_document,
    build_application_model,
    build_blocked_executor,
    build_executors,
    build_status_at,
)
from tests.core.simulated_application import GRACE_SECONDS, SimulatedApplication, simulate

CONFIRMATION_TIME = timedelta(seconds=62)  # the grace period of a driver that is not in the cache, plus 2 s
MILLIS = st.sampled_from([-(2**63), -1, 0, 1, 1_000, 60_000, 10**12, 2**63 - 1])
COUNTS = st.integers(-1, 3)
STORIES = st.sampled_from(["pending", "pulling", "unready", "started", "ready", "succeeded", "failed", "killed"])
RESTART = st.fixed_dictionaries(
    {"restartPolicy": st.sampled_from(["Always", "OnFailure", "OnInfrastructureFailure", "Never"])},
    optional={
        "maxRestartAttempts": COUNTS,
        "maxRestartOnFailure": COUNTS,
        "maxRestartOnSchedulingFailure": COUNTS,
        "restartBackoffMillis": MILLIS,
        "restartBackoffMillisForFailure": MILLIS,
        "restartBackoffMillisForSchedulingFailure": MILLIS,
    },
)
TIMEOUTS = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        (
            "driverStartTimeoutMillis",
            "driverReadyTimeoutMillis",
            "executorStartTimeoutMillis",
            "forceTerminationGracePeriodMillis",
            "terminationRequeuePeriodMillis",
        ),
        MILLIS,
    ),
)
INSTANCES = st.fixed_dictionaries({}, optional=dict.fromkeys(("initExecutors", "minExecutors", "maxExecutors"), COUNTS))
RETENTION = st.fixed_dictionaries(
    {"resourceRetainPolicy": st.sampled_from(["Always", "OnFailure", "Never"])},
    optional={"resourceRetainDurationMillis": MILLIS, "ttlAfterStopMillis": MILLIS},
)


@st.composite
def tolerations(draw: st.DrawFn) -> dict[str, Any]:
    return draw(RETENTION) | {
        "restartConfig": draw(RESTART),
        "applicationTimeoutConfig": draw(TIMEOUTS),
        "instanceConfig": draw(INSTANCES),
    }


IMAGE = {"spark.kubernetes.container.image": "spark"}
JAR = "local:///app.jar"
NO_FIELDS: dict[str, st.SearchStrategy[Any]] = {}
SPEC_EDITS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    NO_FIELDS,
    optional={
        "deploymentMode": st.sampled_from(["ClusterMode", "ClientMode"]),
        "sparkConf": st.sampled_from(
            [
                {},  # no driver can be built without an image
                IMAGE,
                {**IMAGE, "spark.driver.memory": "much"},
                {**IMAGE, "spark.app.id": "mine"},
                {**IMAGE, "spark.app.id": "Not A Name"},
                {**IMAGE, "spark.dynamicAllocation.enabled": "true"},
                {**IMAGE, "spark.kubernetes.driver.pod.name": "another"},
                {**IMAGE, "spark.kubernetes.driver.podTemplateContainerName": DRIVER},
                {**IMAGE, "spark.kubernetes.driver.podTemplateContainerName": "another"},
            ]
        ),
        "mainClass": st.sampled_from([None, "Main", "org.apache.spark.deploy.PythonRunner"]),
        "jars": st.sampled_from([None, "", JAR, "/on/no/node.jar"]),
        "pyFiles": st.sampled_from([None, "local:///app.py", "local:///app.py,local:///more.py"]),
        "driverSpec": st.sampled_from(
            [None, {"podTemplateSpec": {}}, {"podTemplateSpec": {"spec": {"containers": 7}}}]
        ),
        "driverHttpRouteList": st.sampled_from([[], [{}]]),
    },
)


def compute_max_state_duration(application: SparkApplication) -> timedelta | None:
    """Return the longest time in the current state if each requested reconcile happens, or None if it is unlimited."""
    tolerations, status = application.spec.application_tolerations, application.status
    if status is None:
        return None
    state = status.current_state.current_state_summary
    grace = to_duration(tolerations.application_timeout_config.force_termination_grace_period_millis)
    if application.deletion_timestamp or state in STOPPING:
        return grace + CONFIRMATION_TIME
    if state is ApplicationState.SCHEDULED_TO_RESTART:
        return policy.get_backoff(tolerations.restart_config, status)
    if state in TIMED_OUT:
        limit = policy.get_timeout(tolerations.application_timeout_config, state)
        return None if limit is None else limit + CONFIRMATION_TIME
    if state is ApplicationState.TERMINATED_WITHOUT_RELEASE_RESOURCES:
        limit = policy.get_retention(tolerations)
        return None if limit is None else limit + grace + CONFIRMATION_TIME
    return policy.get_time_to_live(tolerations) if state is ApplicationState.RESOURCE_RELEASED else None


def compute_max_release_duration(application: SparkApplication) -> timedelta:
    """Return the longest time in which the driver of a suspended application, and then its executors, are released."""
    timeouts = application.spec.application_tolerations.application_timeout_config
    grace = to_duration(timeouts.force_termination_grace_period_millis) + timedelta(seconds=GRACE_SECONDS)
    return 2 * (grace + Settings().reconcile_interval) + CONFIRMATION_TIME


def compute_lost_driver_deadline(application: SparkApplication, pod: dict[str, Any]) -> datetime | None:
    """Return the latest time to abandon a driver that was deleted or lost its node, or None if neither happened."""
    grace = to_duration(
        application.spec.application_tolerations.application_timeout_config.force_termination_grace_period_millis
    )
    taken_away = [pods.find_deletion_start(pod), pods.find_node_loss(pods.get_status(pod))]
    began = [time for time in taken_away if time]
    own = timedelta(seconds=GRACE_SECONDS)
    return max(began) + max(grace, own) + Settings().reconcile_interval if began else None


class ApplicationMachine(RuleBasedStateMachine):
    """A state machine around `SimulatedApplication`, which itself fails if a second driver is created."""

    @initialize(tolerations=tolerations(), trim=st.booleans(), finalizer=st.booleans())
    def submit(self, tolerations: dict[str, Any], trim: bool, finalizer: bool) -> None:
        document = build_application_document(finalizer=finalizer, tolerations=tolerations, conf=IMAGE)
        self.simulated = SimulatedApplication(document, Settings(trim_state_transition_history=trim), builds=True)
        self.limits_changed = self.release_changed = self.simulated.now
        self.clock_went_back = False

    def compute_limit(self, application: SparkApplication) -> timedelta | None:
        """Return the longest time in the current state, or None if it is unlimited."""
        return compute_max_state_duration(application)

    def is_free_to_resume(self, application: SparkApplication) -> bool:
        """Return whether a suspended application may continue when its pods have ended.

        It waits as long as the cache shows its executors without its driver. A real cache changes: it gets the
        driver from each live read.
        """
        shows_driver = self.simulated.cached or not self.simulated.executors
        return shows_driver and not application.spec.suspend and not application.deletion_timestamp

    def has_application(self) -> bool:
        return self.simulated.document is not None

    def has_driver(self) -> bool:
        return self.has_application() and self.simulated.attempt in self.simulated.pods

    @precondition(has_driver)
    @rule(story=STORIES, evicted=st.booleans())
    def set_driver(self, story: str, evicted: bool) -> None:
        self.simulated.set_driver(story, reason="Evicted" if evicted and story in ("failed", "killed") else None)

    @precondition(has_driver)
    @rule()
    def remove_driver(self) -> None:
        self.simulated.remove_driver()

    @precondition(has_driver)
    @rule()
    def request_driver_deletion(self) -> None:
        self.simulated.request_driver_deletion()

    @precondition(has_driver)
    @rule()
    def lose_node(self) -> None:
        self.simulated.lose_node()

    @precondition(has_driver)
    @rule(ready=st.integers(0, 4), held_up=st.booleans())
    def set_executors(self, ready: int, held_up: bool) -> None:
        self.simulated.executors = build_executors(ready)
        if held_up:
            self.simulated.executors.append(build_blocked_executor("exec-9", created=self.simulated.now))

    @precondition(has_application)
    @rule(tolerations=tolerations())
    def edit_tolerations(self, tolerations: dict[str, Any]) -> None:
        self.simulated.edit(applicationTolerations=tolerations)
        self.limits_changed = self.release_changed = self.simulated.now

    @precondition(has_application)
    @rule(spec=SPEC_EDITS)
    def edit_spec(self, spec: dict[str, Any]) -> None:
        self.simulated.edit(**spec)

    @precondition(has_application)
    @rule(suspend=st.booleans())
    def edit_suspend(self, suspend: bool) -> None:
        self.simulated.edit(suspend=suspend)
        self.release_changed = self.simulated.now

    @precondition(has_application)
    @rule()
    def delete_application(self) -> None:
        self.simulated.delete()
        self.limits_changed = self.simulated.now

    @rule(refusal=st.sampled_from([None, "quota exceeded"]))
    def set_creation_refusal(self, refusal: str | None) -> None:
        self.simulated.refusal = refusal

    @rule(cached=st.booleans(), stuck=st.booleans())
    def set_cluster_faults(self, cached: bool, stuck: bool) -> None:
        self.simulated.cached, self.simulated.stuck = cached, stuck

    @rule(seconds=st.sampled_from([-3600, -1, 0, 1, 61, 400]))
    def move_clock(self, seconds: int) -> None:
        self.simulated.now += timedelta(seconds=seconds)
        self.release_changed = self.simulated.now
        self.clock_went_back |= seconds < 0

    @precondition(has_application)
    @rule(seconds=st.sampled_from([1, 61, 400]))
    def advance_time(self, seconds: int) -> None:
        """Check that no state exceeds its limit, unless the clock was set back or the application is suspended.

        A limit can be shortened below the age of the state, for example by the deletion of the application. It then
        applies from the time of the change. The deletion of the driver then has its own time limit.
        """
        self.simulated.run().advance(seconds)
        if self.simulated.document is None or self.clock_went_back:
            return
        application = self.simulated.application
        limit = self.compute_limit(application)
        if limit is not None and not application.spec.suspend:
            assert application.status is not None
            entered = application.status.current_state.last_transition_time
            timeouts = application.spec.application_tolerations.application_timeout_config
            grace = to_duration(timeouts.force_termination_grace_period_millis)
            due = max(entered + limit, self.limits_changed + grace + CONFIRMATION_TIME)
            assert self.simulated.now <= due, f"{self.simulated.state} has lasted {self.simulated.now - entered}"

    @precondition(has_application)
    @rule(seconds=st.sampled_from([61, 1000]))
    def advance_time_past_release(self, seconds: int) -> None:
        """Check that a resumed application leaves Suspended as soon as its pods have had their time to end."""
        self.simulated.run().advance(seconds)
        if self.simulated.document is None or self.clock_went_back or self.simulated.state != "Suspended":
            return
        application = self.simulated.application
        assert application.status is not None
        began = max(application.status.current_state.last_transition_time, self.release_changed)
        if self.is_free_to_resume(application):
            assert self.simulated.now <= began + compute_max_release_duration(application)

    @precondition(has_driver)
    @rule(seconds=st.sampled_from([61, 1000]))
    def advance_time_past_driver_deadline(self, seconds: int) -> None:
        self.simulated.run().advance(seconds)
        if self.clock_went_back or not self.has_driver():
            return
        application = self.simulated.application
        due = compute_lost_driver_deadline(application, self.simulated.pods[self.simulated.attempt])
        if due is not None and self.simulated.state in STARTING | RUNNING and not application.deletion_timestamp:
            assert self.simulated.now <= max(due, self.limits_changed + CONFIRMATION_TIME)

    @precondition(has_application)
    @rule()
    def reconcile(self) -> None:
        self.simulated.run()

    @precondition(has_application)
    @rule()
    def reconcile_without_status_write(self) -> None:
        self.simulated.lose_writes = True
        self.simulated.run()
        self.simulated.lose_writes = False

    @invariant()
    def check_at_most_one_driver(self) -> None:
        assert len(self.simulated.pods) <= 1

    @invariant()
    def check_driver_belongs_to_current_attempt(self) -> None:
        assert self.simulated.document is None or set(self.simulated.pods) <= {self.simulated.attempt}

    @invariant()
    def check_no_driver_when_released(self) -> None:
        assert self.simulated.document is None or self.simulated.state != "ResourceReleased" or not self.simulated.pods

    @invariant()
    def check_suspended_application_has_no_pods(self) -> None:
        """Check that a suspended application with nothing to wait for has no pods."""
        if self.simulated.document is not None and self.simulated.state == "Suspended" and self.simulated.is_at_rest:
            executors = [pod for pod in self.simulated.executors if "deletionTimestamp" not in pod["metadata"]]
            assert not self.simulated.pods
            assert not executors

    @invariant()
    def check_suspension_does_not_count_as_restart(self) -> None:
        """Check the counters: each restart increments both the id and the restart counter, a resumption only the id."""
        if self.simulated.document is None or self.simulated.application.status is None:
            return
        info = self.simulated.application.status.current_attempt_summary.attempt_info
        resumed = sum(pair == ("Suspended", "Submitted") for pair in pairwise(self.simulated.states))
        restarted = self.simulated.states.count("ScheduledToRestart")
        assert info.id == resumed + restarted
        assert info.restart_counter <= restarted

    @invariant()
    def check_only_suspended_record_has_suspend_reason(self) -> None:
        if self.simulated.document is not None and self.simulated.application.status is not None:
            current = self.simulated.application.status.current_state
            assert (current.suspend_reason is not None) is (self.simulated.state == "Suspended")

    @invariant()
    def check_moves_are_legal(self) -> None:
        states = [ApplicationState(state) for state in self.simulated.states]
        for origin, target in pairwise(states):
            assert target in MOVES[origin], f"{origin} to {target}"

    @invariant()
    def check_no_driver_when_deleted(self) -> None:
        assert self.has_application() or not self.simulated.pods

    @invariant()
    def check_verdict_matches_state(self) -> None:
        if self.simulated.document is not None:
            judged = judge_progress(read_progress(self.simulated.document))
            assert (judged.outcome is Outcome.WAITING) is (self.simulated.state not in TERMINATED)
            assert judged.sentence.endswith(".")

    def teardown(self) -> None:
        """Check that a deleted application is always removed, because this limit exists in every state."""
        simulated = getattr(self, "simulated", None)
        if simulated is None or simulated.document is None:
            return
        simulated.stuck = False
        simulated.delete().run().advance(700)
        if (
            simulated.document is not None and simulated.pods
        ):  # with an extreme grace period, the driver must terminate by itself
            simulated.set_driver("failed").run()
        assert simulated.document is None


ApplicationMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestApplicationMachine = ApplicationMachine.TestCase


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["Running", "Failed"])
KEYS = st.sampled_from(
    [
        "metadata",
        "status",
        "spec",
        "phase",
        "conditions",
        "containerStatuses",
        "initContainerStatuses",
        "state",
        "terminated",
        "waiting",
        "exitCode",
        "restartCount",
        "type",
        "name",
        "reason",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "initContainers",
        "currentState",
        "currentStateSummary",
        "lastTransitionTime",
        "stateTransitionHistory",
        "lastObservedDriverStatus",
        "0",
    ]
)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5))
PODS = st.dictionaries(KEYS, JSON, max_size=5)


@given(
    state=st.sampled_from(ApplicationState),
    driver=st.builds(Present, PODS) | st.just(Absent()) | st.just(Unconfirmed()),
    seen=st.lists(PODS, max_size=2),
    outcome=st.none() | st.just(Created()) | st.builds(Refused, st.text(max_size=5)),
    all_pods=st.builds(ApplicationPods, st.lists(PODS, max_size=2), st.lists(PODS, max_size=2), st.booleans()),
    seconds=st.integers(-(10**9), 10**9),
    deleted=st.booleans(),
    suspend=st.booleans(),
    tolerations=tolerations(),
)
def test_decide_accepts_any_observation(
    state: ApplicationState,
    driver: DriverObservation,
    seen: list[dict[str, Any]],
    outcome: CreateOutcome | None,
    all_pods: ApplicationPods,
    seconds: int,
    deleted: bool,
    suspend: bool,
    tolerations: dict[str, Any],
) -> None:
    resource = build_application_model(
        status=build_status_at(state), deleted=deleted, suspend=suspend, tolerations=tolerations
    )
    observed = Observed(driver, seen, outcome, all_pods)
    decision = decide(resource, observed, Settings(), NOW + timedelta(seconds=seconds))
    if decision.status is not None:
        assert decision.status.to_document()
    assert decision.requeue_after is None or timedelta(0) <= decision.requeue_after <= timedelta(days=1)


@given(document=st.dictionaries(st.sampled_from(["metadata", "spec", "status"]), JSON, max_size=3))
def test_progress_and_verdict_accept_any_document(document: dict[str, Any]) -> None:
    assert judge_progress(read_progress(document)).sentence


@settings(max_examples=60)
@given(
    policy=st.sampled_from(["Always", "OnFailure", "OnInfrastructureFailure", "Never"]),
    limit=st.integers(-1, 3),
    endings=st.lists(st.sampled_from(["succeeded", "failed", "vanish", "hang", "refuse"]), min_size=6, max_size=6),
)
def test_application_with_restart_limit_terminates(policy: str, limit: int, endings: list[str]) -> None:
    simulated = SimulatedApplication(
        build_application_document(
            restart={"restartPolicy": policy, "maxRestartAttempts": limit, "restartBackoffMillis": 1}
        )
    )
    for ending in endings:
        simulated.refusal = "refused" if ending == "refuse" else None
        simulated.run().advance(1)
        if simulated.attempt in simulated.pods and ending in ("succeeded", "failed"):
            simulated.set_driver(ending)
        elif ending == "vanish":
            simulated.remove_driver()
        simulated.run().advance(400)
    assert simulated.state == "ResourceReleased"
    assert len(simulated.created) <= max(limit, 0) + 1
    assert simulated.created == sorted(set(simulated.created))


def test_stuck_driver_is_force_deleted() -> None:
    simulated = simulate().set_driver("ready").run()
    simulated.stuck = True
    simulated.delete().run().advance(299)
    assert simulated.forced == []
    simulated.advance(5)
    assert (simulated.forced, simulated.document) == ([0], None)
