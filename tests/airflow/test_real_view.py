"""The Spark view of a real Airflow in a real browser: what a task recorded, hostile text, permissions, and layout."""

import asyncio
import contextlib
import json
import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from airflow_provider_spark_operator.airflow_version import INSTALLED, parse_version
from airflow_provider_spark_operator.testing.applications import Application
from demo.airflow_environment import build_airflow_environment
from demo.processes import Components
from docs.browser import Page, find_browser, open_browser
from tests.cluster import Cluster

DEADLINE_SECONDS = 400
pytestmark = [
    pytest.mark.airflow,
    pytest.mark.scheduler,
    pytest.mark.timeout(DEADLINE_SECONDS + 40),
    pytest.mark.needs_airflow("3.1"),
    pytest.mark.skipif(find_browser() is None, reason="Chromium is not installed: the Spark view was not opened"),
]
HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='parent.hacked = 1'>"
DAG_FILE = """
from airflow.sdk import DAG, task
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

for name in ("shown", "hidden"):
    with DAG(name, schedule=None):
        SparkApplicationOperator(
            task_id="load", name=f"{name}-pi", py_file="local:///opt/job.py", spark_version="4.3.0"
        )

        @task
        def other(ti=None):
            ti.xcom_push("spark_run", [1])

        other()
"""
AUTH_MANAGER = """
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

class LimitedAuthManager(SimpleAuthManager):
    def is_authorized_dag(self, *, method, user, access_entity=None, details=None):
        if details is not None and details.id == "hidden":
            return False
        return super().is_authorized_dag(method=method, user=user, access_entity=access_entity, details=details)
"""
# The content of the page, in Airflow's frame or alone.
CONTENT = "(document.querySelector('iframe')?.contentDocument ?? document)"
READY = f"{CONTENT}.querySelector('#page h1, #page > p.note:only-child')?.getRootNode() && " + (
    f"!{CONTENT}.body.innerText.includes('Reading the') && {CONTENT}.body.innerText"
)
COLOURS = f"getComputedStyle({CONTENT}.body)"
# The file axe.min.js of the package axe-core, which checks accessibility.
AXE = os.environ.get("AXE")
VIOLATIONS = "axe.run().then((found) => found.violations.map((one) => [one.id, one.nodes.map((node) => node.html)]))"


async def fail(application: Application) -> None:
    application.start()
    application.log.write("job started")
    application.enter("Failed", message=HOSTILE, driver=application.end_driver(1))
    application.enter("ResourceReleased")


async def run_to_end(components: Components, name: str, *command: str) -> None:
    process = await components.start(name, (sys.executable, *command))
    await process.process.wait()


class View:
    """The browser, and the address of Airflow."""

    def __init__(self, page: Page, address: str, runs: dict[str, str]) -> None:
        self.page = page
        self._address = address
        self.runs = runs

    async def open(self, path: str) -> str:
        """Open a page, and return its text when it is complete. `RUN` is the run of the DAG in the path."""
        dag = next((dag for dag in self.runs if dag in path), "shown")
        await self.page.open(f"{self._address}/{path.replace('RUN', quote(self.runs[dag], safe=''))}")
        return str(await self.page.wait_for(READY))


async def check_tab(view: View) -> None:
    await view.page.prefer("light")
    text = await view.open("dags/shown/runs/RUN/tasks/load/plugin/spark")
    assert "shown-pi" in text
    assert "Failed" in text
    assert HOSTILE in await view.page.evaluate(f"{CONTENT}.getElementById('page').textContent")
    assert await view.page.evaluate(f"{CONTENT}.querySelectorAll('script, img').length") == 1, "the script of the page"
    assert await view.page.evaluate(f"window.hacked ?? {CONTENT}.defaultView.hacked ?? null") is None
    assert await view.page.evaluate(f"{COLOURS}.backgroundColor") == "rgba(0, 0, 0, 0)", "Airflow's background shows"
    assert await view.page.evaluate(f"{COLOURS}.color") == "rgb(28, 36, 48)"


async def check_tab_of_other_task(view: View) -> None:
    links = "[...document.querySelectorAll('a[href*=\"/tasks/{}\"]')]"
    tab = f"{links}.some((one) => one.innerText === 'Spark')"
    await view.page.resize(1400, 900)  # a narrow page shows icons only
    await view.open("dags/shown/runs/RUN/tasks/load/plugin/spark")
    await view.page.wait_for(tab.format("load"))
    # The page knows the plugins now. So it shows the tab at the same time as the others, or never.
    await view.page.wait_for(f"{links.format('other')}.map((one) => one.click()).length")
    await view.page.wait_for(f"{links.format('other')}.some((one) => one.innerText === 'Details')")
    assert await view.page.evaluate(tab.format("other")) is (parse_version(INSTALLED) < (3, 4))


async def check_dark_tab(view: View) -> None:
    await view.page.prefer("dark")
    await view.open("dags/shown/runs/RUN/tasks/load/plugin/spark")
    assert await view.page.wait_for(f"{COLOURS}.color === 'rgb(232, 235, 240)'")


async def check_narrow_page(view: View) -> None:
    await view.page.resize(320, 800)
    for path in ("spark-view/?dag_id=shown&run_id=RUN&task_id=load&map_index={MAP_INDEX}", "spark-view/?dag_id=shown"):
        await view.open(path)
        assert await view.page.evaluate("document.documentElement.scrollWidth") <= 320
    await view.page.resize(1200, 900)


