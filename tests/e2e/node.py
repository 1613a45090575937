"""A real node, with applications and the controller that manages them.

E2E_KUBECONFIG and E2E_IMAGE name the cluster and an image with the layout of Spark's own image. E2E_JAR and E2E_CLASS
name a Java application in the image that prints `Pi is roughly`.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import PODS, ResourceType

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

# The parameters of a task, for the connection of `connect_airflow`. `tests.task.run` limits the time of a trigger.
PARAMETERS: dict[str, Any] = {
    "conf": CONF,
    "spark_version": "4.3.0",
    "executor_instances": 1,
    "kubernetes_conn_id": "spark",
    "deferrable": False,
}


def build_application(name: str, conf: dict[str, str], **spec: Any) -> dict[str, Any]:
    """Build a SparkApplication that fits on a small node."""
    return {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkApplication",
        "metadata": {"name": name},
        "spec": {"runtimeVersions": {"sparkVersion": "4.3.0"}, "sparkConf": CONF | conf, **spec},
    }


@contextmanager
def run_controller(namespace: str, kubeconfig: Path, *options: str, killed: bool = False) -> Iterator[Path]:
    """Run `spark-operator reconcile` for a namespace. Its log is `reconcile.log` next to the kubeconfig.

    Args:
        namespace: The namespace.
        kubeconfig: The kubeconfig of the controller.
        options: Other options of the command.
        killed: Whether to kill the controller at the end, instead of ending it.
    """
    words = ("reconcile", "--kubeconfig", str(kubeconfig), "--namespaces", namespace, *options)
    log_file = kubeconfig.with_name("reconcile.log")
    with log_file.open("a") as log:
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
                assert ready.startswith("ready "), log_file.read_text()
                yield log_file
            finally:
                process.kill() if killed else process.terminate()


async def wait_for_pod(
    client: KubeClient, namespace: str, name: str, holds: Callable[[dict[str, Any]], object]
) -> dict[str, Any]:
    """Return the pod when a condition is true for it."""
    async with asyncio.timeout(DEADLINE):
        while True:
            pod: dict[str, Any] = await client.get(PODS, name, namespace)
            if holds(pod):
                return pod
            await asyncio.sleep(0.5)


async def wait_until_terminated(client: KubeClient, namespace: str, name: str) -> dict[str, Any]:
    """Return the pod when it has terminated."""
    return await wait_for_pod(
        client, namespace, name, lambda pod: pod["status"].get("phase") in ("Succeeded", "Failed")
    )


async def delete_all(client: KubeClient, kind: ResourceType, namespace: str) -> None:
    """Delete all objects of a kind, and wait until none exists."""
    for item in (await client.list(kind, namespace)).items:
        with suppress(NotFound):  # its deletion was in progress
            await client.delete(kind, item["metadata"]["name"], namespace)

    async def all_are_deleted() -> bool:
        return not (await client.list(kind, namespace)).items

    await wait_until(all_are_deleted)


async def wait_until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not await holds():  # noqa: ASYNC110  the cluster sets no event here
            await asyncio.sleep(0.5)
