from datetime import datetime
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes import pods
from airflow_provider_spark_operator.core.lifecycle import driver_end
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import ApplicationState
from tests.builders import DRIVER, NOW, build_container, build_driver_pod, build_pod, seconds

S = ApplicationState
SIDECAR = {"initContainers": [{"name": "proxy", "restartPolicy": "Always"}]}

DRIVER_ENDS = {
    "pending": (build_driver_pod("pending"), None, None),
    "running": (build_driver_pod("ready"), None, None),
    "no status": ({}, None, None),
    "phase Succeeded": (build_driver_pod("succeeded"), S.SUCCEEDED, reasons.DRIVER_SUCCEEDED),
    "Succeeded without containers": (build_pod("Succeeded"), S.SUCCEEDED, reasons.DRIVER_SUCCEEDED),
    "phase Failed": (build_driver_pod("failed"), S.FAILED, reasons.DRIVER_FAILED),
    "Failed without containers": (build_pod("Failed"), S.FAILED, reasons.DRIVER_FAILED),
    "phase in lower case": (build_pod("failed"), S.FAILED, reasons.DRIVER_FAILED),
    "evicted": (build_driver_pod("killed", reason="Evicted"), S.DRIVER_EVICTED, reasons.DRIVER_EVICTED),
    "evicted, no containers": (build_pod("Failed", reason="evicted"), S.DRIVER_EVICTED, reasons.DRIVER_EVICTED),
    "init container failed": (
        build_pod(
            "Pending", build_container(waiting="PodInitializing"), init=[build_container("prepare", exit_code=2)]
        ),
        S.FAILED,
        reasons.INIT_CONTAINER_FAILED,
    ),
    "init container completed": (
        build_pod("Running", build_container(), init=[build_container("prepare", exit_code=0)]),
        None,
        None,
    ),
    "native sidecar killed": (
        build_pod("Running", build_container(), init=[build_container("proxy", exit_code=137)], spec=SIDECAR),
        None,
        None,
    ),
    "container failed, phase Running": (
        build_pod("Running", build_container(exit_code=3)),
        S.FAILED,
        reasons.DRIVER_FAILED,
    ),
    "container succeeded, phase Running": (
        build_pod("Running", build_container(exit_code=0)),
        S.SUCCEEDED,
        reasons.DRIVER_SUCCEEDED,
    ),
    "container restarted": (build_pod("Running", build_container(restarts=1)), S.FAILED, reasons.DRIVER_RESTARTED),
    "sidecar failed, Spark running": (
        build_pod("Running", build_container(), build_container("side", exit_code=1)),
        None,
        None,
    ),
    "container failed, Spark container unknown": (
        build_pod("Running", build_container("a"), build_container("b", exit_code=1)),
        S.FAILED,
        reasons.DRIVER_FAILED,
    ),
    "sidecar completed, Spark running": (
        build_pod("Running", build_container(), build_container("side", exit_code=0)),
        None,
        None,
    ),
}


@pytest.mark.parametrize(("seen", "state", "reason"), DRIVER_ENDS.values(), ids=DRIVER_ENDS)
def test_driver_end_depends_on_pod_phase_and_containers(
    seen: dict[str, Any], state: ApplicationState | None, reason: str | None
) -> None:
    end = driver_end.find_driver_end(seen, None)
    assert (end.state, end.reason) == (state, reason) if end else state is None


ENTRY = {"containers": [{"name": "side"}, {"name": "mine", "args": ["driver", "--class", "Main"]}]}
TWICE = {"containers": [{"name": "side", "args": ["driver"]}, {"name": DRIVER, "args": ["driver"]}]}
LAST = {"containers": [{"name": "side", "args": ["driver"]}, {"name": "mine", "args": ["driver"]}]}
UNCONFIGURED = {
    "default container name": (
        build_pod("Running", build_container(exit_code=0), build_container("side")),
        S.SUCCEEDED,
    ),
    "driver argument": (
        build_pod("Running", build_container("mine", exit_code=0), build_container("side"), spec=ENTRY),
        S.SUCCEEDED,
    ),
    "argument takes precedence over name": (
        build_pod("Running", build_container("mine"), build_container(exit_code=0), spec=ENTRY),
        None,
    ),
    "name decides between two arguments": (
        build_pod("Running", build_container(exit_code=0), build_container("side"), spec=TWICE),
        S.SUCCEEDED,
    ),
    "last of two arguments": (
        build_pod("Running", build_container("side", exit_code=1), build_container("mine"), spec=LAST),
        None,
    ),
    "Spark container without status": (build_pod("Running", build_container("side", exit_code=0), spec=ENTRY), None),
    "Spark container unknown": (build_pod("Running", build_container("a", exit_code=0), build_container("b")), None),
    "all containers completed": (
        build_pod("Running", build_container("a", exit_code=0), build_container("b", exit_code=0)),
        S.SUCCEEDED,
    ),
    "sidecar failed": (
        build_pod("Running", build_container(exit_code=0), build_container("side", exit_code=1)),
        S.SUCCEEDED,
    ),
    "sidecar restarted": (
        build_pod("Running", build_container(exit_code=0), build_container("side", restarts=1)),
        S.SUCCEEDED,
    ),
    "malformed spec": (
        build_pod(
            "Running", build_container(exit_code=0), spec={"containers": [None, {"args": "driver"}, {"args": []}]}
        ),
        S.SUCCEEDED,
    ),
}


