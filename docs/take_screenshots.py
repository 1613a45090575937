"""Take the screenshots in docs/pictures/: `python -m docs.take_screenshots` (needs Chromium, and some minutes).

The processes of Airflow run two DAGs with real Spark on a local cluster, as in the demo. The pods of one task with 50
executors are simulated. Then a headless Chromium opens the pages. The pictures show the parts of the pages that the
documentation describes. docs/take_queue_screenshot.py takes the one that needs a node. Without the fonts `Inter` and
`Noto Sans`, the pages look different.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import yaml
from PIL import Image

from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import PODS, ResourceType
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from demo.airflow_environment import build_airflow_environment
from demo.dag_run import RUN_ID
from demo.processes import Components
from demo.run import AIRFLOW_COMMANDS, NAMESPACE, read_task_states, start_cluster
from docs.browser import Page, open_browser
from local_kubernetes.api.kinds.kinds import PODS as KIND_OF_PODS

PICTURES = Path(__file__).parent / "pictures"
_SALES, _REPORTS = f"dags/sales/runs/{RUN_ID}", "dags/reports/runs/scheduled__2026-01-03T00:00:00+00:00"
# The page of each picture, and a text that the page shows when it is complete.
PAGES = {
    "task": (f"{_SALES}/tasks/join_customers", "this try has"),
    "xcoms": (f"{_SALES}/tasks/build_features/xcom", "seconds_per_state"),
    "details": (f"{_SALES}/tasks/build_features/details", "Spark History Server"),
    "failure-light": (f"{_SALES}/tasks/load_orders", "Last lines of"),
    "failure-dark": (f"{_SALES}/tasks/load_orders", "Last lines of"),
    "view-light": (f"{_REPORTS}/tasks/daily_report/plugin/spark", "Advice"),
    "view-dark": (f"{_SALES}/tasks/load_orders/plugin/spark", "Totals"),
    "memory": (f"{_SALES}/tasks/join_customers/plugin/spark", "Earlier tries"),
    "restart-dark": (f"{_SALES}/tasks/build_features/plugin/spark", "OOM"),
    "executors-dark": (f"{_SALES}/tasks/score_customers/plugin/spark", "OOM"),
    "waiting": (f"{_SALES}/tasks/refresh_dashboard/plugin/spark", "0/1 nodes"),
    "progress": (f"{_SALES}/tasks/rank_products/plugin/spark", "tasks "),
    "runs": (f"{_SALES}/plugin/spark-tasks", "refresh_dashboard"),
}
DAG_FILE = """
from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.parameters import RestartPolicy
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy

FOLDER = Path(__file__).parent.parent
EVENTS = f"file://{FOLDER}/events"
CONF = {"spark.log.level": "ERROR"}
SETTINGS = {"image": "spark:4.3.0", "service_account": "spark", "deferrable": True, "trigger_rule": "all_done"}
REAL = SETTINGS | {"driver_memory": "512m", "executor_memory": "512m", "conf": CONF}

# A suggestion follows from three runs.
days = {"start_date": datetime(2026, 1, 1), "end_date": datetime(2026, 1, 3), "catchup": True}
with DAG("reports", schedule="@daily", max_active_runs=1, **days):
    SparkApplicationOperator(
        task_id="daily_report", py_file="report.py", arguments=["{{ ds }}"], executor_instances=2,
        spark_metrics=EVENTS, event_log_dir=EVENTS, **REAL | {"executor_memory": "2g", "conf": CONF | {
            "spark.eventLog.compress": False, "spark.executor.processTreeMetrics.enabled": True}},
    )

with DAG("sales", schedule=None):
    load_orders = SparkApplicationOperator(task_id="load_orders", py_file="load.py", executor_instances=1, **REAL)
    build_features = SparkApplicationOperator(
        task_id="build_features", py_file="build.py", arguments=[f"{FOLDER}/lost"], executor_instances=2,
        restart_policy=RestartPolicy("OnFailure", backoff=5),
        **REAL | {"conf": CONF | {"spark.kubernetes.executor.deleteOnTermination": False}},
    )
    join_customers = SparkApplicationOperator(
        task_id="join_customers", py_file="join.py", executor_instances=1, retries=1,
        retry_policy=SparkRetryPolicy(memory_growth=2), **REAL
    )
    export = SparkApplicationOperator.partial(
        task_id="export", py_file="export.py", executor_instances=1, **REAL
    ).expand(arguments=[["emea"], ["apac"]])
    score_customers = SparkApplicationOperator(
        task_id="score_customers", py_file="local:///opt/score.py", kubernetes_conn_id="simulated",
        executor_instances=50, executor_cores=4, executor_memory="8g", **SETTINGS
    )
    rank_products = SparkApplicationOperator(
        task_id="rank_products", py_file="rank.py", executor_instances=2, spark_metrics=True, **REAL
    )
    refresh_dashboard = SparkApplicationOperator(
        task_id="refresh_dashboard", py_file="export.py", node_selector={"disk": "nvme"}, **REAL
    )
    for task in (join_customers, export, score_customers):
        [load_orders, build_features] >> task
    for task in (rank_products, refresh_dashboard):
        [join_customers, export] >> task
