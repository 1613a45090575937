from datetime import datetime
from typing import Any

import pytest

from airflow_provider_spark_operator.core import observation, pods, reasons
from airflow_provider_spark_operator.core.states import ApplicationState
from tests.builders import DRIVER, NOW, container, driver_pod, pod, seconds

S = ApplicationState
SIDECAR = {"initContainers": [{"name": "proxy", "restartPolicy": "Always"}]}

DRIVER_ENDS = [
    pytest.param(driver_pod("pending"), None, None, id="pending"),
    pytest.param(driver_pod("ready"), None, None, id="running"),
    pytest.param({}, None, None, id="a pod without status"),
    pytest.param(driver_pod("succeeded"), S.SUCCEEDED, reasons.DRIVER_SUCCEEDED, id="phase Succeeded"),
    pytest.param(pod("Succeeded"), S.SUCCEEDED, reasons.DRIVER_SUCCEEDED, id="Succeeded without containers"),
    pytest.param(driver_pod("failed"), S.FAILED, reasons.DRIVER_FAILED, id="phase Failed"),
    pytest.param(pod("Failed"), S.FAILED, reasons.DRIVER_FAILED, id="Failed without containers"),
    pytest.param(pod("failed"), S.FAILED, reasons.DRIVER_FAILED, id="phase in lower case"),
    pytest.param(driver_pod("killed", reason="Evicted"), S.DRIVER_EVICTED, reasons.DRIVER_EVICTED, id="evicted"),
    pytest.param(pod("Failed", reason="evicted"), S.DRIVER_EVICTED, reasons.DRIVER_EVICTED, id="evicted, bare"),
    pytest.param(
        pod("Pending", container(waiting="PodInitializing"), init=[container("prepare", exit_code=2)]),
        S.FAILED,
        reasons.INIT_CONTAINER_FAILED,
        id="an init container fails",
    ),
    pytest.param(
        pod("Running", container(), init=[container("prepare", exit_code=0)]), None, None, id="an init container ends"
    ),
    pytest.param(
        pod("Running", container(), init=[container("proxy", exit_code=137)], spec=SIDECAR),
        None,
        None,
        id="a native sidecar is killed",
    ),
    pytest.param(
        pod("Running", container(exit_code=3)), S.FAILED, reasons.DRIVER_FAILED, id="the container ends, phase lags"
    ),
    pytest.param(
        pod("Running", container(exit_code=0)), S.SUCCEEDED, reasons.DRIVER_SUCCEEDED, id="it ends well, phase lags"
    ),
    pytest.param(
        pod("Running", container(restarts=1)), S.FAILED, reasons.DRIVER_RESTARTED, id="the container was restarted"
    ),
    pytest.param(
        pod("Running", container(), container("side", exit_code=1)), S.FAILED, reasons.DRIVER_FAILED, id="sidecar dies"
    ),
    pytest.param(
        pod("Running", container(), container("side", exit_code=0)), None, None, id="a sidecar ends, Spark runs"
    ),
]


@pytest.mark.parametrize(("seen", "state", "reason"), DRIVER_ENDS)
def test_one_look_gives_at_most_one_verdict(
    seen: dict[str, Any], state: ApplicationState | None, reason: str | None
) -> None:
    end = observation.find_driver_end(seen, None)
    assert (end.state, end.reason) == (state, reason) if end else state is None


ENTRY = {"containers": [{"name": "side"}, {"name": "mine", "args": ["driver", "--class", "Main"]}]}
TWICE = {"containers": [{"name": "side", "args": ["driver"]}, {"name": DRIVER, "args": ["driver"]}]}
UNNAMED = [
    pytest.param(pod("Running", container(exit_code=0), container("side")), S.SUCCEEDED, id="Spark's own name"),
    pytest.param(
        pod("Running", container("mine", exit_code=0), container("side"), spec=ENTRY), S.SUCCEEDED, id="its argument"
    ),
    pytest.param(
        pod("Running", container("mine"), container(exit_code=0), spec=ENTRY), None, id="the argument before the name"
    ),
    pytest.param(
        pod("Running", container(exit_code=0), container("side"), spec=TWICE), S.SUCCEEDED, id="the name of two"
    ),
    pytest.param(pod("Running", container("side", exit_code=0), spec=ENTRY), None, id="Spark's has no status yet"),
    pytest.param(pod("Running", container("a", exit_code=0), container("b")), None, id="no way to tell"),
    pytest.param(
        pod("Running", container("a", exit_code=0), container("b", exit_code=0)), S.SUCCEEDED, id="all have ended"
    ),
    pytest.param(
        pod("Running", container(exit_code=0), container("side", exit_code=1)), S.FAILED, id="a sidecar fails"
    ),
    pytest.param(
        pod("Running", container(exit_code=0), container("side", restarts=1)), S.SUCCEEDED, id="a sidecar restarted"
    ),
    pytest.param(
        pod("Running", container(exit_code=0), spec={"containers": [None, {"args": "driver"}, {"args": []}]}),
        S.SUCCEEDED,
        id="nonsense in the specification",
    ),
]


@pytest.mark.parametrize(("seen", "state"), UNNAMED)
def test_where_no_container_is_named_success_is_that_of_the_container_that_runs_spark(
    seen: dict[str, Any], state: ApplicationState | None
) -> None:
    end = observation.find_driver_end(seen, None)
    assert (end.state if end else None) is state


