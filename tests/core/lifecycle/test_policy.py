from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.times import to_duration
from airflow_provider_spark_operator.core.lifecycle import policy
from airflow_provider_spark_operator.core.lifecycle.transitions import move, move_to_next_attempt
from airflow_provider_spark_operator.core.models.application import (
    ApplicationTimeoutConfig,
    ApplicationTolerations,
    InstanceConfig,
    RestartConfig,
)
from airflow_provider_spark_operator.core.models.status import AttemptInfo, AttemptSummary
from airflow_provider_spark_operator.core.states.states import STOPPING, ApplicationState
from tests.builders import NOW, build_application_model, build_status, build_status_at, seconds

S = ApplicationState


@pytest.mark.parametrize(
    ("millis", "expected"),
    [(-5, 0), (0, 0), (1500, 1.5), (2**63 - 1, 100 * 365 * 24 * 3600)],
    ids=["negative", "zero", "positive", "too large"],
)
def test_duration_is_limited_to_a_hundred_years(millis: int, expected: float) -> None:
    assert to_duration(millis) == timedelta(seconds=expected)


@pytest.mark.parametrize(
    ("limit", "after", "remaining"),
    [
        pytest.param(30, 0, 30, id="at the start"),
        pytest.param(30, 29.5, 0.5, id="before the limit"),
        pytest.param(30, 30, 0, id="at the limit"),
        pytest.param(30, 40, -10, id="after the limit"),
        pytest.param(30, -5, 30, id="clock ran backwards"),
        pytest.param(0.001, -5, 1, id="clock ran backwards, short limit"),
        pytest.param(0, -5, 0, id="clock ran backwards, zero limit"),
    ],
)
def test_remaining_time_never_exceeds_limit(limit: float, after: float, remaining: float) -> None:
    assert policy.measure_remaining(seconds(limit), NOW, NOW + seconds(after)) == seconds(remaining)


def test_elapsed_time_is_zero_if_clock_ran_backwards() -> None:
    assert policy.measure_elapsed(NOW, NOW - seconds(10)) == seconds(0)
    assert policy.measure_elapsed(NOW, NOW + seconds(10)) == seconds(10)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (S.DRIVER_REQUESTED, 1),
        (S.DRIVER_STARTED, 2),
        (S.DRIVER_READY, 3),
        (S.INITIALIZED_BELOW_THRESHOLD_EXECUTORS, 3),
        (S.RUNNING_HEALTHY, None),
        (S.SUBMITTED, None),
    ],
)
def test_each_starting_state_has_its_timeout(state: ApplicationState, expected: int | None) -> None:
    config = ApplicationTimeoutConfig(
        driver_start_timeout_millis=1000, driver_ready_timeout_millis=2000, executor_start_timeout_millis=3000
    )
    assert policy.get_timeout(config, state) == (None if expected is None else seconds(expected))


@pytest.mark.parametrize("millis", [0, -1])
def test_timeout_that_is_not_positive_is_disabled(millis: int) -> None:
    config = ApplicationTimeoutConfig(driver_start_timeout_millis=millis)
    assert policy.get_timeout(config, S.DRIVER_REQUESTED) is None


def test_timeout_of_one_millisecond_is_enabled() -> None:
    config = ApplicationTimeoutConfig(driver_start_timeout_millis=1)
    assert policy.get_timeout(config, S.DRIVER_REQUESTED) == seconds(0.001)


STARTING, RUNNING = S.DRIVER_READY, S.RUNNING_HEALTHY


