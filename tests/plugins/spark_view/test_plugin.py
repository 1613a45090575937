"""The plugin of the Spark view, and the files that it serves."""

import re
import subprocess
import sys
from importlib.metadata import entry_points

import httpx
import pytest
from airflow.plugins_manager import AirflowPlugin
from starlette.applications import Starlette
from starlette.routing import Mount

from airflow_provider_spark_operator.decorators.spark_application import SparkDecoratedOperator
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.plugins.spark_view.plugin import SparkViewPlugin
from airflow_provider_spark_operator.plugins.spark_view.static_files import build_application

pytestmark = [
    pytest.mark.airflow,
    # Airflow and its dependencies emit warnings. The project's modules must not.
    pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator"),
]
CHECK = """
import sys
import airflow.plugins_manager
before = set(sys.modules)
from airflow_provider_spark_operator.plugins.spark_view.plugin import SparkViewPlugin
assert SparkViewPlugin().external_views
print(sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""


def test_airflow_finds_the_plugin_by_its_entry_point() -> None:
    (found,) = entry_points(group="airflow.plugins", name="spark_operator_view")
    assert found.load() is SparkViewPlugin
    assert issubclass(SparkViewPlugin, AirflowPlugin)


def test_plugin_imports_no_web_framework_unless_the_api_server_asks_for_the_application() -> None:
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "['airflow_provider_spark_operator']"


def test_application_is_built_once() -> None:
    plugin = SparkViewPlugin()
    assert plugin.fastapi_apps is plugin.fastapi_apps
    assert [one["url_prefix"] for one in plugin.fastapi_apps] == ["/spark-view"]


def test_views_have_different_routes_and_addresses_below_the_base() -> None:
    views = SparkViewPlugin.external_views
    assert len({view["url_route"] for view in views}) == len(views)
    for view in views:
        assert re.fullmatch(r"spark-view/\?([a-z_]+=\{[A-Z_]+\}&?)+", view["href"])


def test_airflow_3_4_shows_the_tab_for_the_classes_of_spark_applications() -> None:
    names = {one.__name__ for one in (SparkApplicationOperator, SparkDecoratedOperator)}
    assert set(SparkViewPlugin.external_views[0]["applies_to"]["operator"]) == names


async def get(path: str, **headers: str) -> httpx.Response:
    transport = httpx.ASGITransport(Starlette(routes=[Mount("/spark-view", build_application())]))
    async with httpx.AsyncClient(transport=transport, base_url="http://airflow") as client:
        return await client.get(f"/spark-view{path}", headers=headers)


async def test_files_have_a_policy_that_permits_their_own_scripts_only() -> None:
    for path, kind in {"/": "text/html", "/view.js": "javascript", "/view.css": "text/css"}.items():
        answer = await get(path)
        assert answer.status_code == 200
        assert kind in answer.headers["content-type"]
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-cache"
        again = await get(path, **{"if-none-match": answer.headers["etag"]})
        assert again.status_code == 304


@pytest.mark.parametrize("path", ["/../plugin.py", "/%2e%2e/plugin.py", "/..%2fplugin.py", "/missing.js"])
async def test_other_files_are_not_served(path: str) -> None:
    assert (await get(path)).status_code == 404