@pytest.mark.parametrize(("seen", "state"), UNCONFIGURED.values(), ids=UNCONFIGURED)
def test_success_is_that_of_spark_container_if_none_is_configured(
    seen: dict[str, Any], state: ApplicationState | None
) -> None:
    end = driver_end.find_driver_end(seen, None)
    assert (end.state if end else None) is state


CONFIGURED = {
    "sidecar failed": (build_pod("Running", build_container(), build_container("side", exit_code=1)), None),
    "Spark completed": (build_pod("Running", build_container(exit_code=0), build_container("side")), S.SUCCEEDED),
    "name in upper case": (
        build_pod("Running", build_container(DRIVER.upper(), exit_code=1), build_container("side")),
        S.FAILED,
    ),
    "two sidecars failed": (
        build_pod("Running", build_container(), build_container("a", exit_code=1), build_container("z", exit_code=1)),
        None,
    ),
    "container missing, Spark running": (build_pod("Running", build_container("side", exit_code=1), spec=ENTRY), None),
    "container missing, Spark completed": (
        build_pod("Running", build_container("mine", exit_code=0), build_container("side"), spec=ENTRY),
        S.SUCCEEDED,
    ),
    "containers unknown": (build_pod("Running", build_container("side", exit_code=1)), S.FAILED),
    "container missing, pod failed": (build_pod("Failed", build_container("side", exit_code=1)), S.FAILED),
}


@pytest.mark.parametrize(("seen", "state"), CONFIGURED.values(), ids=CONFIGURED)
def test_only_configured_container_determines_driver_end(seen: dict[str, Any], state: ApplicationState | None) -> None:
    end = driver_end.find_driver_end(seen, DRIVER)
    assert (end.state if end else None) is state


@pytest.mark.parametrize("phase", ["Running", "Failed", "Unknown"])
@pytest.mark.parametrize("exit_code", [0, 3])
@pytest.mark.parametrize(
    ("name", "main", "spec"),
    [
        pytest.param("mine", "mine", {}, id="configured name"),
        pytest.param(DRIVER, None, {}, id="default name"),
        pytest.param("mine", None, ENTRY, id="driver argument"),
        pytest.param("mine", "absent", ENTRY, id="driver argument, configured name absent"),
    ],
)
def test_exit_code_of_spark_container_decides_whatever_sidecars_and_phase_show(
    phase: str, exit_code: int, name: str, main: str | None, spec: dict[str, Any]
) -> None:
    sidecar = build_container("side", exit_code=137 if exit_code == 0 else 0)
    end = driver_end.find_driver_end(
        build_pod(phase, sidecar, build_container(name, exit_code=exit_code), spec=spec), main
    )
    assert end is not None
    assert end.state is (S.SUCCEEDED if exit_code == 0 else S.FAILED)


def test_failure_message_describes_configured_container() -> None:
    end = driver_end.find_driver_end(
        build_pod("Failed", build_container("side", exit_code=2), build_container(exit_code=3)), DRIVER
    )
    assert end is not None
    assert end.message == f"Container {DRIVER} of the driver ended with exit code 3."


def test_main_container_is_read_from_configuration() -> None:
    assert driver_end.get_main_container({"spark.kubernetes.driver.podTemplateContainerName": "x"}) == "x"
    assert driver_end.get_main_container({}) is None