NAMED = [
    pytest.param(pod("Running", container(), container("side", exit_code=1)), None, id="a sidecar dies"),
    pytest.param(pod("Running", container(exit_code=0), container("side")), S.SUCCEEDED, id="Spark ends"),
    pytest.param(pod("Running", container(DRIVER.upper(), exit_code=1), container("side")), S.FAILED, id="any case"),
    pytest.param(pod("Running", container(), container("a", exit_code=1), container("z", exit_code=1)), None, id="two"),
    pytest.param(pod("Running", container("side", exit_code=1)), None, id="it is not there"),
    pytest.param(pod("Failed", container("side", exit_code=1)), S.FAILED, id="it is not there, and the pod failed"),
]


@pytest.mark.parametrize(("seen", "state"), NAMED)
def test_where_the_container_is_named_only_its_end_counts(seen: dict[str, Any], state: ApplicationState | None) -> None:
    end = observation.find_driver_end(seen, DRIVER)
    assert (end.state if end else None) is state


def test_a_failed_pod_is_told_by_the_end_of_the_named_container() -> None:
    end = observation.find_driver_end(pod("Failed", container("side", exit_code=2), container(exit_code=3)), DRIVER)
    assert end is not None
    assert end.message == f"Container {DRIVER} of the driver ended with exit code 3."


def test_the_container_is_named_by_the_configuration() -> None:
    assert observation.get_main_container({"spark.kubernetes.driver.podTemplateContainerName": "x"}) == "x"
    assert observation.get_main_container({}) is None


@pytest.mark.parametrize(
    ("seen", "started", "ready"),
    [
        pytest.param(driver_pod("pending"), False, False, id="pending"),
        pytest.param(driver_pod("unready"), False, False, id="running, not ready"),
        pytest.param(driver_pod("started"), True, False, id="container ready, pod not yet"),
        pytest.param(driver_pod("ready"), True, True, id="all ready"),
        pytest.param(pod("RUNNING", container(), ready=True), True, True, id="another case"),
        pytest.param(pod("Pending", ready=True), False, False, id="ready but not running"),
        pytest.param(pod("Running", ready=True), True, True, id="ready without containers"),
        pytest.param(pod("Unknown", ready=True), False, False, id="ready when it was last heard of"),
    ],
)
def test_a_driver_has_started_when_its_container_is_ready_and_is_ready_when_the_pod_is(
    seen: dict[str, Any], started: bool, ready: bool
) -> None:
    assert observation.has_started(seen, None) is started
    assert pods.is_ready(seen) is ready


def test_with_several_containers_the_named_one_must_be_ready() -> None:
    seen = pod("Running", container(ready=False), container("side"))
    assert observation.has_started(seen, None) is True
    assert observation.has_started(seen, DRIVER) is False


def test_a_failure_says_container_exit_code_and_reason() -> None:
    end = observation.find_driver_end(driver_pod("killed"), None)
    assert end is not None
    assert end.message == f"Container {DRIVER} of the driver ended with exit code 137 (OOMKilled)."
    assert end.driver_status == driver_pod("killed")["status"]


def test_an_eviction_says_what_the_kubelet_says() -> None:
    end = observation.find_driver_end(driver_pod("killed", reason="Evicted", message="low on memory"), None)
    assert end is not None
    assert end.message == "The driver pod was evicted from its node: low on memory."


@pytest.mark.parametrize(
    ("grace", "began"),
    [(30, NOW - seconds(30)), (0, NOW), (None, NOW), (True, NOW), (10**12, NOW)],
    ids=["grace", "forced", "unknown", "nonsense", "absurd"],
)
def test_a_deletion_began_a_grace_period_before_its_timestamp(grace: int | None, began: datetime) -> None:
    assert pods.find_deletion_start(driver_pod(deletion=NOW, grace=grace)) == began


@pytest.mark.parametrize(
    ("written", "expected"),
    [(None, None), ("soon", None), (3, None), ("2026-01-01T12:00:00", NOW)],
    ids=["none", "no time", "a number", "without an offset"],
)
def test_a_deletion_timestamp_is_a_time_or_nothing(written: int | str | None, expected: datetime | None) -> None:
    assert pods.find_deletion_start({"metadata": {"deletionTimestamp": written}}) == expected


NONSENSE = [
    {"status": None},
    {"status": []},
    {"status": {"phase": 3, "containerStatuses": "x", "conditions": {}}},
    {"status": {"containerStatuses": [None, {"state": []}, {"state": {"terminated": {"exitCode": "1"}}}]}},
    {"metadata": [], "spec": "x", "status": {"initContainerStatuses": [{"restartCount": True}]}},
]


@pytest.mark.parametrize("seen", NONSENSE, ids=repr)
def test_nonsense_is_no_end_and_no_start(seen: dict[str, Any]) -> None:
    assert observation.find_driver_end(seen, None) is None
    assert observation.has_started(seen, None) is False
    assert pods.find_deletion_start(seen) is None


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        pytest.param(
            pod("Failed", reason="DeadlineExceeded", message="It took too long."),
            "The driver pod failed: DeadlineExceeded: It took too long.",
            id="the pod says why",
        ),
        pytest.param(pod("Failed"), "The driver pod failed.", id="nobody says why"),
        pytest.param(
            pod("Running", container(exit_code=3, message="no such class")),
            f"Container {DRIVER} of the driver ended with exit code 3: no such class.",
            id="the container says why",
        ),
    ],
)
def test_a_failure_says_what_is_known_in_a_sentence(seen: dict[str, Any], says: str) -> None:
    end = observation.find_driver_end(seen, None)
    assert end is not None
    assert end.message == says


def test_the_only_container_starts_the_driver_whatever_its_name() -> None:
    assert observation.has_started(pod("Running", container("another"), ready=False), DRIVER) is True
