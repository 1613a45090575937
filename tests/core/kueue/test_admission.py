from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_POD_SETS_HASH
from airflow_provider_spark_operator.core.kueue.admission import (
    Admission,
    Admitted,
    Backoff,
    Pending,
    Stale,
    read_admission,
)
from airflow_provider_spark_operator.core.kueue.workload import (
    POD_PRIORITY_CLASS,
    Priority,
    PriorityClassName,
    WantedWorkload,
)
from tests.builders import NOW
from tests.core.kueue.workloads import ADMITTED, EVICTED, build_condition, build_wanted, build_workload

LATER = NOW + timedelta(minutes=1)
RESERVED = (build_condition("QuotaReserved"),)


def read(*conditions: dict[str, str], **modifiers: Any) -> Admission:
    wanted = build_wanted()
    return read_admission(build_workload(wanted, *conditions, **modifiers), wanted, NOW)


def read_patch(workload: dict[str, Any], wanted: WantedWorkload) -> JsonObject | None:
    found = read_admission(workload, wanted, NOW)
    assert isinstance(found, Pending)
    return found.patch


def test_workload_that_is_being_deleted_is_stale() -> None:
    found = read(*ADMITTED, metadata={"deletionTimestamp": NOW.isoformat()})
    assert isinstance(found, Stale)
    assert not found.delete


@pytest.mark.parametrize(
    "owners",
    [[], [{"uid": "other", "controller": True}], [{"uid": "application-uid"}]],
    ids=["none", "other", "not the controller"],
)
def test_workload_of_another_owner_is_deleted(owners: list[dict[str, Any]]) -> None:
    found = read(*ADMITTED, metadata={"ownerReferences": owners})
    assert isinstance(found, Stale)
    assert found.delete


def test_deactivated_workload_waits() -> None:
    found = read(*ADMITTED, EVICTED, spec={"active": False})
    assert isinstance(found, Pending)
    assert "deactivated" in found.message
    assert found.patch is None


def test_evicted_workload_waits_for_its_requeue_time() -> None:
    found = read(*RESERVED, EVICTED, requeueState={"requeueAt": LATER.isoformat()})
    assert found == Backoff("Kueue has evicted the Workload: Preempted: Preempted to accommodate a workload", LATER)


@pytest.mark.parametrize("state", [{}, {"requeueState": {"requeueAt": NOW.isoformat()}}], ids=["absent", "over"])
def test_evicted_workload_without_a_backoff_is_replaced(state: dict[str, Any]) -> None:
    assert isinstance(read(*ADMITTED, EVICTED, **state), Stale)


def test_workload_that_was_evicted_and_admitted_again_is_admitted() -> None:
    assert read(*ADMITTED, build_condition("Evicted", "False")) == Admitted()


def test_admitted_workload_is_admitted_although_the_pods_have_changed() -> None:
    wanted = build_wanted()
    workload = build_workload(wanted, *ADMITTED)
    assert read_admission(workload, build_wanted({"spark.executor.instances": "7"}), NOW) == Admitted()


def test_pending_workload_is_replaced_if_the_pods_have_changed() -> None:
    workload = build_workload(build_wanted(), *RESERVED)
    assert isinstance(read_admission(workload, build_wanted({"spark.executor.instances": "7"}), NOW), Stale)


def test_pending_workload_shows_the_message_of_kueue() -> None:
    refused = build_condition("QuotaReserved", "False", "Pending", "insufficient unused quota")
    assert read(refused) == Pending("Waiting for Kueue admission in queue team-a: insufficient unused quota")
    assert read() == Pending("Waiting for Kueue admission in queue team-a.")


def test_workload_with_quota_shows_for_what_its_admission_waits() -> None:
    waiting = build_condition("Admitted", "False", "NoChecks", "the check is pending")
    assert read(*RESERVED, waiting) == Pending("Waiting for Kueue admission in queue team-a: the check is pending")


def test_evicted_workload_without_quota_waits_in_the_queue() -> None:
    assert isinstance(read(EVICTED), Pending)


def test_changed_queue_and_priority_of_a_waiting_workload_are_updated() -> None:
    workload = build_workload(build_wanted(priority=1))
    found = read_admission(workload, build_wanted(queue="team-b", priority=5), NOW)
    assert isinstance(found, Pending)
    assert found.patch == {"metadata": {"resourceVersion": "7"}, "spec": {"queueName": "team-b", "priority": 5}}


def test_priority_of_a_waiting_workload_is_removed_with_the_class_of_the_resource() -> None:
    workload = build_workload(build_wanted(priority=1))
    found = read_admission(workload, build_wanted(), NOW)
    assert isinstance(found, Pending)
    assert found.patch == {"metadata": {"resourceVersion": "7"}, "spec": {"priorityClassRef": None, "priority": None}}


def test_workload_with_quota_follows_only_another_workload_priority_class() -> None:
    wanted = build_wanted(queue="team-b", priority=5)
    expected = {"metadata": {"resourceVersion": "7"}, "spec": {"priority": 5}}
    assert read_patch(build_workload(build_wanted(priority=1), *RESERVED), wanted) == expected
    of_pods = Priority(PriorityClassName(POD_PRIORITY_CLASS, "pods"), 3)
    assert read_patch(build_workload(replace(wanted, priority=of_pods), *RESERVED), wanted) is None
    assert read_patch(build_workload(wanted, *RESERVED), replace(wanted, priority=of_pods)) is None
    assert read_patch(build_workload(wanted, *RESERVED), replace(wanted, priority=None)) is None


def test_workload_of_another_controller_is_kept_if_it_has_the_same_pods() -> None:
    other_hash = {"annotations": {ANNOTATION_POD_SETS_HASH: "computed in another way"}}
    workload = build_workload(build_wanted(), metadata=other_hash)
    assert isinstance(read_admission(workload, build_wanted(), NOW), Pending)
    assert isinstance(read_admission(workload, build_wanted({"spark.executor.instances": "7"}), NOW), Stale)


def test_queue_of_a_workload_with_quota_is_not_updated() -> None:
    workload = build_workload(build_wanted(), *RESERVED)
    found = read_admission(workload, build_wanted(queue="team-b"), NOW)
    assert isinstance(found, Pending)
    assert found.patch is None


@given(
    active=st.booleans(),
    deleted=st.booleans(),
    conditions=st.dictionaries(
        st.sampled_from(["QuotaReserved", "Admitted", "Evicted"]), st.sampled_from(["True", "False"])
    ),
    minutes=st.none() | st.integers(-5, 5),
)
def test_pods_are_created_only_with_an_admission_that_is_in_force(
    active: bool, deleted: bool, conditions: dict[str, str], minutes: int | None
) -> None:
    state = {} if minutes is None else {"requeueAt": (NOW + timedelta(minutes=minutes)).isoformat()}
    found = read(
        *(build_condition(kind, status) for kind, status in conditions.items()),
        metadata={"deletionTimestamp": NOW.isoformat()} if deleted else {},
        spec={"active": active},
        requeueState=state,
    )
    in_force = active and not deleted and conditions.get("Admitted") == "True" and conditions.get("Evicted") != "True"
    assert (found == Admitted()) is in_force
