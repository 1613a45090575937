from typing import TYPE_CHECKING, Any

import pytest

from airflow_provider_spark_operator.follow.access.reference import ApplicationReference, NameTaken
from airflow_provider_spark_operator.follow.submission.cancel import (
    CancelOutcome,
    cancel,
    cancel_run,
    cancel_try,
    delete_shared,
)
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.follow.submission.submit import Submission, submit
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Conflict, NotFound
from airflow_provider_spark_operator.kube.resources import NAMESPACES, SPARK_APPLICATIONS, SPARK_CLUSTERS, ResourceType
from tests.follow.applications import FAILED, RUNNING, build_document, build_stamp, set_states

if TYPE_CHECKING:
    from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject


def build_cluster(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkCluster",
        "metadata": {"name": name},
        "spec": {
            "runtimeVersions": {"sparkVersion": "4.3.0"},
            "clusterTolerations": {"instanceConfig": {"initWorkers": 1, "minWorkers": 1, "maxWorkers": 1}},
        },
    }


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


@pytest.mark.parametrize("by_try", [False, True], ids=["one application", "all of the try"])
async def test_adoption_during_cancel_prevents_deletion(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch, *, by_try: bool
) -> None:
    made = await submit(client, build_document("pi"), namespace, build_stamp(1))
    delete = client.delete
    adopted: list[Submission] = []

    async def adopt_before(*arguments: Any, **options: Any) -> Any:
        if not adopted:
            adopted.append(await submit(client, build_document("pi"), namespace, build_stamp(2)))
        return await delete(*arguments, **options)

    monkeypatch.setattr(client, "delete", adopt_before)
    if by_try:
        assert await cancel_try(client, build_stamp(1), namespace) == {made.reference: CancelOutcome.NOT_OURS}
    else:
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


async def test_only_the_cancelled_application_is_deleted(client: KubeClient, namespace: str) -> None:
    made = await submit(client, build_document("pi"), namespace, build_stamp())
    await submit(client, build_document("other"), namespace, build_stamp(task="other"))
    assert await cancel(client, made.reference, build_stamp()) is CancelOutcome.DELETED
    left = await client.list(SPARK_APPLICATIONS, namespace)
    assert [item["metadata"]["name"] for item in left.items] == ["other"]


@pytest.mark.parametrize("kind", [SPARK_APPLICATIONS, SPARK_CLUSTERS], ids=["application", "cluster"])
async def test_repeated_conflicts_are_raised(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch, kind: ResourceType
) -> None:
    document = build_document("pi") if kind is SPARK_APPLICATIONS else build_cluster("pi")
    reference = ApplicationReference.of(await client.create(kind, document, namespace), kind)
    requests: list[object] = []

    async def refuse(*arguments: object, **options: object) -> None:
        requests.append(arguments)
        raise Conflict(409, "Conflict", "changed")

    monkeypatch.setattr(client, "delete", refuse)
    with pytest.raises(Conflict):
        await (
            cancel(client, reference, None)
            if kind is SPARK_APPLICATIONS
            else delete_shared(client, SPARK_CLUSTERS, "pi", namespace, None)
        )
    assert len(requests) == 10


async def test_application_whose_end_no_driver_reported_is_deleted(client: KubeClient, namespace: str) -> None:
    made = await submit(client, build_document("pi"), namespace, build_stamp())
    await set_states(client, made.reference, "Submitted", "SchedulingFailure", "ResourceReleased")
    assert await cancel(client, made.reference, build_stamp()) is CancelOutcome.DELETED


