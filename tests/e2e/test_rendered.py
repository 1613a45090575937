"""Run applications on a real node from rendered resources, without a controller or spark-submit."""

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import SECRETS, resource_type_of
from tests.e2e.node import CLASS, IMAGE, JAR, NEEDED, K, build_application, wait_until_terminated

pytestmark = NEEDED

SCRIPT = """
import os, pathlib, sys
from pyspark.sql import SparkSession
import beside

def seen(paths):
    return [beside.content(path) for path in paths]

spark = SparkSession.builder.getOrCreate()
pathlib.Path("/scratch/a").write_text("scratch")
pathlib.Path("/memory/a").write_text("memory")
pathlib.Path("/made/a").write_text("made")
memory = os.statvfs("/memory")
assert memory.f_blocks * memory.f_frsize == 16 << 20, memory
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


JAVA = build_application("java", {}, mainClass=CLASS, jars=JAR, driverArgs=["2"])
PYTHON = build_application(
    "python",
    {
        f"{K}driver.secrets.keys": "/keys",
        f"{K}executor.secrets.keys": "/keys",
        f"{K}driver.secretKeyRef.KEY": "keys:key",
        f"{K}driver.volumes.emptyDir.scratch.mount.path": "/scratch",
        f"{K}driver.volumes.emptyDir.memory.mount.path": "/memory",
        f"{K}driver.volumes.emptyDir.memory.options.medium": "Memory",
        f"{K}driver.volumes.emptyDir.memory.options.sizeLimit": "16Mi",
        f"{K}driver.volumes.hostPath.made.mount.path": "/made",
        f"{K}driver.volumes.hostPath.made.mount.subPath": "inside",
        f"{K}driver.volumes.hostPath.made.options.path": "/tmp/e2e-rendered",
        f"{K}driver.volumes.hostPath.made.options.type": "DirectoryOrCreate",
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
                # As a restartable init container, it ends with the driver. As a container, it would keep the pod alive.
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
            "spec": {"containers": [{"name": "spark", "volumeMounts": [JOB_MOUNT]}, SIDECAR], "volumes": [JOB_VOLUME]}
        }
    },
)


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
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": {"key": "hunter2"}}
    await client.create(SECRETS, secret, namespace)
    rendered = json.loads(capsys.readouterr().out)["items"]
    for each in rendered:
        await client.create(resource_type_of(each), each, namespace)
    driver = next(each["metadata"]["name"] for each in rendered if each["kind"] == "Pod")
    pod = await wait_until_terminated(client, namespace, driver)
    log = [line async for line in client.logs(namespace, driver, container=pod["spec"]["containers"][-1]["name"])]
    assert pod["status"]["phase"] == "Succeeded", "\n".join(log[-50:])
    assert any(line.startswith(printed) for line in log), "\n".join(log[-50:])
