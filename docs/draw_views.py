"""Draw what `describe` and `timeline` show of real runs, in docs/pictures: `python -m docs.draw_views`.

The script starts a local cluster, runs real Spark and needs the extra `local`. One application fails, because its
argument is not a number. The other one succeeds, and `timeline --svg` draws it as well. The pictures show the folder of
Spark as `/opt/spark`, where the images of Spark have it.
"""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from docs.draw_terminal import find_spark
from docs.terminal_picture import draw, record, replay

PICTURES: Final = Path(__file__).parent / "pictures"
VIEWS: Final = {"describe": ("describe", "load"), "timeline": ("timeline", "report")}
"""The verb and the application of each picture, by the name of the picture."""
_COLUMNS: Final = 120
_DEADLINE_SECONDS: Final = 300
_PROGRAM: Final = (sys.executable, "-m", "airflow_provider_spark_operator.cli")
_ARGUMENTS: Final = {"load": "many", "report": "100"}


@contextmanager
def run_cluster(folder: Path) -> Iterator[Path]:
    """Run a local cluster, and yield its kubeconfig."""
    words = (*_PROGRAM, "local", "up", "--home", str(folder / "home"))
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:  # noqa: S603 - a fixed command
        try:
            assert process.stdout is not None  # noqa: S101 - it follows from PIPE
            ready = next(line for line in process.stdout if line.startswith("ready "))
            yield Path(ready.strip().partition("kubeconfig=")[2])
        finally:
            process.terminate()


async def run_applications(kubeconfig: Path) -> None:
    """Run the applications, one after the other, until each has ended."""
    async with await open_client(ClusterAccess(kubeconfig=str(kubeconfig))) as client:
        for name, argument in _ARGUMENTS.items():
            await client.create(SPARK_APPLICATIONS, _build(name, argument), client.default_namespace)
            async with asyncio.timeout(_DEADLINE_SECONDS):
                await _wait(client, name)


def show(kubeconfig: Path, name: str) -> str:
    """Return the picture of a terminal with the output of a command."""
    words = VIEWS[name]
    code, output = record((*_PROGRAM, *words), kubeconfig.parent, _COLUMNS, KUBECONFIG=str(kubeconfig))
    if code:
        raise SystemExit(f"{words} ended with exit code {code}: {output}")
    command, spark = f"spark-operator {' '.join(words)}", find_spark()
    text = "".join(chunk for _, chunk in output).replace(spark, "/opt/spark")
    lines = replay(command, [(0.0, text)], _COLUMNS)
    return draw(command, [replace(line, begin=0.0) for line in lines if line.end is None], _COLUMNS)


async def _wait(client: KubeClient, name: str) -> None:
    while True:
        found = await client.get(SPARK_APPLICATIONS, name, client.default_namespace)
        if read_progress(found).phase is Phase.ENDED:
            return
        await asyncio.sleep(0.5)


def _build(name: str, argument: str) -> dict[str, Any]:
    return {
        "apiVersion": SPARK_APPLICATIONS.api_version,
        "kind": SPARK_APPLICATIONS.kind,
        "metadata": {
            "name": name,
            "annotations": {
                "airflow.spark-operator/dag-id": "sales",
                "airflow.spark-operator/task-id": name,
                "airflow.spark-operator/run-id": "scheduled__2026-01-01",
                "airflow.spark-operator/try-number": "1",
            },
        },
        "spec": {
            "pyFiles": "local:///opt/spark/examples/src/main/python/pi.py",
            "driverArgs": [argument],
            "runtimeVersions": {"sparkVersion": "4.3.0"},
            "sparkConf": {
                "spark.kubernetes.container.image": "spark:4.3.0",
                "spark.executor.instances": "2",
                "spark.executor.memory": "512m",
                "spark.kubernetes.executor.podNamePrefix": name,
                "spark.log.level": "ERROR",
            },
        },
    }


def draw_all() -> None:
    """Run the applications and draw all pictures."""
    with tempfile.TemporaryDirectory() as folder, run_cluster(Path(folder)) as kubeconfig:
        asyncio.run(run_applications(kubeconfig))
        for name in VIEWS:
            (PICTURES / f"{name}.svg").write_text(show(kubeconfig, name), encoding="utf-8")
        words = ("timeline", "report", "--kubeconfig", str(kubeconfig), "--svg", str(PICTURES / "timeline-file.svg"))
        subprocess.run((*_PROGRAM, *words), check=True)  # noqa: S603 - a fixed command


if __name__ == "__main__":
    draw_all()
