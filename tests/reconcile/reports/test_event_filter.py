from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_spark_operator.reconcile.reports import event_filter
from airflow_provider_spark_operator.reconcile.reports.event_filter import EventSettings, RepetitionFilter

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)


def test_message_is_admitted_again_after_another_message() -> None:
    known, settings = RepetitionFilter(), EventSettings()
    messages = ["A", "A", "B", "A"]
    assert [known.admit("u", "Reason", message, NOW, settings) for message in messages] == [True, False, True, True]


def test_suppressed_repetitions_do_not_extend_the_interval() -> None:
    known, settings = RepetitionFilter(), EventSettings(min_interval=timedelta(seconds=2))
    times = [NOW, LATER, NOW + timedelta(seconds=2)]
    assert [known.admit("u", "Reason", "A", time, settings) for time in times] == [True, False, True]


def test_number_of_remembered_messages_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_filter, "_MAX_ENTRIES", 2)
    known, settings = RepetitionFilter(), EventSettings()
    for uid in ("a", "b", "c"):
        known.admit(uid, "Reason", "A", NOW, settings)
    assert len(known) == 2
    assert known.admit("a", "Reason", "A", NOW, settings)
    assert not known.admit("c", "Reason", "A", NOW, settings)


def test_nothing_is_remembered_without_a_limit() -> None:
    known = RepetitionFilter()
    assert known.admit("u", "Reason", "A", NOW, EventSettings())
    assert known.admit("u", "Reason", "A", NOW, EventSettings(min_interval=timedelta(0)))
    assert len(known) == 0


@pytest.mark.parametrize(
    ("pattern", "reason", "permitted"),
    [("Kueue.*", "KueueAdmitted", False), ("Kueue", "KueueAdmitted", True), ("Admitted", "KueueAdmitted", True)],
)
def test_excluded_reason_must_match_completely(pattern: str, reason: str, permitted: bool) -> None:
    assert EventSettings(excluded_reasons=(pattern,)).permits(reason) is permitted
