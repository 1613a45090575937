import asyncio
from typing import Any

import pytest

from airflow_provider_spark_operator.cli.narration import Narration
from airflow_provider_spark_operator.core.names import LABEL_ROLE
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from tests.follow.applications import driver
from tests.kube.scripted import client_of, page, scripted_api, stream

REFERENCE = ApplicationReference("jobs", "pi", "u1")


def pod(role: str, reason: str) -> dict[str, Any]:
    """A pod whose container waits for a reason."""
    waiting = {"waiting": {"reason": reason, "message": "refused"}}
    statuses = [{"name": "c", "image": "registry/job:7", "state": waiting}]
    found = driver(status={"phase": "Pending", "containerStatuses": statuses})
    found["metadata"]["labels"][LABEL_ROLE] = role
    found["metadata"]["name"] = f"pi-{role}"
    return found


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError"])
@pytest.mark.parametrize(
    ("role", "who"), [("driver", "the driver"), ("executor", "executor pod pi-executor")], ids=["driver", "executor"]
)
async def test_a_pod_that_cannot_be_started_is_an_obstacle(role: str, who: str, reason: str) -> None:
    async with scripted_api() as api, await client_of(api) as client:
        api.script(page(pod("driver", "ContainerCreating"), pod(role, reason)), stream(hold=True))
        async with Narration(client, REFERENCE) as narration:
            obstacle = await asyncio.wait_for(narration.obstacle, 30)
    assert obstacle == f"{who} cannot be started: {reason}: refused (image registry/job:7)"


async def test_an_executor_that_is_restarted_is_no_obstacle() -> None:
    async with scripted_api() as api, await client_of(api) as client:
        pods = [pod("executor", "CrashLoopBackOff"), pod("executor", "ContainerCreating"), pod("driver", "Unknown")]
        api.script(page(*pods), stream(hold=True))
        async with Narration(client, REFERENCE) as narration:
            obstacle = await asyncio.wait_for(narration.obstacle, 30)
    assert obstacle.startswith("the driver cannot be started: Unknown")
