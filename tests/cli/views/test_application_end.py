"""The end of an application, as commands report it."""

import io
import sys

import pytest

from airflow_provider_spark_operator.cli.views.application_end import has_shown_lines, report_conclusion
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, Outcome, Verdict
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.follow.ending.evidence import Evidence
from airflow_provider_spark_operator.follow.watching.wait import Conclusion

FAILED = Verdict(Outcome.FAILED, FailureKind.APPLICATION, True, reasons.DRIVER_FAILED, "Failed: exit code 1.")
ROUTINE = "26/01/01 00:00:00 INFO SparkContext: Running Spark version 4.3.0"


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("lines", "is_repeated"),
    [((ROUTINE,), True), ((ROUTINE, "ValueError: 7"), False), (("ValueError: 7",), False)],
    ids=["routine", "both", "error"],
)
def test_last_lines_are_repeated_only_if_all_of_them_were_hidden(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lines: tuple[str, ...], is_repeated: bool
) -> None:
    monkeypatch.setattr(sys, "stdout", FakeTerminal())
    reference = ApplicationReference.of({"metadata": {"name": "pi", "namespace": "jobs", "uid": "u"}})
    conclusion = Conclusion(FAILED, Evidence(reference, log_lines=lines), {})
    report_conclusion(conclusion, is_shown=has_shown_lines(conclusion))
    assert (f"error:   {lines[-1]}" in capsys.readouterr().err) is is_repeated
