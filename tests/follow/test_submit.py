import asyncio
from typing import Any

import pytest

from airflow_provider_spark_operator.core.names import (
    ANNOTATION_TASK_INSTANCE_ID,
    ANNOTATION_TRY_NUMBER,
    LABEL_TASK,
)
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.follow.errors import DeletionStuck, NameTaken
from airflow_provider_spark_operator.follow.submit import Submission, acknowledge, submit
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import NotFound, ServerError, Unreachable
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from tests.follow.applications import FAILED, RUNNING, SUCCEEDED, document, move, stamp


async def names(client: KubeClient, namespace: str) -> list[str]:
    found = await client.list(SPARK_APPLICATIONS, namespace)
    return sorted(item["metadata"]["name"] for item in found.items)


def notes(submission: Submission) -> dict[str, str]:
    annotations: dict[str, str] = submission.resource["metadata"]["annotations"]
    return annotations


async def test_a_new_application_carries_its_stamp(client: KubeClient, namespace: str) -> None:
    made = await submit(client, document(), namespace, stamp())
    assert not made.adopted
    assert made.reference.name == stamp().default_name()
    assert made.reference.namespace == namespace
    assert made.resource["metadata"]["labels"][LABEL_TASK] == stamp().identity
    assert notes(made) == stamp().annotations()


async def test_a_name_labels_and_annotations_of_the_user_stay(client: KubeClient, namespace: str) -> None:
    mine = document("mine")
    mine["metadata"] |= {"labels": {"team": "a"}, "annotations": {"note": "b"}}
    made = await submit(client, mine, namespace, stamp())
    assert made.reference.name == "mine"
    assert made.resource["metadata"]["labels"]["team"] == "a"
    assert notes(made)["note"] == "b"
    assert mine["metadata"]["labels"] == {"team": "a"}, "the caller's document is left as it was"


@pytest.mark.parametrize("states", [(), RUNNING, (*RUNNING, "Succeeded")], ids=["new", "running", "stopping"])
async def test_a_live_application_is_adopted(client: KubeClient, namespace: str, states: tuple[str, ...]) -> None:
    first = await submit(client, document(), namespace, stamp(1))
    if states:
        await move(client, first.reference, *states)
    second = await submit(client, document(), namespace, stamp(2))
    assert second.adopted
    assert second.reference == first.reference
    assert (notes(second)[ANNOTATION_TRY_NUMBER], notes(second)[ANNOTATION_TASK_INSTANCE_ID]) == (
        "2",
        stamp(2).task_instance_id,
    )


@pytest.mark.parametrize(("slow", "other"), [(1, 2), (2, 1)], ids=["the earlier try is slow", "the later try is slow"])
async def test_two_tries_at_work_at_once_have_one_application(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch, slow: int, other: int
) -> None:
    create = client.create

    async def create_late(*arguments: Any) -> Any:
        monkeypatch.setattr(client, "create", create)
        await submit(client, document(), namespace, stamp(other))
        return await create(*arguments)

    monkeypatch.setattr(client, "create", create_late)
    made = await submit(client, document(), namespace, stamp(slow))
    assert made.adopted
    assert await names(client, namespace) == [stamp(other).default_name()]


async def test_a_success_that_nobody_saw_is_adopted(client: KubeClient, namespace: str) -> None:
    first = await submit(client, document(), namespace, stamp(1))
    await move(client, first.reference, *SUCCEEDED)
    second = await submit(client, document(), namespace, stamp(2))
    assert second.adopted
    assert second.reference == first.reference


async def test_a_success_whose_result_was_taken_runs_again(client: KubeClient, namespace: str) -> None:
    first = await submit(client, document("pi"), namespace, stamp(1))
    await move(client, first.reference, *SUCCEEDED)
    assert await acknowledge(client, first.reference, stamp(1))
    second = await submit(client, document("pi"), namespace, stamp(2))
    assert not second.adopted
    assert second.reference.uid != first.reference.uid


async def test_nobody_takes_the_result_of_what_is_gone(client: KubeClient, namespace: str) -> None:
    first = await submit(client, document("pi"), namespace, stamp(1))
    await client.delete(SPARK_APPLICATIONS, "pi", namespace)
    assert not await acknowledge(client, first.reference, stamp(1))
    await submit(client, document("pi"), namespace, stamp(2))
    assert not await acknowledge(client, first.reference, stamp(1))