"""
SCRIPTS = {
    "report.py": """
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

spark = SparkSession.builder.getOrCreate()
orders = spark.range(10**6).selectExpr("id % 31 AS region", "id AS amount")
print("regions:", orders.groupBy("region").sum("amount").count())
# The last partition is larger than the others.
spark.sparkContext.setJobDescription("work of each day")
work = udf(lambda day: sum(range(10**7 * (1 + day // 7 * 9))), "long")
print("days:", spark.range(0, 8, 1, 8).select(work("id")).distinct().count())
spark.stop()
""",
    "load.py": """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
orders = spark.read.parquet("/data/orders/2026-11-22")
""",
    "build.py": """
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession


def build(part, lost=sys.argv[1]):
    time.sleep(8)
    if part == 2 and not Path(lost).exists():
        Path(lost).touch()
        features = b"x" * (900 * 2**20)  # more than the executor has
        time.sleep(len(features))
    return part


spark = SparkSession.builder.getOrCreate()
print("parts:", spark.sparkContext.range(16, numSlices=16).map(build).count())
spark.stop()
""",
    "join.py": """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
customers = b"x" * (700 * 2**20)  # as if the driver collected them
print(spark.range(10000).count(), len(customers))
spark.stop()
""",
    "export.py": """
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
print("rows for", sys.argv[1:], spark.range(10**6).count())
spark.stop()
""",
    "rank.py": """
import time

from pyspark.sql import SparkSession


def read(product):
    time.sleep(2)
    return product % 7, product


spark = SparkSession.builder.getOrCreate()
print("products:", spark.range(10**6).count())
print("ranks:", spark.sparkContext.range(300, numSlices=300).map(read).groupByKey(8).mapValues(max).collect())
spark.stop()
""",
}
_LINKS = {
    "UI_URL": "https://spark.example.com/{namespace}/{application_id}/",
    "HISTORY_SERVER_URL": "https://history.example.com/history/{application_id}/",
    "DRIVER_LOG_URL": "https://logs.example.com/search?pod={driver_pod}",
}
_PRICES = {"currency": "EUR", "prices": [{"coreHour": 0.035, "gibHour": 0.004}]}
# The tasks that end, and how. The others run while the pictures are taken.
_ENDS = {"load_orders": "failed", "build_features": "success", "join_customers": "success", "export": "success"}
_WIDTH, _SCALE = 1180, 2
_WIDE = 1720
_LEFT, _RIGHT = 313, 1168
# The heights of the windows, in pixels. Others are so tall that they show the whole tab Spark.
_WINDOW_HEIGHTS = {"failure": 1500, "task": 1100, "xcoms": 1140, "details": 700, "runs": 700}
_TALL = 2200
# The parts of a page that its picture shows, one below the other: left, top, right and bottom edge, in pixels. They end
# above the lines of the log that contain facts about this machine, such as paths. A text instead of a number is the
# first one in the log, or in the tab Spark, that begins there.
_PARTS: dict[str, tuple[tuple[int, int | str, int, int | str], ...]] = {
    "failure": ((_LEFT, 68, _RIGHT, 170), (_LEFT, "Task failed with exception", _RIGHT, "Last lines of")),
    "task": ((0, 0, _WIDTH, 707),),
    "xcoms": ((0, 0, _WIDTH, 1110),),
    "details": ((0, 0, _WIDTH, 700),),
    "view": ((0, 0, _WIDTH, "Not recorded"),),
    "runs": ((0, 0, _WIDE, 670),),
}
_TAB: tuple[tuple[int, int | str, int, int | str], ...] = ((_LEFT, "Logs", _RIGHT, "Not recorded"),)
_COLOURS = 256
_LOADED = """
(() => {{
  const content = document.querySelector("iframe")?.contentDocument ?? document;
  return content.body.innerText.includes({text});
}})()
"""
_TOP = """
(() => {{
  const frame = document.querySelector("iframe");
  for (const [content, above] of [[frame?.contentDocument, frame?.getBoundingClientRect().top], [document, 0]]) {{
    const texts = content && document.createTreeWalker(content.body, NodeFilter.SHOW_TEXT);
    while (texts?.nextNode()) {{
      const at = texts.currentNode.data.indexOf({text});
      if (at < 0) continue;
      const range = content.createRange();
      range.setStart(texts.currentNode, at);
      range.setEnd(texts.currentNode, at + 1);
      return Math.floor(range.getBoundingClientRect().top + above);
    }}
  }}
}})()
"""
# These run before a picture is taken: they show the beginning of the log.
_PREPARE = {"task": "for (const one of document.querySelectorAll('div')) one.scrollTop = 0"}
_REPORTED = """
fetch("/api/v2/dags/reports/dagRuns?state=success").then((one) => one.json()).then((all) => all.total_entries === 3)
"""
RUN_SECONDS, _PAGE_SECONDS, _SETTLE_SECONDS, _PAUSE_SECONDS = 420, 90, 3, 8


async def main() -> None:
    """Run the DAGs, then take a screenshot of each page.

    Raises:
        FileNotFoundError: Chromium is not installed.
        TimeoutError: A page did not show its content.
    """
    cluster = ScriptedCluster()
    cluster.script = partial(_lose_executors, cluster)
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
            address = f"http://127.0.0.1:{environment['AIRFLOW__API__PORT']}"
            async with asyncio.timeout(RUN_SECONDS), asyncio.TaskGroup() as group:
                group.create_task(_evict_driver(folder / "kubeconfig"))
                await run_dag(components, "sales", _ENDS)
                await page.open(address)
                await page.wait_for(_REPORTED)
            for picture, (path, text) in PAGES.items():
                await page.open("about:blank")
                await take(page, f"{address}/{path}", text, PICTURES / f"{picture}.png")


def _build_environment(folder: Path, simulated: Path) -> dict[str, str]:
    for name in ("dags", "events"):
        (folder / name).mkdir()
    for script, text in {"dags.py": DAG_FILE, **SCRIPTS}.items():
        (folder / "dags" / script).write_text(text.lstrip(), encoding="utf-8")
    connection = {"conn_type": "kubernetes", "extra": {"kube_config_path": str(simulated)}}
    options = {**_LINKS, "PRICES": json.dumps(_PRICES)}
    return {
        **build_airflow_environment(folder / "airflow", folder / "dags", folder / "kubeconfig"),
        **{f"AIRFLOW__SPARK_OPERATOR__{key}": value for key, value in options.items()},
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__API__DEFAULT_WRAP": "True",  # long lines of the log
        "AIRFLOW_CONN_SIMULATED": json.dumps(connection),
    }


async def _lose_executors(cluster: ScriptedCluster, application: Application) -> None:
    """Run with 50 simulated executors: a node evicts one, and another one is out of memory."""
    application.start(executors=50)
    await asyncio.sleep(_PAUSE_SECONDS)
    application.end_executor(3, exit_code=137, reason="Error")
    place = application.namespace, f"{application.name}-{application.uid[:8]}-exec-3"
    status = cluster.store.objects.get(KIND_OF_PODS, *place)["status"]
    cluster.resources.set_pod_status(*place, status | {"reason": "Evicted"})
    await asyncio.sleep(_PAUSE_SECONDS)
    application.end_executor(7, exit_code=137, reason="OOMKilled")


async def _evict_driver(kubeconfig: Path) -> None:
    """Evict the first driver of `build_features`, as a drain of its node does, when its executors run."""
    async with await open_client(ClusterAccess(kubeconfig=kubeconfig)) as client:
        executors = 0
        while executors < 2:
            await asyncio.sleep(1)
            pods = await client.list(PODS, NAMESPACE, field_selector="status.phase=Running")
            names = [pod["metadata"]["name"] for pod in pods.items if "build-features" in pod["metadata"]["name"]]
            executors = sum("-exec-" in name for name in names)
        await asyncio.sleep(_PAUSE_SECONDS)
        driver = next(name for name in names if "-exec-" not in name)
        document = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": driver}}
        await client.create(ResourceType("", "v1", f"pods/{driver}/eviction", "Eviction"), document, NAMESPACE)


async def run_dag(components: Components, dag: str, ends: Mapping[str, str]) -> None:
    """Start Airflow, and run a DAG until tasks have ended as expected."""
    command = (sys.executable, "-m", "demo.dag_run", dag)
    reports = read_task_states(await components.start("dag run", command, pipe_output=True))
    await anext(reports)
    commands = AIRFLOW_COMMANDS | {"api-server": ("api-server",)}
    for name, arguments in commands.items():
        await components.start(name, (sys.executable, "-m", "airflow", *arguments))
    async for states in reports:
        if all(states.get(task) == state for task, state in ends.items()):
            return


async def take(page: Page, address: str, text: str, picture: Path) -> None:
    """Take the picture of a page when it shows a text."""
    name, _, scheme = picture.stem.partition("-")
    await page.prefer(scheme or "light")
    await page.resize(_WIDE if name == "runs" else _WIDTH, _WINDOW_HEIGHTS.get(name, _TALL), _SCALE)
    await page.open(address)
    async with asyncio.timeout(_PAGE_SECONDS):
        await page.wait_for(_LOADED.format(text=json.dumps(text)))
    await asyncio.sleep(_SETTLE_SECONDS)  # Airflow draws some parts later, and scrolls to the end of the log
    await page.evaluate(_PREPARE.get(name, ""))
    await page.take_picture(picture)
    parts = _PARTS.get(name, _TAB)
    _crop(picture, [(left, await _place(page, top), right, await _place(page, end)) for left, top, right, end in parts])


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
