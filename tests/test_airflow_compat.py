"""Requests to Airflow that differ between its versions."""

import asyncio

import pytest

from airflow_provider_spark_operator import airflow_compat
from airflow_provider_spark_operator.airflow_compat import BaseHook


async def test_cancelled_trigger_finishes_its_request_before_airflow_3_2(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, answered, finished = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def ask(conn_id: str) -> None:
        asked.set()
        await answered.wait()
        finished.set()

    monkeypatch.setattr(airflow_compat, "VERSION", (3, 1))
    monkeypatch.setattr(BaseHook, "aget_connection", ask, raising=False)
    trigger = asyncio.create_task(airflow_compat.async_get_connection("spark"))
    await asked.wait()
    trigger.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trigger
    answered.set()
    await asyncio.wait_for(finished.wait(), 60)
