"""Take the screenshots in docs/pictures/: `python -m docs.take_screenshots` (needs Chromium, and some minutes).

The processes of Airflow run a DAG with real Spark on a local cluster, as in the demo. Then a headless Chromium opens
the pages. The pictures show the parts of the pages that the documentation describes.
"""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from demo.airflow_environment import build_airflow_environment
from demo.dag_run import RUN_ID
from demo.processes import Components
from demo.run import AIRFLOW_COMMANDS, read_task_states, start_cluster

PICTURES = Path(__file__).parent / "pictures"
PAGES = {
    "task": "tasks/daily_report",
    "xcoms": "tasks/daily_report/xcom",
    "details": "tasks/daily_report/details",
    "failure-light": "tasks/load_orders",
    "failure-dark": "tasks/load_orders",
    "view-light": "tasks/daily_report/plugin/spark",
    "view-dark": "tasks/load_orders/plugin/spark",
    "runs": "plugin/spark-tasks",
}
DAG_FILE = """
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

SETTINGS = {
    "image": "spark:4.3.0", "service_account": "spark", "driver_memory": "512m", "executor_memory": "512m",
    "conf": {"spark.log.level": "ERROR"}, "deferrable": True,
}

with DAG("sales", schedule=None):
    SparkApplicationOperator(
        task_id="daily_report", py_file="report.py", arguments=["{{ run_id }}"], executor_instances=2, **SETTINGS
    )
    SparkApplicationOperator(task_id="load_orders", py_file="load.py", executor_instances=1, **SETTINGS)
"""
SCRIPTS = {
    "report.py": """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
orders = spark.range(10000).selectExpr("id % 31 AS region", "id AS amount")
print("regions:", orders.groupBy("region").sum("amount").count())
spark.stop()
""",
    "load.py": """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
orders = spark.read.parquet("/data/orders/2026-11-22")
""",
}
_LINKS = {
    "UI_URL": "https://spark.example.com/{namespace}/{application_id}/",
    "HISTORY_SERVER_URL": "https://history.example.com/history/{application_id}/",
    "DRIVER_LOG_URL": "https://logs.example.com/search?pod={driver_pod}",
}
_WIDTH, _SCALE = 1180, 2
# The heights of the windows, in pixels. A taller window shows more of the log.
_WINDOW_HEIGHTS = {"failure": 1500, "task": 1100, "xcoms": 1140, "details": 700, "view": 1000, "runs": 620}
# The parts of a page that its picture shows, one below the other: left, top, right and bottom edge, in pixels. They end
# above the lines of the log that contain facts about this machine, such as paths.
_PARTS = {
    "failure": ((313, 68, 1168, 170), (313, 383, 1168, 562)),
    "task": ((0, 0, _WIDTH, 718),),
    "xcoms": ((0, 0, _WIDTH, 1110),),
    "details": ((0, 0, _WIDTH, 700),),
    "view": ((0, 0, _WIDTH, 960),),
    "runs": ((0, 0, _WIDTH, 480),),
}
_COLOURS = 256
_CHROMIUM = (
    *("--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu", "--virtual-time-budget=30000"),
    f"--force-device-scale-factor={_SCALE}",
)


async def main() -> None:
    """Run the DAG, then take a screenshot of each page.

    Raises:
        FileNotFoundError: Chromium is not installed.
        RuntimeError: Chromium could not take a screenshot.
    """
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise FileNotFoundError("chromium was not found: install it, or keep the existing pictures")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "dags").mkdir()
        for script, text in {"sales.py": DAG_FILE, **SCRIPTS}.items():
            (folder / "dags" / script).write_text(text.lstrip(), encoding="utf-8")
        environment = build_airflow_environment(folder / "airflow", folder / "dags", folder / "kubeconfig")
        environment |= {f"AIRFLOW__SPARK_OPERATOR__{key}": url for key, url in _LINKS.items()}
        environment["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS"] = "True"
        environment["AIRFLOW__API__DEFAULT_WRAP"] = "True"  # long lines of the log
        async with Components(environment, folder / "logs") as components:
            await start_cluster(components, folder / "cluster", folder / "kubeconfig")
            await _run(components)
            address = f"http://127.0.0.1:{environment['AIRFLOW__API__PORT']}/dags/sales/runs/{RUN_ID}"
            for picture, page in PAGES.items():
                await _take(browser, f"{address}/{page}", PICTURES / f"{picture}.png", folder / "browser")


async def _run(components: Components) -> None:
    command = (sys.executable, "-m", "demo.dag_run", "sales")
    reports = read_task_states(await components.start("dag run", command, pipe_output=True))
    await anext(reports)
    commands = AIRFLOW_COMMANDS | {"api-server": ("api-server",)}
    for name, arguments in commands.items():
        await components.start(name, (sys.executable, "-m", "airflow", *arguments))
    async for _ in reports:
        pass  # until the run has ended


async def _take(browser: str, address: str, picture: Path, profile: Path) -> None:
    page, _, scheme = picture.stem.partition("-")
    settings = (f"--window-size={_WIDTH},{_WINDOW_HEIGHTS[page]}", f"--user-data-dir={profile}")
    colours = f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}"
    arguments = (*_CHROMIUM, *settings, colours, f"--screenshot={picture}", address)
    taking = await asyncio.create_subprocess_exec(browser, *arguments, stderr=asyncio.subprocess.PIPE)
    _, output = await taking.communicate()
    if taking.returncode != 0 or b"written to file" not in output:
        raise RuntimeError(f"could not take a screenshot of {address}: {output.decode(errors='replace')[-500:]}")
    _crop(picture, _PARTS[page])


def _crop(picture: Path, boxes: Sequence[tuple[int, int, int, int]]) -> None:
    with Image.open(picture) as image:
        parts = [
            image.crop((left * _SCALE, top * _SCALE, right * _SCALE, bottom * _SCALE))
            for left, top, right, bottom in boxes
        ]
    shown = Image.new("RGB", (parts[0].width, sum(part.height for part in parts)))
    top = 0
    for part in parts:
        shown.paste(part, (0, top))
        top += part.height
    shown.quantize(_COLOURS).save(picture, optimize=True)


if __name__ == "__main__":
    asyncio.run(main())