async def test_try_cancels_its_own_applications_only(client: KubeClient, namespace: str) -> None:
    def mark(document: dict[str, Any], stamp: TaskStamp) -> dict[str, Any]:
        document["metadata"] |= {"labels": stamp.build_labels(), "annotations": stamp.build_annotations()}
        return document

    await client.create(NAMESPACES, {"metadata": {"name": "elsewhere"}}, None)
    client.default_namespace, stored = namespace, {}
    for name, stamp, place in (
        ("own", build_stamp(1), namespace),
        ("later", build_stamp(2), namespace),
        ("ended", build_stamp(2), namespace),
        ("foreign", build_stamp(1, task="other"), namespace),
        ("distant", build_stamp(1), "elsewhere"),
    ):
        made = await client.create(SPARK_APPLICATIONS, mark(build_document(name), stamp), place)
        stored[name] = ApplicationReference.of(made, SPARK_APPLICATIONS)
    await set_states(client, stored["ended"], *FAILED)
    outcomes = await cancel_try(client, build_stamp(1))
    assert outcomes == {stored["own"]: CancelOutcome.DELETED, stored["later"]: CancelOutcome.NOT_OURS}
    cluster = await client.create(SPARK_CLUSTERS, mark(build_cluster("failed"), build_stamp(1)), namespace)
    reference = ApplicationReference.of(cluster, SPARK_CLUSTERS)
    await set_states(client, reference, "Submitted", "Failed")
    client.default_namespace = "elsewhere"
    assert await cancel_try(client, build_stamp(1), namespace, SPARK_CLUSTERS) == {reference: CancelOutcome.DELETED}


async def test_run_cancels_its_applications_only(client: KubeClient, namespace: str) -> None:
    for name, run in (("own", "manual__1"), ("theirs", "manual__2"), ("ended", "manual__1")):
        made = await submit(client, build_document(name), namespace, build_stamp(run=run, task=name))
    await set_states(client, made.reference, *FAILED)
    stamp = build_stamp(5, task="cleanup")
    assert await cancel_run(client, SPARK_APPLICATIONS, "own", namespace, stamp) is CancelOutcome.DELETED
    client.default_namespace = namespace
    outcomes = [
        await cancel_run(client, SPARK_APPLICATIONS, name, None, stamp) for name in ("theirs", "ended", "missing")
    ]
    assert outcomes == [CancelOutcome.NOT_OURS, CancelOutcome.ENDED, CancelOutcome.GONE]
    left = await client.list(SPARK_APPLICATIONS, namespace)
    assert sorted(item["metadata"]["name"] for item in left.items) == ["ended", "theirs"]


async def test_cluster_of_another_run_is_not_deleted(client: KubeClient, namespace: str) -> None:
    document = build_cluster("shared")
    document["metadata"] |= {"annotations": build_stamp().build_annotations()}
    made = await client.create(SPARK_CLUSTERS, document, namespace)
    await client.create(SPARK_CLUSTERS, build_cluster("other"), namespace)
    with pytest.raises(NameTaken, match="belongs to"):
        await delete_shared(client, SPARK_CLUSTERS, "shared", namespace, build_stamp(run="manual__2"))
    assert await delete_shared(client, SPARK_CLUSTERS, "missing", namespace, None) is None
    client.default_namespace, stamp = namespace, build_stamp(2, task="cleanup")
    deleted = await delete_shared(client, SPARK_CLUSTERS, "shared", None, stamp)
    assert deleted == ApplicationReference.of(made, SPARK_CLUSTERS)
    assert await delete_shared(client, SPARK_CLUSTERS, "shared", namespace, None) is None
    assert await delete_shared(client, SPARK_CLUSTERS, "other", namespace, None) is not None


async def test_cluster_that_another_run_adopts_before_its_deletion_is_kept(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = build_cluster("shared")
    document["metadata"] |= {"annotations": build_stamp().build_annotations()}
    made = await client.create(SPARK_CLUSTERS, document, namespace)
    delete = client.delete

    async def adopt_before(*arguments: Any, **options: Any) -> Any:
        owner = {"metadata": {"annotations": build_stamp(run="manual__2").build_annotations()}}
        await client.patch(SPARK_CLUSTERS, "shared", namespace, owner)
        return await delete(*arguments, **options)

    monkeypatch.setattr(client, "delete", adopt_before)
    with pytest.raises(NameTaken, match="belongs to"):
        await delete_shared(client, SPARK_CLUSTERS, "shared", namespace, build_stamp())
    assert (await client.get(SPARK_CLUSTERS, "shared", namespace))["metadata"]["uid"] == made["metadata"]["uid"]


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
