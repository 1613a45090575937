import asyncio
import logging
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.names import (
    ANNOTATION_TASK_INSTANCE_ID,
    ANNOTATION_TRY_NUMBER,
    LABEL_TASK,
)
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.parameters.arguments import IfExists
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference, DeletionStuck, NameTaken
from airflow_provider_spark_operator.follow.submission.cancel import CancelOutcome, cancel
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.follow.submission.submit import Submission, acknowledge, submit
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import AlreadyExists, KubeError, NotFound, ServerError, Unreachable
from airflow_provider_spark_operator.kube.resources import NAMESPACES, PODS, SPARK_APPLICATIONS
from tests.follow.applications import FAILED, RUNNING, SUCCEEDED, build_document, build_driver, build_stamp, set_states

NOT_SCHEDULED = ("Submitted", "SchedulingFailure", "ResourceReleased")


async def list_names(client: KubeClient, namespace: str) -> list[str]:
    found = await client.list(SPARK_APPLICATIONS, namespace)
    return sorted(item["metadata"]["name"] for item in found.items)


def read_notes(submission: Submission) -> dict[str, str]:
    annotations: dict[str, str] = submission.resource["metadata"]["annotations"]
    return annotations


async def test_new_application_carries_its_stamp(client: KubeClient, namespace: str) -> None:
    made = await submit(client, build_document(), namespace, build_stamp())
    assert not made.adopted
    assert made.reference.name == build_stamp().build_default_name()
    assert made.reference.namespace == namespace
    assert made.resource["metadata"]["labels"][LABEL_TASK] == build_stamp().identity
    assert read_notes(made) == build_stamp().build_annotations()


async def test_name_labels_and_annotations_of_the_user_are_kept(client: KubeClient, namespace: str) -> None:
    mine = build_document("mine")
    mine["metadata"] |= {"labels": {"team": "a"}, "annotations": {"note": "b"}}
    made = await submit(client, mine, namespace, build_stamp())
    assert made.reference.name == "mine"
    assert made.resource["metadata"]["labels"]["team"] == "a"
    assert read_notes(made)["note"] == "b"
    assert mine["metadata"]["labels"] == {"team": "a"}, "the caller's document is left as it was"


@pytest.mark.parametrize("field", ["labels", "annotations"])
async def test_metadata_that_is_not_an_object_is_rejected(client: KubeClient, namespace: str, field: str) -> None:
    mine = build_document("mine")
    mine["metadata"][field] = ["a"]
    with pytest.raises(InvalidResource, match=rf"metadata\.{field}: must be an object"):
        await submit(client, mine, namespace, build_stamp())
    assert await list_names(client, namespace) == []


async def test_unknown_status_is_dropped(client: KubeClient, namespace: str) -> None:
    made = await submit(client, build_document("mine") | {"status": {"novelty": 1}}, namespace, build_stamp())
    assert "status" not in made.resource


@pytest.mark.parametrize("states", [(), RUNNING, (*RUNNING, "Succeeded")], ids=["new", "running", "stopping"])
async def test_live_application_is_adopted(
    client: KubeClient, namespace: str, states: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    first = await submit(client, build_document(), namespace, build_stamp(1))
    if states:
        await set_states(client, first.reference, *states)
    second = await submit(client, build_document(), namespace, build_stamp(2))
    assert second.adopted
    assert second.reference == first.reference
    assert (read_notes(second)[ANNOTATION_TRY_NUMBER], read_notes(second)[ANNOTATION_TASK_INSTANCE_ID]) == (
        "2",
        build_stamp(2).task_instance_id,
    )
    assert "other applications" not in caplog.text


async def test_application_in_another_namespace_is_not_adopted(client: KubeClient, namespace: str) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "elsewhere"}}, None)
    first = await submit(client, build_document("pi"), "elsewhere", build_stamp(1))
    second = await submit(client, build_document("pi"), namespace, build_stamp(2))
    assert (first.adopted, second.adopted) == (False, False)
    assert await list_names(client, "elsewhere") == ["pi"]


