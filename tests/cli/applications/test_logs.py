"""`spark-operator logs` with the embedded cluster."""

import asyncio
import signal
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.dialects.dialect import APACHE
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.log.driver_log import append_lines
from airflow_provider_spark_operator.testing.applications import Application, Script
from airflow_provider_spark_operator.testing.scripting import Log
from tests.cli.process import DEADLINE, read_line, start_command, wait_for_exit
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, run_on, stay_submitted


async def write_three_lines(application: Application) -> None:
    """Run with two executors, and write lines in all logs."""
    application.start(executors=2)
    for number in (1, 2, 3):
        application.log.write(f"line {number}")


def write_executor_lines(cluster: Cluster) -> list[str]:
    """Write one line in the log of each of two executors, and return the names of the pods."""
    names = [f"pi-{cluster.application()['metadata']['uid'][:8]}-exec-{number}" for number in (0, 1)]

    def write() -> None:
        for name in names:
            cluster.logs.setdefault(("jobs", name), Log()).write(f"executor {name[-1]} works")

    cluster.do(write)
    return names


def build_restart(cluster: Cluster) -> Script:
    """Build a script that fails in the first attempt and runs on in the second."""
    continue_with_next = build_next_attempt(cluster)

    async def restart(application: Application) -> None:
        application.start()
        application.log.write("first")
        await continue_with_next(application)

    return restart


def build_next_attempt(cluster: Cluster) -> Script:
    """Build a script in which the running first attempt fails, and the second one runs."""

    async def continue_with_next(application: Application) -> None:
        application.enter("Failed", driver=application.end_driver(1))
        application.attempt = 1
        application.enter("ScheduledToRestart")
        identifier = APACHE.read_application_id(application.document, 1)
        application.driver = APACHE.read_driver_pod_name(application.document, identifier) or ""
        application.log = cluster.logs["jobs", application.driver] = Log(application.uid)
        # The latest driver is found by the creation time, which has whole seconds.
        await asyncio.sleep(1.1)
        application.start_driver()
        application.enter("DriverStarted", "RunningHealthy")
        application.log.write("second")

    return continue_with_next


