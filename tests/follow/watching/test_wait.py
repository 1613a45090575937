import asyncio

import pytest

from airflow_provider_spark_operator.core.verdict.verdict import Outcome
from airflow_provider_spark_operator.follow.access.reference import ApplicationDeleted
from airflow_provider_spark_operator.follow.narration.narrator import Narration
from airflow_provider_spark_operator.follow.submission.submit import submit
from airflow_provider_spark_operator.follow.watching.wait import wait_for_end
from airflow_provider_spark_operator.follow.watching.watch import WatchHub
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from tests.follow.applications import FAILED, RUNNING, SUCCEEDED, build_document, set_states
from tests.follow.recorder import Recorder


@pytest.mark.parametrize(
    ("states", "outcome"), [(SUCCEEDED, Outcome.SUCCEEDED), (FAILED, Outcome.FAILED)], ids=["succeeded", "failed"]
)
async def test_end_is_judged_and_states_are_shown(
    client: KubeClient, namespace: str, states: tuple[str, ...], outcome: Outcome
) -> None:
    reference = (await submit(client, build_document("pi"), namespace)).reference
    hub, sink = WatchHub(client), Recorder()
    waiting = asyncio.create_task(wait_for_end(hub, reference, Narration(sink)))
    await set_states(client, reference, *RUNNING)
    await set_states(client, reference, *states[:-1])
    await set_states(client, reference, *states)
    conclusion = await asyncio.wait_for(waiting, 30)
    await hub.close()
    assert conclusion.verdict.outcome is outcome
    assert conclusion.resource["metadata"]["name"] == "pi"
    assert sink.states[-1] == "ResourceReleased"
    assert len(sink.states) == len(set(sink.states))


async def test_application_that_ended_before_is_judged_at_once(client: KubeClient, namespace: str) -> None:
    reference = (await submit(client, build_document("pi"), namespace)).reference
    await set_states(client, reference, *SUCCEEDED)
    hub = WatchHub(client)
    conclusion = await asyncio.wait_for(wait_for_end(hub, reference, Narration(Recorder())), 30)
    await hub.close()
    assert conclusion.verdict.outcome is Outcome.SUCCEEDED


async def test_deletion_ends_the_wait(client: KubeClient, namespace: str) -> None:
    reference = (await submit(client, build_document("pi"), namespace)).reference
    hub = WatchHub(client)
    waiting = asyncio.create_task(wait_for_end(hub, reference, Narration(Recorder())))
    await client.delete(SPARK_APPLICATIONS, "pi", namespace)
    with pytest.raises(ApplicationDeleted, match=r"jobs/pi .* was deleted before it ended"):
        await asyncio.wait_for(waiting, 30)
    await hub.close()


async def test_deletion_delayed_by_operator_ends_the_wait(client: KubeClient, namespace: str) -> None:
    held = build_document("pi")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    reference = (await submit(client, held, namespace)).reference
    hub = WatchHub(client)
    waiting = asyncio.create_task(wait_for_end(hub, reference, Narration(Recorder())))
    await set_states(client, reference, *RUNNING)
    await client.delete(SPARK_APPLICATIONS, "pi", namespace)
    with pytest.raises(ApplicationDeleted):
        await asyncio.wait_for(waiting, 30)
    await client.patch(SPARK_APPLICATIONS, "pi", namespace, {"metadata": {"finalizers": None}})
    await hub.close()
