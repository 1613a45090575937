"""Take the screenshots in docs/pictures/: `python -m docs.take_screenshots` (needs Chromium, and some minutes).

The processes of Airflow run a DAG with real Spark on a local cluster, as in the demo. Some tasks use another cluster,
whose pods are simulated. Then a headless Chromium opens the pages. The pictures show the parts of the pages that the
documentation describes. Without the fonts `Inter` and `Noto Sans`, the pages look different.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml
from PIL import Image

from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from demo.airflow_environment import build_airflow_environment
from demo.dag_run import RUN_ID
from demo.processes import Components
from demo.run import AIRFLOW_COMMANDS, read_task_states, start_cluster
from docs.browser import Page, open_browser
from docs.simulated_pods import SimulatedPods

PICTURES = Path(__file__).parent / "pictures"
# The page of each picture, and a text that the page shows when it is complete.
PAGES = {
    "task": ("tasks/daily_report", "Post Execute"),
    "xcoms": ("tasks/daily_report/xcom", "seconds_per_state"),
    "details": ("tasks/daily_report/details", "Spark History Server"),
    "failure-light": ("tasks/load_orders", "Last lines of"),
    "failure-dark": ("tasks/load_orders", "Last lines of"),
    "view-light": ("tasks/daily_report/plugin/spark", "Totals"),
    "view-dark": ("tasks/load_orders/plugin/spark", "Totals"),
    "measured": ("tasks/rank_products/plugin/spark", "executors busy"),
    "memory": ("tasks/join_customers/plugin/spark", "Earlier tries"),
    "restart-dark": ("tasks/build_features/plugin/spark", "OOM"),
    "queue": ("tasks/refresh_dashboard/plugin/spark", "Waits"),
    "runs": ("plugin/spark-tasks", "refresh_dashboard"),
}
DAG_FILE = """
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy

SETTINGS = {"image": "spark:4.3.0", "service_account": "spark", "deferrable": True, "trigger_rule": "all_done"}
REAL = SETTINGS | {"driver_memory": "512m", "executor_memory": "512m", "conf": {"spark.log.level": "ERROR"}}
SIMULATED = SETTINGS | {"kubernetes_conn_id": "simulated", "py_file": "local:///opt/job.py"}

with DAG("sales", schedule=None):
    daily_report = SparkApplicationOperator(
        task_id="daily_report", py_file="report.py", arguments=["{{ run_id }}"], executor_instances=2, **REAL
    )
    load_orders = SparkApplicationOperator(task_id="load_orders", py_file="load.py", executor_instances=1, **REAL)
    rank_products = SparkApplicationOperator(
        task_id="rank_products", py_file="rank.py", executor_instances=2, spark_metrics=True, **REAL
    )
    join_customers = SparkApplicationOperator(
        task_id="join_customers", py_file="join.py", executor_instances=1, retries=1,
        retry_policy=SparkRetryPolicy(memory_growth=2), **REAL
    )
    build_features = SparkApplicationOperator(
        task_id="build_features", executor_instances=50, executor_cores=4, executor_memory="8g",
        restart_policy="OnFailure", **SIMULATED
    )
    refresh_dashboard = SparkApplicationOperator(task_id="refresh_dashboard", kueue_queue="team-bi", **SIMULATED)
    export = SparkApplicationOperator.partial(task_id="export", **SIMULATED).expand(arguments=[["emea"], ["apac"]])
    for task in (rank_products, join_customers, build_features, refresh_dashboard, export):
        [daily_report, load_orders] >> task
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
    "rank.py": """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
# For most of a minute, so that the task measures it while it runs.
print("ranks:", spark.sparkContext.range(30, numSlices=30).map(lambda row: sum(range(row * 6 * 10**6))).max())
spark.stop()
""",
    "join.py": """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
customers = b"x" * (700 * 2**20)  # as if the driver collected them
print(spark.range(10000).count(), len(customers))
spark.stop()
""",
}
_LINKS = {
    "UI_URL": "https://spark.example.com/{namespace}/{application_id}/",
    "HISTORY_SERVER_URL": "https://history.example.com/history/{application_id}/",
    "DRIVER_LOG_URL": "https://logs.example.com/search?pod={driver_pod}",
}
# The tasks that end, and how. The others run while the pictures are taken.
_ENDS = {"daily_report": "success", "load_orders": "failed", "join_customers": "success", "export": "success"}
_ENDS |= {"rank_products": "success"}
_WIDTH, _SCALE = 1180, 2
_WIDE = 1640
# The heights of the windows, in pixels. A taller window shows more of the log.
_WINDOW_HEIGHTS = {"failure": 1500, "task": 1100, "xcoms": 1140, "details": 700, "view": 1000, "runs": 700}
_WINDOW_HEIGHTS |= {"measured": 1700, "memory": 1400, "restart": 1700, "queue": 1000}
# The parts of a page that its picture shows, one below the other: left, top, right and bottom edge, in pixels. They end
# above the lines of the log that contain facts about this machine, such as paths. A text instead of a number is the
# first one in the log that begins there.
_PARTS: dict[str, tuple[tuple[int, int | str, int, int | str], ...]] = {
    "failure": ((313, 68, 1168, 170), (313, "Task failed with exception", 1168, "Last lines of")),
    "task": ((0, 0, _WIDTH, 718),),
    "xcoms": ((0, 0, _WIDTH, 1110),),
    "details": ((0, 0, _WIDTH, 700),),
    "view": ((0, 0, _WIDTH, 960),),
    "measured": ((313, 905, 1168, 1305),),
    "memory": ((313, 283, 1168, 1272),),
    "restart": ((313, 215, 1168, 1465),),
    "queue": ((313, 215, 1168, 770),),
    "runs": ((0, 0, _WIDE, 670),),
}
_COLOURS = 256
_LOADED = """
(() => {{
  const content = document.querySelector("iframe")?.contentDocument ?? document;
  return content.body.innerText.includes({text});
}})()
"""
_TOP = """
(() => {{
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {{
    const at = texts.currentNode.data.indexOf({text});
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(texts.currentNode, at);
    range.setEnd(texts.currentNode, at + 1);
    return Math.floor(range.getBoundingClientRect().top);
  }}
}})()
"""
_PAGE_SECONDS, _SETTLE_SECONDS = 90, 3


