import pytest

from airflow_provider_spark_operator.follow.submission.adoption import find_unreported_failure
from airflow_provider_spark_operator.follow.submission.submit import acknowledge, submit
from airflow_provider_spark_operator.kube.client import KubeClient
from tests.follow.applications import FAILED, RUNNING, SUCCEEDED, build_document, build_stamp, set_states


async def test_task_without_applications_has_no_failure(client: KubeClient, namespace: str) -> None:
    assert await find_unreported_failure(client, build_stamp(2), namespace) is None


@pytest.mark.parametrize("states", [FAILED, (*RUNNING, "Failed")], ids=["released", "stopping"])
async def test_unreported_failure_of_earlier_try_is_found(
    client: KubeClient, namespace: str, states: tuple[str, ...]
) -> None:
    first = await submit(client, build_document(), namespace, build_stamp(1))
    await set_states(client, first.reference, *states)
    assert await find_unreported_failure(client, build_stamp(2), namespace) == first.reference


async def test_acknowledged_failure_is_not_found(client: KubeClient, namespace: str) -> None:
    first = await submit(client, build_document(), namespace, build_stamp(1))
    await set_states(client, first.reference, *FAILED)
    await acknowledge(client, first.reference, build_stamp(1))
    assert await find_unreported_failure(client, build_stamp(2), namespace) is None


@pytest.mark.parametrize("states", [RUNNING, SUCCEEDED], ids=["running", "succeeded"])
async def test_adoptable_application_is_not_a_failure(
    client: KubeClient, namespace: str, states: tuple[str, ...]
) -> None:
    first = await submit(client, build_document(), namespace, build_stamp(1))
    await set_states(client, first.reference, *states)
    assert await find_unreported_failure(client, build_stamp(2), namespace) is None


async def test_only_the_newest_application_counts(client: KubeClient, namespace: str) -> None:
    first = await submit(client, build_document("a"), namespace, build_stamp(1))
    await set_states(client, first.reference, *FAILED)
    second = await submit(client, build_document("b"), namespace, build_stamp(2))
    await set_states(client, second.reference, *RUNNING)
    assert await find_unreported_failure(client, build_stamp(3), namespace) is None


async def test_failures_of_this_try_and_of_other_tasks_are_ignored(client: KubeClient, namespace: str) -> None:
    first = await submit(client, build_document(), namespace, build_stamp(1))
    await set_states(client, first.reference, *FAILED)
    assert await find_unreported_failure(client, build_stamp(1), namespace) is None
    assert await find_unreported_failure(client, build_stamp(2, task="other"), namespace) is None
