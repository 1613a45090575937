"""The line that shows the state while a command waits."""

import io
from datetime import timedelta

import pytest

from airflow_provider_spark_operator.cli.output.terminal import ProgressLine, show_progress


class FakeTerminal(io.StringIO):
    """A terminal that records what is written. Its encoding is unknown."""

    def isatty(self) -> bool:
        return True


def test_line_shows_the_state_and_the_elapsed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    terminal = FakeTerminal()
    line = ProgressLine(terminal)
    line.draw(timedelta())
    line.state = "RunningHealthy"
    line.draw(timedelta(seconds=65))
    assert terminal.getvalue().split("\r\033[K") == ["", "| waiting, 0s", "/ RunningHealthy, 1m5s"]


def test_line_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    terminal = FakeTerminal()
    line = ProgressLine(terminal)
    line.state = "RunningHealthy"
    line.draw(timedelta())
    assert terminal.getvalue() == "\r\033[K| Running"


def test_line_is_erased_once() -> None:
    terminal = FakeTerminal()
    line = ProgressLine(terminal)
    line.erase()
    assert terminal.getvalue() == ""
    line.draw(timedelta())
    line.erase()
    line.erase()
    assert terminal.getvalue().count("\r\033[K") == 2
    assert terminal.getvalue().endswith("\r\033[K")


async def test_line_is_shown_only_on_a_terminal_that_can_erase(monkeypatch: pytest.MonkeyPatch) -> None:
    async with show_progress(io.StringIO()) as line:
        assert line is None
    async with show_progress(None) as line:
        assert line is None
    monkeypatch.setenv("TERM", "dumb")
    async with show_progress(FakeTerminal()) as line:
        assert line is None
    monkeypatch.setenv("TERM", "xterm")
    async with show_progress(FakeTerminal()) as line:
        assert line is not None
