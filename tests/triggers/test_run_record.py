"""Store the record of a run as an XCom while its application runs."""

import asyncio
import threading
from typing import Any

import pytest
from airflow.sdk.execution_time import task_runner, xcom

from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.triggers.run_record import build_store


class Comms:
    """Keeps the messages to the supervisor."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, message: Any) -> None:
        self.sent.append(message)


@pytest.fixture
def comms(monkeypatch: pytest.MonkeyPatch) -> Comms:
    found = Comms()
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", found, raising=False)
    return found


@pytest.fixture
def stamp() -> TaskStamp:
    return TaskStamp(dag_id="etl", task_id="load", run_id="r", map_index=-1, try_number=1, task_instance_id="t")


async def test_record_becomes_an_xcom_of_the_task(comms: Comms, stamp: TaskStamp) -> None:
    await build_store(stamp)(lambda: {"version": 1})
    (message,) = comms.sent
    assert (message.key, message.dag_id, message.value) == ("spark_run", "etl", {"version": 1})


async def test_record_whose_upload_outlasts_the_end_is_not_stored(
    comms: Comms, stamp: TaskStamp, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, uploaded = threading.Event(), threading.Event(), threading.Event()

    class SlowXCom(xcom.XCom):  # type: ignore[misc]
        @staticmethod
        def serialize_value(value: Any, **more: Any) -> Any:
            begun.set()
            go_on.wait(30)
            uploaded.set()
            return value

    monkeypatch.setattr(xcom, "XCom", SlowXCom)
    storing = asyncio.ensure_future(build_store(stamp)(lambda: {"version": 1}))
    assert await asyncio.to_thread(begun.wait, 30)
    storing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await storing
    go_on.set()
    assert await asyncio.to_thread(uploaded.wait, 30)
    # The next record is stored on the same thread, after the abandoned one.
    await build_store(stamp)(lambda: {"version": 2})
    assert [message.value for message in comms.sent] == [{"version": 2}]
