"""`spark-operator wait` with the embedded cluster."""

import asyncio
import signal
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.testing.applications import Application
from tests.cli.process import start_command, wait_for_exit
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, fail, run_on, stay_submitted


async def fail_to_schedule(application: Application) -> None:
    """Fail because no driver could be created."""
    application.enter("Submitted")
    application.enter("SchedulingFailure", "ResourceReleased", message="quota exceeded")


def test_success_of_the_application_is_exit_code_0(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("pi")
    captured = run_verb("wait pi")
    assert captured.out == ""
    assert "SparkApplication jobs/pi: The application succeeded" in captured.err


def test_application_failure_is_exit_code_1_with_the_last_lines_of_the_log(
    scripted_cluster: Cluster, run_verb: Verbs
) -> None:
    scripted_cluster.script = fail
    scripted_cluster.create("pi")
    captured = run_verb("wait pi", ExitCode.APPLICATION_FAILED)
    assert "SparkApplication jobs/pi failed" in captured.err
    assert "something went wrong" in captured.err


def test_scheduling_failure_is_exit_code_5(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = fail_to_schedule
    scripted_cluster.create("pi")
    assert "quota exceeded" in run_verb("wait pi", ExitCode.INFRASTRUCTURE_FAILED).err


def test_timeout_is_exit_code_4(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_state("RunningHealthy")
    error = run_verb("wait pi --timeout 1s", ExitCode.TIMED_OUT).err
    assert "SparkApplication jobs/pi did not end within 1s (RunningHealthy)" in error


def test_reached_state_is_exit_code_0_whatever_case_the_option_has(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    error = run_verb("wait pi --for runninghealthy --for Failed").err
    assert "SparkApplication jobs/pi reached state RunningHealthy" in error


@pytest.mark.parametrize("word", ["running", "RUNNING"])
def test_reached_phase_is_exit_code_0(scripted_cluster: Cluster, word: str, run_verb: Verbs) -> None:
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    assert "SparkApplication jobs/pi reached state " in run_verb(["wait", "pi", "--for", word]).err


async def start_with_two_executors(application: Application) -> None:
    """Start with two executors, and keep running."""
    application.start(executors=2)
    await asyncio.Event().wait()


def test_ready_executors_are_exit_code_0(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = start_with_two_executors
    scripted_cluster.create("pi")
    assert "SparkApplication jobs/pi has 2 ready executors" in run_verb("wait pi --for executors=2 --for failed").err


def test_running_driver_without_executors_is_not_enough(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = start_with_two_executors
    scripted_cluster.create("pi")
    error = run_verb("wait pi --for executors=3 --timeout 2s", ExitCode.TIMED_OUT).err
    assert "did not reach 3 ready executors within 2s" in error


def test_end_without_the_executors_is_an_error(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("pi")
    error = run_verb("wait pi --for executors=3", ExitCode.APPLICATION_FAILED).err
    assert "succeeded without reaching 3 ready executors" in error


@pytest.mark.parametrize("number", ["0", "", "x", "-1", "1.5"])
def test_invalid_number_of_executors_is_a_usage_error(number: str, run_verb: Verbs) -> None:
    assert "must be executors=N" in run_verb(["wait", "pi", "--for", f"executors={number}"], ExitCode.INVALID).err


def test_end_without_the_state_is_an_error(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("pi")
    error = run_verb("wait pi --for DriverEvicted", ExitCode.APPLICATION_FAILED).err
    assert "succeeded without reaching state DriverEvicted" in error


def test_deleted_application_is_exit_code_5(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    async def run_and_vanish(application: Application) -> None:
        application.start()

    scripted_cluster.script = run_and_vanish
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_state("RunningHealthy")
    scripted_cluster.do(lambda: scripted_cluster.store.update(scripted_cluster.kind, "jobs", "pi", _hold))
    scripted_cluster.delete("pi")
    assert "was deleted before it ended" in run_verb("wait pi", ExitCode.INFRASTRUCTURE_FAILED).err


def _hold(document: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    document["metadata"]["finalizers"] = ["example.com/hold"]
    return document


def test_missing_application_is_exit_code_3(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    assert "SparkApplication none not found in namespace jobs" in run_verb("wait none", ExitCode.API_FAILED).err


def test_unknown_state_is_a_usage_error_with_a_suggestion(run_verb: Verbs) -> None:
    error = run_verb("wait pi --for RuningHealthy", ExitCode.INVALID).err
    assert "--for: unknown state RuningHealthy: did you mean RunningHealthy?" in error


def test_state_of_another_api_group_is_refused(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("pi")
    assert "SparkApplication jobs/pi never has this state" in run_verb("wait pi --for COMPLETED", ExitCode.INVALID).err


def test_kubeflow_application_is_followed_to_its_end(kubeflow_cluster: Cluster) -> None:
    kubeflow_cluster.create("pi")
    assert main(["wait", "pi", "--for", "COMPLETED"]) == ExitCode.SUCCESS
    assert main(["wait", "pi"]) == ExitCode.SUCCESS
    kubeflow_cluster.script = fail
    kubeflow_cluster.create("broken")
    assert main(["wait", "broken"]) == ExitCode.APPLICATION_FAILED
    assert main(["wait", "broken", "--for", "Failed"]) == ExitCode.SUCCESS, "a state of both operators, in any case"


async def test_interrupt_leaves_the_application_and_prints_the_command_that_deletes_it(
    scripted_cluster: Cluster, tmp_path: Path
) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    async with start_command("wait", "pi", home=tmp_path) as process:
        assert process.stderr is not None
        scripted_cluster.play(run_on)
        async for line in process.stderr:
            if b"RunningHealthy" in line:
                break
        process.send_signal(signal.SIGINT)
        code, _, err = await wait_for_exit(process)
    assert code == ExitCode.INTERRUPTED
    assert "SparkApplication jobs/pi continues. To follow it again, run `spark-operator wait pi -n jobs`. " in err
    assert "To delete it, run `spark-operator delete pi -n jobs`" in err
    assert len(scripted_cluster.applications()) == 1


def test_failed_check_is_exit_code_1(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    async def fail_check(application: Application) -> None:
        application.enter("Submitted")
        application.start_driver()
        message = '{"spark-task": {"checks": {"not_empty": {"passed": false}}}}'
        application.enter("Succeeded", driver=application.end_driver(0, message=message))
        application.enter("ResourceReleased")

    scripted_cluster.script = fail_check
    scripted_cluster.create("pi")
    error = run_verb("wait pi", ExitCode.CHECK_FAILED).err
    assert "jobs/pi failed: check not_empty failed; the program itself succeeded" in error