async def check_sentences(view: View) -> None:
    text = await view.open("spark-view/?dag_id=hidden&run_id=RUN&task_id=load")
    assert text.startswith("You do not have permission to read this DAG or its XComs.")
    assert "pi" not in text.split()
    task = "spark-view/?dag_id=shown&run_id=RUN&task_id="
    assert "is not the record of a run" in await view.open(f"{task}other")
    assert "does not know this task instance" in await view.open(f"{task}unknown")
    assert "names no DAG" in await view.open("spark-view/?dag_id={DAG_ID}")


async def check_runs(view: View) -> None:
    await view.open("dags/shown/plugin/spark-runs")
    rows = f"[...{CONTENT}.querySelectorAll('tbody tr')].map((row) => [...row.children].map((cell) => cell.innerText))"
    await view.page.wait_for(f"{rows}.some((cells) => cells[3] === 'Failed')")
    found: list[list[str]] = await view.page.evaluate(rows)
    assert sorted((cells[0], cells[2], cells[3]) for cells in found) == [
        ("load", "shown-pi", "Failed"),
        ("other", "", "no record"),
    ]
    await view.page.evaluate(f"{CONTENT}.getElementById('by-Task').click()")
    assert [cells[0] for cells in await view.page.evaluate(rows)] == ["other", "load"]
    await view.page.evaluate(f"{CONTENT}.querySelector('tbody tr:last-child a').click()")
    await view.page.wait_for("location.pathname.endsWith('/tasks/load/plugin/spark')")


async def check_accessibility(view: View) -> None:
    axe = await asyncio.to_thread(Path(str(AXE)).read_text)
    for scheme in ("light", "dark"):
        await view.page.prefer(scheme)
        for path in ("spark-view/?dag_id=shown&run_id=RUN&task_id=load", "spark-view/?dag_id=shown"):
            await view.open(path)
            # Without it, axe-core assumes that the page is white.
            await view.page.evaluate(f"{axe}; document.body.style.backgroundColor = 'Canvas'; 1")
            assert await view.page.evaluate(VIOLATIONS) == []


async def check_link(view: View) -> None:
    path = f"/api/v2/dags/shown/dagRuns/{quote(view.runs['shown'], safe='')}/taskInstances/load/links"
    links: dict[str, Any] = await view.page.evaluate(f"fetch({json.dumps(path)}).then((answer) => answer.json())")
    assert "shown-pi" in await view.open(links["extra_links"]["Spark view"].removeprefix("/"))


async def test_view_shows_what_a_task_recorded_to_users_who_may_read_it(cluster: Cluster, tmp_path: Path) -> None:
    await check_pages(
        cluster,
        tmp_path,
        (
            check_tab,
            check_tab_of_other_task,
            check_dark_tab,
            check_narrow_page,
            check_sentences,
            check_runs,
            check_link,
        ),
    )


@pytest.mark.skipif(AXE is None, reason="AXE does not name the file axe.min.js: accessibility was not checked")
async def test_pages_are_accessible(cluster: Cluster, tmp_path: Path) -> None:
    await check_pages(cluster, tmp_path, (check_accessibility,))


async def check_pages(cluster: Cluster, tmp_path: Path, checks: tuple[Callable[[View], Awaitable[None]], ...]) -> None:
    """Run checks in a browser and a real Airflow whose task has recorded a failed run."""
    async with run_airflow(cluster, tmp_path) as address, open_browser(tmp_path / "browser") as page:
        await sign_in(page, address)
        view = View(page, address, await asyncio.to_thread(read_runs, tmp_path / "airflow"))
        for check in checks:
            await check(view)
        assert [text for text in page.console if "Content Security Policy" in text or "exception" in text] == []


@contextlib.asynccontextmanager
async def run_airflow(cluster: Cluster, tmp_path: Path) -> AsyncIterator[str]:
    """Run the API server of a real Airflow whose task has recorded a failed run. Yield its address."""
    cluster.script = fail
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "view.py").write_text(DAG_FILE)
    (tmp_path / "limited.py").write_text(AUTH_MANAGER)
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(cluster.kubeconfig))
    environment = build_airflow_environment(tmp_path / "airflow", tmp_path / "dags", kubeconfig) | {
        "AIRFLOW__CORE__AUTH_MANAGER": "limited.LimitedAuthManager",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])]),
    }
    async with asyncio.timeout(DEADLINE_SECONDS), Components(environment, tmp_path / "logs") as components:
        register = "from demo.dag_run import register_dags; assert register_dags() == []"
        await run_to_end(components, "register", "-c", register)
        for dag in ("shown", "hidden"):
            await run_to_end(components, f"{dag} test", "-m", "airflow", "dags", "test", dag)
        await components.start("api-server", (sys.executable, "-m", "airflow", "api-server"))
        yield f"http://127.0.0.1:{environment['AIRFLOW__API__PORT']}"


async def sign_in(page: Page, address: str) -> None:
    """Open Airflow as soon as it serves."""
    while not await page.evaluate(
        "location.protocol === 'http:' && location.pathname === '/' && document.body.innerText.length > 50"
    ):
        await page.open(address)
        await asyncio.sleep(1)


def read_runs(home: Path) -> dict[str, str]:
    """Return the id of the run of each DAG. The user of the browser may not read it."""
    with contextlib.closing(sqlite3.connect(home / "airflow.db")) as connection:
        return dict(connection.execute("SELECT dag_id, run_id FROM dag_run").fetchall())
