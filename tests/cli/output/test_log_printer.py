"""Lines of the logs of pods on stdout."""

import sys

import pytest

from airflow_provider_spark_operator.cli.output.log_printer import LogLevel, LogPrinter
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


@pytest.mark.parametrize(
    ("is_terminal", "variables", "has_colours"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
        (False, {"FORCE_COLOR": "1"}, True),
    ],
)
def test_warnings_and_errors_have_a_colour(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_terminal: bool,
    variables: dict[str, str],
    has_colours: bool,
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"TERM": "xterm", **variables}.items():
        monkeypatch.setenv(name, value)
    printer = LogPrinter(with_pod=False, is_live=False)
    for line in LOG[2:]:
        printer.print(line)
    warning, error, result = (line.text for line in LOG[2:])
    shown = (f"\033[33m{warning}\033[0m", f"\033[31m{error}\033[0m") if has_colours else (warning, error)
    assert capsys.readouterr().out.splitlines() == [*shown, result]


SPARK = "26/01/01 00:00:00"
LOG = tuple(
    PodLine("driver", text)
    for text in (f"{SPARK} DEBUG A: x", f"{SPARK} INFO A: x", f"{SPARK} WARN A: x", f"{SPARK} ERROR A: x", "rows 7")
)
HIDDEN = "spark-operator: hidden: 2 log lines of Spark below level WARNING; --level all shows them\n"


@pytest.mark.parametrize(
    ("level", "is_terminal", "hidden"),
    [
        (None, True, 2),
        (None, False, 0),
        (LogLevel.ALL, True, 0),
        (LogLevel.INFO, False, 1),
        (LogLevel.WARNING, False, 2),
        (LogLevel("WARN"), False, 2),
        (LogLevel.ERROR, True, 3),
    ],
)
def test_lines_of_spark_below_the_level_are_hidden_and_counted(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    level: LogLevel | None,
    is_terminal: bool,
    hidden: int,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    printer = LogPrinter(with_pod=False, is_live=False, level=level)
    for line in LOG:
        printer.print(line)
    printer.report_hidden()
    out, err = capsys.readouterr()
    assert out.splitlines() == [line.text for line in LOG[hidden:]]
    assert (f"hidden: {hidden} log line" in err) == bool(hidden)
    assert (err == HIDDEN) == (hidden == 2)


def test_first_hidden_line_is_announced_while_a_log_is_followed(capsys: pytest.CaptureFixture[str]) -> None:
    printer = LogPrinter(with_pod=False, is_live=True, level=LogLevel.WARNING)
    for line in (*LOG, *LOG):
        printer.print(line)
    printer.report_hidden()
    assert capsys.readouterr().err == (
        "spark-operator: hidden: log lines of Spark below level WARNING and routine warnings; --level all shows them\n"
    )


@pytest.mark.parametrize(("level", "shown"), [(LogLevel.ALL, 1), (LogLevel.INFO, 1), (LogLevel.WARNING, 0)])
def test_routine_warnings_are_hidden_and_counted(
    capsys: pytest.CaptureFixture[str], level: LogLevel, shown: int
) -> None:
    printer = LogPrinter(with_pod=False, is_live=False, level=level)
    for pod in ("exec-1", "exec-2"):
        printer.print(PodLine(pod, f"{SPARK} WARN NativeCodeLoader: Unable to load native-hadoop library"))
    printer.report_hidden()
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2 * shown
    assert err == "spark-operator: hidden: 2 routine warnings; --level all shows them\n" * (not shown)


def test_recorded_lines_are_printed_whatever_their_level(capsys: pytest.CaptureFixture[str]) -> None:
    printer = LogPrinter(with_pod=False, is_live=False, level=LogLevel.ERROR)
    printer.print(PodLine("", f"{SPARK} INFO A: x"))
    printer.report_hidden()
    assert capsys.readouterr() == (f"{SPARK} INFO A: x\n", "")
