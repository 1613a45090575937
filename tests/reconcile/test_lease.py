from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.lease import (
    LeaseReference,
    LeaseTerms,
    Step,
    Tenure,
    build_lease,
    build_lease_patch,
    build_release_patch,
    find_next_step,
    is_held,
    read_tenure,
)

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
TERMS = LeaseTerms(duration=15, renew_deadline=10, retry=2)
PLACE = LeaseReference("operators", "spark")


def store(document: JsonObject, version: str = "7") -> JsonObject:
    """Add the resource version of the API to a Lease."""
    return {**document, "metadata": {**document["metadata"], "resourceVersion": version}}


def apply_patch(lease: JsonObject, patch: JsonObject) -> JsonObject:
    return {**lease, "spec": {**lease["spec"], **patch["spec"]}}


LEASE = store(build_lease(PLACE, "one", TERMS, NOW))


@pytest.mark.parametrize(
    ("lease", "identity", "unchanged_for", "step"),
    [
        pytest.param(None, "one", 0, Step.CREATE, id="no lease"),
        pytest.param(LEASE, "one", 0, Step.RENEW, id="own lease"),
        pytest.param(LEASE, "one", 60, Step.RENEW, id="own expired lease"),
        pytest.param(LEASE, "two", 14.9, Step.STAND_BY, id="renewed by another"),
        pytest.param(LEASE, "two", 15, Step.TAKE, id="expired lease of another"),
        pytest.param(apply_patch(LEASE, build_release_patch(LEASE, NOW)), "two", 0, Step.TAKE, id="released"),
        pytest.param({"metadata": {}}, "two", 0, Step.TAKE, id="never held"),
        pytest.param({"spec": {"holderIdentity": "one"}}, "two", 0, Step.TAKE, id="no duration"),
    ],
)
def test_find_next_step(lease: JsonObject | None, identity: str, unchanged_for: float, step: Step) -> None:
    assert find_next_step(lease, identity, timedelta(seconds=unchanged_for)) is step


def test_new_lease_contains_holder_times_and_duration() -> None:
    assert LEASE["metadata"] == {"name": "spark", "namespace": "operators", "resourceVersion": "7"}
    assert LEASE["spec"]["renewTime"] == "2026-03-01T12:00:00.123456Z"
    assert read_tenure(LEASE) == Tenure("one", timedelta(seconds=15), NOW, NOW, 0)


def test_renewal_keeps_the_acquire_time() -> None:
    later = NOW + timedelta(seconds=2)
    patch = build_lease_patch(LEASE, "one", TERMS, later)
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert read_tenure(apply_patch(LEASE, patch)) == Tenure("one", timedelta(seconds=15), NOW, later, 0)


def test_takeover_of_a_lease_increments_the_transitions() -> None:
    later = NOW + timedelta(seconds=20)
    patch = build_lease_patch(LEASE, "two", TERMS, later)
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert read_tenure(apply_patch(LEASE, patch)) == Tenure("two", timedelta(seconds=15), later, later, 1)


def test_released_lease_has_no_holder_and_keeps_the_transitions() -> None:
    patch = build_release_patch(LEASE, NOW)
    assert read_tenure(apply_patch(LEASE, patch)) == Tenure("", timedelta(seconds=1), NOW, NOW, 0)


def test_lease_duration_is_rounded_up_to_seconds() -> None:
    terms = LeaseTerms(duration=0.5, renew_deadline=0.3, retry=0.1)
    assert read_tenure(build_lease(PLACE, "one", terms, NOW)).duration == timedelta(seconds=1)


@pytest.mark.parametrize(
    ("after", "held"), [(0, True), (-60, True), (29, True), (30, False)], ids=["now", "ahead", "slack", "over"]
)
def test_lease_counts_as_held_for_twice_its_duration(after: int, held: bool) -> None:
    assert is_held(read_tenure(LEASE), NOW + timedelta(seconds=after)) is held


@pytest.mark.parametrize("spec", [{}, {"holderIdentity": "one"}, {"holderIdentity": "", "renewTime": "2026-03-01"}])
def test_incomplete_lease_is_not_held(spec: JsonObject) -> None:
    assert not is_held(read_tenure({"spec": spec}), NOW)


@pytest.mark.parametrize(
    "terms", [(15, 15, 2), (15, 10, 10), (15, 10, 0)], ids=["deadline too late", "retry too late", "no pause"]
)
def test_lease_terms_in_the_wrong_order_are_rejected(terms: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="must be shorter than"):
        LeaseTerms(*terms)
