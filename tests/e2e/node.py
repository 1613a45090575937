"""A real node and what runs on it: applications, and the controller that drives them.

E2E_KUBECONFIG and E2E_IMAGE name the cluster and an image with the layout of Spark's own; E2E_JAR and E2E_CLASS
a Java application in it that prints `Pi is roughly`.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import PODS

KUBECONFIG, IMAGE = os.environ.get("E2E_KUBECONFIG"), os.environ.get("E2E_IMAGE", "")
JAR = os.environ.get("E2E_JAR", "local:///opt/spark/examples/jars/pi.jar")
CLASS = os.environ.get("E2E_CLASS", "Pi")
DEADLINE = 300
K = "spark.kubernetes."

NEEDED = [
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


def application(name: str, conf: dict[str, str], **spec: Any) -> dict[str, Any]:
    """A SparkApplication that suits a small node."""
    return {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkApplication",
        "metadata": {"name": name},
        "spec": {"runtimeVersions": {"sparkVersion": "4.3.0"}, "sparkConf": CONF | conf, **spec},
    }


@contextmanager
def reconciling(namespace: str, folder: Path) -> Iterator[None]:
    """Run `spark-operator reconcile` for a namespace; its log goes to `reconcile.log` in the folder."""
    words = ("reconcile", "--kubeconfig", str(KUBECONFIG), "--namespaces", namespace)
    with (folder / "reconcile.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "airflow_provider_spark_operator.cli", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        with process:
            try:
                assert process.stdout is not None
                ready = process.stdout.readline()
                assert ready.startswith("ready "), (folder / "reconcile.log").read_text()
                yield
            finally:
                process.terminate()


async def pod_when(
    client: KubeClient, namespace: str, name: str, holds: Callable[[dict[str, Any]], object]
) -> dict[str, Any]:
    """The pod, once something holds of it."""
    async with asyncio.timeout(DEADLINE):
        while True:
            pod: dict[str, Any] = await client.get(PODS, name, namespace)
            if holds(pod):
                return pod
            await asyncio.sleep(0.5)


async def ended(client: KubeClient, namespace: str, name: str) -> dict[str, Any]:
    """The pod, once it has ended."""
    return await pod_when(client, namespace, name, lambda pod: pod["status"].get("phase") in ("Succeeded", "Failed"))