async def main() -> None:
    """Run the DAG, then take a screenshot of each page.

    Raises:
        FileNotFoundError: Chromium is not installed.
        TimeoutError: A page did not show its content.
    """
    cluster = ScriptedCluster()
    cluster.script = SimulatedPods(cluster).script
    with tempfile.TemporaryDirectory() as name, cluster.serve():
        folder = Path(name)
        simulated = folder / "simulated"
        simulated.write_text(yaml.safe_dump(cluster.kubeconfig), encoding="utf-8")
        environment = _build_environment(folder, simulated)
        async with (
            open_browser(folder / "browser") as page,
            Components(environment, folder / "logs") as components,
        ):
            await start_cluster(components, folder / "cluster", folder / "kubeconfig")
            await _run(components)
            address = f"http://127.0.0.1:{environment['AIRFLOW__API__PORT']}/dags/sales/runs/{RUN_ID}"
            for picture, (path, text) in PAGES.items():
                await page.open("about:blank")
                await _take(page, f"{address}/{path}", text, PICTURES / f"{picture}.png")


def _build_environment(folder: Path, simulated: Path) -> dict[str, str]:
    (folder / "dags").mkdir()
    for script, text in {"sales.py": DAG_FILE, **SCRIPTS}.items():
        (folder / "dags" / script).write_text(text.lstrip(), encoding="utf-8")
    connection = {"conn_type": "kubernetes", "extra": {"kube_config_path": str(simulated)}}
    return {
        **build_airflow_environment(folder / "airflow", folder / "dags", folder / "kubeconfig"),
        **{f"AIRFLOW__SPARK_OPERATOR__{key}": url for key, url in _LINKS.items()},
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__API__DEFAULT_WRAP": "True",  # long lines of the log
        "AIRFLOW_CONN_SIMULATED": json.dumps(connection),
    }


async def _run(components: Components) -> None:
    command = (sys.executable, "-m", "demo.dag_run", "sales")
    reports = read_task_states(await components.start("dag run", command, pipe_output=True))
    await anext(reports)
    commands = AIRFLOW_COMMANDS | {"api-server": ("api-server",)}
    for name, arguments in commands.items():
        await components.start(name, (sys.executable, "-m", "airflow", *arguments))
    async for states in reports:
        if all(states.get(task) == state for task, state in _ENDS.items()):
            return


async def _take(page: Page, address: str, text: str, picture: Path) -> None:
    name, _, scheme = picture.stem.partition("-")
    await page.prefer(scheme or "light")
    await page.resize(_WIDE if name == "runs" else _WIDTH, _WINDOW_HEIGHTS[name], _SCALE)
    await page.open(address)
    async with asyncio.timeout(_PAGE_SECONDS):
        await page.wait_for(_LOADED.format(text=json.dumps(text)))
    await asyncio.sleep(_SETTLE_SECONDS)  # Airflow draws some parts later, and scrolls to the end of the log
    if name == "task":
        await page.evaluate("for (const one of document.querySelectorAll('div')) one.scrollTop = 0")
    await page.take_picture(picture)
    _crop(
        picture, [(part[0], await _place(page, part[1]), part[2], await _place(page, part[3])) for part in _PARTS[name]]
    )


async def _place(page: Page, edge: int | str) -> int:
    return edge if isinstance(edge, int) else int(await page.evaluate(_TOP.format(text=json.dumps(edge)))) - 3


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
