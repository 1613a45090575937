from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.ownership import Tenure, read_tenure
from airflow_provider_spark_operator.reconcile.objects.lease import LeaseTerms, build_lease

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
TERMS = LeaseTerms(duration=15, renew_deadline=10, retry=2)
LATER = NOW + timedelta(seconds=20)


def store(document: JsonObject, known: JsonObject | None = None) -> JsonObject:
    """Return the Lease that the API shows after a write."""
    return {**(known or {}), **document, "metadata": {"resourceVersion": "7"}}


LEASE = store(build_lease(None, "one", TERMS, NOW))


def test_new_lease_contains_holder_times_and_duration() -> None:
    assert LEASE["spec"]["renewTime"] == "2026-03-01T12:00:00.123456Z"
    assert read_tenure(LEASE) == Tenure("one", timedelta(seconds=15), NOW, NOW, 0)


@pytest.mark.parametrize(
    ("holder", "after"),
    [
        pytest.param("one", Tenure("one", timedelta(seconds=15), NOW, LATER, 0), id="renewed"),
        pytest.param("two", Tenure("two", timedelta(seconds=15), LATER, LATER, 1), id="taken"),
        pytest.param("", Tenure("", timedelta(seconds=1), NOW, LATER, 0), id="released"),
    ],
)
def test_write_of_a_lease_has_a_precondition_and_keeps_the_term(holder: str, after: Tenure) -> None:
    patch = build_lease(LEASE, holder, TERMS, LATER)
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert read_tenure(store(patch, LEASE)) == after


def test_lease_that_was_never_held_is_taken() -> None:
    taken = build_lease({"metadata": {"resourceVersion": "7"}}, "one", TERMS, NOW)
    assert read_tenure(taken) == Tenure("one", timedelta(seconds=15), NOW, NOW, 1)


def test_lease_duration_is_rounded_up_to_seconds() -> None:
    terms = LeaseTerms(duration=0.5, renew_deadline=0.3, retry=0.1)
    assert read_tenure(build_lease(None, "one", terms, NOW)).duration == timedelta(seconds=1)


@pytest.mark.parametrize(
    "terms", [(15, 15, 2), (15, 10, 10), (15, 10, 0)], ids=["deadline too late", "retry too late", "no pause"]
)
def test_lease_terms_in_the_wrong_order_are_rejected(terms: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="must be shorter than"):
        LeaseTerms(*terms)