@pytest.mark.parametrize(
    ("seen", "started", "ready"),
    [
        pytest.param(build_driver_pod("pending"), False, False, id="pending"),
        pytest.param(build_driver_pod("unready"), False, False, id="running, not ready"),
        pytest.param(build_driver_pod("started"), True, False, id="container ready, pod not ready"),
        pytest.param(build_driver_pod("ready"), True, True, id="all ready"),
        pytest.param(build_pod("RUNNING", build_container(), ready=True), True, True, id="phase in upper case"),
        pytest.param(build_pod("Pending", ready=True), False, False, id="ready but not running"),
        pytest.param(build_pod("Running", ready=True), True, True, id="ready without containers"),
        pytest.param(build_pod("Unknown", ready=True), False, False, id="ready, phase Unknown"),
    ],
)
def test_driver_has_started_if_container_is_ready_and_is_ready_if_pod_is(
    seen: dict[str, Any], started: bool, ready: bool
) -> None:
    assert driver_end.has_started(seen, None) is started
    assert pods.is_ready(seen) is ready


def test_driver_has_started_only_if_configured_container_is_ready() -> None:
    seen = build_pod("Running", build_container(ready=False), build_container("side"))
    assert driver_end.has_started(seen, "side") is True
    assert driver_end.has_started(seen, DRIVER) is False
    assert driver_end.has_started(seen, None) is False


def test_failure_message_contains_container_exit_code_and_reason() -> None:
    end = driver_end.find_driver_end(build_driver_pod("killed"), None)
    assert end is not None
    assert end.message == f"Container {DRIVER} of the driver ended with exit code 137 (OOMKilled)."
    assert end.driver_status == build_driver_pod("killed")["status"]


def test_eviction_message_contains_message_of_kubelet() -> None:
    end = driver_end.find_driver_end(build_driver_pod("killed", reason="Evicted", message="low on memory"), None)
    assert end is not None
    assert end.message == "The driver pod was evicted from its node: low on memory."


@pytest.mark.parametrize(
    ("grace", "began"),
    [(30, NOW - seconds(30)), (0, NOW), (None, NOW), (True, NOW), (10**12, NOW)],
    ids=["grace period", "forced", "no grace period", "boolean", "too large"],
)
def test_deletion_starts_one_grace_period_before_its_timestamp(grace: int | None, began: datetime) -> None:
    assert pods.find_deletion_start(build_driver_pod(deletion=NOW, grace=grace)) == began


@pytest.mark.parametrize(
    ("written", "expected"),
    [(None, None), ("soon", None), (3, None), ("2026-01-01T12:00:00", NOW)],
    ids=["null", "not a time", "number", "no offset"],
)
def test_invalid_deletion_timestamp_is_ignored(written: int | str | None, expected: datetime | None) -> None:
    assert pods.find_deletion_start({"metadata": {"deletionTimestamp": written}}) == expected


MALFORMED = [
    {"status": None},
    {"status": []},
    {"status": {"phase": 3, "containerStatuses": "x", "conditions": {}}},
    {"status": {"containerStatuses": [None, {"state": []}, {"state": {"terminated": {"exitCode": "1"}}}]}},
    {"metadata": [], "spec": "x", "status": {"initContainerStatuses": [{"restartCount": True}]}},
]


@pytest.mark.parametrize("seen", MALFORMED, ids=repr)
def test_malformed_pod_has_no_end_and_no_start(seen: dict[str, Any]) -> None:
    assert driver_end.find_driver_end(seen, None) is None
    assert driver_end.has_started(seen, None) is False
    assert pods.find_deletion_start(seen) is None


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        pytest.param(
            build_pod("Failed", reason="DeadlineExceeded", message="It took too long."),
            "The driver pod failed: DeadlineExceeded: It took too long.",
            id="message of the pod",
        ),
        pytest.param(build_pod("Failed"), "The driver pod failed.", id="no message"),
        pytest.param(
            build_pod("Running", build_container(exit_code=3, message="no such class")),
            f"Container {DRIVER} of the driver ended with exit code 3: no such class.",
            id="message of the container",
        ),
    ],
)
def test_failure_message_contains_reason_and_message_of_pod_or_container(seen: dict[str, Any], message: str) -> None:
    end = driver_end.find_driver_end(seen, None)
    assert end is not None
    assert end.message == message


def test_driver_has_started_if_its_only_container_has_another_name() -> None:
    assert driver_end.has_started(build_pod("Running", build_container("another"), ready=False), DRIVER) is True
