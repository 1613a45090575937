"""Run a driver and its executors as real Spark processes, from the resources of a submission."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import CONFIG_MAPS, PODS
from airflow_provider_spark_operator.local.runtime import build_spark_images
from local_kubernetes.cluster import LocalCluster

from kubelet.running_node import wait_until_async

APPLICATION_ID = "spark-47aafbcdfa334a969d36e2dba073f75e"
IMAGE = "registry.example/spark:4.3.0"
CONFIGURATION = "/opt/spark/conf"
SCRATCH = "/var/data/spark-6794f00c-a461-46ed-b802-fb1062e12d8d"
PROPERTIES = rf"""#Java properties built from Kubernetes config map with name: pi-conf-map
spark.master=k8s\://https\://10.0.0.1\:6443
spark.driver.port=7078
spark.submit.pyFiles=
spark.app.name=pi
spark.kubernetes.resource.type=python
spark.submit.deployMode=cluster
spark.driver.host=pi-driver-svc.default.svc
spark.driver.blockManager.port=7079
spark.driver.memory=512m
spark.app.id={APPLICATION_ID}
spark.executor.instances=2
spark.executor.memory=512m
spark.kubernetes.namespace=default
spark.kubernetes.container.image={IMAGE.replace(":", chr(92) + ":")}
spark.kubernetes.memoryOverheadFactor=0.4
spark.kubernetes.submitInDriver=true
spark.kubernetes.authenticate.submission.oauthToken=<present_but_redacted>
spark.kubernetes.driver.pod.name=pi-driver
spark.kubernetes.executor.podNamePrefix=pi
spark.scheduler.minRegisteredResourcesRatio=1.0
spark.ui.enabled=false
"""
LABELS = {"spark-app-selector": APPLICATION_ID, "spark-role": "driver", "spark-app-name": "pi"}


def driver_pod(*arguments: str) -> dict[str, Any]:
    environment = {"SPARK_USER": "root", "SPARK_APPLICATION_ID": APPLICATION_ID, "SPARK_LOCAL_DIRS": SCRATCH}
    address = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
    container = {
        "name": "spark-kubernetes-driver",
        "image": IMAGE,
        "args": [
            "driver",
            "--properties-file",
            f"{CONFIGURATION}/spark.properties",
            "--class",
            "org.apache.spark.deploy.PythonRunner",
            *arguments,
        ],
        "env": [
            *({"name": name, "value": value} for name, value in environment.items()),
            {"name": "SPARK_DRIVER_BIND_ADDRESS", "valueFrom": address},
            {"name": "SPARK_CONF_DIR", "value": CONFIGURATION},
        ],
        "volumeMounts": [
            {"name": "spark-local-dir-1", "mountPath": SCRATCH},
            {"name": "spark-conf-volume-driver", "mountPath": CONFIGURATION},
        ],
    }
    items = [{"key": "spark.properties", "path": "spark.properties", "mode": 420}]
    volumes = [
        {"name": "spark-local-dir-1", "emptyDir": {}},
        {"name": "spark-conf-volume-driver", "configMap": {"name": "pi-conf-map", "items": items}},
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pi-driver", "labels": LABELS},
        "spec": {"restartPolicy": "Never", "containers": [container], "volumes": volumes},
    }


def configuration(owner: dict[str, Any]) -> dict[str, Any]:
    reference = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "pi-driver",
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "pi-conf-map", "ownerReferences": [reference]},
        "immutable": True,
        "data": {"spark.kubernetes.namespace": "default", "spark.properties": PROPERTIES},
    }


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with (
        LocalCluster(tmp_path / "home", images=build_spark_images()) as cluster,
        await open_client(ClusterAccess(kubeconfig=cluster.kubeconfig)) as opened,
    ):
        yield opened


@pytest.mark.spark
async def test_driver_computes_pi_with_two_executors(client: KubeClient) -> None:
    executors: set[str] = set()
    driver = await client.create(PODS, driver_pod("local:///opt/spark/examples/src/main/python/pi.py", "4"), "default")
    await client.create(CONFIG_MAPS, configuration(driver), "default")

    async def has_ended() -> bool:
        pods = (await client.list(PODS, "default")).items
        phases = {item["metadata"]["name"]: item["status"]["phase"] for item in pods}
        executors.update(name for name, phase in phases.items() if "-exec-" in name and phase == "Running")
        return phases["pi-driver"] in ("Succeeded", "Failed")

    await wait_until_async(has_ended, seconds=160)

    log = "\n".join([line async for line in client.logs("default", "pi-driver")])
    assert re.search(r"Pi is roughly 3\.\d+", log), log
    assert executors == {"pi-exec-1", "pi-exec-2"}
    status = (await client.get(PODS, "pi-driver", "default"))["status"]
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
