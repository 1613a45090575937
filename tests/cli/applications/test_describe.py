"""`spark-operator describe`, `events` and `timeline` with applications that follow a script."""

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.resources import EVENTS, ResourceType
from airflow_provider_spark_operator.kube.resources import PODS as PODS_RESOURCE
from airflow_provider_spark_operator.testing.applications import Application, Script
from local_kubernetes.api.kinds.kinds import PODS
from tests.cli.cluster_objects import record_event
from tests.cli.process import read_line, start_command
from tests.cli.verbs import Verbs
from tests.cluster import NAMESPACE, Cluster, fail, run_on, stay_submitted, succeed
from tests.core.report.record_schema import VALIDATOR

LATER = "2099-01-01T00:00:00Z"


async def fail_with_cause(application: Application) -> None:
    """Fail with a stack trace and a password in the log, and with an executor that was out of memory."""
    application.start(executors=2)
    application.log.write('Exception in thread "main" java.lang.IllegalStateException: no such table')
    application.log.write("db.password=hunter2")
    application.fail(exit_code=3)


def create(cluster: Cluster, script: Script) -> None:
    """Play the script of an application `pi` to its end."""
    cluster.script = stay_submitted
    cluster.create("pi")
    cluster.play(script, "pi")


def kill_executor(cluster: Cluster) -> None:
    """Kill the second executor because it is out of memory."""
    name = f"pi-{cluster.application('pi')['metadata']['uid'][:8]}-exec-1"

    def kill(pod: dict[str, Any]) -> dict[str, Any]:
        (container,) = pod["status"]["containerStatuses"]
        started = container["state"]["running"]["startedAt"]
        ended = {"exitCode": 137, "reason": "OOMKilled", "startedAt": started, "finishedAt": started}
        return pod | {
            "status": {"phase": "Failed", "containerStatuses": [container | {"state": {"terminated": ended}}]}
        }

    cluster.do(lambda: cluster.store.update(PODS, NAMESPACE, name, kill, subresource="status"))


def forbid(monkeypatch: pytest.MonkeyPatch, *resources: ResourceType) -> None:
    """Refuse to list the resources."""
    list_objects = KubeClient.list

    async def refuse(client: KubeClient, resource: ResourceType, *arguments: Any, **options: Any) -> Any:
        if resource in resources:
            message = f"User a cannot list {resource.plural}"
            raise Forbidden(403, "Forbidden", message, "list", resource.plural, NAMESPACE)
        return await list_objects(client, resource, *arguments, **options)

    monkeypatch.setattr(KubeClient, "list", refuse)


REPEATS = "would run the same program again, and helps only if the cause was temporary"


def read_pairs(text: str) -> dict[str, str]:
    """Return the pairs of the first section by their names."""
    return dict(re.findall(r"^([A-Z][\w ]+): +(.+)$", text.partition("\n\n")[0], re.MULTILINE))


def read_sections(text: str) -> dict[str, list[str]]:
    """Return the lines of each section by its heading."""
    sections = [section.splitlines() for section in text.strip().split("\n\n")[1:]]
    return {lines[0].rstrip(":"): lines[1:] for lines in sections}