@pytest.mark.parametrize(
    ("state", "init", "minimum", "maximum", "ready", "dynamic", "expected"),
    [
        pytest.param(STARTING, 0, 5, 9, 0, False, S.RUNNING_HEALTHY, id="no initial executors, minimum ignored"),
        pytest.param(STARTING, -1, 0, 0, 0, False, S.RUNNING_HEALTHY, id="negative initial executors"),
        pytest.param(STARTING, 2, 0, 0, 0, False, S.DRIVER_READY, id="no executor ready"),
        pytest.param(
            STARTING, 2, 0, 0, 1, False, S.INITIALIZED_BELOW_THRESHOLD_EXECUTORS, id="fewer than initial executors"
        ),
        pytest.param(STARTING, 2, 0, 0, 2, False, S.RUNNING_HEALTHY, id="initial executors"),
        pytest.param(
            STARTING, 1, 0, 3, 2, False, S.RUNNING_WITH_PARTIAL_CAPACITY, id="initial executors, fewer than maximum"
        ),
        pytest.param(STARTING, 1, 0, 3, 3, False, S.RUNNING_HEALTHY, id="maximum"),
        pytest.param(STARTING, 1, 0, 3, 2, True, S.RUNNING_HEALTHY, id="dynamic allocation"),
        pytest.param(RUNNING, 1, 0, 3, 0, False, S.RUNNING_HEALTHY, id="running without minimum"),
        pytest.param(RUNNING, 1, 2, 0, 1, False, S.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS, id="below minimum"),
        pytest.param(RUNNING, 1, 2, 3, 2, False, S.RUNNING_WITH_PARTIAL_CAPACITY, id="running at minimum"),
        pytest.param(RUNNING, 1, 2, 3, 3, False, S.RUNNING_HEALTHY, id="running at maximum"),
        pytest.param(
            S.INITIALIZED_BELOW_THRESHOLD_EXECUTORS,
            2,
            0,
            0,
            0,
            False,
            S.INITIALIZED_BELOW_THRESHOLD_EXECUTORS,
            id="executor lost before running",
        ),
    ],
)
def test_executor_state_depends_on_ready_executors(
    state: ApplicationState,
    init: int,
    minimum: int,
    maximum: int,
    ready: int,
    dynamic: bool,
    expected: ApplicationState,
) -> None:
    config = InstanceConfig(init_executors=init, min_executors=minimum, max_executors=maximum)
    assert policy.choose_executor_state(config, state, ready, dynamic_allocation=dynamic) is expected


RESTARTED = {
    "Always": STOPPING,
    "OnFailure": STOPPING - {S.SUCCEEDED},
    "OnInfrastructureFailure": {S.DRIVER_START_TIMED_OUT, S.EXECUTORS_START_TIMED_OUT, S.SCHEDULING_FAILURE},
    "Never": set(),
}


@pytest.mark.parametrize("ended_in", sorted(STOPPING))
@pytest.mark.parametrize("word", RESTARTED)
def test_restart_depends_on_policy_and_end_state(word: str, ended_in: ApplicationState) -> None:
    spec = build_application_model(restart={"restartPolicy": word}).spec
    assert policy.wants_restart(spec, ended_in) is (ended_in in RESTARTED[word])


def test_application_in_client_mode_is_never_restarted() -> None:
    spec = build_application_model(restart={"restartPolicy": "Always"}, deploymentMode="ClientMode").spec
    assert policy.wants_restart(spec, S.FAILED) is False


@pytest.mark.parametrize(
    ("ended_in", "expected"),
    [
        (S.SUCCEEDED, (8, 3, 0, 0)),
        (S.FAILED, (8, 3, 2, 0)),
        (S.DRIVER_EVICTED, (8, 3, 2, 0)),
        (S.DRIVER_START_TIMED_OUT, (8, 3, 2, 0)),
        (S.SCHEDULING_FAILURE, (8, 3, 2, 2)),
    ],
)
def test_restart_counters_are_incremented_by_end_of_attempt(
    ended_in: ApplicationState, expected: tuple[int, ...]
) -> None:
    counted = AttemptInfo(id=7, restart_counter=2, failure_restart_counter=1, scheduling_failure_restart_counter=1)
    following = policy.count_next_attempt(RestartConfig(), build_status_at(ended_in, attempt=counted))
    assert tuple(following.model_dump().values()) == expected


@pytest.mark.parametrize(
    ("reset", "lasted", "expected"),
    [
        pytest.param(10_000, 10, (1, 0, 0), id="long attempt"),
        pytest.param(10_000, 9.9, (6, 4, 0), id="short attempt"),
        pytest.param(-1, 1e6, (6, 4, 0), id="disabled"),
        pytest.param(0, 1e6, (6, 4, 0), id="zero disables"),
    ],
)
def test_long_attempt_resets_restart_counters(reset: int, lasted: float, expected: tuple[int, int, int]) -> None:
    info = AttemptInfo(id=5, restart_counter=5, failure_restart_counter=3)
    status = build_status(S.DRIVER_REQUESTED, attempt=info)
    status = move(status, S.FAILED, NOW + seconds(lasted), "")
    following = policy.count_next_attempt(RestartConfig(restart_counter_reset_millis=reset), status)
    assert (
        following.restart_counter,
        following.failure_restart_counter,
        following.scheduling_failure_restart_counter,
    ) == expected


