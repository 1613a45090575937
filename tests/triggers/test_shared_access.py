import asyncio
from pathlib import Path

import pytest

from airflow_provider_spark_operator.kube.connection import ClusterAccess
from airflow_provider_spark_operator.kube.errors import ConfigurationError
from airflow_provider_spark_operator.triggers import shared_access
from airflow_provider_spark_operator.triggers.shared_access import share_access


class Reads:
    """Answers reads of connections, after a failure for each of `failures`."""

    def __init__(self, failures: int = 0) -> None:
        self.count = 0
        self.failures = failures
        self.released = asyncio.Event()

    async def read(self, conn_id: str | None) -> ClusterAccess:
        self.count += 1
        number = self.count
        await self.released.wait()
        if number <= self.failures:
            raise ConfigurationError("no such connection")
        return ClusterAccess(kubeconfig=Path(str(conn_id)))


@pytest.fixture
async def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    reads = Reads()
    monkeypatch.setattr(shared_access, "async_read_access", reads.read)
    return reads


async def test_triggers_that_start_together_share_one_read(reads: Reads) -> None:
    tasks = [asyncio.create_task(share_access("spark")) for _ in range(100)]
    other = asyncio.create_task(share_access("other"))
    await asyncio.sleep(0)
    reads.released.set()
    assert {(await task).kubeconfig for task in tasks} == {Path("spark")}
    assert (await other).kubeconfig == Path("other")
    assert reads.count == 2


async def test_cancelled_trigger_does_not_end_the_read_of_others(reads: Reads) -> None:
    first, second = (asyncio.create_task(share_access("spark")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    reads.released.set()
    assert (await second).kubeconfig == Path("spark")


async def test_failed_read_is_repeated(reads: Reads) -> None:
    reads.failures = 1
    reads.released.set()
    with pytest.raises(ConfigurationError):
        await share_access("spark")
    assert (await share_access("spark")).kubeconfig == Path("spark")


async def test_old_read_is_repeated(reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_access, "_FRESH_SECONDS", 0.0)
    reads.released.set()
    await share_access("spark")
    await share_access("spark")
    assert reads.count == 2