@pytest.mark.parametrize(
    ("slow", "other", "deletions"),
    [(1, 2, 1), (2, 1, 1), (1, 2, 2)],
    ids=["the earlier try is slow", "the later try is slow", "another client deletes the application"],
)
async def test_concurrent_tries_share_one_application(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch, slow: int, other: int, deletions: int
) -> None:
    create, delete = client.create, client.delete

    async def create_late(*arguments: Any) -> Any:
        monkeypatch.setattr(client, "create", create)
        await submit(client, build_document(), namespace, build_stamp(other))
        return await create(*arguments)

    async def delete_repeatedly(*arguments: Any, uid: str) -> None:
        for _ in range(deletions):
            await delete(*arguments, uid=uid)

    monkeypatch.setattr(client, "create", create_late)
    monkeypatch.setattr(client, "delete", delete_repeatedly)
    made = await submit(client, build_document(), namespace, build_stamp(slow))
    assert made.adopted
    assert await list_names(client, namespace) == [build_stamp(other).build_default_name()]


@pytest.mark.parametrize(
    ("created", "states"),
    [({"creationTimestamp": "2026-01-01T00:00:00Z"}, RUNNING), ({}, NOT_SCHEDULED)],
    ids=["later", "failed"],
)
async def test_application_is_kept_although_another_try_creates_one_that_is_later_or_has_failed(
    client: KubeClient,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
    created: dict[str, str],
    states: tuple[str, ...],
) -> None:
    create, theirs = client.create, build_document("theirs")
    theirs["metadata"] |= {"labels": build_stamp(2).build_labels(), "annotations": build_stamp(2).build_annotations()}

    async def create_both(*arguments: Any) -> Any:
        made = await create(*arguments)
        other = await create(SPARK_APPLICATIONS, theirs, namespace)
        await set_states(client, ApplicationReference.of(other, SPARK_APPLICATIONS), *states)
        made["metadata"] |= created
        return made

    monkeypatch.setattr(client, "create", create_both)
    assert not (await submit(client, build_document("mine"), namespace, build_stamp(1))).adopted
    assert await list_names(client, namespace) == ["mine", "theirs"]


async def test_unacknowledged_success_is_adopted(client: KubeClient, namespace: str) -> None:
    first = await submit(client, build_document(), namespace, build_stamp(1))
    await set_states(client, first.reference, *SUCCEEDED)
    second = await submit(client, build_document(), namespace, build_stamp(2))
    assert second.adopted
    assert second.reference == first.reference


async def test_acknowledged_success_is_submitted_again(client: KubeClient, namespace: str) -> None:
    first = await submit(client, build_document("pi"), namespace, build_stamp(1))
    await set_states(client, first.reference, *SUCCEEDED)
    assert await acknowledge(client, first.reference, build_stamp(1))
    second = await submit(client, build_document("pi"), namespace, build_stamp(2))
    assert not second.adopted
    assert second.reference.uid != first.reference.uid


async def test_acknowledge_of_deleted_application_returns_false(client: KubeClient, namespace: str) -> None:
    first = await submit(client, build_document("pi"), namespace, build_stamp(1))
    await client.delete(SPARK_APPLICATIONS, "pi", namespace)
    assert not await acknowledge(client, first.reference, build_stamp(1))
    await submit(client, build_document("pi"), namespace, build_stamp(2))
    assert not await acknowledge(client, first.reference, build_stamp(1))


async def test_application_whose_driver_runs_is_adopted_although_its_operator_reports_an_end(
    client: KubeClient, namespace: str
) -> None:
    first = await submit(client, build_document(), namespace, build_stamp(1))
    await set_states(client, first.reference, *NOT_SCHEDULED)
    containers = [{"name": "spark-kubernetes-driver", "image": "spark"}]
    driver = build_driver(first.reference.name, spec={"containers": containers})
    owner = {"apiVersion": "spark.apache.org/v1", "kind": "SparkApplication", "name": first.reference.name}
    driver["metadata"] |= {"namespace": namespace, "ownerReferences": [owner | {"uid": first.reference.uid}]}
    await client.create(PODS, driver, namespace)
    second = await submit(client, build_document(), namespace, build_stamp(2))
    assert second.adopted
    assert second.reference == first.reference