def test_duration_of_attempt_starts_at_its_driver_request() -> None:
    first = move(build_status(S.DRIVER_REQUESTED), S.FAILED, NOW + seconds(100), "")
    second = move_to_next_attempt(first, AttemptInfo(id=1), NOW + seconds(110), "", trim=False)
    second = move(move(second, S.DRIVER_REQUESTED, NOW + seconds(120), ""), S.FAILED, NOW + seconds(125), "")
    assert policy.measure_attempt(first) == seconds(100)
    assert policy.measure_attempt(second) == seconds(5)


def test_duration_starts_at_first_entry_if_start_is_trimmed() -> None:
    status = move(
        move(build_status(S.DRIVER_REQUESTED), S.DRIVER_STARTED, NOW + seconds(5), ""), S.FAILED, NOW + seconds(9), ""
    )
    history = {key: record for key, record in status.state_transition_history.items() if key in "123"}
    assert policy.measure_attempt(status.model_copy(update={"state_transition_history": history})) == seconds(9)


def test_attempt_without_history_has_zero_duration() -> None:
    status = build_status_at(S.FAILED).model_copy(update={"state_transition_history": {}})
    assert policy.measure_attempt(status) == seconds(0)


@pytest.mark.parametrize(
    ("limits", "ended_in", "counters", "message"),
    [
        pytest.param({}, S.FAILED, (3, 3, 0), None, id="third restart allowed"),
        pytest.param({}, S.FAILED, (4, 4, 0), "restart attempts (3)", id="fourth restart refused"),
        pytest.param({"max_restart_attempts": 0}, S.SUCCEEDED, (1, 0, 0), "restart attempts (0)", id="no restarts"),
        pytest.param({"max_restart_on_failure": 1}, S.FAILED, (2, 2, 0), "on failure (1)", id="failures"),
        pytest.param({"max_restart_on_failure": 1}, S.SUCCEEDED, (2, 0, 0), None, id="success is not a failure"),
        pytest.param(
            {"max_restart_on_scheduling_failure": 1},
            S.SCHEDULING_FAILURE,
            (2, 2, 2),
            "on scheduling failure (1)",
            id="scheduling failures",
        ),
        pytest.param(
            {"max_restart_on_scheduling_failure": 5, "max_restart_on_failure": 1},
            S.SCHEDULING_FAILURE,
            (2, 2, 2),
            None,
            id="scheduling limit replaces failure limit",
        ),
        pytest.param(
            {"max_restart_on_failure": 1},
            S.SCHEDULING_FAILURE,
            (2, 2, 2),
            "on failure (1)",
            id="no scheduling limit, failure limit applies",
        ),
    ],
)
def test_limits_apply_to_counters_of_next_attempt(
    limits: dict[str, Any], ended_in: ApplicationState, counters: tuple[int, int, int], message: str | None
) -> None:
    restart, failure, scheduling = counters
    following = AttemptInfo(
        id=1, restart_counter=restart, failure_restart_counter=failure, scheduling_failure_restart_counter=scheduling
    )
    sentence = policy.describe_exceeded_limit(RestartConfig(**limits), ended_in, following)
    assert sentence is None if message is None else message in (sentence or "")


BACKOFFS = {
    "restart_backoff_millis": 1_000,
    "restart_backoff_millis_for_failure": 2_000,
    "restart_backoff_millis_for_scheduling_failure": 3_000,
}


@pytest.mark.parametrize("trim", [True, False], ids=["trimmed", "untrimmed"])
@pytest.mark.parametrize(
    ("ended_in", "given", "expected"),
    [
        (S.SUCCEEDED, BACKOFFS, 1),
        (S.FAILED, BACKOFFS, 2),
        (S.SCHEDULING_FAILURE, BACKOFFS, 3),
        (S.FAILED, {"restart_backoff_millis": 1_000}, 1),
        (S.SCHEDULING_FAILURE, {**BACKOFFS, "restart_backoff_millis_for_scheduling_failure": None}, 2),
        (S.FAILED, {"restart_backoff_millis": 1_000, "restart_backoff_millis_for_failure": 0}, 0),
    ],
    ids=["success", "failure", "scheduling failure", "general delay", "failure delay", "zero"],
)
def test_backoff_depends_on_end_of_previous_attempt(
    ended_in: ApplicationState, given: dict[str, Any], expected: int, trim: bool
) -> None:
    status = move_to_next_attempt(build_status_at(ended_in), AttemptInfo(id=1), NOW, "", trim=trim)
    assert policy.get_backoff(RestartConfig(**given), status) == seconds(expected)


