from datetime import timedelta

import pytest

from airflow_provider_spark_operator.core.kueue import state
from airflow_provider_spark_operator.core.kueue.state import needs_ready_condition
from airflow_provider_spark_operator.core.kueue.steps import Keep, Replace, choose_requeue
from tests.builders import NOW
from tests.core.kueue.workloads import ADMITTED, EVICTED, build_condition, build_wanted, build_workload

READY = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
STARTING = {"status": {"phase": "Pending"}}


def test_eviction_is_described_with_its_reason_and_message() -> None:
    workload = build_workload(None, *ADMITTED, EVICTED)
    assert state.describe_eviction(workload) == "Preempted: Preempted to accommodate a workload"
    assert state.describe_eviction(build_workload(None, build_condition("Evicted", reason=""))) == "Evicted"
    assert state.describe_eviction(build_workload(None, build_condition("Evicted", "False"))) is None


def test_ready_patch_keeps_the_other_conditions_and_binds_the_revision() -> None:
    before = build_condition("PodsReady", "False")
    patch = state.build_ready_patch(build_workload(None, *ADMITTED, before), NOW)
    assert patch["metadata"] == {"resourceVersion": "7"}
    kinds = [(each["type"], each["status"], each["reason"]) for each in patch["status"]["conditions"]]
    assert kinds == [
        ("QuotaReserved", "True", "Because"),
        ("Admitted", "True", "Because"),
        ("PodsReady", "True", "Started"),
    ]
    assert patch["status"]["conditions"][-1]["lastTransitionTime"] == NOW.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert patch["status"]["conditions"][-1]["observedGeneration"] == 1


@pytest.mark.parametrize(("succeeded", "reason"), [(True, "Succeeded"), (False, "Failed")])
def test_finished_patch_states_how_the_resource_ended(succeeded: bool, reason: str) -> None:
    workload = build_workload(None, *ADMITTED, metadata={"generation": None})
    patch = state.build_finished_patch(workload, succeeded=succeeded, message="It ended.", now=NOW)
    condition = patch["status"]["conditions"][-1]
    assert (condition["type"], condition["reason"], condition["message"]) == ("Finished", reason, "It ended.")
    assert "observedGeneration" not in condition


def test_release_patch_returns_the_quota_of_an_evicted_workload() -> None:
    workload = build_workload(None, *ADMITTED, EVICTED, admission={"clusterQueue": "q"})
    patch = state.build_release_patch(workload, NOW)
    assert patch["status"]["admission"] is None
    released = {"status": patch["status"]}
    assert not state.holds_quota(released)
    assert state.describe_eviction(released) is not None


def test_long_message_of_an_eviction_is_shortened() -> None:
    message = state.describe_eviction(build_workload(None, build_condition("Evicted", message="x" * 40_000)))
    assert message is not None
    assert len(message) == 1024
    assert message.startswith("Because: xxx")
    assert message[511:514] == "x…x"


def test_pods_are_ready_once_each_pod_set_has_its_number() -> None:
    workload = build_workload(build_wanted({"spark.executor.instances": "2"}), *ADMITTED)
    assert needs_ready_condition(workload, {"driver": [READY], "executor": [READY, READY]})
    assert not needs_ready_condition(workload, {"driver": [READY], "executor": [READY, STARTING]})
    assert not needs_ready_condition(workload, {"executor": [READY, READY]})


def test_pods_ready_is_written_once_and_only_after_the_admission() -> None:
    conf = {"spark.kubernetes.driver.master": "local"}
    pods_by_role = {"driver": [READY]}
    assert needs_ready_condition(build_workload(build_wanted(conf), *ADMITTED), pods_by_role)
    assert not needs_ready_condition(build_workload(build_wanted(conf)), pods_by_role)
    written = build_condition("PodsReady")
    assert not needs_ready_condition(build_workload(build_wanted(conf), *ADMITTED, written), pods_by_role)


@pytest.mark.parametrize(("text", "needed"), [("1", 1), ("9", 2), ("many", 2), ("0" * 5000 + "1", 2)])
def test_annotation_lowers_the_number_of_executors(text: str, needed: int) -> None:
    annotations = {"spark.operator/kueue-pods-ready-executors": text}
    workload = build_workload(None, *ADMITTED, metadata={"annotations": annotations})
    assert needs_ready_condition(workload, {"driver": [READY], "executor": [READY] * needed})
    assert not needs_ready_condition(workload, {"driver": [READY], "executor": [READY] * (needed - 1)})


def test_resource_is_queued_again_unless_its_workload_must_wait() -> None:
    evicted = build_workload(None, *ADMITTED, EVICTED)
    assert choose_requeue(None, NOW) == Replace()
    assert choose_requeue(evicted, NOW) == Replace()


def test_deactivated_workload_is_kept() -> None:
    step = choose_requeue(build_workload(None, EVICTED, spec={"active": False}), NOW)
    assert isinstance(step, Keep)
    assert step.after == timedelta(seconds=1800)


@pytest.mark.parametrize(("seconds", "waits"), [(30, True), (0, False), (-30, False)])
def test_workload_is_kept_until_its_requeue_time(seconds: int, waits: bool) -> None:
    at = (NOW + timedelta(seconds=seconds)).isoformat()
    found = choose_requeue(build_workload(None, EVICTED, requeueState={"requeueAt": at}), NOW)
    assert isinstance(found, Keep) is waits
