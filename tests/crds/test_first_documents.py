"""The first example of the Apache operator's documentation, in v1alpha1."""

import asyncio
import importlib.util
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.listwatch import Listed, list_and_watch
from airflow_provider_spark_operator.kube.resources import PODS, ResourceType
from tests.cli.process import read_line, start_command

PATH = Path(__file__).parents[1] / "golden" / "apache_operator" / "documents" / "pi-v1alpha1.yaml"
DOCUMENT: dict[str, Any] = yaml.safe_load(PATH.read_text())
JAR = "examples/jars/spark-examples.jar"
AS_WRITTEN = ResourceType("spark.apache.org", "v1alpha1", "sparkapplications", "SparkApplication")
DEFAULTS = {"resourceRetainDurationMillis": -1, "ttlAfterStopMillis": -1}
DEADLINE = 150


@pytest.fixture(scope="session")
def spark_with_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package `pyspark` that also contains the jar of examples, as Spark's images do."""
    package = importlib.util.find_spec("pyspark")
    assert package is not None
    assert package.origin is not None
    original = Path(package.origin).parent
    folder = tmp_path_factory.mktemp("spark")
    home = folder / "pyspark"
    (home / JAR).parent.mkdir(parents=True)
    for entry in original.iterdir():
        if entry.name != "examples":
            (home / entry.name).symlink_to(entry)
    classes = folder / "classes"
    source = Path(__file__).with_name("SparkPi.java")
    words = ["javac", "--release", "17", "-cp", f"{home}/jars/*", "-d", str(classes), str(source)]
    subprocess.run(words, check=True)
    with zipfile.ZipFile(home / JAR, "w") as jar:
        for file in sorted(classes.rglob("*.class")):
            jar.write(file, file.relative_to(classes))
    return folder


async def wait_for_first(
    client: KubeClient, resource: ResourceType, holds: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Wait for the first object that fulfills a condition; return the object."""
    async with aclosing(list_and_watch(client, resource, "default")) as changes:
        async for change in changes:
            present = change.items if isinstance(change, Listed) else [change.object]
            for item in present:
                if holds(item):
                    return item
    raise AssertionError("a watch has no end")


async def read_driver_log(client: KubeClient) -> str:
    """Follow the log of the driver from its start, because the pod is deleted after its success."""
    driver = await wait_for_first(client, PODS, lambda pod: read_role_and_phase(pod) == ("driver", "Running"))
    return "\n".join([line async for line in client.logs("default", driver["metadata"]["name"], follow=True)])


def read_role_and_phase(pod: dict[str, Any]) -> tuple[str, str]:
    return pod["metadata"].get("labels", {}).get("spark-role"), pod["status"].get("phase")


def list_states(application: dict[str, Any]) -> list[str]:
    history = application.get("status", {}).get("stateTransitionHistory", {})
    return [history[number]["currentStateSummary"] for number in sorted(history, key=int)]


@pytest.mark.spark
@pytest.mark.skipif(shutil.which("javac") is None, reason="no javac to make the jar of examples with")
async def test_first_example_completes_on_a_local_cluster(tmp_path: Path, spark_with_examples: Path) -> None:
    words = ("local", "up", "--home", str(tmp_path / "home"))
    async with start_command(*words, home=tmp_path, variables={"PYTHONPATH": str(spark_with_examples)}) as process:
        kubeconfig = (await read_line(process, "ready kubeconfig=")).partition("=")[2]
        async with asyncio.timeout(DEADLINE), await open_client(ClusterAccess(kubeconfig=Path(kubeconfig))) as client:
            created = await client.create(AS_WRITTEN, DOCUMENT, "default")
            assert created["apiVersion"] == DOCUMENT["apiVersion"]
            tolerations = {**DOCUMENT["spec"]["applicationTolerations"], **DEFAULTS}
            assert created["spec"] == {**DOCUMENT["spec"], "applicationTolerations": tolerations, "suspend": False}
            log = await read_driver_log(client)
            seen = list_states(
                await wait_for_first(client, AS_WRITTEN, lambda item: "ResourceReleased" in list_states(item))
            )
        process.terminate()
        assert await process.wait() == 0
    assert re.search(r"^Pi is roughly 3\.\d+$", log, re.MULTILINE), log
    assert seen[:2] == ["Submitted", "DriverRequested"]
    assert seen[-2:] == ["Succeeded", "ResourceReleased"]
