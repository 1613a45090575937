"""Report how an application ended: a sentence on stderr, and an exit code."""

import sys
from dataclasses import replace

from airflow_provider_spark_operator.cli.errors import print_error, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.core.verdict import FailureKind, Outcome
from airflow_provider_spark_operator.follow.evidence import describe_failure
from airflow_provider_spark_operator.follow.wait import Conclusion


def report_conclusion(conclusion: Conclusion, *, is_shown: bool = False) -> ExitCode:
    """Print the verdict on an application that has ended, and return its exit code.

    Args:
        conclusion: How the application ended.
        is_shown: Whether the log of the driver was printed to stdout. If stdout is a terminal, its last lines
            are not printed again.
    """
    verdict = conclusion.ending.verdict
    if verdict.outcome is Outcome.SUCCEEDED:
        print_note(f"{conclusion.reference}: {verdict.sentence}")
        return ExitCode.SUCCESS
    evidence = conclusion.evidence
    if is_shown and evidence.log_lines and sys.stdout.isatty():
        evidence = replace(evidence, log_lines=(), events=())
    print_error(describe_failure(verdict, evidence))
    if verdict.failure_kind is FailureKind.APPLICATION:
        return ExitCode.APPLICATION_FAILED
    return ExitCode.INFRASTRUCTURE_FAILED
