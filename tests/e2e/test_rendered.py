"""Applications run on a real node from rendered resources alone: no controller, no spark-submit.

The image has the layout of Spark's own; E2E_JAR and E2E_CLASS name a Java application in it that prints
`Pi is roughly`.
"""

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import NAMESPACES, PODS, ResourceType, resource_type_of

KUBECONFIG, IMAGE = os.environ.get("E2E_KUBECONFIG"), os.environ.get("E2E_IMAGE", "")
JAR = os.environ.get("E2E_JAR", "local:///opt/spark/examples/jars/pi.jar")
CLASS = os.environ.get("E2E_CLASS", "Pi")
DEADLINE = 300
WORKLOAD = Path(__file__).parents[2] / "docs" / "manifests" / "workload.yaml"
K = "spark.kubernetes."

pytestmark = [
    pytest.mark.skipif(not (KUBECONFIG and IMAGE), reason="E2E_KUBECONFIG and E2E_IMAGE name no cluster and image"),
    pytest.mark.timeout(2 * DEADLINE),
]

CONF = {
    f"{K}container.image": IMAGE,
    f"{K}authenticate.driver.serviceAccountName": "spark",
    f"{K}driver.request.cores": "0.2",
    f"{K}executor.request.cores": "0.2",
    f"{K}executor.terminationGracePeriodSeconds": "1s",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.instances": "1",
    "spark.ui.enabled": "false",
}

SCRIPT = """
import os, pathlib, sys
from pyspark.sql import SparkSession
import beside

def seen(paths):
    return [beside.content(path) for path in paths]

spark = SparkSession.builder.getOrCreate()
pathlib.Path("/scratch/a").write_text("scratch")
pathlib.Path("/memory/a").write_text("memory")
here = ["/keys/key", "/scratch/a", "/memory/a", "/job/beside.py", "/pod/name", "/projected/name"]
assert seen(here)[:3] == ["hunter2", "scratch", "memory"], seen(here)
assert os.environ["KEY"] == "hunter2"
assert os.environ["FROM_TEMPLATE"] == "yes"
assert beside.content("/pod/name") == beside.content("/projected/name") == os.environ["HOSTNAME"]
assert os.path.isdir("/node")
there = spark.sparkContext.parallelize([["/keys/key", "/job/beside.py"]], 1).map(seen).collect()[0]
assert there[0] == "hunter2", there
assert there[1] == beside.content("/job/beside.py")
print("arguments", sys.argv[1:])
spark.stop()
"""
BESIDE = "import pathlib\n\ndef content(path):\n    return pathlib.Path(path).read_text()\n"
SIDECAR = {"name": "sidecar", "image": IMAGE, "command": ["sleep", "infinity"]}
JOB_VOLUME = {"name": "job", "configMap": {"name": "job"}}
JOB_MOUNT = {"name": "job", "mountPath": "/job"}
NAME_ITEM = {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}


def application(name: str, conf: dict[str, str], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkApplication",
        "metadata": {"name": name},
        "spec": {"runtimeVersions": {"sparkVersion": "4.3.0"}, "sparkConf": CONF | conf, **spec},
    }


