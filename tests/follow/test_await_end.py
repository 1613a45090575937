import asyncio

import pytest

from airflow_provider_spark_operator.core.verdict import Outcome
from airflow_provider_spark_operator.follow.await_end import is_deleted, judge, judge_abandoned, wait_for_end
from airflow_provider_spark_operator.follow.errors import ApplicationDeleted
from airflow_provider_spark_operator.follow.pods import ExecutorCount, count, executor_pods
from airflow_provider_spark_operator.follow.reference import ApplicationReference, resource_of
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


@pytest.mark.parametrize(
    ("states", "deleted", "expected"),
    [
        (RUNNING, None, False),
        (FAILED, None, False),
        (RUNNING, "2026-01-01T00:00:09Z", True),
        (FAILED, "2026-01-01T00:00:02Z", True),
        (FAILED, "2026-01-01T00:00:09Z", False),
        (SUCCEEDED, "2026-01-01T00:00:02Z", False),
    ],
    ids=["running", "failed", "deleted", "failed by the deletion", "failed before the deletion", "succeeded"],
)
def test_a_failure_after_a_deletion_is_an_effect_of_it(
    states: tuple[str, ...], deleted: str | None, expected: bool
) -> None:
    resource = stored("pi", "u1", "5", *states)
    if deleted:
        resource["metadata"]["deletionTimestamp"] = deleted
    assert is_deleted(resource) is expected


async def test_a_deletion_that_an_operator_still_holds_up_ends_the_wait(client: KubeClient, namespace: str) -> None:
    held = document("pi")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    reference = (await submit(client, held, namespace)).reference
    hub = WatchHub(client)
    waiting = asyncio.create_task(wait_for_end(hub, reference))
    await move(client, reference, *RUNNING)
    await client.delete(SPARK_APPLICATIONS, "pi", namespace)
    with pytest.raises(ApplicationDeleted):
        await asyncio.wait_for(waiting, 30)
    await client.patch(SPARK_APPLICATIONS, "pi", namespace, {"metadata": {"finalizers": None}})
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


async def test_driver_of_an_earlier_application_of_the_name_decides_nothing() -> None:
    resource = {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "metadata": {"name": "pi", "namespace": "jobs", "uid": "u1", "creationTimestamp": "2026-01-01T00:00:09Z"},
        "status": {"applicationState": {"state": "FAILED", "errorMessage": "driver pod already exist"}},
    }
    reference = ApplicationReference("jobs", "pi", "u1", resource_of("sparkoperator.k8s.io/v1beta2"))
    earlier = driver(status={"phase": "Running"})
    earlier["metadata"]["ownerReferences"] = []
    async with scripted_api() as api, await client_of(api) as client:
        api.script(page(earlier), verb="list")
        ending = await judge_abandoned(client, reference, resource)
    assert ending is not None
    assert ending.verdict.outcome is Outcome.FAILED
