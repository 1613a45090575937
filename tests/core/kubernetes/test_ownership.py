from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_CLAIM, APPLICATION_FINALIZER
from airflow_provider_spark_operator.core.kubernetes.ownership import (
    APACHE,
    LeaseReference,
    Tenure,
    find_owner,
    read_tenure,
    trim_managed_fields,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TENURE = Tenure("one", timedelta(seconds=15), NOW, NOW)


def build_entry(manager: str, time: str = "12:00:05", subresource: str = "status", **fields: str) -> dict[str, Any]:
    """Build an entry of the managed fields; `fields` are names in the metadata, such as annotations."""
    owned: dict[str, Any] = {f"f:{key}": {value: {}} for key, value in fields.items()}
    entry = {"manager": manager, "time": f"2026-03-01T{time}Z", "fieldsV1": {"f:metadata": owned}}
    return {**entry, "subresource": subresource} if subresource else entry


def build_resource(*entries: dict[str, Any], claim: str = "") -> dict[str, Any]:
    metadata = {"name": "pi", "namespace": "jobs", "uid": "u1", "creationTimestamp": "2026-03-01T12:00:00Z"}
    annotations = {"annotations": {ANNOTATION_CLAIM: claim}} if claim else {}
    return {"kind": "SparkApplication", "metadata": {**metadata, **annotations, "managedFields": list(entries)}}


CLAIM, OWN = "jobs/ours u1 2026-03-01T12:00:03+00:00", "jobs/ours"
FINALIZER = f'v:"{APPLICATION_FINALIZER}"'
MERGED = build_entry("ancient-changes", "12:00:05", "", finalizers=FINALIZER)
MERGED_CLAIM = build_entry("ancient-changes", "12:00:05", "", finalizers=FINALIZER, annotations=f"f:{ANNOTATION_CLAIM}")
LATER_CLAIM = build_entry("anyone", "12:00:05", "", annotations=f"f:{ANNOTATION_CLAIM}")
CLAIMED = build_entry("anyone", "12:00:03", "", annotations=f"f:{ANNOTATION_CLAIM}")


@pytest.mark.parametrize(
    ("resource", "owner"),
    [
        pytest.param(build_resource(), None, id="new"),
        pytest.param(build_resource(claim=CLAIM), OWN, id="claimed"),
        pytest.param(build_resource(claim="jobs/ours u2"), None, id="claim of the original of a copy"),
        pytest.param(build_resource(claim="jobs/ours"), None, id="claim without a uid"),
        pytest.param(build_resource(claim="jobs/../secrets u1"), None, id="claim without a Lease"),
        pytest.param(build_resource(build_entry("velero-server")), None, id="status of a backup tool"),
        pytest.param(build_resource(build_entry("HeadLamp", "12:00:09"), claim=CLAIM), OWN, id="status of a dashboard"),
        pytest.param(build_resource(build_entry("spark-operator:team/b")), None, id="status of an earlier release"),
        pytest.param(build_resource(build_entry("x", "12:00:05", "", finalizers=FINALIZER)), None, id="any finalizer"),
        pytest.param(build_resource(build_entry(APACHE)), APACHE, id="status of the Apache operator"),
        pytest.param(
            build_resource(build_entry(APACHE, "12:00:05", "", finalizers=FINALIZER)), APACHE, id="its finalizer"
        ),
        pytest.param(
            build_resource(build_entry(APACHE, "12:00:05", "", labels="f:team")), None, id="other Java client"
        ),
        pytest.param(build_resource(build_entry(APACHE, "11:59:59")), None, id="managed fields of the original"),
        pytest.param(build_resource(MERGED), APACHE, id="merged with nine newer field managers"),
        pytest.param(build_resource(MERGED, claim=CLAIM), APACHE, id="claim that someone copied"),
        pytest.param(build_resource(MERGED_CLAIM, claim=CLAIM), OWN, id="claim that was merged, too"),
        pytest.param(build_resource(MERGED, LATER_CLAIM, claim=CLAIM), OWN, id="claim after the merge"),
        pytest.param(
            build_resource(build_entry("ancient-changes", "12:00:05", "", labels="f:team")), None, id="merged others"
        ),
        pytest.param(build_resource(CLAIMED, build_entry(APACHE, "12:00:02"), claim=CLAIM), OWN, id="taken over"),
        pytest.param(build_resource(CLAIMED, build_entry(APACHE, "12:00:03"), claim=CLAIM), OWN, id="same second"),
        pytest.param(build_resource(CLAIMED, build_entry(APACHE, "12:00:04"), claim=CLAIM), APACHE, id="gone back"),
    ],
)
def test_owner_is_a_claim_or_the_apache_operator(resource: dict[str, Any], owner: str | None) -> None:
    assert find_owner(resource) == owner
    trim_managed_fields(resource)
    assert find_owner(resource) == owner
    assert ("managedFields" in resource["metadata"]) is (owner == APACHE)


@pytest.mark.parametrize(
    ("after", "held"), [(0, True), (-60, True), (29, True), (30, False)], ids=["now", "ahead", "slack", "over"]
)
def test_lease_counts_as_held_for_twice_its_duration(after: int, held: bool) -> None:
    assert TENURE.is_held(NOW + timedelta(seconds=after)) is held


@pytest.mark.parametrize("spec", [{}, {"holderIdentity": "one"}, {"holderIdentity": "", "renewTime": "2026-03-01"}])
def test_incomplete_lease_is_not_held(spec: dict[str, Any]) -> None:
    assert not read_tenure({"spec": spec}).is_held(NOW)


def test_lease_that_was_renewed_at_the_end_of_time_is_held() -> None:
    assert Tenure("one", timedelta(seconds=15), NOW, datetime.max.replace(tzinfo=UTC)).is_held(NOW)


@pytest.mark.parametrize("text", ["", "name", "/name", "team/", "team/x/y", "team/../secrets", "Team/x"])
def test_reference_to_no_lease_is_not_parsed(text: str) -> None:
    assert LeaseReference.parse(text) is None


def test_long_field_manager_is_shortened() -> None:
    assert len(LeaseReference("n" * 63, "l" * 253).field_manager) == 128
