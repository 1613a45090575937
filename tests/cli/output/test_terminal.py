import io
import logging
import sys
from datetime import UTC, datetime

import pytest

from airflow_provider_spark_operator.cli.output.terminal import Terminal
from airflow_provider_spark_operator.core.dialects.progress import StateEntry
from airflow_provider_spark_operator.core.kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from airflow_provider_spark_operator.core.kubernetes.pods import ContainerStatus, list_containers


def build_waiting_container(reason: str) -> ContainerStatus:
    """Build a container that waits with a reason."""
    state = {"waiting": {"reason": reason, "message": "refused"}}
    (container,) = list_containers({"containerStatuses": [{"name": "c", "image": "registry/job:7", "state": state}]})
    return container


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError"])
@pytest.mark.parametrize(
    ("role", "subject"), [(ROLE_DRIVER, "the driver"), (ROLE_EXECUTOR, "executor pod pi-1")], ids=["driver", "executor"]
)
async def test_pod_that_cannot_be_started_is_an_obstacle(role: str, subject: str, reason: str) -> None:
    terminal = Terminal()
    terminal.show_blocked_pod(role, "pi-1", build_waiting_container(reason))
    terminal.show_blocked_pod(role, "pi-1", build_waiting_container("Later"))
    expected = f"{subject} cannot be started: {reason}: refused (image registry/job:7)"
    assert terminal.obstacle.result() == expected


async def test_restarting_executor_is_not_an_obstacle() -> None:
    terminal = Terminal()
    terminal.show_blocked_pod(ROLE_EXECUTOR, "pi-1", build_waiting_container("CrashLoopBackOff"))
    assert not terminal.obstacle.done()


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


LOG = (
    ("26/01/01 00:00:00 INFO SparkContext: started", logging.INFO),
    ("26/01/01 00:00:00 WARN SparkEnv: slow", logging.WARNING),
    ("26/01/01 00:00:00 ERROR Executor: lost", logging.ERROR),
    ("rows 7", logging.INFO),
)


async def test_routine_lines_of_spark_are_counted_if_they_are_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(shows_routine=False)
    for line, level in LOG:
        terminal.show_driver_line(line, level)
    assert capsys.readouterr().out.splitlines() == [line for line, _ in LOG[1:]]
    assert terminal.hidden == 1


async def test_states_before_a_time_are_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(since=datetime(2026, 1, 2, tzinfo=UTC))
    for state, day in (("RunningHealthy", 1), ("Succeeded", 2)):
        terminal.show_state(StateEntry(state, datetime(2026, 1, day, tzinfo=UTC)), None)
    assert [line.split()[-1] for line in capsys.readouterr().err.splitlines()] == ["Succeeded"]


async def test_number_of_hidden_lines_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(shows_routine=False)
    terminal.report_hidden()
    assert capsys.readouterr().err == ""
    native = "26/01/01 00:00:00 WARN NativeCodeLoader: Unable to load native-hadoop library"
    for line, level in (*LOG, (native, logging.WARNING)):
        terminal.show_driver_line(line, level)
    terminal.report_hidden()
    assert capsys.readouterr().err == (
        "spark-operator: hidden: 1 log line of Spark below level WARNING and 1 routine warning; --verbose shows them\n"
    )


@pytest.mark.parametrize("no_colour", ["", "1"])
async def test_levels_and_states_have_colours_on_a_terminal(monkeypatch: pytest.MonkeyPatch, no_colour: str) -> None:
    out, err = FakeTerminal(), FakeTerminal()
    monkeypatch.setenv("NO_COLOR", no_colour)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    terminal = Terminal()
    for line, level in LOG:
        terminal.show_driver_line(line, level)
    terminal.show_state(StateEntry("Failed", datetime(2026, 1, 1, tzinfo=UTC), "exit code 1"), None)
    assert terminal.hidden == 0
    if no_colour:
        assert "\033" not in out.getvalue() + err.getvalue()
        return
    codes = ("\033[2m{}\033[0m", "\033[33m{}\033[0m", "\033[31m{}\033[0m", "{}")
    assert out.getvalue().splitlines() == [code.format(line) for code, (line, _) in zip(codes, LOG, strict=True)]
    assert err.getvalue().endswith(" Failed\033[0m: exit code 1\n")
    assert err.getvalue().startswith("spark-operator: \033[31m")
