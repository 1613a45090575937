"""`spark-operator report --airflow` with a real Airflow."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.airflow.test_real_view import DEADLINE_SECONDS, run_airflow
from tests.cluster import Cluster

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]


async def read_token(address: str) -> str:
    """Return a token as soon as Airflow serves."""
    async with httpx.AsyncClient(trust_env=False) as client:
        while True:
            try:
                answer = await client.get(f"{address}/auth/token")
                return str(answer.raise_for_status().json()["access_token"])
            except httpx.TransportError:
                await asyncio.sleep(0.5)


async def report(address: str, token: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "airflow_provider_spark_operator.cli", "report", "--airflow", address, *options]
    environment = {**os.environ, "AIRFLOW_CLI_TOKEN": token, "no_proxy": "127.0.0.1"}
    return await asyncio.to_thread(
        subprocess.run, command, env=environment, capture_output=True, text=True, check=False
    )


async def test_report_has_what_tasks_recorded_and_their_user_may_read(cluster: Cluster, tmp_path: Path) -> None:
    async with run_airflow(cluster, tmp_path) as address:
        token = await read_token(address)
        done = await report(address, token, "-o", "json", "--by", "task")
        assert done.returncode == 0, done.stderr
        assert "contain no record of version 1, for example that of task other of DAG shown: 1" in done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        (row,) = found["applications"]
        assert (row["dag"], row["task"], row["application"], row["outcome"]) == ("shown", "load", "shown-pi", "Failed")
        assert [(group["dag"], group["task"], group["failed"]) for group in found["groups"]] == [("shown", "load", 1)]

        hidden = await report(address, token, "--dag", "hidden")
        assert (hidden.returncode, hidden.stdout) == (3, "")
        assert "the user of the token has no permission. Ask an administrator of Airflow" in hidden.stderr
        refused = await report(address, token[:-8] + "AAAAAAAA")
        assert refused.returncode == 3
        assert "the token in AIRFLOW_CLI_TOKEN is not valid, or has expired" in refused.stderr
