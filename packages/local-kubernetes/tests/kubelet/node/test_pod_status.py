from datetime import UTC, datetime, timedelta

import pytest

from local_kubernetes.kubelet.node.pod_status import Eviction, build_pod_status, compute_pod_phase
from local_kubernetes.kubelet.node.restarts import ContainerRestartPolicy
from local_kubernetes.kubelet.node.states import ContainerRecord, Running, State, Terminated, Waiting

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WAITS = Waiting("ContainerCreating")
RUNS = Running(NOW)
GOOD = Terminated(0, "Completed", NOW, NOW)
BAD = Terminated(1, "Error", NOW, NOW)


def record(
    state: State, *, last: Terminated | None = None, sidecar: bool = False, policy: str = "Always"
) -> ContainerRecord:
    return ContainerRecord("it", "image", state, last, sidecar=sidecar, policy=ContainerRestartPolicy(policy))


@pytest.mark.parametrize(
    ("policy", "init", "containers", "phase"),
    [
        ("Never", [], [WAITS], "Pending"),
        ("Never", [], [RUNS], "Running"),
        ("Never", [], [RUNS, WAITS], "Pending"),
        ("Never", [], [RUNS, BAD], "Running"),
        ("Never", [], [GOOD, GOOD], "Succeeded"),
        ("Never", [], [GOOD, BAD], "Failed"),
        ("OnFailure", [], [GOOD], "Succeeded"),
        ("OnFailure", [], [BAD], "Running"),
        ("Always", [], [GOOD], "Running"),
        ("Never", [RUNS], [WAITS], "Pending"),
        ("Never", [BAD], [WAITS], "Failed"),
        ("OnFailure", [BAD], [WAITS], "Pending"),
        ("Never", [GOOD], [RUNS], "Running"),
    ],
)
def test_the_phase_follows_from_the_containers(
    policy: str, init: list[State], containers: list[State], phase: str
) -> None:
    of_init = "Never" if policy == "Never" else "OnFailure"
    first = [record(state, policy=of_init) for state in init]
    assert compute_pod_phase(first, [record(state, policy=policy) for state in containers]) == phase


def test_pod_is_running_while_a_container_waits_for_its_restart() -> None:
    again = record(Waiting("CrashLoopBackOff"), last=BAD)

    assert compute_pod_phase([], [again]) == "Running"


def test_running_sidecar_does_not_decide_the_phase() -> None:
    assert compute_pod_phase([record(RUNS, sidecar=True)], [record(RUNS)]) == "Running"
    assert compute_pod_phase([record(BAD, sidecar=True)], [record(GOOD, policy="Never")]) == "Succeeded"


def test_phase_follows_from_the_policy_of_each_container() -> None:
    restarts, ends = record(BAD, policy="OnFailure"), record(BAD, policy="Never")
    assert compute_pod_phase([], [restarts, ends]) == "Running"
    assert compute_pod_phase([], [record(GOOD, policy="OnFailure"), ends]) == "Failed"


def test_a_condition_keeps_its_time_until_it_changes() -> None:
    pod = {"spec": {"restartPolicy": "Never"}, "status": {}}
    pod["status"] = build_pod_status(pod, [], [record(WAITS)], NOW)
    later = NOW + timedelta(seconds=7)

    status = build_pod_status(pod, [], [record(RUNS)], later)

    times = {item["type"]: item["lastTransitionTime"] for item in status["conditions"]}
    assert times["PodScheduled"] == times["Initialized"] == "2026-01-02T03:04:05Z"
    assert times["Ready"] == times["ContainersReady"] == "2026-01-02T03:04:12Z"


def test_conditions_of_other_writers_are_kept() -> None:
    gate = {"type": "example.org/gate", "status": "True"}
    pod = {"spec": {}, "status": {"qosClass": "Burstable", "conditions": [gate]}}

    status = build_pod_status(pod, [], [record(RUNS)], NOW)

    assert status["qosClass"] == "Burstable"
    assert gate in status["conditions"]


def test_an_evicted_pod_has_failed_whatever_its_containers_do() -> None:
    eviction = Eviction("Evicted", "The node was low on resource: ephemeral-storage.")

    status = build_pod_status({"spec": {}}, [], [record(RUNS)], NOW, eviction)

    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
