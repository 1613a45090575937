from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.lifecycle.executor_obstacles import find_blocked_executors
from airflow_provider_spark_operator.core.lifecycle.observation import Present
from airflow_provider_spark_operator.core.states.states import ApplicationState
from tests.builders import NOW, build_blocked_executor, build_container, build_driver_pod, build_executors, seconds
from tests.core.harness import build_application_in_state, decide_once, get_entered_state
from tests.core.simulated_application import simulate

S = ApplicationState
STUCK = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError")


@pytest.mark.parametrize("waiting", STUCK)
def test_blocked_executors_time_out_without_instance_config(waiting: str) -> None:
    resource = build_application_in_state(S.RUNNING_HEALTHY, timeouts={"executorStartTimeoutMillis": 90_000})
    seen = [
        build_blocked_executor("exec-2", waiting=waiting, created=NOW + seconds(9)),
        build_blocked_executor(waiting=waiting),
    ]
    driver = Present(build_driver_pod("ready"))
    early = decide_once(resource, driver, after=89, executors=seen)
    assert get_entered_state(early) is None
    assert early.requeue_after == seconds(1) + timedelta.resolution
    late = decide_once(resource, driver, after=90.001, executors=seen)
    assert get_entered_state(late) is S.EXECUTORS_START_TIMED_OUT
    assert late.reason == S.EXECUTORS_START_TIMED_OUT
    assert late.message == (
        "No executor has started within 90 s "
        "(spec.applicationTolerations.applicationTimeoutConfig.executorStartTimeoutMillis): "
        f"executor pod exec-1 cannot start: {waiting} (image registry.example/spark:9)."
    )


@pytest.mark.parametrize(
    ("seen", "limit"),
    [
        pytest.param([], 90_000, id="no executors requested"),
        pytest.param(build_executors(0, pending=1), 90_000, id="executor pending"),
        pytest.param([build_blocked_executor(waiting="ContainerCreating")], 90_000, id="container being created"),
        pytest.param([build_blocked_executor(), *build_executors(1)], 90_000, id="another executor ready"),
        pytest.param([build_blocked_executor(), *build_executors(0, pending=1)], 90_000, id="another executor pending"),
        pytest.param([build_blocked_executor(created=NOW + seconds(900))], 90_000, id="executor just created"),
        pytest.param([build_blocked_executor()], 0, id="timeout of 0"),
        pytest.param([build_blocked_executor()], -1, id="timeout disabled"),
    ],
)
def test_application_keeps_running_while_an_executor_can_start(seen: list[dict[str, Any]], limit: int) -> None:
    resource = build_application_in_state(S.RUNNING_HEALTHY, timeouts={"executorStartTimeoutMillis": limit})
    decision = decide_once(resource, Present(build_driver_pod("ready")), after=950, executors=seen)
    assert get_entered_state(decision) is None
    assert decision.requeue_after is not None


def test_blocked_executors_time_out_without_an_event() -> None:
    simulated = simulate()
    simulated.set_driver("ready")
    simulated.executors = [build_blocked_executor()]
    simulated.run().advance(400)
    assert simulated.states[3:6] == ["DriverReady", "RunningHealthy", "ExecutorsStartTimedOut"]
    assert simulated.document is not None
    assert "executor pod exec-1 cannot start: ImagePullBackOff" in str(simulated.document["status"])


def test_executor_timeout_message_contains_blocked_executor() -> None:
    resource = build_application_in_state(
        S.DRIVER_READY, timeouts={"executorStartTimeoutMillis": 90_000}, instances={"initExecutors": 2}
    )
    decision = decide_once(resource, Present(build_driver_pod("ready")), after=91, executors=[build_blocked_executor()])
    assert get_entered_state(decision) is S.EXECUTORS_START_TIMED_OUT
    assert decision.message.endswith(
        f"executorStartTimeoutMillis): {find_blocked_executors([build_blocked_executor()])[0].sentence}."
    )


def test_blocked_executors_are_listed_oldest_first_with_message() -> None:
    undated = {
        "metadata": {"name": "undated"},
        "status": {"containerStatuses": [build_container(waiting="ErrImagePull", message="not found.")]},
    }
    seen = [undated, build_blocked_executor("young", created=NOW), *build_executors(1, pending=1), {}]
    old = build_blocked_executor("old", created=NOW - seconds(1))
    assert [each.sentence for each in find_blocked_executors([*seen, old])] == [
        "executor pod old cannot start: ImagePullBackOff (image registry.example/spark:9)",
        "executor pod young cannot start: ImagePullBackOff (image registry.example/spark:9)",
        "executor pod undated cannot start: ErrImagePull: not found",
    ]


def test_executor_without_creation_time_has_age_of_state() -> None:
    seen = build_blocked_executor()
    del seen["metadata"]["creationTimestamp"]
    resource = build_application_in_state(S.RUNNING_HEALTHY, timeouts={"executorStartTimeoutMillis": 90_000})
    driver = Present(build_driver_pod("ready"))
    assert get_entered_state(decide_once(resource, driver, after=90, executors=[seen])) is None
    assert get_entered_state(decide_once(resource, driver, after=91, executors=[seen])) is S.EXECUTORS_START_TIMED_OUT
