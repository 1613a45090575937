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


def stored(document: JsonObject, version: str = "7") -> JsonObject:
    """The Lease as the API has it."""
    return {**document, "metadata": {**document["metadata"], "resourceVersion": version}}


def patched(lease: JsonObject, patch: JsonObject) -> JsonObject:
    return {**lease, "spec": {**lease["spec"], **patch["spec"]}}


LEASE = stored(build_lease(PLACE, "one", TERMS, NOW))


@pytest.mark.parametrize(
    ("lease", "identity", "unchanged_for", "step"),
    [
        pytest.param(None, "one", 0, Step.CREATE, id="there is none"),
        pytest.param(LEASE, "one", 0, Step.RENEW, id="it is ours"),
        pytest.param(LEASE, "one", 60, Step.RENEW, id="it is ours, and has ended"),
        pytest.param(LEASE, "two", 14.9, Step.STAND_BY, id="another renews it"),
        pytest.param(LEASE, "two", 15, Step.TAKE, id="another has not renewed it in time"),
        pytest.param(patched(LEASE, build_release_patch(LEASE, NOW)), "two", 0, Step.TAKE, id="released"),
        pytest.param({"metadata": {}}, "two", 0, Step.TAKE, id="nobody has ever held it"),
        pytest.param({"spec": {"holderIdentity": "one"}}, "two", 0, Step.TAKE, id="held for no time"),
    ],
)
def test_what_follows_from_a_lease(lease: JsonObject | None, identity: str, unchanged_for: float, step: Step) -> None:
    assert find_next_step(lease, identity, timedelta(seconds=unchanged_for)) is step


def test_a_new_lease_says_who_holds_it_since_when_and_how_long() -> None:
    assert LEASE["metadata"] == {"name": "spark", "namespace": "operators", "resourceVersion": "7"}
    assert LEASE["spec"]["renewTime"] == "2026-03-01T12:00:00.123456Z"
    assert read_tenure(LEASE) == Tenure("one", timedelta(seconds=15), NOW, NOW, 0)


def test_a_renewal_keeps_when_it_was_acquired() -> None:
    later = NOW + timedelta(seconds=2)
    patch = build_lease_patch(LEASE, "one", TERMS, later)
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert read_tenure(patched(LEASE, patch)) == Tenure("one", timedelta(seconds=15), NOW, later, 0)


def test_who_takes_it_is_counted() -> None:
    later = NOW + timedelta(seconds=20)
    patch = build_lease_patch(LEASE, "two", TERMS, later)
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert read_tenure(patched(LEASE, patch)) == Tenure("two", timedelta(seconds=15), later, later, 1)


def test_a_released_lease_is_nobodys_and_keeps_its_count() -> None:
    patch = build_release_patch(LEASE, NOW)
    assert read_tenure(patched(LEASE, patch)) == Tenure("", timedelta(seconds=1), NOW, NOW, 0)


def test_a_fraction_of_a_second_is_promised_as_a_whole_one() -> None:
    terms = LeaseTerms(duration=0.5, renew_deadline=0.3, retry=0.1)
    assert read_tenure(build_lease(PLACE, "one", terms, NOW)).duration == timedelta(seconds=1)


@pytest.mark.parametrize(
    ("after", "held"), [(0, True), (-60, True), (29, True), (30, False)], ids=["now", "ahead", "slack", "over"]
)
def test_a_lease_seen_but_once_is_held_for_twice_its_time(after: int, held: bool) -> None:
    assert is_held(read_tenure(LEASE), NOW + timedelta(seconds=after)) is held


@pytest.mark.parametrize("spec", [{}, {"holderIdentity": "one"}, {"holderIdentity": "", "renewTime": "2026-03-01"}])
def test_a_lease_that_says_too_little_is_not_held(spec: JsonObject) -> None:
    assert not is_held(read_tenure({"spec": spec}), NOW)


@pytest.mark.parametrize(
    "terms", [(15, 15, 2), (15, 10, 10), (15, 10, 0)], ids=["deadline too late", "retry too late", "no pause"]
)
def test_terms_by_which_two_could_lead_at_once_are_refused(terms: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="must be shorter than"):
        LeaseTerms(*terms)
