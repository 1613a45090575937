"""The verdict on an application whose job reported failed checks."""

from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.verdict.driver_reports import blame_checks
from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, Outcome, Verdict

SUCCESS = Verdict(Outcome.SUCCEEDED, None, False, reasons.SUCCEEDED, "The application succeeded.", "Succeeded")


def test_failed_check_is_a_failure_that_a_retry_does_not_fix() -> None:
    verdict = blame_checks(SUCCESS, ["full failed: no rows", "fresh failed"])
    assert (verdict.outcome, verdict.failure_kind) == (Outcome.FAILED, FailureKind.CHECK)
    assert (verdict.reason, verdict.retry_worthy, verdict.state) == (reasons.CHECK_FAILED, False, "Succeeded")
    assert verdict.sentence.startswith("check full failed: no rows, and 1 more; the program itself succeeded. ")


def test_verdict_stays_without_failed_checks_and_after_a_failure_of_the_program() -> None:
    assert blame_checks(SUCCESS, []) is SUCCESS
    failure = Verdict(Outcome.FAILED, FailureKind.APPLICATION, True, reasons.DRIVER_FAILED, "exit code 1")
    assert blame_checks(failure, ["full failed"]) is failure