def test_describe_shows_the_verdict_the_cause_and_the_log_of_a_failure(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    create(scripted_cluster, fail_with_cause)
    kill_executor(scripted_cluster)
    captured = run_verb("describe pi")
    pairs, sections = read_pairs(captured.out), read_sections(captured.out)
    assert pairs["Outcome"] == "Failed (application)"
    assert pairs["Verdict"].startswith("Failed: container spark-kubernetes-driver of the driver ended with exit code 3")
    assert "no such table" in pairs["Cause"]
    assert main(["status", "pi"]) == ExitCode.SUCCESS
    sentence = f"SparkApplication jobs/pi failed: {pairs['Cause']}; state {pairs['Verdict'].rstrip('.')}"
    assert capsys.readouterr().out.splitlines()[-1] == sentence
    assert f"spark-operator: error: {sentence}" in run_verb("wait pi", ExitCode.APPLICATION_FAILED).err.splitlines()
    assert (pairs["Retry"], pairs["Attempts"], pairs["Driver pod"]) == (REPEATS, "1", "pi-0-driver")
    states = [line.split()[2] for line in sections["States"][1:]]
    assert states[:2] == ["Submitted", "DriverRequested"]
    assert states[-2:] == ["Failed", "TerminatedWithoutReleaseResources"]
    assert any("Failed" in line and "exit code 137 (OOMKilled)" in line for line in sections["Executors"])
    assert "hunter2" not in captured.out
    assert any("no such table" in line for line in sections["Last lines of the driver's log"])
    assert captured.err == ""


@pytest.mark.parametrize(
    ("state", "reason", "retry"),
    [
        ("DriverEvicted", "DriverEvicted", "can succeed: the program did not cause the failure"),
        ("SchedulingFailure", "SpecUnbuildable", "would fail again: change the application first"),
    ],
)
def test_describe_explains_what_a_retry_would_do(
    state: str, reason: str, retry: str, scripted_cluster: Cluster, run_verb: Verbs
) -> None:
    async def stop(application: Application) -> None:
        application.enter("Submitted")
        application.enter(state, reason=reason, message="The reason.")
        application.enter("ResourceReleased")

    create(scripted_cluster, stop)
    assert read_pairs(run_verb("describe pi").out)["Retry"] == retry


def test_describe_of_a_running_application_has_no_verdict_and_no_log(
    scripted_cluster: Cluster, run_verb: Verbs
) -> None:
    create(scripted_cluster, run_on)
    text = run_verb("describe pi").out
    pairs, sections = read_pairs(text), read_sections(text)
    assert (pairs["State"], pairs["Executors"]) == ("RunningHealthy", "2 of 2 running")
    assert (pairs["Driver pod"], pairs["Spark UI"]) == ("pi-0-driver", "`spark-operator forward pi -n jobs`")
    assert not pairs.keys() & {"Outcome", "Verdict", "Cause", "Ended", "Retry"}
    assert list(sections) == ["States", "Executors", "Conditions of the driver pod", "Events"]
    assert len(sections["Executors"]) == 3
    assert sections["Events"] == ["  none"]


def test_describe_names_no_driver_pod_that_was_deleted(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    create(scripted_cluster, succeed)
    scripted_cluster.do(lambda: scripted_cluster.resources.delete_pod(NAMESPACE, "pi-0-driver"))
    pairs = read_pairs(run_verb("describe pi").out)
    assert pairs["State"] == "ResourceReleased"
    assert not pairs.keys() & {"Driver pod", "Spark UI"}


def test_success_without_executor_pods_reports_that_they_were_deleted(
    scripted_cluster: Cluster, run_verb: Verbs
) -> None:
    async def succeed_alone(application: Application) -> None:
        application.start(executors=0)
        application.succeed()

    create(scripted_cluster, succeed_alone)
    pairs = read_pairs(run_verb("describe pi").out)
    assert pairs["Executors"] == "not known: no pod or Event shows them"
    assert "the executors are not known" in run_verb("timeline pi").err
    assert "could not find the Events of the executors" in run_verb("events pi").err


def test_describe_of_kubeflow_application_uses_its_driver_pod(kubeflow_cluster: Cluster, run_verb: Verbs) -> None:
    create(kubeflow_cluster, fail)
    text = run_verb("describe pi").out
    pairs = read_pairs(text)
    assert (pairs["State"], pairs["Outcome"]) == ("FAILED", "Failed (application)")
    assert pairs["API version"] == "sparkoperator.k8s.io/v1beta2"
    assert [line.split()[2] for line in read_sections(text)["States"][1:]] == ["NEW", "SUBMITTED", "RUNNING", "FAILED"]


async def lose_driver(application: Application) -> None:
    """Fail because the driver pod was deleted: the status contains only the exit code."""
    application.start()
    status = application.end_driver(143)
    application.delete_driver()
    application.enter("Failed", driver=status)
    application.enter("ResourceReleased")


def test_describe_finds_deleted_driver_by_events_without_permission_for_pods(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    create(scripted_cluster, lose_driver)
    about = {"kind": "Pod", "metadata": {"name": "pi-0-driver", "uid": "u-2"}}
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    record_event(scripted_cluster, "kill", "Killing", time=now, about=about, message="Stopping container spark")
    forbid(monkeypatch, PODS_RESOURCE)
    captured = run_verb("describe pi", ExitCode.API_FAILED)
    pairs = read_pairs(captured.out)
    assert pairs["Outcome"] == "Failed (infrastructure)"
    assert "was deleted while it ran" in pairs["Verdict"]
    assert "User a cannot list pods" in captured.err


def test_control_characters_of_the_cluster_are_escaped(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    async def write(application: Application) -> None:
        application.enter("Submitted", "DriverRequested", message="\x1b[2Jbad\nSecond: line")

    create(scripted_cluster, write)
    for verb in ("describe", "status", "timeline", "list"):
        assert "\x1b" not in run_verb([verb, "pi"] if verb != "list" else ["list"]).out


def test_events_of_the_application_and_its_pods_are_listed_oldest_first(
    scripted_cluster: Cluster, run_verb: Verbs
) -> None:
    create(scripted_cluster, run_on)
    application = scripted_cluster.application("pi")
    pod = {"kind": "Pod", "metadata": {"name": "pi-0-exec-7", "uid": "gone"}}
    other = {"kind": "Pod", "metadata": {"name": "tau-0-exec-7", "uid": "other"}}
    record_event(scripted_cluster, "b", "Killing", time="2099-01-01T00:00:09Z", about=pod, type="Warning", count=3)
    record_event(scripted_cluster, "a", "Submitted", time="2099-01-01T00:00:01Z", about=application)
    record_event(scripted_cluster, "c", "Started", time=LATER, about=other)
    record_event(scripted_cluster, "d", "Started", time="2001-01-01T00:00:00Z", about=pod)
    lines = run_verb("events pi").out.splitlines()
    assert lines[0].split("   ")[0] == "LAST SEEN"
    assert [re.split(r"\s{2,}", line)[1:] for line in lines[1:]] == [
        ["Normal", "Submitted", "sparkapplication/pi", "Submitted happened"],
        ["Warning", "Killing", "pod/pi-0-exec-7", "Killing happened (x3)"],
    ], "neither another application's nor those of an earlier application with the same name"


def test_application_without_events_has_a_note(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    create(scripted_cluster, run_on)
    captured = run_verb("events pi")
    assert (captured.out, "no events found for SparkApplication jobs/pi" in captured.err) == ("", True)


async def test_events_are_followed_until_the_application_has_ended(scripted_cluster: Cluster, tmp_path: Path) -> None:
    await asyncio.to_thread(create, scripted_cluster, run_on)
    application = await asyncio.to_thread(scripted_cluster.application, "pi")
    async with start_command("events", "pi", "-f", home=tmp_path) as process:
        await asyncio.to_thread(record_event, scripted_cluster, "a", "First", time=LATER, about=application)
        await read_line(process, "TIME ")
        assert "First happened" in await _read(process)
        await asyncio.to_thread(record_event, scripted_cluster, "b", "Second", time=LATER, about=application)
        assert "Second happened" in await _read(process)
        await asyncio.to_thread(scripted_cluster.play, _end, "pi")
        assert await process.wait() == ExitCode.SUCCESS


async def _end(application: Application) -> None:
    application.succeed()


async def _read(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode()


def test_timeline_shows_states_executors_and_marks(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    create(scripted_cluster, fail_with_cause)
    kill_executor(scripted_cluster)
    lines = run_verb("timeline pi").out.splitlines()
    assert lines[0].startswith("jobs/pi: Failed (application), ")
    assert "attempt 1: Failed; its resources are retained" in lines
    (executors,) = [line for line in lines if line.startswith("executors: 2; at most ")]
    assert executors.split()[4] in ("1", "2"), "a killed executor may end at the time at which the other one starts"
    assert any(line.startswith("  RunningHealthy ") and ("█" in line or "#" in line) for line in lines)
    assert any("exec-1: exit code 137 (OOMKilled)" in line for line in lines)
    assert lines[-1].endswith(" Failed")


async def restart_often(application: Application) -> None:
    """Reach the fourth attempt, after which the status contains only the third and the fourth one."""
    application.attempt = 2
    application.enter("ScheduledToRestart", "DriverRequested", "RunningHealthy", "Failed")
    application.attempt = 3
    application.enter("ScheduledToRestart", "DriverRequested", "RunningHealthy")


def test_attempts_that_the_status_no_longer_contains_are_named(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    create(scripted_cluster, restart_often)
    states = read_sections(run_verb("describe pi").out)["States"]
    assert [states[1].split()[position] for position in (0, 2)] == ["1-2", "unknown"]
    assert states[1].endswith("the status no longer contains these attempts")
    lines = run_verb("timeline pi").out.splitlines()
    assert [line for line in lines if line.startswith("attempt ")] == [
        "attempt 1-2: no longer in the status",
        "attempt 3: Failed",
        "attempt 4",
    ]


@pytest.mark.parametrize("columns", ["80", "100", "140"])
def test_axis_of_the_timeline_shows_the_scale(
    columns: str, scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    create(scripted_cluster, succeed)
    assert main(["timeline", "pi"]) == ExitCode.SUCCESS
    assert any(line.count("|") >= 2 for line in capsys.readouterr().out.splitlines()[1:3])


@pytest.mark.parametrize("columns", ["1", "40", "80", "200"])
def test_timeline_fits_the_terminal(
    columns: str, scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    create(scripted_cluster, succeed)
    lines = run_verb("timeline pi").out.splitlines()
    assert max(len(line) for line in lines if line.startswith("  ")) <= max(int(columns), 60)


async def test_timeline_is_drawn_in_ascii_without_unicode(scripted_cluster: Cluster, tmp_path: Path) -> None:
    await asyncio.to_thread(create, scripted_cluster, succeed)
    variables = {"PYTHONIOENCODING": "ascii"}
    async with start_command("timeline", "pi", home=tmp_path, variables=variables) as process:
        assert "#" in await read_line(process, "  RunningHealthy")


def test_picture_is_drawn(scripted_cluster: Cluster, tmp_path: Path, run_verb: Verbs) -> None:
    create(scripted_cluster, fail_with_cause)
    svg = tmp_path / "pi.svg"
    assert run_verb(f"timeline pi --svg {svg}").out == ""
    assert ElementTree.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_picture_that_cannot_be_written_is_an_error(scripted_cluster: Cluster, tmp_path: Path, run_verb: Verbs) -> None:
    create(scripted_cluster, succeed)
    path = tmp_path / "missing" / "pi.svg"
    error = run_verb(f"timeline pi --svg {path}", ExitCode.INVALID).err
    assert f"could not write {path}: No such file or directory" in error


@pytest.mark.parametrize("verb", ["describe", "events", "timeline", "top"])
def test_unknown_application_is_an_error(verb: str, scripted_cluster: Cluster, run_verb: Verbs) -> None:
    assert "SparkApplication nope not found in" in run_verb([verb, "nope"], ExitCode.API_FAILED).err


def test_picture_is_written_to_standard_output(
    scripted_cluster: Cluster, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    create(scripted_cluster, succeed)
    assert main(["timeline", "pi", "--svg", "-"]) == ExitCode.SUCCESS
    assert capfdbinary.readouterr().out.startswith(b"<svg")
    assert not Path("-").exists()


def test_timeline_prints_the_record_of_the_run(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    create(scripted_cluster, fail_with_cause)
    kill_executor(scripted_cluster)
    record = json.loads(run_verb("timeline pi -o json").out)
    VALIDATOR.validate(record)
    assert (record["application"]["name"], record["live"]) == ("pi", False)
    assert record["verdict"]["outcome"] == "Failed"
    assert "no such table" in record["verdict"]["cause"]
    assert [executor.get("exit") for executor in record["executors"]] == [None, "exit code 137 (OOMKilled)"]
    assert record["totals"]["executors"] == {"Ended": 1, "Failed": 1}
    assert "hunter2" not in json.dumps(record)


def test_record_names_the_permissions_that_are_missing(
    scripted_cluster: Cluster, run_verb: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(scripted_cluster, fail_with_cause)
    forbid(monkeypatch, PODS_RESOURCE, EVENTS)
    out, err = run_verb("timeline pi -o json", ExitCode.API_FAILED)
    record = json.loads(out)
    VALIDATOR.validate(record)
    missing = {each["what"]: each["why"] for each in record["missing"]}
    assert "pods" in missing["pods"]
    assert "events" in missing["events"]
    assert missing["pods"] in err


def test_timeline_draws_either_a_picture_or_the_record(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    assert "--svg and --output json cannot be combined" in run_verb("timeline pi --svg - -o json", ExitCode.INVALID).err


def test_status_prints_a_name(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    create(scripted_cluster, succeed)
    assert run_verb("status pi -o name").out == "sparkapplication.spark.apache.org/pi\n"


def test_events_are_printed_as_resources(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    create(scripted_cluster, stay_submitted)
    application = scripted_cluster.application()
    record_event(scripted_cluster, "pulled", "Pulled", time=LATER, about=application)
    events = json.loads(run_verb("events pi -o json").out)["items"]
    assert [(event["kind"], event["reason"]) for event in events] == [("Event", "Pulled")]
    assert "--follow prints a table only" in run_verb("events pi -f -o json", ExitCode.INVALID).err
