"""Report how an application ended: a sentence on stderr, and an exit code."""

from airflow_provider_spark_operator.cli.errors import print_error, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.core.verdict import FailureKind, Outcome
from airflow_provider_spark_operator.follow.evidence import describe_failure
from airflow_provider_spark_operator.follow.wait import Conclusion


def report_conclusion(conclusion: Conclusion) -> ExitCode:
    """Print the verdict on an application that has ended, and return its exit code."""
    verdict = conclusion.ending.verdict
    if verdict.outcome is Outcome.SUCCEEDED:
        print_note(f"{conclusion.reference}: {verdict.sentence}")
        return ExitCode.SUCCESS
    print_error(describe_failure(verdict, conclusion.evidence))
    if verdict.failure_kind is FailureKind.APPLICATION:
        return ExitCode.APPLICATION_FAILED
    return ExitCode.INFRASTRUCTURE_FAILED
