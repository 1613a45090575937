from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_spark_operator.core.names import APPLICATION_FINALIZER
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.lease import LeaseReference, Tenure
from airflow_provider_spark_operator.reconcile.managers import (
    ControllerIdentity,
    find_last_manager,
    find_lease,
    find_objection,
    is_settled,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE = LeaseReference("operators", "spark")
OWN = ControllerIdentity("ours", LEASE).field_manager
APACHE = "fabric8-kubernetes-client"
OTHER = "spark-operator:team/other"


def build_entry(
    manager: str, time: str, subresource: str | None = "status", *, finalizer: str | None = None
) -> JsonObject:
    """Build an entry of the managed fields."""
    fields: JsonObject = {"f:status": {}}
    if finalizer:
        fields = {"f:metadata": {"f:finalizers": {".": {}, f'v:"{finalizer}"': {}}}}
    entry = {"manager": manager, "operation": "Update", "time": f"2026-03-01T{time}Z", "fieldsV1": fields}
    return {**entry, "subresource": subresource} if subresource else entry


def find_manager(*entries: JsonObject) -> str | None:
    return find_last_manager({"metadata": {"managedFields": list(entries)}}, APPLICATION_FINALIZER, OWN)


def build_finalizer_entry(manager: str, time: str) -> JsonObject:
    return build_entry(manager, time, None, finalizer=APPLICATION_FINALIZER)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([], None, id="no writer"),
        pytest.param([build_entry("python-requests", "12:00:00", None)], None, id="only the author"),
        pytest.param(
            [build_entry(APACHE, "11:00:00"), build_entry(OWN, "12:00:00")], OWN, id="last writer is this controller"
        ),
        pytest.param(
            [build_entry(OWN, "11:00:00"), build_entry(APACHE, "12:00:00")],
            APACHE,
            id="last writer is another controller",
        ),
        pytest.param([build_entry("zzz", "12:00:00"), build_entry(OWN, "12:00:00")], OWN, id="same second"),
        pytest.param(
            [build_entry(APACHE, "11:00:00"), build_entry("kubectl-edit", "12:00:00")],
            APACHE,
            id="kubectl is no controller",
        ),
        pytest.param(
            [build_entry("airflow-provider-spark-operator", "12:00:00")], None, id="our client is no controller"
        ),
        pytest.param([build_finalizer_entry(APACHE, "11:00:00")], APACHE, id="added the finalizer"),
        pytest.param(
            [build_finalizer_entry(APACHE, "12:00:00"), build_entry(OWN, "11:00:00")],
            OWN,
            id="status precedes finalizer",
        ),
        pytest.param([build_entry("x", "12:00:00", None, finalizer="another/finalizer")], None, id="another finalizer"),
    ],
)
def test_find_last_manager(entries: list[JsonObject], expected: str | None) -> None:
    assert find_manager(*entries) == expected


@pytest.mark.parametrize(
    ("manager", "lease"),
    [
        (OWN, LEASE),
        (OTHER, LeaseReference("team", "other")),
        (ControllerIdentity("ours").field_manager, None),
        (APACHE, None),
        ("team/other", None),
    ],
)
def test_find_lease(manager: str, lease: LeaseReference | None) -> None:
    assert find_lease(manager, None) == lease
    configured = LeaseReference("operators", "spark-operator-lease")
    assert find_lease(manager, configured) == (lease or configured)


def test_replicas_have_the_same_field_manager() -> None:
    assert ControllerIdentity("ours", LEASE).field_manager == ControllerIdentity("theirs", LEASE).field_manager
    assert ControllerIdentity("ours").field_manager != ControllerIdentity("theirs").field_manager


def test_long_field_manager_is_shortened() -> None:
    long = ControllerIdentity("ours", LeaseReference("n" * 63, "l" * 253)).field_manager
    assert len(long) <= 128
    assert long != ControllerIdentity("ours", LeaseReference("n" * 63, "m" * 253)).field_manager


def test_controller_whose_own_lease_does_not_exist_has_ended() -> None:
    assert find_objection(ControllerIdentity("theirs", LEASE).field_manager, LEASE, None, NOW) is None


@pytest.mark.parametrize(
    ("lease", "tenure", "sentence"),
    [
        pytest.param(
            None, None, f"{APACHE} managed this resource last, and does not name a Lease that", id="no lease known"
        ),
        pytest.param(
            LEASE,
            None,
            f"{APACHE} managed this resource last, but the Lease operators/spark, which the setting ",
            id="lease does not exist",
        ),
        pytest.param(LEASE, Tenure("", timedelta(seconds=1), NOW, NOW), None, id="released"),
        pytest.param(
            LEASE, Tenure("pod-1", timedelta(seconds=15), NOW, NOW - timedelta(seconds=40)), None, id="expired"
        ),
        pytest.param(
            LEASE,
            Tenure("pod-1", timedelta(seconds=15), NOW, NOW - timedelta(seconds=20)),
            f"{APACHE} manages this resource: pod-1 holds the Lease operators/spark",
            id="held",
        ),
    ],
)
def test_find_objection(lease: LeaseReference | None, tenure: Tenure | None, sentence: str | None) -> None:
    objection = find_objection(APACHE, lease, tenure, NOW)
    assert objection is None if sentence is None else objection is not None and objection.startswith(sentence)


def build_resource(state: str, tolerations: JsonObject | None = None, **metadata: str) -> JsonObject:
    status = {"currentState": {"currentStateSummary": state}}
    return {"metadata": metadata, "spec": {"applicationTolerations": tolerations}, "status": status}


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        pytest.param(build_resource("ResourceReleased"), True, id="released"),
        pytest.param(
            build_resource("ResourceReleased", {"ttlAfterStopMillis": -1}), True, id="released, is never deleted"
        ),
        pytest.param(build_resource("ResourceReleased", {"ttlAfterStopMillis": 0}), False, id="released, TTL of zero"),
        pytest.param(build_resource("ResourceReleased", {"ttlAfterStopMillis": 1}), False, id="released, has a TTL"),
        pytest.param(
            build_resource("ResourceReleased", {"ttlAfterStopMillis": "1"}), True, id="released, unreadable TTL"
        ),
        pytest.param(build_resource("ResourceReleased", deletionTimestamp="2026-03-01T12:00:00Z"), False, id="deleted"),
        pytest.param(build_resource("TerminatedWithoutReleaseResources"), False, id="driver retained"),
        pytest.param(build_resource("Succeeded"), False, id="not released yet"),
    ],
)
def test_released_application_is_settled_unless_its_deletion_is_due(resource: JsonObject, expected: bool) -> None:
    assert is_settled(resource) is expected
