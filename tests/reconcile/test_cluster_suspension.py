"""Suspension of SparkClusters by the controller, on the local API server, which runs no StatefulSets."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_CLUSTER_NAME, LABEL_ROLE
from airflow_provider_spark_operator.core.models.cluster_status import ClusterState
from airflow_provider_spark_operator.kube.errors import Forbidden, KubeError, ServerError, Unreachable
from airflow_provider_spark_operator.kube.resources import (
    EVENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    NETWORK_POLICIES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    SERVICES,
    SPARK_CLUSTERS,
    STATEFUL_SETS,
)
from tests.reconcile.reconcilers.test_clusters import (
    ALL_NAMES,
    FAILED_STATES,
    build_cluster,
    get,
    list_names_of_children,
    list_states,
    submit,
    wait_for_deletion,
    wait_for_event,
    wait_for_state,
    wait_until,
)
from tests.reconcile.stage import FaultyClient, Killed, Stage, build_error, run_controller, state_of

State = ClusterState
STAYING = ["cl-master-svc", "cl-worker", "cl-worker-svc"]


def build_suspended_cluster(**modifiers: Any) -> JsonObject:
    return build_cluster(suspend=True, **modifiers)


async def set_suspend(stage: Stage, suspend: bool) -> None:
    await stage.client.patch(SPARK_CLUSTERS, "cl", stage.namespace, {"spec": {"suspend": suspend}})


async def create_pod(stage: Stage, name: str, role: str = "worker") -> None:
    labels = {LABEL_CLUSTER_NAME: "cl", LABEL_ROLE: role}
    container = {"name": role, "image": "spark"}
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [container]},
    }
    await stage.client.create(PODS, document, stage.namespace)


async def delete_pod(stage: Stage, name: str) -> None:
    await stage.client.delete(PODS, name, stage.namespace, grace_seconds=0)


async def wait_for_names(stage: Stage, names: list[str]) -> None:
    async def holds() -> bool:
        return sorted(await list_names_of_children(stage)) == sorted(names)

    await stage.wait_until_true(holds)


async def run_then_suspend(stage: Stage) -> JsonObject:
    await submit(stage, build_cluster())
    await wait_for_state(stage, State.RUNNING_HEALTHY)
    await set_suspend(stage, True)
    return await wait_for_state(stage, State.SUSPENDED)


async def test_suspended_new_cluster_is_held_without_status_until_it_is_resumed(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace):
        await submit(stage, build_suspended_cluster())
        await wait_for_event(stage, "SuspendHeld")
        assert state_of(await get(stage)) is None
        assert await list_names_of_children(stage) == []
        await set_suspend(stage, False)
        running = await wait_for_state(stage, State.RUNNING_HEALTHY)
        reasons = await stage.list_event_reasons()
    assert list_states(running) == ["Submitted", "RunningHealthy"]
    assert running["status"]["observedGeneration"] == 2
    assert "SpecChangeIgnored" not in reasons


async def test_suspended_running_cluster_keeps_only_its_network(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace):
        suspended = await run_then_suspend(stage)
        await wait_for_names(stage, STAYING)
        assert await stage.list_names(STATEFUL_SETS) == []
        assert await stage.list_names(HORIZONTAL_POD_AUTOSCALERS) == []
        assert await stage.list_names(POD_DISRUPTION_BUDGETS) == []
        assert len(await stage.list_names(SERVICES)) == 2
        assert await stage.list_names(NETWORK_POLICIES) == ["cl-worker"]
    assert suspended["status"]["currentState"]["suspendReason"] == "SpecSuspend"
    (event,) = [each for each in await stage.list_objects(EVENTS) if each["reason"] == "Suspended"]
    assert event["type"] == "Normal"


async def test_resumed_cluster_is_applied_from_the_edited_spec(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace):
        await run_then_suspend(stage)
        edit = {"clusterTolerations": {"instanceConfig": {"initWorkers": 3}}}
        await stage.client.patch(SPARK_CLUSTERS, "cl", stage.namespace, {"spec": {"suspend": False, **edit}})
        running = await wait_for_state(stage, State.RUNNING_HEALTHY)
        reasons = await stage.list_event_reasons()
    workers = await stage.client.get(STATEFUL_SETS, "cl-worker", stage.namespace)
    assert workers["spec"]["replicas"] == 3
    assert list_states(running) == ["Submitted", "RunningHealthy"]
    assert sorted(await list_names_of_children(stage)) == sorted(ALL_NAMES)
    assert "SpecChangeIgnored" not in reasons
    assert "previousAttemptSummary" not in running["status"]


async def test_cluster_is_not_resumed_while_its_pods_exist(stage: Stage) -> None:
    await create_pod(stage, "cl-worker-0")
    await create_pod(stage, "cl-driver", role="driver")
    async with run_controller(stage.client, stage.namespace):
        await run_then_suspend(stage)
        await set_suspend(stage, False)

        async def is_stopped() -> bool:
            return await stage.list_names(STATEFUL_SETS) == []

        await stage.wait_until_true(is_stopped)
        # The autoscaler exists until the pods are deleted, which shows that the controller waits.
        assert await stage.list_names(HORIZONTAL_POD_AUTOSCALERS) == ["cl-worker-hpa"]
        assert state_of(await get(stage)) == State.SUSPENDED
        await delete_pod(stage, "cl-worker-0")
        await wait_for_state(stage, State.RUNNING_HEALTHY)
    assert await stage.list_names(PODS) == ["cl-driver"]


async def test_suspended_cluster_can_be_deleted(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace):
        await run_then_suspend(stage)
        await stage.client.delete(SPARK_CLUSTERS, "cl", stage.namespace)
        await wait_for_deletion(stage)
    assert await list_names_of_children(stage) == []


async def test_held_cluster_can_be_deleted(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace):
        await submit(stage, build_suspended_cluster())
        await wait_for_event(stage, "SuspendHeld")
        await stage.client.delete(SPARK_CLUSTERS, "cl", stage.namespace)
        await wait_for_deletion(stage)


@pytest.mark.parametrize("after", [False, True], ids=["before it", "after it"])
@pytest.mark.parametrize("number", range(1, 8))
async def test_suspension_continues_after_the_controller_was_killed_at_any_write(
    stage: Stage, number: int, after: bool
) -> None:
    async with run_controller(stage.client, stage.namespace):
        await submit(stage, build_cluster())
        await wait_for_state(stage, State.RUNNING_HEALTHY)
    await set_suspend(stage, True)
    dying: Any = FaultyClient(stage.client, ("patch", "delete"), number, Killed(), after=after, for_good=True)

    async def has_struck() -> bool:
        if state_of(await get(stage)) == State.SUSPENDED:
            await set_suspend(stage, False)
        return bool(dying.has_struck)

    with pytest.raises(Killed):
        async with run_controller(dying, stage.namespace):
            await stage.wait_until_true(has_struck)
    await set_suspend(stage, False)
    async with run_controller(stage.client, stage.namespace):
        running = await wait_for_state(stage, State.RUNNING_HEALTHY)
        await wait_for_names(stage, ALL_NAMES)
    assert list_states(running) == ["Submitted", "RunningHealthy"]


async def test_object_of_another_owner_survives_the_suspension(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace):
        await submit(stage, build_cluster())
        await wait_for_state(stage, State.RUNNING_HEALTHY)
        foreign = {"metadata": {"ownerReferences": None}}
        await stage.client.patch(POD_DISRUPTION_BUDGETS, "cl-worker-pdb", stage.namespace, foreign)
        await set_suspend(stage, True)
        await wait_for_names(stage, [*STAYING, "cl-worker-pdb"])


@pytest.mark.parametrize(
    ("verb", "reason"), [("delete", "SuspendReleaseFailed"), ("list", "SuspendReleaseFailed")], ids=["delete", "list"]
)
async def test_rejected_release_is_reported_and_repeated(stage: Stage, verb: str, reason: str) -> None:
    async with run_controller(stage.client, stage.namespace):
        await submit(stage, build_cluster())
        await wait_for_state(stage, State.RUNNING_HEALTHY)
    await set_suspend(stage, True)
    error = build_error(Forbidden, 403)
    # The first three lists fill the caches.
    number = 4 if verb == "list" else 1
    client: Any = FaultyClient(stage.client, (verb,), number, error, after=False)
    async with run_controller(client, stage.namespace):
        await wait_for_event(stage, reason)
        await wait_for_names(stage, STAYING)


async def test_rejected_check_of_a_held_cluster_is_reported_and_nothing_starts(stage: Stage) -> None:
    class WithoutStatefulSets:
        def __getattr__(self, name: str) -> Any:
            return getattr(stage.client, name)

        async def get(self, resource: Any, *arguments: Any, **options: Any) -> Any:
            if resource == STATEFUL_SETS:
                raise build_error(Forbidden, 403)
            return await stage.client.get(resource, *arguments, **options)

    client: Any = WithoutStatefulSets()
    async with run_controller(client, stage.namespace):
        await submit(stage, build_suspended_cluster())
        await wait_for_event(stage, "SuspendCheckFailed")
    assert "SuspendHeld" not in await stage.list_event_reasons()
    assert await list_names_of_children(stage) == []


@pytest.mark.parametrize(
    ("error", "is_reported"),
    [(build_error(ServerError, 500), True), (build_error(Unreachable, None), False)],
    ids=["answered", "unanswered"],
)
async def test_cluster_stays_submitted_after_a_passing_failure(
    stage: Stage, error: KubeError, is_reported: bool
) -> None:
    # The first patch adds the finalizer.
    client: Any = FaultyClient(stage.client, ("patch",), 3, error, after=False)
    async with run_controller(client, stage.namespace):
        await submit(stage, build_cluster())
        running = await wait_for_state(stage, State.RUNNING_HEALTHY)
    assert list_states(running) == ["Submitted", "RunningHealthy"]
    assert ("ClusterRequestFailed" in await stage.list_event_reasons()) is is_reported


async def test_rejected_release_of_a_failed_cluster_is_reported_and_repeated(stage: Stage) -> None:
    class Refusing:
        """Rejects the autoscaler, and the first deletion."""

        has_deleted = False

        def __getattr__(self, name: str) -> Any:
            return getattr(stage.client, name)

        async def patch(self, resource: Any, *arguments: Any, **options: Any) -> Any:
            if resource == HORIZONTAL_POD_AUTOSCALERS:
                raise build_error(Forbidden, 403)
            return await stage.client.patch(resource, *arguments, **options)

        async def delete(self, *arguments: Any, **options: Any) -> Any:
            if not self.has_deleted:
                self.has_deleted = True
                raise build_error(Forbidden, 403)
            return await stage.client.delete(*arguments, **options)

    client: Any = Refusing()
    async with run_controller(client, stage.namespace):
        await submit(stage, build_cluster())
        released = await wait_for_state(stage, State.RESOURCE_RELEASED)
        await wait_for_event(stage, "ClusterReleaseFailed")
    assert list_states(released) == FAILED_STATES
    assert await list_names_of_children(stage) == []


async def test_pod_of_a_user_with_the_labels_of_a_suspended_cluster_is_reported(stage: Stage) -> None:
    await create_pod(stage, "notebook")
    await submit(stage, build_cluster())
    time = "2026-11-01T00:00:00Z"
    suspended = {"currentStateSummary": "Suspended", "lastTransitionTime": time, "suspendReason": "SpecSuspend"}
    status = {"currentState": suspended, "stateTransitionHistory": {"0": suspended}}
    await stage.client.patch(SPARK_CLUSTERS, "cl", stage.namespace, {"status": status}, subresource="status")
    async with run_controller(stage.client, stage.namespace):
        await wait_for_event(stage, "SuspendReleaseFailed")
        events = await stage.list_objects(EVENTS)
        event = next(each for each in events if each["reason"] == "SuspendReleaseFailed")
        assert event["type"] == "Warning"
        assert "not being deleted: notebook. " in event["message"]


@pytest.mark.parametrize("cause", ["SpecSuspend", "KueueEviction", None])
async def test_suspended_cluster_of_the_apache_operator_is_resumed(stage: Stage, cause: str | None) -> None:
    submitted = await submit(stage, build_cluster())
    time = submitted["metadata"]["creationTimestamp"]
    suspended = {"currentStateSummary": "Suspended", "lastTransitionTime": time, "message": "theirs"}
    suspended |= {"suspendReason": cause} if cause else {}
    history = {
        str(number): {"currentStateSummary": word, "lastTransitionTime": time, "message": "theirs"}
        for number, word in enumerate(("Submitted", "RunningHealthy"))
    }
    status = {"currentState": suspended, "stateTransitionHistory": {**history, "2": suspended}}
    await stage.client.patch(SPARK_CLUSTERS, "cl", stage.namespace, {"status": status}, subresource="status")
    async with run_controller(stage.client, stage.namespace):
        running = await wait_until(stage, lambda seen: state_of(seen) == "RunningHealthy")
    assert list(running["status"]["stateTransitionHistory"]) == ["3", "4"]
