"""The interactive verbs in a real terminal. The tests compare what the screen shows."""

import re
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.testing.scripting import Log
from tests.cli.pods_with_ports import serve_ports
from tests.cli.screen import needs_tmux, open_verb
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, fail, run_on, stay_submitted

pytestmark = needs_tmux

GREEN, RED = "\x1b[32m", "\x1b[31m"


async def end(application: Application) -> None:
    """End successfully."""
    application.succeed()


def test_list_watch_adds_coloured_rows_until_interrupted(scripted_cluster: Cluster) -> None:
    scripted_cluster.script = stay_submitted
    with open_verb("list", "--watch") as screen:
        screen.wait_for("no applications found in namespace jobs; waiting for changes")
        scripted_cluster.create("pi")
        screen.wait_for(r"^pi +Submitted +- +1 +0/2")
        scripted_cluster.play(run_on, "pi")
        screen.wait_for(f"^pi .*{re.escape(GREEN)}RunningHealthy", with_colours=True)
        scripted_cluster.delete("pi")
        lines = screen.wait_for(r"^pi +RunningHealthy \(deleted\)")
        assert lines[1].split() == ["NAME", "STATE", "OUTCOME", "ATTEMPTS", "EXECUTORS", "AGE", "DURATION", "TASK"]
        screen.press("C-c")
        assert screen.wait_for_exit() == ExitCode.INTERRUPTED
        assert "Traceback" not in "\n".join(screen.read())


def test_wait_shows_states_and_the_verdict(scripted_cluster: Cluster) -> None:
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_state("RunningHealthy")
    with open_verb("wait", "pi") as screen:
        screen.wait_for(r"\d\d:\d\d:\d\d RunningHealthy")
        screen.wait_for(r"^\S RunningHealthy, \d+s$")
        scripted_cluster.play(end, "pi")
        assert screen.wait_for_exit() == ExitCode.SUCCESS
        lines = screen.wait_for(r"\d\d:\d\d:\d\d Succeeded")
        assert not [line for line in lines if re.search(r", \d+s$", line)]


@pytest.mark.parametrize("verb", ["wait", "logs"])
def test_interrupt_reports_that_the_application_continues(verb: str, scripted_cluster: Cluster) -> None:
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_state("RunningHealthy")
    write_log(scripted_cluster, "pi-0-driver", "first line")
    with open_verb(verb, "pi", *(["-f"] if verb == "logs" else [])) as screen:
        screen.wait_for("RunningHealthy" if verb == "wait" else "first line")
        screen.press("C-c")
        assert screen.wait_for_exit() == ExitCode.INTERRUPTED
        text = " ".join(screen.read())
        assert "To delete it, run `spark-operator delete pi -n jobs`" in text
        assert "Traceback" not in text


def test_logs_of_several_executors_have_a_colour_per_pod(scripted_cluster: Cluster) -> None:
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_state("RunningHealthy")
    pods = [f"pi-{scripted_cluster.application()['metadata']['uid'][:8]}-exec-{number}" for number in range(2)]
    for pod in pods:
        write_log(scripted_cluster, pod, "first line")
    with open_verb("logs", "pi", "--executor", "all", "-f", lines=20) as screen:
        for pod in pods:
            screen.wait_for(rf"^{pod} \| first line$")
        coloured = [re.match(r"\x1b\[(\d+)m(\S+) \| ", line) for line in screen.read(with_colours=True)]
        colours = {match[2]: match[1] for match in coloured if match}
        assert set(colours) == set(pods)
        assert len(set(colours.values())) == len(pods)
        screen.resize(40, 20)
        write_log(scripted_cluster, pods[0], "the terminal became narrow")
        screen.wait_until(lambda lines: "the terminal became narrow" in "".join(lines), "the line, on two lines")
        screen.press("C-c")
        assert screen.wait_for_exit() == ExitCode.INTERRUPTED


def test_follow_shows_states_the_log_and_the_verdict(
    scripted_cluster: Cluster, tmp_path: Path, run_verb: Verbs
) -> None:
    (tmp_path / "pi.yaml").write_text(run_verb("init").out)
    scripted_cluster.script = fail
    with open_verb("submit", str(tmp_path / "pi.yaml"), "--follow", variables={"NO_COLOR": "1"}) as screen:
        assert screen.wait_for_exit() == ExitCode.APPLICATION_FAILED
        text = "\n".join(screen.wait_for("ended with exit code 3"))
        assert "something went wrong" in text
        assert re.search(r"\d\d:\d\d:\d\d RunningHealthy", text)
        assert "\x1b[3" not in "\n".join(screen.read(with_colours=True))


def test_forward_shows_the_address_until_interrupted(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_ports(monkeypatch)
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_state("RunningHealthy")
    with open_verb("forward", "pi", "--port", "0") as screen:
        screen.wait_for(r"^Forwarding http://127\.0\.0\.1:\d+ to the Spark UI of SparkApplication jobs/pi$")
        screen.press("C-c")
        assert screen.wait_for_exit() == ExitCode.SUCCESS
        assert "Traceback" not in "\n".join(screen.read())


@pytest.mark.parametrize("columns", [40, 120])
@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["list"], ["pi", "Failed(application)"]),
        (["top", "-A"], ["norunningpodsofapplicationsfound"]),
        (["status", "pi"], ["TerminatedWithoutReleaseResources"]),
        (["describe", "pi"], ["Name:", "Attempts:", "exitcode3"]),
        (["timeline", "pi"], ["attempt1:Failed;itsresourcesareretained", "█failed"]),
    ],
    ids=lambda value: value[0],
)
def test_narrow_terminal_shows_all_of_a_failed_application(
    words: list[str], shown: list[str], columns: int, scripted_cluster: Cluster
) -> None:
    scripted_cluster.script = fail
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_end()
    with open_verb(*words, columns=columns, lines=80) as screen:
        assert screen.wait_for_exit() == ExitCode.SUCCESS
        lines = screen.read()
        assert max(map(len, lines)) <= columns
        text = "".join(lines).replace(" ", "")
        for part in shown:
            assert part in text, "\n".join(lines)


@pytest.mark.parametrize("verb", ["describe", "status"])
def test_failure_is_red_unless_no_color_is_set(verb: str, scripted_cluster: Cluster) -> None:
    scripted_cluster.script = fail
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_end()
    for variables, is_coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        with open_verb(verb, "pi", variables=variables) as screen:
            assert screen.wait_for_exit() == ExitCode.SUCCESS
            assert (RED in "".join(screen.read(with_colours=True))) is is_coloured


def write_log(cluster: Cluster, pod: str, line: str) -> None:
    """Write a line of the log of a running pod."""
    cluster.do(lambda: cluster.logs.setdefault(("jobs", pod), Log()).write(line))
