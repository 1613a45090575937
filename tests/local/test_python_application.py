"""Run the example of a script with a module and a file, as the Airflow operator submits it, with real Spark."""

from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS
from airflow_provider_spark_operator.local.cluster import run_cluster

from kubelet.running_node import wait_until_async

EXAMPLES = Path(__file__).parents[2] / "example_dags"


def build_document() -> dict[str, Any]:
    """Return the document of the example's task, with the values that Airflow would render."""
    from airflow_provider_spark_operator.core.compose.application import TaskSettings
    from airflow_provider_spark_operator.follow.submission.composition import Composition
    from airflow_provider_spark_operator.follow.submission.document import parse_manifest
    from airflow_provider_spark_operator.hooks.manifest import write_object

    task = run_path(str(EXAMPLES / "spark_script.py"))["dag"].get_task("count_words")
    task.image, task.service_account, task.arguments = "spark:4.3.0", "spark", ["today"]
    document = parse_manifest(task.application, task.api_version)
    document |= {"metadata": {"name": "words"}}
    composition = Composition(document, task._collect_parameters(), TaskSettings(), [str(EXAMPLES)])
    document = composition.compose(write_object)
    document["spec"]["applicationTolerations"] = {"resourceRetainPolicy": "Always"}
    return document


@pytest.mark.spark
@pytest.mark.timeout(400)
async def test_script_with_a_module_runs_with_the_python_runner(tmp_path: Path) -> None:
    document = build_document()
    assert document["spec"]["mainClass"] == "org.apache.spark.deploy.PythonRunner"
    async with run_cluster(tmp_path / "home") as cluster:
        client = cluster.client
        await client.create(SPARK_APPLICATIONS, document, "default")

        async def has_ended() -> bool:
            status = (await client.get(SPARK_APPLICATIONS, "words", "default")).get("status") or {}
            state = (status.get("currentState") or {}).get("currentStateSummary")
            return state in ("ResourceReleased", "TerminatedWithoutReleaseResources")

        await wait_until_async(has_ended, seconds=160)
        pods = {item["metadata"]["name"]: item for item in (await client.list(PODS, "default")).items}
        driver = next(name for name in pods if name.endswith("-driver"))
        lines = [line async for line in client.logs("default", driver)]
    assert {"today spark: 2", "today airflow: 1", "today words: 1"} <= set(lines), "\n".join(lines)
