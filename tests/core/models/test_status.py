from datetime import UTC, datetime

import pytest

from airflow_provider_spark_operator.core.models.status import ApplicationStatus

RECORD = {"currentStateSummary": "Submitted", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def test_status_is_written_without_nulls_and_in_utc() -> None:
    status = ApplicationStatus.model_validate({"currentState": RECORD, "stateTransitionHistory": {"0": RECORD}})
    assert status.to_document() == {
        "currentState": RECORD,
        "stateTransitionHistory": {"0": RECORD},
        "currentAttemptSummary": {
            "attemptInfo": {
                "id": 0,
                "restartCounter": 0,
                "failureRestartCounter": 0,
                "schedulingFailureRestartCounter": 0,
            }
        },
    }


@pytest.mark.parametrize(
    ("written", "read"),
    [
        pytest.param("2026-01-01T02:00:00+02:00", datetime(2026, 1, 1, tzinfo=UTC), id="another offset"),
        pytest.param("2026-01-01T00:00:00", datetime(2026, 1, 1, tzinfo=UTC), id="no offset"),
        pytest.param(
            "2026-01-01T00:00:00.123456789Z", datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC), id="nanoseconds"
        ),
    ],
)
def test_times_in_other_formats_are_read(written: str, read: datetime) -> None:
    status = ApplicationStatus.model_validate({"currentState": {**RECORD, "lastTransitionTime": written}})
    assert status.current_state.last_transition_time == read


def test_unknown_status_fields_are_preserved() -> None:
    status = ApplicationStatus.model_validate({"currentState": RECORD, "futureSummary": {"a": 1}})
    assert status.to_document()["futureSummary"] == {"a": 1}