@pytest.mark.parametrize("states", [FAILED, (*RUNNING, "Failed")], ids=["released", "stopping"])
async def test_a_failed_application_is_kept_and_a_new_one_created(
    client: KubeClient, namespace: str, states: tuple[str, ...]
) -> None:
    first = await submit(client, document(), namespace, stamp(1))
    await move(client, first.reference, *states)
    second = await submit(client, document(), namespace, stamp(2))
    assert not second.adopted
    assert await names(client, namespace) == [first.reference.name, second.reference.name]


@pytest.mark.parametrize("states", [FAILED, (*RUNNING, "Failed")], ids=["released", "stopping"])
async def test_a_failure_of_this_very_try_is_its_own(
    client: KubeClient, namespace: str, states: tuple[str, ...]
) -> None:
    first = await submit(client, document("pi"), namespace, stamp(1))
    await move(client, first.reference, *states)
    second = await submit(client, document("pi"), namespace, stamp(1))
    assert second.adopted
    assert second.reference == first.reference


async def test_a_failure_that_was_told_is_not_adopted_even_by_the_same_try(client: KubeClient, namespace: str) -> None:
    first = await submit(client, document("pi"), namespace, stamp(1))
    await move(client, first.reference, *FAILED)
    assert await acknowledge(client, first.reference, stamp(1))
    assert not (await submit(client, document("pi"), namespace, stamp(1))).adopted


async def test_a_failure_that_will_be_restarted_is_adopted(client: KubeClient, namespace: str) -> None:
    restarting = document(applicationTolerations={"restartConfig": {"restartPolicy": "OnFailure"}})
    first = await submit(client, restarting, namespace, stamp(1))
    await move(client, first.reference, *RUNNING, "Failed")
    assert (await submit(client, restarting, namespace, stamp(2))).adopted


async def test_a_failed_application_gives_its_name_to_the_next(client: KubeClient, namespace: str) -> None:
    first = await submit(client, document("pi"), namespace, stamp(1))
    await move(client, first.reference, *FAILED)
    second = await submit(client, document("pi"), namespace, stamp(2))
    assert not second.adopted
    assert second.reference.uid != first.reference.uid
    assert await names(client, namespace) == ["pi"]


async def test_an_application_that_is_being_deleted_is_waited_for(client: KubeClient, namespace: str) -> None:
    held = document("pi")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    first = await submit(client, held, namespace, stamp(1))
    await client.delete(SPARK_APPLICATIONS, "pi", namespace)
    waiting = asyncio.create_task(submit(client, document("pi"), namespace, stamp(2)))
    await client.patch(SPARK_APPLICATIONS, "pi", namespace, {"metadata": {"finalizers": None}})
    second = await asyncio.wait_for(waiting, 30)
    assert second.reference.uid != first.reference.uid


