from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.observation import Present
from airflow_provider_spark_operator.core.obstacles import find_blocked_executors
from airflow_provider_spark_operator.core.states import ApplicationState
from tests.builders import NOW, application_document, container, driver_pod, executors, held_up_executor, seconds
from tests.core.harness import build_application_in_state, decide_once, get_entered_state
from tests.core.scene import Scene

S = ApplicationState
STUCK = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError")


@pytest.mark.parametrize("waiting", STUCK)
def test_executors_that_can_never_start_end_an_application_that_asks_for_no_number_of_them(waiting: str) -> None:
    resource = build_application_in_state(S.RUNNING_HEALTHY, timeouts={"executorStartTimeoutMillis": 90_000})
    seen = [held_up_executor("exec-2", waiting=waiting, created=NOW + seconds(9)), held_up_executor(waiting=waiting)]
    driver = Present(driver_pod("ready"))
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
        pytest.param([], 90_000, id="none was asked for"),
        pytest.param(executors(0, pending=1), 90_000, id="it waits for a node"),
        pytest.param([held_up_executor(waiting="ContainerCreating")], 90_000, id="it is being created"),
        pytest.param([held_up_executor(), *executors(1)], 90_000, id="another is ready"),
        pytest.param([held_up_executor(), *executors(0, pending=1)], 90_000, id="another may start"),
        pytest.param([held_up_executor(created=NOW + seconds(900))], 90_000, id="it is young"),
        pytest.param([held_up_executor()], 0, id="there is no limit"),
        pytest.param([held_up_executor()], -1, id="the limit is off"),
    ],
)
def test_an_application_goes_on_while_an_executor_may_still_start(seen: list[dict[str, Any]], limit: int) -> None:
    resource = build_application_in_state(S.RUNNING_HEALTHY, timeouts={"executorStartTimeoutMillis": limit})
    decision = decide_once(resource, Present(driver_pod("ready")), after=950, executors=seen)
    assert get_entered_state(decision) is None
    assert decision.requeue_after is not None


def test_an_application_whose_executors_cannot_start_ends_without_an_event() -> None:
    scene = Scene(application_document()).run()
    scene.set_driver("ready")
    scene.executors = [held_up_executor()]
    scene.run().advance(400)
    assert scene.states[3:6] == ["DriverReady", "RunningHealthy", "ExecutorsStartTimedOut"]
    assert scene.document is not None
    assert "executor pod exec-1 cannot start: ImagePullBackOff" in str(scene.document["status"])


def test_too_few_executors_say_what_one_of_them_waits_for() -> None:
    resource = build_application_in_state(
        S.DRIVER_READY, timeouts={"executorStartTimeoutMillis": 90_000}, instances={"initExecutors": 2}
    )
    decision = decide_once(resource, Present(driver_pod("ready")), after=91, executors=[held_up_executor()])
    assert get_entered_state(decision) is S.EXECUTORS_START_TIMED_OUT
    assert decision.message.endswith(
        f"executorStartTimeoutMillis): {find_blocked_executors([held_up_executor()])[0].sentence}."
    )


def test_executors_that_cannot_start_are_told_apart_oldest_first_and_quoted() -> None:
    unborn = {
        "metadata": {"name": "unborn"},
        "status": {"containerStatuses": [container(waiting="ErrImagePull", message="not found.")]},
    }
    seen = [unborn, held_up_executor("young", created=NOW), *executors(1, pending=1), {}]
    old = held_up_executor("old", created=NOW - seconds(1))
    assert [each.sentence for each in find_blocked_executors([*seen, old])] == [
        "executor pod old cannot start: ImagePullBackOff (image registry.example/spark:9)",
        "executor pod young cannot start: ImagePullBackOff (image registry.example/spark:9)",
        "executor pod unborn cannot start: ErrImagePull: not found",
    ]


def test_an_executor_of_unknown_age_is_as_old_as_the_state() -> None:
    seen = held_up_executor()
    del seen["metadata"]["creationTimestamp"]
    resource = build_application_in_state(S.RUNNING_HEALTHY, timeouts={"executorStartTimeoutMillis": 90_000})
    driver = Present(driver_pod("ready"))
    assert get_entered_state(decide_once(resource, driver, after=90, executors=[seen])) is None
    assert get_entered_state(decide_once(resource, driver, after=91, executors=[seen])) is S.EXECUTORS_START_TIMED_OUT
