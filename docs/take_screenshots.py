"""Take the screenshots in docs/pictures/: `python docs/take_screenshots.py` (needs Chromium and about two minutes).

The processes of Airflow run a DAG on an embedded cluster, whose applications follow a script. Then a headless
Chromium opens the pages.
"""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import yaml
from PIL import Image

from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from demo.airflow_environment import build_airflow_environment
from demo.dag_run import RUN_ID
from demo.processes import Components
from demo.run import AIRFLOW_COMMANDS, read_task_states

PICTURES = Path(__file__).parent / "pictures"
PAGES = {
    "task": "tasks/daily_report",
    "xcoms": "tasks/daily_report/xcom",
    "details": "tasks/daily_report/details",
    "failure": "tasks/load_orders",
}
DAG_FILE = """
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("sales", schedule=None):
    SparkApplicationOperator(
        task_id="daily_report", py_file="local:///opt/jobs/report.py", image="apache/spark:4.3.0", deferrable=True,
        executor_instances=2, arguments=["{{ run_id }}"],
    )
    SparkApplicationOperator(
        task_id="load_orders", py_file="local:///opt/jobs/load.py", image="apache/spark:4.3.0", deferrable=True,
    )
"""
_LINKS = {
    "UI_URL": "https://spark.example.com/{namespace}/{application_id}/",
    "HISTORY_SERVER_URL": "https://history.example.com/history/{application_id}/",
    "DRIVER_LOG_URL": "https://logs.example.com/search?pod={driver_pod}",
}
_LINES = (
    "26/11/22 18:31:00 INFO SparkContext: Running Spark version 4.3.0",
    "26/11/22 18:31:01 INFO KubernetesClusterSchedulerBackend: 2 executors are registered",
    "26/11/22 18:31:02 INFO Report: reading s3a://orders",
    "26/11/22 18:31:03 INFO Report: 31 regions written to s3a://reports/daily",
)
_FAILURE = (
    "26/11/22 18:31:00 INFO SparkContext: Running Spark version 4.3.0",
    "Traceback (most recent call last):",
    '  File "/opt/jobs/load.py", line 12, in <module>',
    '    orders = spark.read.parquet("s3a://orders/2026-11-22")',
    "pyspark.errors.exceptions.captured.AnalysisException: [PATH_NOT_FOUND] Path does not exist: "
    "s3a://orders/2026-11-22.",
)
# The log of the failure ends with a traceback that has paths of this machine. It begins at this height in pixels, in a
# window that is tall enough for the lines above it.
_WINDOW_HEIGHTS = {"failure": 1300}
_HEIGHTS = {"failure": 884}
_CHROMIUM = ("--headless", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=30000")


async def main() -> None:
    """Run the DAG, then take a screenshot of each page.

    Raises:
        FileNotFoundError: Chromium is not installed.
        RuntimeError: Chromium could not take a screenshot.
    """
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise FileNotFoundError("chromium was not found: install it, or keep the existing pictures")
    deferred, cluster = asyncio.Event(), ScriptedCluster()

    async def act(application: Application) -> None:
        await deferred.wait()
        await _act(application)

    cluster.script = act
    with tempfile.TemporaryDirectory() as name, cluster.serve():
        folder = Path(name)
        (folder / "dags").mkdir()
        (folder / "dags" / "sales.py").write_text(DAG_FILE)
        (folder / "kubeconfig").write_text(yaml.safe_dump(cluster.kubeconfig))
        environment = build_airflow_environment(folder / "airflow", folder / "dags", folder / "kubeconfig")
        environment |= {f"AIRFLOW__SPARK_OPERATOR__{key}": url for key, url in _LINKS.items()}
        environment["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS"] = "True"
        environment["AIRFLOW__API__DEFAULT_WRAP"] = "True"  # long lines of the log
        async with Components(environment, folder / "logs") as components:
            await _run(components, lambda: cluster.do(deferred.set))
            address = f"http://127.0.0.1:{environment['AIRFLOW__API__PORT']}/dags/sales/runs/{RUN_ID}"
            for picture, page in PAGES.items():
                await _take(browser, f"{address}/{page}", PICTURES / f"{picture}.png", folder / "browser")


async def _run(components: Components, release: Callable[[], None]) -> None:
    command = (sys.executable, "-m", "demo.dag_run", "sales")
    reports = read_task_states(await components.start("dag run", command, pipe_output=True))
    await anext(reports)
    commands = AIRFLOW_COMMANDS | {"api-server": ("api-server",)}
    for name, arguments in commands.items():
        await components.start(name, (sys.executable, "-m", "airflow", *arguments))
    async for states in reports:
        if set(states.values()) == {"deferred"}:
            release()


async def _act(application: Application) -> None:
    await asyncio.sleep(3)  # until the trigger watches
    application.start(executors=2)
    fails = "load-orders" in application.name
    for line in _FAILURE if fails else _LINES:
        await asyncio.sleep(1)
        application.log.write(line)
    await asyncio.sleep(1)
    if fails:
        application.fail()
    else:
        application.succeed()


async def _take(browser: str, address: str, picture: Path, profile: Path) -> None:
    size = f"--window-size=1400,{_WINDOW_HEIGHTS.get(picture.stem, 900)}"
    arguments = (*_CHROMIUM, size, f"--user-data-dir={profile}", f"--screenshot={picture}", address)
    taking = await asyncio.create_subprocess_exec(browser, *arguments, stderr=asyncio.subprocess.PIPE)
    _, output = await taking.communicate()
    if taking.returncode != 0 or b"written to file" not in output:
        raise RuntimeError(f"could not take a screenshot of {address}: {output.decode(errors='replace')[-500:]}")
    if picture.stem in _HEIGHTS:
        with Image.open(picture) as image:
            part = image.crop((0, 0, image.width, _HEIGHTS[picture.stem]))
        part.save(picture)


if __name__ == "__main__":
    asyncio.run(main())