async def test_an_application_that_is_deleted_while_it_is_adopted_is_replaced(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = document()
    held["metadata"]["finalizers"] = ["example.org/hold"]
    first = await submit(client, held, namespace, stamp(1))
    await move(client, first.reference, *RUNNING)
    patch = client.patch

    async def patch_after_a_deletion(*arguments: Any, **options: Any) -> Any:
        await client.delete(SPARK_APPLICATIONS, first.reference.name, namespace)
        return await patch(*arguments, **options)

    monkeypatch.setattr(client, "patch", patch_after_a_deletion)
    second = await submit(client, document(), namespace, stamp(2))
    await patch(SPARK_APPLICATIONS, first.reference.name, namespace, {"metadata": {"finalizers": None}})
    assert not second.adopted
    assert await names(client, namespace) == [second.reference.name]


async def test_an_application_that_does_not_go_away_is_named(client: KubeClient, namespace: str) -> None:
    held = document("pi")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    first = await submit(client, held, namespace, stamp(1))
    await move(client, first.reference, *FAILED)
    with pytest.raises(DeletionStuck, match=r"pi was deleted .*finalizers: example.org/hold"):
        await submit(client, document("pi"), namespace, stamp(2), deletion_seconds=0.1)
    await client.patch(SPARK_APPLICATIONS, "pi", namespace, {"metadata": {"finalizers": None}})


@pytest.mark.parametrize("other", [None, stamp(task="other")], ids=["unstamped", "another task"])
async def test_an_application_of_others_is_left_alone(client: KubeClient, namespace: str, other: Any) -> None:
    theirs = await submit(client, document("pi"), namespace, other)
    await move(client, theirs.reference, *FAILED)
    with pytest.raises(NameTaken, match=r"pi already exists and belongs to .*: choose another name"):
        await submit(client, document("pi"), namespace, stamp())
    kept = await client.get(SPARK_APPLICATIONS, "pi", namespace)
    assert kept["metadata"]["uid"] == theirs.reference.uid


async def test_without_a_stamp_nothing_is_adopted(client: KubeClient, namespace: str) -> None:
    await submit(client, document("pi"), namespace)
    with pytest.raises(NameTaken):
        await submit(client, document("pi"), namespace)


async def test_of_several_live_ones_the_newest_is_adopted_and_the_others_told(
    client: KubeClient, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    marked = {"labels": stamp().labels(), "annotations": stamp().annotations()}
    for name in ("a", "b"):
        one = document(name)
        one["metadata"] |= marked
        await client.create(SPARK_APPLICATIONS, one, namespace)
    adopted = await submit(client, document(), namespace, stamp(2))
    assert adopted.reference.name == "b"
    assert adopted.others == ("a",)
    assert "further live applications: a" in caplog.text


async def test_submissions_at_the_same_time_make_one_application(client: KubeClient, namespace: str) -> None:
    made = await asyncio.gather(*(submit(client, document(), namespace, stamp()) for _ in range(5)))
    assert len({one.reference for one in made}) == 1
    assert len(await names(client, namespace)) == 1


@pytest.mark.parametrize(
    "fault", [Unreachable(None, "Unreachable", "lost"), ServerError(504, "Timeout", "lost")], ids=["cut", "504"]
)
@pytest.mark.parametrize("took_effect", [True, False])
async def test_a_lost_answer_does_not_make_two_applications(
    client: KubeClient,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception,
    *,
    took_effect: bool,
) -> None:
    create, lost = client.create, []

    async def lose_first_answer(*arguments: Any, **options: Any) -> Any:
        if not lost:
            lost.append(fault)
            if took_effect:
                await create(*arguments, **options)
            raise fault
        return await create(*arguments, **options)

    monkeypatch.setattr(client, "create", lose_first_answer)
    made = await submit(client, document(), namespace, stamp())
    assert await names(client, namespace) == [made.reference.name]


async def test_an_answer_that_is_always_lost_is_told(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> Any:
        raise ServerError(500, "InternalError", "webhook is down", "create", "sparkapplications")

    monkeypatch.setattr(client, "create", fail)
    monkeypatch.setattr("airflow_provider_spark_operator.follow.submit._ROUNDS", 2)
    with pytest.raises(ServerError, match="webhook is down"):
        await submit(client, document(), namespace, stamp())


async def test_an_invalid_application_is_not_sent(client: KubeClient, namespace: str) -> None:
    wrong = document("pi", runtimeVersions={})
    with pytest.raises(InvalidResource, match=r"spec.runtimeVersions.sparkVersion: is required"):
        await submit(client, wrong, namespace, stamp())
    assert await names(client, namespace) == []


async def test_a_namespace_that_contradicts_the_document_is_invalid(client: KubeClient, namespace: str) -> None:
    elsewhere = document("pi")
    elsewhere["metadata"]["namespace"] = "elsewhere"
    with pytest.raises(InvalidResource, match=r"metadata.namespace: is 'elsewhere', but"):
        await submit(client, elsewhere, namespace, stamp())


async def test_the_namespace_of_the_document_is_used(client: KubeClient, namespace: str) -> None:
    there = document("pi")
    there["metadata"]["namespace"] = namespace
    assert (await submit(client, there, None, stamp())).reference.namespace == namespace


async def test_a_namespace_that_does_not_exist_is_told(client: KubeClient) -> None:
    with pytest.raises(NotFound, match="no-such-namespace"):
        await submit(client, document("pi"), "no-such-namespace", stamp())
