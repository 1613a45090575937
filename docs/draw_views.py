"""Draw what `describe` and `timeline` show of real runs, in docs/pictures: `python -m docs.draw_views`.

The script starts a local cluster, runs real Spark and needs the extra `local`. One application fails in both of its
attempts, because its argument is not a number. The other one succeeds. The pictures show the folder of Spark as
`/opt/spark`, where the images of Spark have it.
"""

import asyncio
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS

PICTURES: Final = Path(__file__).parent / "pictures"
VIEWS: Final = {"describe": ("describe", "load"), "timeline": ("timeline", "report")}
"""The verb and the application of each picture, by the name of the picture."""
_WIDTH: Final = 160
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


def show(kubeconfig: Path, *words: str) -> str:
    """Return what a terminal shows of a command, with its colours."""
    terminal, other_end = os.openpty()
    environment = {
        **{key: value for key, value in os.environ.items() if key != "NO_COLOR"},
        "KUBECONFIG": str(kubeconfig),
        "COLUMNS": str(_WIDTH),
        "TERM": "xterm-256color",
        "TZ": "UTC",
    }
    with subprocess.Popen((*_PROGRAM, *words), stdout=other_end, stderr=other_end, env=environment) as process:  # noqa: S603 - a fixed command
        os.close(other_end)
        output = b""
        while chunk := _read(terminal):
            output += chunk
    os.close(terminal)
    if process.returncode:
        raise SystemExit(f"{words} ended with exit code {process.returncode}: {output.decode()}")
    return output.decode().replace("\r\n", "\n").replace(_find_spark(), "/opt/spark")


def render(name: str, output: str) -> str:
    """Return the picture of a terminal as SVG."""
    command = f"spark-operator {' '.join(VIEWS[name])}"
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.assemble(("$ ", "green"), (command, "bold")))
    console.print(Text.from_ansi(output), crop=False, overflow="fold")
    picture = console.export_svg(title=command, unique_id=name)
    # The font faces would load fonts from another site.
    return re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)


def _find_spark() -> str:
    """Return the folder of Spark."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise SystemExit("could not find pyspark: install the extra local")
    return str(Path(found.origin).parent)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux reports the end of the other side as an error
        return b""


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
            "applicationTolerations": {
                "restartConfig": {
                    "restartPolicy": "OnFailure",
                    "maxRestartAttempts": 1,
                    "restartBackoffMillis": 2000,
                }
            },
        },
    }


def draw() -> None:
    """Run the applications and draw all pictures."""
    with tempfile.TemporaryDirectory() as folder, run_cluster(Path(folder)) as kubeconfig:
        asyncio.run(run_applications(kubeconfig))
        for name, words in VIEWS.items():
            picture = render(name, show(kubeconfig, *words))
            (PICTURES / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    draw()
