"""This release reads what earlier releases stored: resources, statuses, triggers, events, XComs and local state."""

import gzip
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.airflow_compat import deserialize, import_string
from airflow_provider_spark_operator.core.models.status import ApplicationStatus
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS, SPARK_CLUSTERS
from airflow_provider_spark_operator.local.cluster import run_cluster
from airflow_provider_spark_operator.testing.tasks import TaskInstance, fire, run
from tests.cluster import NAMESPACE, Cluster
from tests.releases.record import build_operators

from kubelet.running_node import wait_until_async

RELEASES = sorted(path.parent for path in Path(__file__).parent.glob("*/airflow.json"))
TASKS = ("application", "cluster", "application_sensor", "cluster_sensor")

every_release = pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)


def create_resources(cluster: Cluster, release: Path) -> dict[str, Any]:
    """Create the recorded resources. Return the recording, with the uids that the resources have now."""
    text = (release / "airflow.json").read_text(encoding="utf-8")
    for resource in json.loads(text)["resources"]:
        kind = cluster.kind if resource["kind"] == "SparkApplication" else cluster.cluster_kind
        kept = ("name", "labels", "annotations", "finalizers")
        new = {**resource, "metadata": {key: value for key, value in resource["metadata"].items() if key in kept}}
        created = cluster.do(partial(cluster.store.create, kind, NAMESPACE, new))
        text = text.replace(resource["metadata"]["uid"], created["metadata"]["uid"])
    text = re.sub(r'("deadline": ")\d{4}', r"\g<1>2999", text)  # otherwise, the recorded time has passed
    stored: dict[str, Any] = json.loads(text)
    return stored


@every_release
@pytest.mark.parametrize("task", TASKS)
def test_stored_trigger_fires_and_the_stored_event_ends_the_task(release: Path, task: str, cluster: Cluster) -> None:
    stored = create_resources(cluster, release)["deferred"][task]
    arguments: Any = deserialize(stored["trigger"]["arguments"])
    trigger = import_string(stored["trigger"]["path"])(**arguments)
    assert trigger.serialize()[1].items() >= arguments.items()

    assert fire(trigger)["kind"] == stored["event"]["kind"]

    operator, context = build_operators()[task], {"ti": TaskInstance(task)}
    operator.resume_execution(stored["method"], {"event": stored["event"]}, context)


@every_release
def test_stored_asset_watcher_is_the_same_as_a_new_one(release: Path, cluster: Cluster) -> None:
    stored = create_resources(cluster, release)["deferred"]["watcher"]["trigger"]
    arguments: Any = deserialize(stored["arguments"])
    assert import_string(stored["path"])(**arguments).serialize()[1].items() >= arguments.items()


@every_release
@pytest.mark.parametrize("task", TASKS)
def test_each_stored_xcom_is_still_written(release: Path, task: str, cluster: Cluster) -> None:
    stored = create_resources(cluster, release)["deferred"]
    task_instance = TaskInstance(task)
    run(build_operators()[task], task_instance)
    assert task_instance.xcoms.keys() >= stored[task]["xcoms"].keys()


@every_release
def test_stored_status_is_understood(release: Path) -> None:
    stored = json.loads((release / "airflow.json").read_text(encoding="utf-8"))["resources"]
    for resource in stored:
        if resource["kind"] == "SparkApplication":
            status = ApplicationStatus.model_validate(resource["status"])
            assert status.model_dump(mode="json", by_alias=True, exclude_none=True).keys() >= resource["status"].keys()


@every_release
@pytest.mark.spark
@pytest.mark.timeout(400)
async def test_stored_journal_is_read_and_its_held_application_runs(release: Path, tmp_path: Path) -> None:
    (tmp_path / "lock").touch()  # the folder is that of a local cluster
    (tmp_path / "journal").write_bytes(gzip.decompress((release / "journal.gz").read_bytes()))
    async with run_cluster(tmp_path, keep=True) as cluster:
        client = cluster.client

        async def is_in(name: str, state: str) -> bool:
            found = await client.get(SPARK_APPLICATIONS, name, "default")
            current = found.get("status", {}).get("currentState", {})
            return bool(current.get("currentStateSummary") == state)

        assert await is_in("ended", "ResourceReleased")
        await client.get(SPARK_CLUSTERS, "shared", "default")
        await client.patch(SPARK_APPLICATIONS, "held", "default", {"spec": {"suspend": False}})
        await wait_until_async(lambda: is_in("held", "ResourceReleased"), seconds=160)
        history = (await client.get(SPARK_APPLICATIONS, "held", "default"))["status"]["stateTransitionHistory"]
        assert "Succeeded" in [state["currentStateSummary"] for state in history.values()]
