import asyncio

import pytest

from airflow_provider_spark_operator.core.verdict import Outcome
from airflow_provider_spark_operator.follow.await_end import judge, wait_for_end
from airflow_provider_spark_operator.follow.errors import ApplicationDeleted
from airflow_provider_spark_operator.follow.pods import ExecutorCount, count, executor_pods
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.submit import submit
from airflow_provider_spark_operator.follow.watch import WatchHub
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from tests.follow.applications import FAILED, RUNNING, SUCCEEDED, document, driver, move, stored
from tests.kube.scripted import client_of, page, scripted_api


@pytest.mark.parametrize(
    ("states", "outcome"), [(SUCCEEDED, Outcome.SUCCEEDED), (FAILED, Outcome.FAILED)], ids=["good", "bad"]
)
async def test_the_end_is_judged_and_the_way_there_told(
    client: KubeClient, namespace: str, states: tuple[str, ...], outcome: Outcome
) -> None:
    reference = (await submit(client, document("pi"), namespace)).reference
    hub, told = WatchHub(client), []
    waiting = asyncio.create_task(wait_for_end(hub, reference, lambda seen: told.append(seen.state)))
    await move(client, reference, *RUNNING)
    await move(client, reference, *states[:-1])
    await move(client, reference, *states)
    ending = await asyncio.wait_for(waiting, 30)
    await hub.close()
    assert ending.verdict.outcome is outcome
    assert ending.resource["metadata"]["name"] == "pi"
    assert told[-1] == "ResourceReleased"
    assert len(told) == len(set(told))


async def test_what_has_ended_before_is_judged_at_once(client: KubeClient, namespace: str) -> None:
    reference = (await submit(client, document("pi"), namespace)).reference
    await move(client, reference, *SUCCEEDED)
    hub = WatchHub(client)
    ending = await asyncio.wait_for(wait_for_end(hub, reference), 30)
    await hub.close()
    assert ending.verdict.outcome is Outcome.SUCCEEDED


async def test_a_deletion_ends_the_wait(client: KubeClient, namespace: str) -> None:
    reference = (await submit(client, document("pi"), namespace)).reference
    hub = WatchHub(client)
    waiting = asyncio.create_task(wait_for_end(hub, reference))
    await client.delete(SPARK_APPLICATIONS, "pi", namespace)
    with pytest.raises(ApplicationDeleted, match=r"jobs/pi .* was deleted before it came to its end"):
        await asyncio.wait_for(waiting, 30)
    await hub.close()


def test_what_goes_on_has_no_ending() -> None:
    assert judge(stored("pi", "u1", "5", *RUNNING, "Failed")) is None


async def test_executors_are_counted_by_their_driver() -> None:
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    pods = [driver(owner="p1", status=ready), driver(owner="p1"), driver(owner="another")]
    async with scripted_api() as api, await client_of(api) as client:
        api.script(page(driver()), page(*pods), page())
        reference = ApplicationReference("jobs", "pi", "u1")
        assert count(await executor_pods(client, reference)) == ExecutorCount(ready=1, present=2)
        assert count(await executor_pods(client, reference)) == ExecutorCount(0, 0)