@pytest.mark.parametrize(
    "states", [FAILED, (*RUNNING, "Failed"), NOT_SCHEDULED], ids=["released", "stopping", "not scheduled"]
)
async def test_failed_application_is_kept_and_a_new_one_created(
    client: KubeClient, namespace: str, states: tuple[str, ...]
) -> None:
    first = await submit(client, build_document(), namespace, build_stamp(1))
    await set_states(client, first.reference, *states)
    second = await submit(client, build_document(), namespace, build_stamp(2))
    assert not second.adopted
    assert await list_names(client, namespace) == [first.reference.name, second.reference.name]


@pytest.mark.parametrize("states", [FAILED, (*RUNNING, "Failed")], ids=["released", "stopping"])
async def test_failure_of_this_try_is_adopted_without_a_change(
    client: KubeClient, namespace: str, states: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await submit(client, build_document("pi"), namespace, build_stamp(1))
    await set_states(client, first.reference, *states)
    monkeypatch.setattr(client, "patch", None)
    second = await submit(client, build_document("pi"), namespace, build_stamp(1))
    assert second.adopted
    assert second.reference == first.reference


async def test_acknowledged_failure_is_not_adopted_by_the_same_try(client: KubeClient, namespace: str) -> None:
    first = await submit(client, build_document("pi"), namespace, build_stamp(1))
    await set_states(client, first.reference, *FAILED)
    assert await acknowledge(client, first.reference, build_stamp(1))
    assert not (await submit(client, build_document("pi"), namespace, build_stamp(1))).adopted


async def test_failure_that_will_be_restarted_is_adopted(client: KubeClient, namespace: str) -> None:
    restarting = build_document(applicationTolerations={"restartConfig": {"restartPolicy": "OnFailure"}})
    first = await submit(client, restarting, namespace, build_stamp(1))
    await set_states(client, first.reference, *RUNNING, "Failed")
    assert (await submit(client, restarting, namespace, build_stamp(2))).adopted


async def test_next_try_reuses_the_name_of_a_failed_application(client: KubeClient, namespace: str) -> None:
    first = await submit(client, build_document("pi"), namespace, build_stamp(1))
    await set_states(client, first.reference, *FAILED)
    second = await submit(client, build_document("pi"), namespace, build_stamp(2))
    assert not second.adopted
    assert second.reference.uid != first.reference.uid
    assert await list_names(client, namespace) == ["pi"]


async def test_submit_waits_for_application_under_deletion(client: KubeClient, namespace: str) -> None:
    held = build_document("pi")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    first = await submit(client, held, namespace, build_stamp(1))
    await client.delete(SPARK_APPLICATIONS, "pi", namespace)
    waiting = asyncio.create_task(submit(client, build_document("pi"), namespace, build_stamp(2)))
    await client.patch(SPARK_APPLICATIONS, "pi", namespace, {"metadata": {"finalizers": None}})
    second = await asyncio.wait_for(waiting, 30)
    assert second.reference.uid != first.reference.uid


async def test_application_that_is_deleted_while_it_is_adopted_is_replaced(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = build_document()
    held["metadata"]["finalizers"] = ["example.org/hold"]
    first = await submit(client, held, namespace, build_stamp(1))
    await set_states(client, first.reference, *RUNNING)
    patch = client.patch

    async def patch_after_a_deletion(*arguments: Any, **options: Any) -> Any:
        await client.delete(SPARK_APPLICATIONS, first.reference.name, namespace)
        return await patch(*arguments, **options)

    monkeypatch.setattr(client, "patch", patch_after_a_deletion)
    second = await submit(client, build_document(), namespace, build_stamp(2))
    await patch(SPARK_APPLICATIONS, first.reference.name, namespace, {"metadata": {"finalizers": None}})
    assert not second.adopted
    assert await list_names(client, namespace) == [second.reference.name]


def build_stamp_before_clear() -> Any:
    return build_stamp(1, max_tries=0)


def build_stamp_after_clear() -> Any:
    return build_stamp(2, max_tries=1)


@pytest.mark.parametrize("name", [None, "pi"], ids=["a name per try", "a fixed name"])
@pytest.mark.parametrize("states", [(), RUNNING], ids=["new", "running"])
@pytest.mark.parametrize("retries", [0, 2], ids=["no retry", "retries left"])  # Airflow 3.0 fails tasks despite them
async def test_cleared_task_replaces_its_live_application(
    client: KubeClient, namespace: str, states: tuple[str, ...], name: str | None, retries: int
) -> None:
    first = await submit(client, build_document(name), namespace, build_stamp(1, max_tries=retries))
    if states:
        await set_states(client, first.reference, *states)
    second = await submit(
        client, build_document(name, pyFiles="local:///fixed.py"), namespace, build_stamp(2, max_tries=retries + 1)
    )
    assert not second.adopted
    assert second.resource["spec"]["pyFiles"] == "local:///fixed.py"
    assert await list_names(client, namespace) == [second.reference.name]


async def test_try_after_the_cleared_one_was_lost_still_replaces_the_old_application(
    client: KubeClient, namespace: str
) -> None:
    first = await submit(client, build_document(), namespace, build_stamp_before_clear())
    third = await submit(client, build_document(), namespace, build_stamp(3, max_tries=2))
    assert not third.adopted
    assert third.reference.uid != first.reference.uid
    assert await list_names(client, namespace) == [third.reference.name]


async def test_retry_adopts_what_the_cleared_task_submitted(client: KubeClient, namespace: str) -> None:
    await submit(client, build_document(), namespace, build_stamp(1, max_tries=1))
    second = await submit(client, build_document(), namespace, build_stamp(2, max_tries=2))
    third = await submit(client, build_document(), namespace, build_stamp(3, max_tries=2))
    assert third.adopted
    assert third.reference == second.reference


@pytest.mark.parametrize("states", [SUCCEEDED, FAILED], ids=["succeeded", "failed"])
async def test_cleared_task_keeps_finished_application_and_creates_a_new_one(
    client: KubeClient, namespace: str, states: tuple[str, ...]
) -> None:
    first = await submit(client, build_document(), namespace, build_stamp_before_clear())
    await set_states(client, first.reference, *states)
    second = await submit(client, build_document(), namespace, build_stamp_after_clear())
    assert not second.adopted
    assert await list_names(client, namespace) == [first.reference.name, second.reference.name]


async def test_cleared_task_waits_for_an_application_that_its_trigger_has_deleted(
    client: KubeClient, namespace: str
) -> None:
    held = build_document()
    held["metadata"]["finalizers"] = ["example.org/hold"]
    first = await submit(client, held, namespace, build_stamp_before_clear())
    assert await cancel(client, first.reference, build_stamp_before_clear()) is CancelOutcome.DELETED
    waiting = asyncio.create_task(submit(client, build_document(), namespace, build_stamp_after_clear()))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(waiting), 0.5)
    assert await list_names(client, namespace) == [first.reference.name]
    await client.patch(SPARK_APPLICATIONS, first.reference.name, namespace, {"metadata": {"finalizers": None}})
    second = await asyncio.wait_for(waiting, 30)
    assert await list_names(client, namespace) == [second.reference.name]


@pytest.mark.parametrize("name", [None, "pi"], ids=["a name per try", "a fixed name"])
async def test_cancelled_trigger_and_the_new_try_leave_one_application(
    client: KubeClient, namespace: str, name: str | None
) -> None:
    first = await submit(client, build_document(name), namespace, build_stamp_before_clear())
    second, _ = await asyncio.gather(
        submit(client, build_document(name), namespace, build_stamp_after_clear()),
        cancel(client, first.reference, build_stamp_before_clear()),
    )
    assert await cancel(client, first.reference, build_stamp_before_clear()) is CancelOutcome.GONE
    assert second.reference.uid != first.reference.uid
    assert await list_names(client, namespace) == [second.reference.name]


async def test_overtaken_try_does_not_become_owner_again(client: KubeClient, namespace: str) -> None:
    await submit(client, build_document(), namespace, build_stamp_before_clear())
    second = await submit(client, build_document(), namespace, build_stamp_after_clear())
    late = await submit(client, build_document(), namespace, build_stamp_before_clear())
    assert late.reference == second.reference
    assert read_notes(late) == build_stamp_after_clear().build_annotations()
    assert await cancel(client, late.reference, build_stamp_before_clear()) is CancelOutcome.NOT_OURS


async def test_stuck_deletion_names_the_application(client: KubeClient, namespace: str) -> None:
    held = build_document("pi")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    first = await submit(client, held, namespace, build_stamp(1))
    await set_states(client, first.reference, *FAILED)
    with pytest.raises(DeletionStuck, match=r"pi still exists .* after its deletion .*finalizers: example.org/hold"):
        await submit(client, build_document("pi"), namespace, build_stamp(2), deletion_seconds=0.1)
    await client.patch(SPARK_APPLICATIONS, "pi", namespace, {"metadata": {"finalizers": None}})


@pytest.mark.parametrize("other", [None, build_stamp(task="other")], ids=["unstamped", "another task"])
async def test_application_of_other_owner_is_not_replaced(client: KubeClient, namespace: str, other: Any) -> None:
    theirs = await submit(client, build_document("pi"), namespace, other)
    await set_states(client, theirs.reference, *FAILED)
    with pytest.raises(NameTaken, match=r"pi already exists and belongs to .*; it is in state .*\. Choose another"):
        await submit(client, build_document("pi"), namespace, build_stamp())
    after = await client.get(SPARK_APPLICATIONS, "pi", namespace)
    assert after["metadata"]["uid"] == theirs.reference.uid


def build_stamp_of_earlier_run(**changes: Any) -> TaskStamp:
    return replace(build_stamp(run="manual__0"), **changes)


async def submit_in_earlier_run(client: KubeClient, namespace: str, owner: TaskStamp, *states: str) -> Submission:
    made = await submit(client, build_document("pi"), namespace, owner)
    await set_states(client, made.reference, *states)
    await acknowledge(client, made.reference, owner)
    return made


@pytest.mark.parametrize("states", [SUCCEEDED, FAILED], ids=["succeeded", "failed"])
async def test_ended_application_of_an_earlier_run_is_replaced(
    client: KubeClient, namespace: str, states: tuple[str, ...]
) -> None:
    old = await submit_in_earlier_run(client, namespace, build_stamp_of_earlier_run(), *states)
    made = await submit(client, build_document("pi"), namespace, build_stamp())
    assert not made.adopted
    assert made.reference.uid != old.reference.uid
    assert read_notes(made) == build_stamp().build_annotations()


async def test_submit_waits_for_application_of_earlier_run_under_deletion(client: KubeClient, namespace: str) -> None:
    held = build_document("pi")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    await submit(client, held, namespace, build_stamp_of_earlier_run())
    await client.delete(SPARK_APPLICATIONS, "pi", namespace)
    waiting = asyncio.create_task(submit(client, build_document("pi"), namespace, build_stamp()))
    await client.patch(SPARK_APPLICATIONS, "pi", namespace, {"metadata": {"finalizers": None}})
    assert read_notes(await asyncio.wait_for(waiting, 30)) == build_stamp().build_annotations()


async def submit_ended_just_now(client: KubeClient, namespace: str) -> Submission:
    """Submit an application of an earlier run that succeeded, and whose task has not recorded the result."""
    made = await submit(client, build_document("pi"), namespace, build_stamp_of_earlier_run())
    await set_states(client, made.reference, *SUCCEEDED)
    state = {"currentStateSummary": "ResourceReleased", "lastTransitionTime": datetime.now(UTC).isoformat()}
    change = {"status": {"currentState": state, "stateTransitionHistory": {"4": state}}}
    await client.patch(SPARK_APPLICATIONS, "pi", namespace, change, subresource="status")
    return made


async def test_submit_waits_for_task_of_earlier_run_to_record_its_result(
    client: KubeClient, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    old = await submit_ended_just_now(client, namespace)
    waiting = asyncio.create_task(submit(client, build_document("pi"), namespace, build_stamp()))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(waiting), 0.5)
    after = await client.get(SPARK_APPLICATIONS, "pi", namespace)
    assert after["metadata"]["uid"] == old.reference.uid
    assert "the task of that run has not recorded the result yet; waiting for up to 30 s" in caplog.text
    await acknowledge(client, old.reference, build_stamp_of_earlier_run())
    assert (await asyncio.wait_for(waiting, 30)).reference.uid != old.reference.uid


async def test_application_with_unrecorded_recent_result_is_not_deleted(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_provider_spark_operator.follow.submission.adoption._ACKNOWLEDGEMENT_SECONDS", 0.0)
    old = await submit_ended_just_now(client, namespace)
    with pytest.raises(NameTaken, match=r"run manual__0; it ended .*has not recorded the result yet\. Try again"):
        await submit(client, build_document("pi"), namespace, build_stamp())
    after = await client.get(SPARK_APPLICATIONS, "pi", namespace)
    assert after["metadata"]["uid"] == old.reference.uid


async def test_application_with_unrecorded_old_result_is_replaced_at_once(
    client: KubeClient, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    old = await submit(client, build_document("pi"), namespace, build_stamp_of_earlier_run())
    await set_states(client, old.reference, *SUCCEEDED)
    assert (await submit(client, build_document("pi"), namespace, build_stamp())).reference.uid != old.reference.uid
    assert "that run did not record the result within 15 min" in caplog.text


async def test_concurrent_replacement_creates_one_application(client: KubeClient, namespace: str) -> None:
    await submit_in_earlier_run(client, namespace, build_stamp_of_earlier_run(), *SUCCEEDED)
    made = await asyncio.gather(
        submit(client, build_document("pi"), namespace, build_stamp(run="a")),
        submit(client, build_document("pi"), namespace, build_stamp(run="b")),
        return_exceptions=True,
    )
    (winner,) = [one for one in made if isinstance(one, Submission)]
    (loser,) = [one for one in made if isinstance(one, NameTaken)]
    assert loser.reference == winner.reference


@pytest.mark.parametrize(
    ("owner", "states", "if_exists", "advice"),
    [
        (
            build_stamp_of_earlier_run(),
            RUNNING,
            IfExists.REPLACE_ENDED,
            "run manual__0; it is in state RunningHealthy. Wait until it ends .* if the task of that run has failed",
        ),
        (
            build_stamp_of_earlier_run(),
            (*RUNNING, "Failed"),
            IfExists.REPLACE_ENDED,
            "it is in state Failed. Wait until it ends",
        ),
        (build_stamp_of_earlier_run(), SUCCEEDED, IfExists.FAIL, "or set if_exists='replace_ended'"),
        (
            build_stamp_of_earlier_run(task_id="other"),
            SUCCEEDED,
            IfExists.REPLACE_ENDED,
            "task other .* Choose another name",
        ),
        (
            build_stamp_of_earlier_run(dag_id="other"),
            SUCCEEDED,
            IfExists.REPLACE_ENDED,
            "DAG other, .* Choose another name",
        ),
        (
            build_stamp_of_earlier_run(map_index=2),
            SUCCEEDED,
            IfExists.REPLACE_ENDED,
            "map index 2; .* Choose another name",
        ),
        (None, SUCCEEDED, IfExists.REPLACE_ENDED, "belongs to no Airflow task; .* Choose another name"),
    ],
    ids=[
        "running",
        "stopping",
        "failure requested",
        "another task",
        "another DAG",
        "another map index",
        "without owner",
    ],
)
async def test_application_that_must_not_be_replaced_is_kept_and_named(
    client: KubeClient,
    namespace: str,
    owner: TaskStamp | None,
    states: tuple[str, ...],
    if_exists: IfExists,
    advice: str,
) -> None:
    old = await submit(client, build_document("pi"), namespace, owner)
    await set_states(client, old.reference, *states)
    with pytest.raises(NameTaken, match=advice):
        await submit(client, build_document("pi"), namespace, build_stamp(), if_exists=if_exists)
    after = await client.get(SPARK_APPLICATIONS, "pi", namespace)
    assert after["metadata"]["uid"] == old.reference.uid
    assert "deletionTimestamp" not in after["metadata"]


async def test_without_a_stamp_nothing_is_adopted(client: KubeClient, namespace: str) -> None:
    await submit(client, build_document("pi"), namespace)
    with pytest.raises(NameTaken):
        await submit(client, build_document("pi"), namespace)


async def test_newest_live_application_is_adopted_and_others_are_reported(
    client: KubeClient, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    marked = {"labels": build_stamp().build_labels(), "annotations": build_stamp().build_annotations()}
    for name in ("a", "b"):
        one = build_document(name)
        one["metadata"] |= marked
        await client.create(SPARK_APPLICATIONS, one, namespace)
    adopted = await submit(client, build_document(), namespace, build_stamp(2))
    assert adopted.reference.name == "b"
    assert adopted.others == ("a",)
    assert "other applications of this task have not ended: a" in caplog.text


async def test_concurrent_submissions_create_one_application(client: KubeClient, namespace: str) -> None:
    made = await asyncio.gather(*(submit(client, build_document(), namespace, build_stamp()) for _ in range(5)))
    assert len({one.reference for one in made}) == 1
    assert len(await list_names(client, namespace)) == 1


@pytest.mark.parametrize(
    "fault", [Unreachable(None, "Unreachable", "lost"), ServerError(504, "Timeout", "lost")], ids=["cut", "504"]
)
@pytest.mark.parametrize("took_effect", [True, False])
async def test_lost_answer_does_not_create_two_applications(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch, fault: Exception, *, took_effect: bool
) -> None:
    create = client.create
    lost: list[Exception] = []

    async def lose_first_answer(*arguments: Any, **options: Any) -> Any:
        if not lost:
            lost.append(fault)
            if took_effect:
                await create(*arguments, **options)
            raise fault
        return await create(*arguments, **options)

    monkeypatch.setattr(client, "create", lose_first_answer)
    made = await submit(client, build_document(), namespace, build_stamp())
    assert await list_names(client, namespace) == [made.reference.name]


@pytest.mark.parametrize("request_name", ["is_served", "list"])
async def test_submit_retries_after_temporary_failure(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch, request_name: str
) -> None:
    request = getattr(client, request_name)
    failed: list[str] = []

    async def fail_first(*arguments: Any, **options: Any) -> Any:
        if not failed:
            failed.append(request_name)
            raise Unreachable(None, "Unreachable", "Connection refused")
        return await request(*arguments, **options)

    monkeypatch.setattr(client, request_name, fail_first)
    made = await submit(client, build_document(), namespace, build_stamp())
    assert failed
    assert await list_names(client, namespace) == [made.reference.name]


@pytest.mark.parametrize(
    ("stamp", "error", "expected"),
    [
        (build_stamp(), ServerError(500, "InternalError", "webhook is down", "create", "sparkapplications"), 2),
        (build_stamp(), AlreadyExists(409, "AlreadyExists", "pi exists", "create", "sparkapplications"), 0),
        (None, AlreadyExists(409, "AlreadyExists", "pi exists", "create", "sparkapplications"), 0),
    ],
    ids=["the answer is lost", "the name is taken and free again", "without a task"],
)
async def test_submit_raises_if_every_round_fails(
    client: KubeClient,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
    stamp: TaskStamp | None,
    error: KubeError,
    expected: int,
) -> None:
    async def fail(*_: Any) -> Any:
        raise error

    waits = count()
    monkeypatch.setattr(client, "create", fail)
    monkeypatch.setattr("airflow_provider_spark_operator.follow.submission.submit._ROUNDS", 2)
    backoff = SimpleNamespace(next=lambda: 0 * next(waits))
    monkeypatch.setattr("airflow_provider_spark_operator.follow.submission.submit.Backoff", lambda: backoff)
    with pytest.raises(type(error)):
        await submit(client, build_document("pi"), namespace, stamp)
    assert next(waits) == expected


async def test_invalid_application_is_not_sent(client: KubeClient, namespace: str) -> None:
    wrong = build_document("pi", runtimeVersions={})
    with pytest.raises(InvalidResource, match=r"spec.runtimeVersions.sparkVersion: is required"):
        await submit(client, wrong, namespace, build_stamp())
    assert await list_names(client, namespace) == []


async def test_namespace_that_contradicts_the_document_is_invalid(client: KubeClient, namespace: str) -> None:
    elsewhere = build_document("pi")
    elsewhere["metadata"]["namespace"] = "elsewhere"
    with pytest.raises(InvalidResource, match=r"metadata.namespace: is 'elsewhere', but"):
        await submit(client, elsewhere, namespace, build_stamp())


async def test_namespace_of_the_document_is_used(client: KubeClient, namespace: str) -> None:
    there = build_document("pi")
    there["metadata"]["namespace"] = namespace
    assert (await submit(client, there, None, build_stamp())).reference.namespace == namespace


async def test_default_namespace_of_the_client_is_used(client: KubeClient, namespace: str) -> None:
    client.default_namespace = namespace
    assert (await submit(client, build_document("pi"), None, build_stamp())).reference.namespace == namespace


async def test_missing_namespace_is_raised(client: KubeClient) -> None:
    with pytest.raises(NotFound, match="no-such-namespace"):
        await submit(client, build_document("pi"), "no-such-namespace", build_stamp())
