"""Take the screenshot of a run that waited in a queue of Kueue: `python -m docs.take_queue_screenshot`.

E2E_KUBECONFIG and E2E_IMAGE name a cluster with Kueue and its image of Spark, as for `make e2e-kueue`. The script needs
Chromium, `kubectl` and some minutes. It creates a namespace, in which Airflow runs two applications with real Spark.
The queue has room for one.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from demo.airflow_environment import build_airflow_environment
from demo.dag_run import RUN_ID
from demo.processes import Components
from docs.browser import open_browser
from docs.take_screenshots import PICTURES, RUN_SECONDS, run_dag, take

PAGES = {"queue": (f"dags/orders/runs/{RUN_ID}/tasks/count_orders/plugin/spark", "admission to the queue")}
DAG_FILE = """
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

SETTINGS = {
    "image": "@IMAGE@", "service_account": "spark", "kueue_queue": "team-orders", "executor_instances": 1,
    "driver_memory": "512m", "executor_memory": "512m", "deferrable": True, "conf": {
        "spark.log.level": "ERROR", "spark.kubernetes.driver.request.cores": "0.2",
        "spark.kubernetes.executor.request.cores": "0.2"},
}

with DAG("orders", schedule=None):
    load_orders = SparkApplicationOperator(
        task_id="load_orders", py_file="load.py", **SETTINGS | {"deferrable": False, "wait_for_completion": False}
    )
    load_orders >> SparkApplicationOperator(task_id="count_orders", py_file="count.py", **SETTINGS)
"""
SCRIPTS = {
    "load.py": """
import time

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
print("orders:", spark.sparkContext.range(20, numSlices=20).map(lambda order: time.sleep(2) or order).count())
spark.stop()
""",
    "count.py": """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
print("orders:", spark.range(10**6).count())
spark.stop()
""",
}
_NAMESPACE = "orders"
_QUEUE = f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: {_NAMESPACE}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {_NAMESPACE}}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
    - coveredResources: [cpu, memory]
      flavors:
        - name: {_NAMESPACE}
          resources: [{{name: cpu, nominalQuota: 400m}}, {{name: memory, nominalQuota: 2Gi}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: team-orders, namespace: {_NAMESPACE}}}
spec: {{clusterQueue: {_NAMESPACE}}}
"""
_DRIVER = Path(__file__).parent / "manifests" / "workload.yaml"


async def main() -> None:
    """Run the DAG, then take the screenshot.

    Raises:
        KeyError: E2E_KUBECONFIG or E2E_IMAGE is not set.
        subprocess.CalledProcessError: `kubectl` failed.
        TimeoutError: The page did not show its content.
    """
    kubeconfig, image = Path(os.environ["E2E_KUBECONFIG"]), os.environ["E2E_IMAGE"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "dags").mkdir()
        for file, text in {"dags.py": DAG_FILE.replace("@IMAGE@", image), **SCRIPTS}.items():
            (folder / "dags" / file).write_text(text.lstrip(), encoding="utf-8")
        extra = {"kube_config_path": str(kubeconfig), "namespace": _NAMESPACE}
        environment = build_airflow_environment(folder / "airflow", folder / "dags", kubeconfig) | {
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW_CONN_KUBERNETES_DEFAULT": json.dumps({"conn_type": "kubernetes", "extra": extra}),
        }
        address = f"http://127.0.0.1:{environment['AIRFLOW__API__PORT']}"
        async with (
            open_browser(folder / "browser") as page,
            Components(environment, folder / "logs") as components,
        ):
            with _create_queue(kubeconfig):
                words = ("reconcile", "--kubeconfig", str(kubeconfig), "--namespaces", _NAMESPACE, "--kueue")
                await components.start(
                    "controller", (sys.executable, "-m", "airflow_provider_spark_operator.cli", *words)
                )
                async with asyncio.timeout(RUN_SECONDS):
                    await run_dag(components, "orders", {"count_orders": "success"})
                for picture, (path, shown) in PAGES.items():
                    await take(page, f"{address}/{path}", shown, PICTURES / f"{picture}.png")


@contextmanager
def _create_queue(kubeconfig: Path) -> Iterator[None]:
    """Create a namespace with a queue for one application. At the end, a controller must be there to delete it."""

    def call(*words: str, text: str = "") -> None:
        command = ("kubectl", "--kubeconfig", str(kubeconfig), *words)
        subprocess.run(command, input=text, text=True, check=True)  # noqa: S603 - a fixed command

    call("create", "namespace", _NAMESPACE)
    try:
        call("apply", "--server-side", "-f", "-", text=yaml.safe_dump_all(build_custom_resource_definitions()))
        call("apply", "-n", _NAMESPACE, "-f", str(_DRIVER))
        call("apply", "-f", "-", text=_QUEUE)
        yield
    finally:
        call("delete", "-f", "-", text=_QUEUE)
        call("delete", "namespace", _NAMESPACE)


if __name__ == "__main__":
    asyncio.run(main())
