"""Run a Spark Connect server on a real node from rendered resources."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import resource_type_of
from tests.e2e.node import DEADLINE, NEEDED, build_application, wait_for_pod

pytestmark = NEEDED

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
STARTED = "Spark Connect server started at"


def has_begun(pod: dict[str, Any]) -> bool:
    return any("waiting" not in each["state"] for each in pod["status"].get("containerStatuses", ()))


async def test_rendered_connect_server_answers(
    client: KubeClient, namespace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "app.json"
    file.write_text(json.dumps(build_application("connect", {}, mainClass=SERVER)))
    assert main(["render", str(file), "-n", namespace, "-o", "json"]) == 0
    rendered = json.loads(capsys.readouterr().out)["items"]
    for each in rendered:
        await client.create(resource_type_of(each), each, namespace)
    driver = next(each["metadata"]["name"] for each in rendered if each["kind"] == "Pod")
    seen: list[str] = []
    async with asyncio.timeout(DEADLINE):
        await wait_for_pod(client, namespace, driver, has_begun)
        async for line in client.logs(namespace, driver, follow=True):
            seen.append(line)
            if STARTED in line:
                break
    assert any(STARTED in line and ":15002" in line for line in seen), "\n".join(seen[-50:])
