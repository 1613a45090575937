"""The end of an application whose status does not show it: each surface gives the same answer."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.core.dialects.base import Dialect
from airflow_provider_spark_operator.core.dialects.dialect import APACHE, KUBEFLOW
from airflow_provider_spark_operator.follow.access.reference import resource_of
from airflow_provider_spark_operator.follow.watching.completion_feed import Completion, receive_completions
from airflow_provider_spark_operator.follow.watching.watch import WatchHub
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from airflow_provider_spark_operator.triggers.spark_application import SparkApplicationTrigger
from tests.cli.cluster_objects import record_event
from tests.cluster import NAMESPACE, stay_submitted
from tests.task import fire, reload


async def lose_driver(application: Application) -> None:
    """Fail as after `kubectl delete pod`: the status has only the exit code."""
    application.start()
    status = application.end_driver(143)
    application.delete_driver()
    if application.document["apiVersion"].startswith("spark.apache.org"):
        application.enter("Failed", driver=status)
        application.enter("ResourceReleased")
    else:
        application.enter("FAILED", message="driver container failed with ExitCode: 143, Reason: Error")


async def succeed_unseen(application: Application) -> None:
    """Succeed, while the operator reports that it could not create the driver again."""
    application.start()
    application.end_driver(0)
    application.enter("FAILED", message="failed to submit spark application: driver pod already exist")


async def run_unseen(application: Application) -> None:
    """Run, while the operator reports that it could not create the driver again."""
    application.start()
    application.enter("FAILED", message="failed to submit spark application: driver pod already exist")


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Dialect], ScriptedCluster]]:
    stack = []

    def start(dialect: Dialect) -> ScriptedCluster:
        running = ScriptedCluster(dialect=dialect).serve()
        cluster = running.__enter__()
        stack.append(running)
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(cluster.kubeconfig))
        monkeypatch.setenv("KUBECONFIG", str(path))
        connection = {"conn_type": "kubernetes", "extra": {"kube_config": cluster.kubeconfig}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps(connection))
        return cluster

    yield start
    for running in stack:
        running.__exit__(None, None, None)


async def read_completion(cluster: ScriptedCluster, api_version: str) -> Completion:
    """Return the end of the application as the trigger of an asset receives it."""
    async with await open_client(ClusterAccess(kubeconfig_document=cluster.kubeconfig)) as client:
        hub = WatchHub(client)
        async with receive_completions(hub, resource_of(api_version), NAMESPACE, lambda one: True) as (inbox, _):
            (completion,) = await asyncio.wait_for(inbox.read_present(), 60)
        await hub.close()
    return completion


@pytest.mark.parametrize(
    ("dialect", "script", "outcome", "state"),
    [
        (APACHE, lose_driver, "Failed (infrastructure)", "Failed"),
        (KUBEFLOW, lose_driver, "Failed (infrastructure)", "FAILED"),
        (KUBEFLOW, succeed_unseen, "Succeeded", "COMPLETED"),
    ],
    ids=["deleted driver", "deleted driver of Kubeflow", "driver pod already exists"],
)
def test_each_surface_gives_the_same_answer(
    serve: Callable[[Dialect], ScriptedCluster],
    capsys: pytest.CaptureFixture[str],
    dialect: Dialect,
    script: Callable[[Application], Awaitable[None]],
    outcome: str,
    state: str,
) -> None:
    cluster = serve(dialect)
    cluster.script = stay_submitted
    metadata = cluster.create("pi")["metadata"]
    pod = ""

    async def play(application: Application) -> None:
        nonlocal pod
        pod = application.driver
        await script(application)

    cluster.play(play)
    about: dict[str, Any] = {"kind": "Pod", "metadata": {"name": pod, "uid": "u-2"}}
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    record_event(cluster, "kill", "Killing", time=now, about=about, message="Stopping container spark")
    api_version = cluster.application()["apiVersion"]

    event = fire(
        reload(
            SparkApplicationTrigger(
                NAMESPACE, "pi", metadata["uid"], kubernetes_conn_id="spark", api_version=api_version
            )
        )
    )
    kind = f" ({event['failure_kind']})" if event["failure_kind"] else ""
    completion = asyncio.run(read_completion(cluster, api_version))
    found = {}
    for verb in ("wait", "status", "describe"):
        main([verb, "pi"])
        captured = capsys.readouterr()
        found[verb] = captured.out + captured.err
    for words in (["list"], ["timeline", "pi"], ["cleanup", "--older-than", "0s", "--dry-run"]):
        main(words)
        found[words[0]] = capsys.readouterr().out
    main(["list", "--failure", "infrastructure"] if kind else ["list", "--state", "succeeded"])
    found["filtered list"] = capsys.readouterr().out

    assert (event["outcome"] + kind, event["state"]) == (outcome, state)
    verdict = completion.verdict
    assert (str(verdict.outcome), verdict.failure_kind or None) == (event["outcome"], event["failure_kind"])
    assert (verdict.state, verdict.reason) == (state, event["reason"])
    assert [verb for verb in ("status", "describe", "list", "filtered list") if outcome not in found[verb]] == []
    assert ("was deleted while it ran" if kind else "The application succeeded") in found["wait"]
    assert f"would be deleted ({event['outcome']}, " in found["cleanup"]
    assert f"jobs/pi: {outcome}" in found["timeline"]
    assert ("✗" in found["timeline"], f" {state}\n" in found["timeline"]) == (bool(kind), True)


def test_each_surface_shows_a_live_driver(
    serve: Callable[[Dialect], ScriptedCluster], capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = serve(KUBEFLOW)
    cluster.script = stay_submitted
    cluster.create("pi")
    cluster.play(run_unseen)

    def read(*words: str) -> str:
        main([*words])
        captured = capsys.readouterr()
        return " ".join(f"{captured.out} {captured.err}".split())

    sentence = "perator reports FAILED (failed to submit spark application: driver pod already exist), but a driver pod"
    assert [verb for verb in ("status", "describe") if sentence not in read(verb, "pi")] == []
    for words in (["status", "pi"], ["describe", "pi"], ["list"]):
        assert "RUNNING (reported FAILED)" in read(*words)
    shown = [
        word for word in ("waiting", "running", "ended", "failed") if " pi " in f" {read('list', '--state', word)}"
    ]
    assert shown == ["running"]
    assert "✗" not in read("timeline", "pi")
    assert "no application" in read("cleanup", "--older-than", "0s")