def test_log_of_the_driver_is_printed(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = write_three_lines
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_state("RunningHealthy")
    assert run_verb("logs pi").out == "line 1\nline 2\nline 3\n"
    assert run_verb("logs pi --tail 1").out == "line 3\n"
    assert run_verb("logs pi --since 1h --attempt 1").out == "line 1\nline 2\nline 3\n"


def test_follow_ends_with_the_application(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("pi")
    assert run_verb("logs pi -f").out == "Pi is roughly 3.14\n"


def test_follow_continues_with_the_next_attempt(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    play = build_restart(scripted_cluster)

    async def restart_and_succeed(application: Application) -> None:
        await play(application)
        application.succeed()

    scripted_cluster.script = restart_and_succeed
    scripted_cluster.create("pi")
    captured = run_verb("logs pi -f")
    assert captured.out == "first\nsecond\n"
    assert "another attempt begins with driver" in captured.err


def test_attempt_is_chosen(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = build_restart(scripted_cluster)
    scripted_cluster.create("pi")
    # The first attempt fails before the cluster serves another request.
    scripted_cluster.wait_for_state("RunningHealthy")
    for words, text in (([], "second"), (["--previous"], "first"), (["--attempt", "1"], "first")):
        assert run_verb(["logs", "pi", *words]).out == f"{text}\n"


async def test_interrupted_follow_reports_that_the_application_continues(
    scripted_cluster: Cluster, tmp_path: Path
) -> None:
    scripted_cluster.script = write_three_lines
    scripted_cluster.create("pi")
    async with start_command("logs", "pi", "-f", "--tail", "1", home=tmp_path) as process:
        assert await read_line(process, "line") == "line 3"
        process.send_signal(signal.SIGINT)
        code, _, err = await wait_for_exit(process)
    assert code == ExitCode.INTERRUPTED
    assert "SparkApplication jobs/pi continues" in err


async def test_follow_of_all_executors_ends_with_the_driver(scripted_cluster: Cluster, tmp_path: Path) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")

    async def end(application: Application) -> None:
        for number in (0, 1):
            application.end_executor(number, exit_code=0, reason="Completed")
        application.succeed()

    async with start_command("logs", "pi", "-f", "--executor", "all", home=tmp_path) as process:
        await asyncio.to_thread(scripted_cluster.play, run_on)
        names = await asyncio.to_thread(write_executor_lines, scripted_cluster)
        assert process.stdout is not None
        async with asyncio.timeout(DEADLINE):
            lines = {(await process.stdout.readline()).decode().strip() for _ in names}
        assert lines == {f"{name} | executor {name[-1]} works" for name in names}
        await asyncio.to_thread(scripted_cluster.play, end)
        code, out, _ = await wait_for_exit(process)
    assert code == ExitCode.SUCCESS
    assert sorted(out.splitlines()) == [f"{name} | executor {name[-1]} ends" for name in names]


def test_executor_is_chosen_by_number_or_pod(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_state("RunningHealthy")
    names = write_executor_lines(scripted_cluster)
    assert main(["logs", "pi", "--executor", "1"]) == ExitCode.SUCCESS
    assert run_verb(["logs", "pi", "--executor", names[0]]).out == "executor 1 works\nexecutor 0 works\n"
    assert main(["logs", "pi", "--executor", "7"]) == ExitCode.API_FAILED
    message = "SparkApplication jobs/pi has no executor 7 in attempt 1. These executors exist: 0, 1"
    assert message in capsys.readouterr().err


def test_logs_of_all_pods_begin_with_the_driver(scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    scripted_cluster.play(write_three_lines, "pi")
    names = write_executor_lines(scripted_cluster)
    assert main(["logs", "pi", "--all-pods", "--tail", "1"]) == ExitCode.SUCCESS
    expected = ["pi-0-driver | line 3", *(f"{name} | executor {name[-1]} works" for name in names)]
    assert capsys.readouterr().out.splitlines() == expected


async def test_follow_of_all_pods_ends_with_the_application(scripted_cluster: Cluster, tmp_path: Path) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")

    async def end(application: Application) -> None:
        application.log.write("the driver ends")
        for number in (0, 1):
            application.end_executor(number, exit_code=0, reason="Completed")
        application.succeed()

    async with start_command("logs", "pi", "-f", "--all-pods", home=tmp_path) as process:
        await asyncio.to_thread(scripted_cluster.play, run_on)
        names = await asyncio.to_thread(write_executor_lines, scripted_cluster)
        for _ in names:
            await read_line(process, "pi-")
        await asyncio.to_thread(scripted_cluster.play, end)
        code, out, _ = await wait_for_exit(process)
    assert code == ExitCode.SUCCESS
    assert {*out.splitlines()} >= {
        "pi-0-driver | the driver ends",
        *(f"{name} | executor {name[-1]} ends" for name in names),
    }


def test_missing_driver_is_exit_code_3(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    assert "SparkApplication jobs/pi has no driver pod of attempt 1" in run_verb("logs pi", ExitCode.API_FAILED).err


async def fail_and_release(application: Application) -> None:
    application.start()
    application.enter("Failed", driver=application.end_driver(1))
    application.delete_driver()
    application.enter("ResourceReleased")


@pytest.mark.parametrize("words", [[], ["--executor", "1"]], ids=["driver", "executor"])
def test_log_of_an_application_without_a_driver_names_the_state(
    words: list[str], scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    error = run_verb(["logs", "pi", *words], ExitCode.API_FAILED).err
    assert "attempt 1: it does not exist yet. To wait for it, use --follow" in error
    assert main(["suspend", "pi"]) == ExitCode.SUCCESS
    assert main(["logs", "pi", *words]) == ExitCode.API_FAILED
    expected = "attempt 1: spec.suspend is true; run `spark-operator resume pi -n jobs` to start it. To wait"
    assert expected in capsys.readouterr().err


def test_follow_without_a_log_fails_after_the_end(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted_cluster.script = fail_and_release
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_state("ResourceReleased")
    assert main(["logs", "pi", "-f"]) == ExitCode.API_FAILED
    message = "has no driver pod of attempt 1: it was deleted. To keep it, submit with --keep-driver 1h"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["-f"]], ids=["read", "follow"])
def test_lines_recorded_by_the_controller_replace_the_log_of_a_deleted_driver(
    scripted_cluster: Cluster, run_verb: Verbs, options: list[str]
) -> None:
    def record(document: JsonObject) -> JsonObject:
        for entry in document["status"]["stateTransitionHistory"].values():
            if entry["currentStateSummary"] == "Failed":
                entry["message"] = append_lines("The driver failed", ["recorded 1", "recorded 2"])
        return document

    scripted_cluster.script = fail_and_release
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_state("ResourceReleased")
    scripted_cluster.do(lambda: scripted_cluster.resources.write_status("jobs", "pi", record))
    captured = run_verb(["logs", "pi", "--tail", "1", *options])
    assert captured.out == "recorded 2\n"
    assert "the driver pod was deleted; these are the last lines" in captured.err


async def test_follow_reports_that_the_application_was_deleted(scripted_cluster: Cluster, tmp_path: Path) -> None:
    scripted_cluster.script = write_three_lines
    await asyncio.to_thread(scripted_cluster.create, "pi")
    async with start_command("logs", "pi", "-f", home=tmp_path) as process:
        await read_line(process, "line 3")
        await asyncio.to_thread(scripted_cluster.delete, "pi")
        scripted_cluster.do(lambda: scripted_cluster.logs["jobs", "pi-0-driver"].end())
        scripted_cluster.do(lambda: scripted_cluster.resources.delete_pod("jobs", "pi-0-driver"))
        code, _, err = await wait_for_exit(process)
    assert code == ExitCode.SUCCESS
    assert "SparkApplication jobs/pi was deleted" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--previous"], "SparkApplication jobs/pi has no previous attempt: it was not restarted"),
        (["--attempt", "2"], "--attempt 2: SparkApplication jobs/pi has 1 attempt"),
        (["--attempt", "1", "--previous"], "--previous and --attempt cannot be combined"),
        (["--all-pods", "--executor", "1"], "--all-pods and --executor cannot be combined"),
        (["--attempt", "0"], "--attempt: "),
        (["--since", "soon"], "--since: invalid duration 'soon'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_invalid_choice_is_exit_code_2(
    words: list[str], message: str, scripted_cluster: Cluster, run_verb: Verbs
) -> None:
    scripted_cluster.create("pi")
    assert message in run_verb(["logs", "pi", *words], ExitCode.INVALID).err


def test_kubeflow_driver_is_printed(kubeflow_cluster: Cluster, run_verb: Verbs) -> None:
    kubeflow_cluster.create("pi")
    kubeflow_cluster.wait_for_end()
    assert run_verb("logs pi").out == "Pi is roughly 3.14\n"