def test_backoff_is_zero_without_previous_attempt() -> None:
    assert policy.get_backoff(RestartConfig(), build_status_at(S.SUBMITTED)) == seconds(0)


def test_backoff_is_general_if_end_of_previous_attempt_is_unknown() -> None:
    status = build_status_at(S.SUBMITTED, previous=AttemptSummary())
    config = RestartConfig(restart_backoff_millis=1_000, restart_backoff_millis_for_failure=2_000)
    assert policy.get_backoff(config, status) == seconds(1)


def test_last_stop_belongs_to_current_attempt() -> None:
    first = build_status_at(S.FAILED)
    second = move_to_next_attempt(first, AttemptInfo(id=1), NOW, "", trim=False)
    stop = policy.find_last_stop(first)
    assert stop is not None
    assert stop.current_state_summary is S.FAILED
    assert policy.find_last_stop(second) is None
    assert policy.find_last_stop(first.model_copy(update={"state_transition_history": {}})) is None


@pytest.mark.parametrize("word", ["Always", "OnFailure", "Never"])
@pytest.mark.parametrize("ended_in", sorted(STOPPING))
def test_retain_policy_decides_which_drivers_are_retained(word: str, ended_in: ApplicationState) -> None:
    has_ended = ended_in not in (S.DRIVER_START_TIMED_OUT, S.DRIVER_READY_TIMED_OUT, S.EXECUTORS_START_TIMED_OUT)
    expected = has_ended and {"Always": True, "OnFailure": ended_in is not S.SUCCEEDED, "Never": False}[word]
    assert policy.retains_driver(ApplicationTolerations(resource_retain_policy=word), ended_in) is expected


@pytest.mark.parametrize(
    ("retain", "ttl", "retention", "life"),
    [(-1, -1, None, None), (5_000, -1, 5, None), (-1, 7_000, 7, 7), (5_000, 3_000, 3, 3), (0, -1, 0, None)],
)
def test_retention_is_shorter_of_two_durations(retain: int, ttl: int, retention: int | None, life: int | None) -> None:
    tolerations = ApplicationTolerations(resource_retain_duration_millis=retain, ttl_after_stop_millis=ttl)
    assert policy.get_retention(tolerations) == (None if retention is None else seconds(retention))
    assert policy.get_time_to_live(tolerations) == (None if life is None else seconds(life))


def test_time_to_live_of_zero_expires_immediately() -> None:
    assert policy.get_time_to_live(ApplicationTolerations(ttl_after_stop_millis=0)) == seconds(0)
    assert policy.get_time_to_live(ApplicationTolerations(ttl_after_stop_millis=-1)) is None


def test_third_attempt_is_measured_from_its_own_start() -> None:
    status = build_status(S.DRIVER_REQUESTED, S.FAILED)
    for number in (1, 2):
        after = NOW + seconds(100 * number)
        status = move_to_next_attempt(status, AttemptInfo(id=number), after, "", trim=False)
        status = move(move(status, S.DRIVER_REQUESTED, after, ""), S.FAILED, after + seconds(number), "")
    assert policy.measure_attempt(status) == seconds(2)


def test_limit_of_other_failures_ignores_scheduling_failures() -> None:
    config = RestartConfig(max_restart_attempts=9, max_restart_on_failure=1, max_restart_on_scheduling_failure=5)
    following = AttemptInfo(id=2, restart_counter=2, failure_restart_counter=2)
    message = "The maximum number of restarts on failure (1) has been exceeded."
    assert policy.describe_exceeded_limit(config, S.FAILED, following) == message
    assert policy.describe_exceeded_limit(config, S.SCHEDULING_FAILURE, following) is None


def test_end_of_previous_attempt_is_read_from_untrimmed_history() -> None:
    ended = build_status_at(S.FAILED)
    again = move_to_next_attempt(ended, AttemptInfo(id=1), NOW, "", trim=False)
    config = RestartConfig(restart_backoff_millis=1_000, restart_backoff_millis_for_failure=2_000)
    assert policy.get_backoff(config, again) == seconds(2)