JAVA = application("java", {}, mainClass=CLASS, jars=JAR, driverArgs=["2"])
PYTHON = application(
    "python",
    {
        f"{K}driver.secrets.keys": "/keys",
        f"{K}executor.secrets.keys": "/keys",
        f"{K}driver.secretKeyRef.KEY": "keys:key",
        f"{K}driver.volumes.emptyDir.scratch.mount.path": "/scratch",
        f"{K}driver.volumes.emptyDir.memory.mount.path": "/memory",
        f"{K}driver.volumes.emptyDir.memory.options.medium": "Memory",
        f"{K}driver.volumes.hostPath.node.mount.path": "/node",
        f"{K}driver.volumes.hostPath.node.options.path": "/tmp",
        f"{K}driver.volumes.hostPath.node.options.type": "Directory",
        f"{K}driver.volumes.hostPath.node.mount.readOnly": "true",
        f"{K}executor.volumes.emptyDir.scratch.mount.path": "/scratch",
    },
    pyFiles="local:///job/job.py,local:///job/beside.py",
    driverArgs=["one", "two words", ""],
    configMapSpecs=[{"name": "job", "data": {"job.py": SCRIPT, "beside.py": BESIDE}}],
    driverSpec={
        "podTemplateSpec": {
            "spec": {
                # As an init container that goes on it ends with the driver; beside it, it would keep the pod alive.
                "initContainers": [SIDECAR | {"restartPolicy": "Always"}],
                "containers": [
                    {
                        "name": "spark",
                        "env": [{"name": "FROM_TEMPLATE", "value": "yes"}],
                        "volumeMounts": [
                            JOB_MOUNT,
                            {"name": "pod", "mountPath": "/pod"},
                            {"name": "projected", "mountPath": "/projected"},
                        ],
                    }
                ],
                "volumes": [
                    JOB_VOLUME,
                    {"name": "pod", "downwardAPI": {"items": [NAME_ITEM]}},
                    {"name": "projected", "projected": {"sources": [{"downwardAPI": {"items": [NAME_ITEM]}}]}},
                ],
                "terminationGracePeriodSeconds": 1,
            }
        }
    },
    executorSpec={
        "podTemplateSpec": {
            "spec": {
                "containers": [{"name": "spark", "volumeMounts": [JOB_MOUNT]}, SIDECAR],
                "volumes": [JOB_VOLUME],
            }
        }
    },
)


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    async with await open_client(ClusterAccess(kubeconfig=Path(str(KUBECONFIG)))) as opened:
        yield opened


@pytest.fixture
async def namespace(client: KubeClient) -> AsyncIterator[str]:
    name = f"e-rendered-{secrets.token_hex(3)}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, None)
    try:
        for document in yaml.safe_load_all(WORKLOAD.read_text()):
            await client.create(kind_of(document), document, name)
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": {"key": "hunter2"}}
        await client.create(kind_of(secret), secret, name)
        yield name
    finally:
        await client.delete(NAMESPACES, name, None)
        await gone(client, name)


def kind_of(document: dict[str, Any]) -> ResourceType:
    group, _, version = document["apiVersion"].rpartition("/")
    return ResourceType(group, version, f"{document['kind'].lower()}s", document["kind"])


async def gone(client: KubeClient, name: str) -> None:
    async with asyncio.timeout(DEADLINE):
        while True:
            try:
                await client.get(NAMESPACES, name, None)
            except NotFound:
                return
            await asyncio.sleep(0.5)


async def ended(client: KubeClient, namespace: str, name: str) -> dict[str, Any]:
    async with asyncio.timeout(DEADLINE):
        while True:
            pod: dict[str, Any] = await client.get(PODS, name, namespace)
            if pod["status"].get("phase") in ("Succeeded", "Failed"):
                return pod
            await asyncio.sleep(0.5)


@pytest.mark.parametrize(
    ("document", "printed"),
    [(JAVA, "Pi is roughly 3."), (PYTHON, "arguments ['one', 'two words', '']")],
    ids=lambda value: value["metadata"]["name"] if isinstance(value, dict) else "",
)
async def test_rendered_resources_run(
    document: dict[str, Any],
    printed: str,
    client: KubeClient,
    namespace: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "app.json"
    file.write_text(json.dumps(document))
    assert main(["render", str(file), "-n", namespace, "-o", "json"]) == 0
    rendered = json.loads(capsys.readouterr().out)["items"]
    for each in rendered:
        await client.create(resource_type_of(each), each, namespace)
    driver = next(each["metadata"]["name"] for each in rendered if each["kind"] == "Pod")
    pod = await ended(client, namespace, driver)
    log = [line async for line in client.logs(namespace, driver, container=pod["spec"]["containers"][-1]["name"])]
    assert pod["status"]["phase"] == "Succeeded", "\n".join(log[-50:])
    assert any(line.startswith(printed) for line in log), "\n".join(log[-50:])
