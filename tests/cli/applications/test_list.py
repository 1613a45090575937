"""`spark-operator list` and `status` with applications that follow a script."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.kube import collection
from airflow_provider_spark_operator.testing.applications import Application, run_out_of_memory
from local_kubernetes.cluster import LocalCluster
from tests.cli.process import DEADLINE, read_line, start_command
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, fail, run_on, stay_submitted, succeed
from tests.hooks.clouds.loopback import Answer, Asked, serve
from tests.kube.scripted_api import build_kubeconfig

TASK = {"airflow.spark-operator/dag-id": "sales", "airflow.spark-operator/task-id": "load"}


def create_applications(cluster: Cluster) -> None:
    """Create applications that succeed, fail, run and wait; wait until they have."""
    for name, script in (("good", succeed), ("bad", fail)):
        cluster.script = script
        cluster.create(name, annotations=TASK if name == "bad" else {}, labels={"team": name})
        cluster.wait_for_end()
    cluster.script = stay_submitted
    cluster.create("idle")
    cluster.script = run_on
    cluster.create("live")
    cluster.wait_for_state("RUNNING" if cluster.dialect is KUBEFLOW else "RunningHealthy")


async def end(application: Application) -> None:
    """End successfully."""
    application.succeed()


def read_rows(text: str) -> dict[str, list[str]]:
    """Return the cells of each row by its first cell. Cells are separated by at least two spaces."""
    rows = [re.split(r"\s{2,}", line) for line in text.splitlines()]
    return {row[0]: row[1:] for row in rows}


def test_list_shows_state_outcome_executors_and_task(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    create_applications(scripted_cluster)
    captured = run_verb("list")
    rows = read_rows(captured.out)
    assert rows["NAME"] == ["STATE", "OUTCOME", "ATTEMPTS", "EXECUTORS", "AGE", "DURATION", "TASK"]
    assert list(rows)[1:] == ["bad", "good", "idle", "live"]
    assert rows["bad"][:4] == ["TerminatedWithoutReleaseResources", "Failed (application)", "1", "-"]
    assert rows["bad"][-1] == "sales/load"
    assert rows["good"][:3] == ["ResourceReleased", "Succeeded", "1"]
    assert rows["live"][:4] == ["RunningHealthy", "-", "1", "2/2"]
    assert rows["idle"][:4] == ["Submitted", "-", "1", "0/2"]
    assert captured.err == ""


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--state", "running"], ["live"]),
        (["--state", "RunningHealthy", "--state", "submitted"], ["idle", "live"]),
        (["--state", "failed"], ["bad"]),
        (["--failure", "application"], ["bad"]),
        (["--failure", "scheduling"], []),
        (["--older-than", "1h"], []),
        (["--younger-than", "1h", "-l", "team=good"], ["good"]),
    ],
    ids=" ".join,
)
def test_list_shows_only_applications_that_match(
    words: list[str], names: list[str], scripted_cluster: Cluster, run_verb: Verbs
) -> None:
    create_applications(scripted_cluster)
    captured = run_verb(["list", "-o", "name", *words])
    assert captured.out.split() == [f"sparkapplication.spark.apache.org/{name}" for name in names]
    wanted = " ".join(words)
    assert (f"no application with {wanted} in namespace jobs (4 others)\n" in captured.err) is not bool(names)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dag", "word_cont"], "no application with --dag word_cont in namespace jobs (1 other): did you mean "),
        (["-l", "team=b", "--state", "failed"], "with --state failed -l team=b in namespace jobs (1 other)\n"),
        (["-n", "job"], "namespace job does not exist: did you mean jobs?\n"),
    ],
    ids=["task", "selector", "namespace"],
)
def test_list_explains_why_it_is_empty(
    words: list[str], message: str, scripted_cluster: Cluster, run_verb: Verbs
) -> None:
    annotations = TaskStamp("word_count", "load", "run", -1, 1, "try").build_annotations()
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi", annotations=annotations)
    assert message in run_verb(["list", *words]).err


def test_list_shows_that_the_driver_was_out_of_memory_and_when(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted_cluster.script = run_out_of_memory
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_end()
    assert main(["list", "-o", "wide"]) == ExitCode.SUCCESS
    titles, row = (re.split(" {2,}", line) for line in capsys.readouterr().out.splitlines())
    cells = dict(zip(titles, row, strict=True))
    assert (cells["OUTCOME"], cells["REASON"]) == ("Failed (OOMKilled)", "OOMKilled")
    assert re.fullmatch(r"\d+s", cells["ENDED"])


def test_list_rejects_a_state_that_no_application_has(run_verb: Verbs) -> None:
    assert (
        "--state: unknown state runing: did you mean running?" in run_verb("list --state runing", ExitCode.INVALID).err
    )


def test_list_shows_all_states_by_their_kind_if_none_is_similar(run_verb: Verbs) -> None:
    message = run_verb("list --state xyzzy", ExitCode.INVALID).err
    assert (
        "must be one of waiting, running, stopping, ended, succeeded, failed; states of spark.apache.org: " in message
    )
    assert message.index("ResourceReleased") < message.index("; states of sparkoperator.k8s.io: ")


def test_list_has_rows_of_both_api_groups(kubeflow_cluster: Cluster, run_verb: Verbs) -> None:
    create_applications(kubeflow_cluster)
    lines = run_verb("list -A -o wide").out.splitlines()
    assert lines[0].startswith("NAMESPACE")
    cells = {line.split()[1]: line.split()[2:] for line in lines}
    assert cells["bad"][:3] == ["FAILED", "Failed", "(application)"]
    assert cells["live"][:4] == ["RUNNING", "-", "1", "2/2"]
    assert cells["good"][0] == "COMPLETED"
    assert cells["idle"][0] == "NEW"
    assert lines[1].endswith("sparkoperator.k8s.io/v1beta2")


def test_list_prints_resources_of_each_page(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    monkeypatch.setattr(collection, "PAGE_SIZE", 2)
    scripted_cluster.script = stay_submitted
    names = [f"pi-{number}" for number in range(5)]
    for name in names:
        scripted_cluster.create(name)
    listed = json.loads(run_verb("list -o json").out)
    assert [item["metadata"]["name"] for item in listed["items"]] == names
    assert list(read_rows(run_verb("list").out)) == ["NAME", *names]


def test_list_of_a_cluster_without_definitions_explains_their_installation(
    local_kubernetes: LocalCluster, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(local_kubernetes.kubeconfig))
    assert "spark-operator crds | kubectl apply" in run_verb("list", ExitCode.API_FAILED).err


async def test_watch_prints_changes_until_interrupted(scripted_cluster: Cluster, tmp_path: Path) -> None:
    scripted_cluster.script = stay_submitted
    await asyncio.to_thread(scripted_cluster.create, "pi")
    async with start_command("list", "--watch", home=tmp_path) as process:
        assert "Submitted" in await read_line(process, "pi ")
        await asyncio.to_thread(scripted_cluster.play, run_on, "pi")
        while "RunningHealthy" not in await read_line(process, "pi "):
            pass
        process.terminate()
        assert await process.wait() == ExitCode.INTERRUPTED


async def test_watch_prints_the_end_and_the_deletion_of_a_running_application(
    scripted_cluster: Cluster, tmp_path: Path
) -> None:
    scripted_cluster.script = run_on
    await asyncio.to_thread(scripted_cluster.create, "pi")
    await asyncio.to_thread(scripted_cluster.wait_for_state, "RunningHealthy")
    async with start_command("list", "--watch", "--state", "running", home=tmp_path) as process:
        assert "RunningHealthy" in await read_line(process, "pi ")
        await asyncio.to_thread(scripted_cluster.play, end, "pi")
        assert "Succeeded" in await read_line(process, "pi ")
        scripted_cluster.script = stay_submitted
        await asyncio.to_thread(scripted_cluster.create, "idle")
        scripted_cluster.script = run_on
        await asyncio.to_thread(scripted_cluster.create, "live")
        row = await read_line(process, "")
        assert row.startswith("live"), "neither the application that ended nor the one that waits is printed"
        while "RunningHealthy " not in row:
            row = await read_line(process, "live")
        await asyncio.to_thread(scripted_cluster.delete, "live")
        while "RunningHealthy (deleted)" not in row:
            row = await read_line(process, "live")


async def test_watch_prints_each_resource_by_itself(scripted_cluster: Cluster, tmp_path: Path) -> None:
    scripted_cluster.script = stay_submitted
    async with start_command("list", "-w", "-o", "name", home=tmp_path) as process:
        assert process.stderr is not None
        async with asyncio.timeout(DEADLINE):
            note = await process.stderr.readline()
        assert b"no applications found in namespace jobs; waiting for changes" in note
        for name in ("one", "two"):
            await asyncio.to_thread(scripted_cluster.create, name)
            await read_line(process, f"sparkapplication.spark.apache.org/{name}")
        await asyncio.to_thread(scripted_cluster.delete, "one")
        async with asyncio.timeout(DEADLINE):
            note = await process.stderr.readline()
        assert b"SparkApplication jobs/one was deleted" in note


@pytest.mark.parametrize("may_list", [False, True])
def test_watch_names_a_missing_permission(
    may_list: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    application = {"metadata": {"name": "pi", "namespace": "jobs", "uid": "1", "resourceVersion": "5"}}

    def answer(asked: Asked) -> Answer:
        if asked.path.startswith("/apis/sparkoperator.k8s.io"):
            return Answer({"kind": "Status", "message": "not found", "reason": "NotFound"}, 404)
        if asked.path == "/apis/spark.apache.org/v1":
            return Answer({"resources": [{"name": "sparkapplications"}]})
        if may_list and "watch" not in asked.query:
            return Answer({"metadata": {"resourceVersion": "9"}, "items": [application]})
        return Answer({"kind": "Status", "message": "User a cannot do it", "reason": "Forbidden"}, 403)

    with serve(answer) as url:
        path = tmp_path / "restricted"
        path.write_text(json.dumps(build_kubeconfig(url)))
        monkeypatch.setenv("KUBECONFIG", str(path))
        assert main(["list", "--watch"]) == ExitCode.API_FAILED
    captured = capsys.readouterr()
    assert ("pi" in read_rows(captured.out)) is may_list
    assert "User a cannot do it" in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("script", "first", "second"),
    [
        (run_on, r"pi: RunningHealthy, attempt 1, 2 of 2 executors running, created \d+s ago", None),
        (succeed, r"pi: ResourceReleased, Succeeded, attempt 1, lasted \d+s", "The application succeeded."),
        (
            fail,
            r"pi: TerminatedWithoutReleaseResources, Failed \(application\), attempt 1, lasted \d+s",
            "SparkApplication jobs/pi failed in state Failed: container spark-kubernetes-driver of the driver ended "
            "with exit code 3 (Error)",
        ),
    ],
)
def test_status_is_one_line_and_the_verdict(
    script: Any, first: str, second: str | None, scripted_cluster: Cluster, run_verb: Verbs
) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    scripted_cluster.play(script, "pi")
    lines = run_verb("status pi").out.splitlines()
    assert re.fullmatch(first, lines[0])
    assert lines[1:] == ([second] if second else [])


def test_status_of_kubeflow_application(kubeflow_cluster: Cluster, run_verb: Verbs) -> None:
    kubeflow_cluster.script = fail
    kubeflow_cluster.create("pi")
    kubeflow_cluster.wait_for_end()
    assert run_verb("status pi").out.startswith("pi: FAILED, Failed (application), attempt 1")


def test_status_of_unknown_application_is_an_error(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    captured = run_verb("status nope", ExitCode.API_FAILED)
    assert captured.out == ""
    assert "SparkApplication nope not found in" in captured.err
