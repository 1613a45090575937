from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_spark_operator.core.names import APPLICATION_FINALIZER
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.lease import LeaseReference, Tenure
from airflow_provider_spark_operator.reconcile.managers import (
    Identity,
    find_last_manager,
    find_lease,
    find_objection,
    is_settled,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE = LeaseReference("operators", "spark")
OWN = Identity("ours", LEASE).field_manager
APACHE = "fabric8-kubernetes-client"
OTHER = "spark-operator:team/other"


def wrote(manager: str, time: str, subresource: str | None = "status", *, finalizer: str | None = None) -> JsonObject:
    """An entry of the managed fields."""
    fields: JsonObject = {"f:status": {}}
    if finalizer:
        fields = {"f:metadata": {"f:finalizers": {".": {}, f'v:"{finalizer}"': {}}}}
    entry = {"manager": manager, "operation": "Update", "time": f"2026-03-01T{time}Z", "fieldsV1": fields}
    return {**entry, "subresource": subresource} if subresource else entry


def driver(*entries: JsonObject) -> str | None:
    return find_last_manager({"metadata": {"managedFields": list(entries)}}, APPLICATION_FINALIZER, OWN)


def claimed(manager: str, time: str) -> JsonObject:
    return wrote(manager, time, None, finalizer=APPLICATION_FINALIZER)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([], None, id="nobody has written anything"),
        pytest.param([wrote("python-requests", "12:00:00", None)], None, id="only its author"),
        pytest.param([wrote(APACHE, "11:00:00"), wrote(OWN, "12:00:00")], OWN, id="the last one counts"),
        pytest.param([wrote(OWN, "11:00:00"), wrote(APACHE, "12:00:00")], APACHE, id="even if it is another"),
        pytest.param([wrote("zzz", "12:00:00"), wrote(OWN, "12:00:00")], OWN, id="in the same second it is ours"),
        pytest.param([wrote(APACHE, "11:00:00"), wrote("kubectl-edit", "12:00:00")], APACHE, id="a person drives none"),
        pytest.param([wrote("airflow-provider-spark-operator", "12:00:00")], None, id="nor does our client"),
        pytest.param([claimed(APACHE, "11:00:00")], APACHE, id="who has put the finalizer on it"),
        pytest.param([claimed(APACHE, "12:00:00"), wrote(OWN, "11:00:00")], OWN, id="a status says more than that"),
        pytest.param([wrote("x", "12:00:00", None, finalizer="another/finalizer")], None, id="another finalizer"),
    ],
)
def test_who_has_driven_a_resource_last(entries: list[JsonObject], expected: str | None) -> None:
    assert driver(*entries) == expected


@pytest.mark.parametrize(
    ("manager", "lease"),
    [
        (OWN, LEASE),
        (OTHER, LeaseReference("team", "other")),
        (Identity("ours").field_manager, None),
        (APACHE, None),
        ("team/other", None),
    ],
)
def test_the_lease_of_another_controller(manager: str, lease: LeaseReference | None) -> None:
    assert find_lease(manager, None) == lease
    told = LeaseReference("operators", "spark-operator-lease")
    assert find_lease(manager, told) == (lease or told)


def test_the_replicas_of_one_controller_are_one_and_the_same() -> None:
    assert Identity("ours", LEASE).field_manager == Identity("theirs", LEASE).field_manager
    assert Identity("ours").field_manager != Identity("theirs").field_manager


def test_a_name_that_the_api_would_refuse_is_shortened() -> None:
    long = Identity("ours", LeaseReference("n" * 63, "l" * 253)).field_manager
    assert len(long) <= 128
    assert long != Identity("ours", LeaseReference("n" * 63, "m" * 253)).field_manager


def test_a_controller_whose_own_lease_is_gone_has_ended() -> None:
    assert find_objection(Identity("theirs", LEASE).field_manager, LEASE, None, NOW) is None


@pytest.mark.parametrize(
    ("lease", "tenure", "sentence"),
    [
        pytest.param(None, None, f"{APACHE} managed it last and names no lease that", id="no lease known"),
        pytest.param(
            LEASE,
            None,
            f"{APACHE} managed it last, but its configured lease operators/spark does not exist. ",
            id="there is no such lease",
        ),
        pytest.param(LEASE, Tenure("", timedelta(seconds=1), NOW, NOW), None, id="released"),
        pytest.param(LEASE, Tenure("pod-1", timedelta(seconds=15), NOW, NOW - timedelta(seconds=40)), None, id="over"),
        pytest.param(
            LEASE,
            Tenure("pod-1", timedelta(seconds=15), NOW, NOW - timedelta(seconds=20)),
            f"{APACHE} manages it: pod-1 holds its lease operators/spark",
            id="alive",
        ),
    ],
)
def test_what_speaks_against_driving_what_another_has_driven(
    lease: LeaseReference | None, tenure: Tenure | None, sentence: str | None
) -> None:
    said = find_objection(APACHE, lease, tenure, NOW)
    assert said is None if sentence is None else said is not None and said.startswith(sentence)


def terminated(state: str, tolerations: JsonObject | None = None, **metadata: str) -> JsonObject:
    status = {"currentState": {"currentStateSummary": state}}
    return {"metadata": metadata, "spec": {"applicationTolerations": tolerations}, "status": status}


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        pytest.param(terminated("ResourceReleased"), True, id="released"),
        pytest.param(terminated("ResourceReleased", {"ttlAfterStopMillis": -1}), True, id="released, is never deleted"),
        pytest.param(terminated("ResourceReleased", {"ttlAfterStopMillis": 0}), False, id="released, TTL of zero"),
        pytest.param(terminated("ResourceReleased", {"ttlAfterStopMillis": 1}), False, id="released, has a TTL"),
        pytest.param(terminated("ResourceReleased", {"ttlAfterStopMillis": "1"}), True, id="released, unreadable TTL"),
        pytest.param(terminated("ResourceReleased", deletionTimestamp="2026-03-01T12:00:00Z"), False, id="deleted"),
        pytest.param(terminated("TerminatedWithoutReleaseResources"), False, id="driver retained"),
        pytest.param(terminated("Succeeded"), False, id="not released yet"),
    ],
)
def test_released_application_is_settled_unless_its_deletion_is_due(resource: JsonObject, expected: bool) -> None:
    assert is_settled(resource) is expected
