import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_CLAIM
from airflow_provider_spark_operator.core.kubernetes.ownership import LeaseReference
from airflow_provider_spark_operator.core.verdict.obstacles import LostController
from airflow_provider_spark_operator.follow.narration.holds import find_lost_controller
from airflow_provider_spark_operator.kube.errors import Forbidden, KubeError, NotFound, Unreachable

CREATED = datetime(2026, 1, 1, tzinfo=UTC)


class Client:
    """A client of an API server without Leases, which counts the requests."""

    def __init__(self, error: KubeError, time: datetime = CREATED + timedelta(hours=1)) -> None:
        self.requests = 0
        self._error, self._time = error, time

    def get_time(self) -> datetime:
        return self._time

    async def get(self, *_: object) -> Any:
        self.requests += 1
        await asyncio.sleep(0)
        raise self._error


def build_claimed(lease: str) -> dict[str, Any]:
    return {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkApplication",
        "metadata": {
            "name": "pi",
            "uid": "1",
            "creationTimestamp": CREATED.isoformat(),
            "annotations": {ANNOTATION_CLAIM: f"jobs/{lease} 1"},
        },
    }


async def find(client: Client, *leases: str) -> list[LostController | None]:
    return await asyncio.gather(
        *(find_lost_controller(client, build_claimed(lease)) for lease in leases)  # type: ignore[arg-type]
    )


async def test_lease_is_read_once_for_many_applications() -> None:
    client = Client(NotFound(404, "NotFound", "not found"))
    assert await find(client, *["controller"] * 50) == [LostController(LeaseReference("jobs", "controller"), None)] * 50
    assert client.requests == 1


async def test_claims_of_users_cause_few_requests() -> None:
    client = Client(NotFound(404, "NotFound", "not found"))
    found = await find(client, *(f"lease-{number}" for number in range(50)))
    assert (client.requests, len([each for each in found if each is not None])) == (20, 20)


async def test_controller_of_a_young_resource_is_not_lost_although_the_local_clock_is_fast() -> None:
    client = Client(NotFound(404, "NotFound", "not found"), CREATED + timedelta(seconds=30))
    assert (await find(client, "controller"), client.requests) == ([None], 0)


@pytest.mark.parametrize("error", [Forbidden(403, "Forbidden", "no"), Unreachable(None, "Unreachable", "down")])
async def test_lease_that_cannot_be_read_shows_nothing(error: KubeError) -> None:
    assert await find(Client(error), "controller") == [None]
