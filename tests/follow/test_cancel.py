from typing import TYPE_CHECKING, Any

import pytest

from airflow_provider_spark_operator.follow.cancel import CancelOutcome, cancel
from airflow_provider_spark_operator.follow.submit import Submission, submit
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from tests.follow.applications import FAILED, RUNNING, build_document, build_stamp, set_states

if TYPE_CHECKING:
    from airflow_provider_spark_operator.core.json_object import JsonObject


async def is_stored(client: KubeClient, namespace: str) -> bool:
    try:
        await client.get(SPARK_APPLICATIONS, "pi", namespace)
    except NotFound:
        return False
    return True


@pytest.mark.parametrize("owner", [build_stamp(), None], ids=["the owner", "any owner"])
async def test_owner_deletes_the_application(client: KubeClient, namespace: str, owner: Any) -> None:
    made = await submit(client, build_document("pi"), namespace, build_stamp())
    assert await cancel(client, made.reference, owner) is CancelOutcome.DELETED
    assert not await is_stored(client, namespace)
    assert await cancel(client, made.reference, owner) is CancelOutcome.GONE


@pytest.mark.parametrize("other", [build_stamp(2), build_stamp(task="other")], ids=["another try", "another task"])
async def test_other_try_does_not_delete_the_application(client: KubeClient, namespace: str, other: Any) -> None:
    made = await submit(client, build_document("pi"), namespace, build_stamp())
    assert await cancel(client, made.reference, other) is CancelOutcome.NOT_OURS
    assert await is_stored(client, namespace)


async def test_earlier_try_does_not_delete_after_adoption(client: KubeClient, namespace: str) -> None:
    made = await submit(client, build_document("pi"), namespace, build_stamp(1))
    await submit(client, build_document("pi"), namespace, build_stamp(2))
    assert await cancel(client, made.reference, build_stamp(1)) is CancelOutcome.NOT_OURS
    assert await is_stored(client, namespace)


async def test_adoption_during_cancel_prevents_deletion(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await submit(client, build_document("pi"), namespace, build_stamp(1))
    delete = client.delete
    adopted: list[Submission] = []

    async def adopt_before(*arguments: Any, **options: Any) -> Any:
        if not adopted:
            adopted.append(await submit(client, build_document("pi"), namespace, build_stamp(2)))
        return await delete(*arguments, **options)

    monkeypatch.setattr(client, "delete", adopt_before)
    assert await cancel(client, made.reference, build_stamp(1)) is CancelOutcome.NOT_OURS
    assert await is_stored(client, namespace)


async def test_status_change_during_cancel_does_not_prevent_deletion(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await submit(client, build_document("pi"), namespace, build_stamp())
    delete = client.delete
    moved: list[JsonObject] = []

    async def move_before(*arguments: Any, **options: Any) -> Any:
        if not moved:
            moved.append(await set_states(client, made.reference, *RUNNING))
        return await delete(*arguments, **options)

    monkeypatch.setattr(client, "delete", move_before)
    assert await cancel(client, made.reference, build_stamp()) is CancelOutcome.DELETED


async def test_application_with_same_name_and_other_uid_is_not_deleted(client: KubeClient, namespace: str) -> None:
    first = await submit(client, build_document("pi"), namespace, build_stamp())
    await client.delete(SPARK_APPLICATIONS, "pi", namespace)
    await submit(client, build_document("pi"), namespace, build_stamp())
    assert await cancel(client, first.reference, build_stamp()) is CancelOutcome.GONE
    assert await is_stored(client, namespace)


async def test_finished_application_is_not_deleted(client: KubeClient, namespace: str) -> None:
    made = await submit(client, build_document("pi"), namespace, build_stamp())
    await set_states(client, made.reference, *FAILED)
    assert await cancel(client, made.reference, build_stamp()) is CancelOutcome.ENDED
    assert await is_stored(client, namespace)


async def test_cancel_of_application_under_deletion_returns_gone(client: KubeClient, namespace: str) -> None:
    held = build_document("pi")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    made = await submit(client, held, namespace, build_stamp())
    assert await cancel(client, made.reference, build_stamp()) is CancelOutcome.DELETED
    assert await cancel(client, made.reference, build_stamp()) is CancelOutcome.GONE
    await client.patch(SPARK_APPLICATIONS, "pi", namespace, {"metadata": {"finalizers": None}})
