import pytest

from airflow_provider_spark_operator.cli.views.application_columns import describe_message
from airflow_provider_spark_operator.core.report.summary import summarize
from tests.core.report.documents import at, build_application


@pytest.mark.parametrize(
    ("state", "message", "shown"),
    [
        ("RunningHealthy", "The application runs (executors ready: 0).", ""),
        ("RunningHealthy", "Application is running healthy.", "Application is running healthy."),
        ("Submitted", "Kueue waits.", "Kueue waits."),
    ],
)
def test_message_that_counts_the_executors_of_an_earlier_time_is_left_out(state: str, message: str, shown: str) -> None:
    document = build_application((state, 0))
    document["status"]["currentState"]["message"] = message
    assert describe_message(summarize(document, at(9))) == shown
