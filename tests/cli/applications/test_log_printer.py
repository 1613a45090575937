"""Lines of the logs of pods on stdout."""

import sys

import pytest

from airflow_provider_spark_operator.cli.applications.logs import LogPrinter
from airflow_provider_spark_operator.follow.logs.attempt_logs import PodLine

LINES = (PodLine("exec-1", "[bold]one[/bold]"), PodLine("exec-2", "two"), PodLine("exec-1", "three"))


def test_lines_begin_with_the_pod_without_colours_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    printer = LogPrinter(with_pod=True, is_live=False)
    for line in LINES:
        printer.print(line)
    assert capsys.readouterr().out == "exec-1 | [bold]one[/bold]\nexec-2 | two\nexec-1 | three\n"


def test_each_pod_has_a_colour_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    printer = LogPrinter(with_pod=True, is_live=True)
    for line in LINES:
        printer.print(line)
    first, second, third = capsys.readouterr().out.splitlines()
    colours = [line.partition("exec-")[0] for line in (first, second, third)]
    assert colours[0].startswith("\x1b[")
    assert colours[0] == colours[2] != colours[1]
    assert first.endswith("[bold]one[/bold]")
