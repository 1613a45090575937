"""Suspension of SparkClusters by the controller, on the local API server, which runs no StatefulSets."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_CLUSTER_NAME, LABEL_ROLE
from airflow_provider_spark_operator.core.models.cluster import ClusterState
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
from tests.reconcile.harness import Api, FaultyClient, Killed, build_error, run_controller, state_of
from tests.reconcile.reconcilers.test_clusters import (
    ALL_NAMES,
    FAILED_STATES,
    build_cluster,
    get,
    list_names_of_children,
    list_states,
    submit,
    wait_for_deletion,
    wait_for_state,
    wait_until,
)

State = ClusterState
STAYING = ["cl-master-svc", "cl-worker", "cl-worker-svc"]


def build_suspended_cluster(**modifiers: Any) -> JsonObject:
    return build_cluster(suspend=True, **modifiers)


async def set_suspend(api: Api, suspend: bool) -> None:
    await api.client.patch(SPARK_CLUSTERS, "cl", api.namespace, {"spec": {"suspend": suspend}})


async def create_pod(api: Api, name: str, role: str = "worker") -> None:
    labels = {LABEL_CLUSTER_NAME: "cl", LABEL_ROLE: role}
    container = {"name": role, "image": "spark"}
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [container]},
    }
    await api.client.create(PODS, document, api.namespace)


async def delete_pod(api: Api, name: str) -> None:
    await api.client.delete(PODS, name, api.namespace, grace_seconds=0)


async def wait_for_names(api: Api, names: list[str]) -> None:
    async def holds() -> bool:
        return sorted(await list_names_of_children(api)) == sorted(names)

    await api.wait_until_true(holds)


async def run_then_suspend(api: Api) -> JsonObject:
    await submit(api, build_cluster())
    await wait_for_state(api, State.RUNNING_HEALTHY)
    await set_suspend(api, True)
    return await wait_for_state(api, State.SUSPENDED)


async def test_suspended_new_cluster_is_held_without_status_until_it_is_resumed(api: Api) -> None:
    async with run_controller(api):
        await submit(api, build_suspended_cluster())
        await api.wait_for_events("SuspendHeld")
        assert state_of(await get(api)) is None
        assert await list_names_of_children(api) == []
        await set_suspend(api, False)
        running = await wait_for_state(api, State.RUNNING_HEALTHY)
        reasons = await api.list_event_reasons()
    assert list_states(running) == ["Submitted", "RunningHealthy"]
    assert running["status"]["observedGeneration"] == 2
    assert "SpecChangeIgnored" not in reasons


async def test_suspended_running_cluster_keeps_only_its_network(api: Api) -> None:
    async with run_controller(api):
        suspended = await run_then_suspend(api)
        await wait_for_names(api, STAYING)
        assert await api.list_names(STATEFUL_SETS) == []
        assert await api.list_names(HORIZONTAL_POD_AUTOSCALERS) == []
        assert await api.list_names(POD_DISRUPTION_BUDGETS) == []
        assert len(await api.list_names(SERVICES)) == 2
        assert await api.list_names(NETWORK_POLICIES) == ["cl-worker"]
    assert suspended["status"]["currentState"]["suspendReason"] == "SpecSuspend"
    (event,) = [each for each in await api.list_objects(EVENTS) if each["reason"] == "Suspended"]
    assert event["type"] == "Normal"


async def test_resumed_cluster_is_applied_from_the_edited_spec(api: Api) -> None:
    async with run_controller(api):
        await run_then_suspend(api)
        edit = {"clusterTolerations": {"instanceConfig": {"initWorkers": 3}}}
        await api.client.patch(SPARK_CLUSTERS, "cl", api.namespace, {"spec": {"suspend": False, **edit}})
        running = await wait_for_state(api, State.RUNNING_HEALTHY)
        reasons = await api.list_event_reasons()
    workers = await api.client.get(STATEFUL_SETS, "cl-worker", api.namespace)
    assert workers["spec"]["replicas"] == 3
    assert list_states(running) == ["Submitted", "RunningHealthy"]
    assert sorted(await list_names_of_children(api)) == sorted(ALL_NAMES)
    assert "SpecChangeIgnored" not in reasons
    assert "previousAttemptSummary" not in running["status"]


async def test_cluster_is_not_resumed_while_its_pods_exist(api: Api) -> None:
    await create_pod(api, "cl-worker-0")
    await create_pod(api, "cl-driver", role="driver")
    async with run_controller(api):
        await run_then_suspend(api)
        await set_suspend(api, False)

        async def is_stopped() -> bool:
            return await api.list_names(STATEFUL_SETS) == []

        await api.wait_until_true(is_stopped)
        # The autoscaler exists until the pods are deleted, which shows that the controller waits.
        assert await api.list_names(HORIZONTAL_POD_AUTOSCALERS) == ["cl-worker-hpa"]
        assert state_of(await get(api)) == State.SUSPENDED
        await delete_pod(api, "cl-worker-0")
        await wait_for_state(api, State.RUNNING_HEALTHY)
    assert await api.list_names(PODS) == ["cl-driver"]


async def test_suspended_cluster_can_be_deleted(api: Api) -> None:
    async with run_controller(api):
        await run_then_suspend(api)
        await api.client.delete(SPARK_CLUSTERS, "cl", api.namespace)
        await wait_for_deletion(api)
    assert await list_names_of_children(api) == []


async def test_held_cluster_can_be_deleted(api: Api) -> None:
    async with run_controller(api):
        await submit(api, build_suspended_cluster())
        await api.wait_for_events("SuspendHeld")
        await api.client.delete(SPARK_CLUSTERS, "cl", api.namespace)
        await wait_for_deletion(api)


@pytest.mark.parametrize("after", [False, True], ids=["before it", "after it"])
@pytest.mark.parametrize("number", range(1, 8))
async def test_suspension_continues_after_the_controller_was_killed_at_any_write(
    api: Api, number: int, after: bool
) -> None:
    async with run_controller(api):
        await submit(api, build_cluster())
        await wait_for_state(api, State.RUNNING_HEALTHY)
    await set_suspend(api, True)
    dying: Any = FaultyClient(api.client, ("patch", "delete"), number, Killed(), after=after, for_good=True)

    async def has_struck() -> bool:
        if state_of(await get(api)) == State.SUSPENDED:
            await set_suspend(api, False)
        return bool(dying.has_struck)

    with pytest.raises(Killed):
        async with run_controller(api, dying):
            await api.wait_until_true(has_struck)
    await set_suspend(api, False)
    async with run_controller(api):
        running = await wait_for_state(api, State.RUNNING_HEALTHY)
        await wait_for_names(api, ALL_NAMES)
    assert list_states(running) == ["Submitted", "RunningHealthy"]


async def test_object_of_another_owner_survives_the_suspension(api: Api) -> None:
    async with run_controller(api):
        await submit(api, build_cluster())
        await wait_for_state(api, State.RUNNING_HEALTHY)
        foreign = {"metadata": {"ownerReferences": None}}
        await api.client.patch(POD_DISRUPTION_BUDGETS, "cl-worker-pdb", api.namespace, foreign)
        await set_suspend(api, True)
        await wait_for_names(api, [*STAYING, "cl-worker-pdb"])


@pytest.mark.parametrize(
    ("verb", "reason"), [("delete", "SuspendReleaseFailed"), ("list", "SuspendReleaseFailed")], ids=["delete", "list"]
)
async def test_rejected_release_is_reported_and_repeated(api: Api, verb: str, reason: str) -> None:
    async with run_controller(api):
        await submit(api, build_cluster())
        await wait_for_state(api, State.RUNNING_HEALTHY)
    await set_suspend(api, True)
    error = build_error(Forbidden, 403)
    # The first three lists fill the caches.
    number = 4 if verb == "list" else 1
    client: Any = FaultyClient(api.client, (verb,), number, error, after=False)
    async with run_controller(api, client):
        await api.wait_for_events(reason)
        await wait_for_names(api, STAYING)


async def test_rejected_check_of_a_held_cluster_is_reported_and_nothing_starts(api: Api) -> None:
    class WithoutStatefulSets:
        def __getattr__(self, name: str) -> Any:
            return getattr(api.client, name)

        async def get(self, resource: Any, *arguments: Any, **options: Any) -> Any:
            if resource == STATEFUL_SETS:
                raise build_error(Forbidden, 403)
            return await api.client.get(resource, *arguments, **options)

    client: Any = WithoutStatefulSets()
    async with run_controller(api, client):
        await submit(api, build_suspended_cluster())
        await api.wait_for_events("SuspendCheckFailed")
    assert "SuspendHeld" not in await api.list_event_reasons()
    assert await list_names_of_children(api) == []


@pytest.mark.parametrize(
    ("error", "is_reported"),
    [(build_error(ServerError, 500), True), (build_error(Unreachable, None), False)],
    ids=["answered", "unanswered"],
)
async def test_cluster_stays_submitted_after_a_passing_failure(api: Api, error: KubeError, is_reported: bool) -> None:
    # The first patch adds the finalizer.
    client: Any = FaultyClient(api.client, ("patch",), 3, error, after=False)
    async with run_controller(api, client):
        await submit(api, build_cluster())
        running = await wait_for_state(api, State.RUNNING_HEALTHY)
    assert list_states(running) == ["Submitted", "RunningHealthy"]
    assert ("ClusterRequestFailed" in await api.list_event_reasons()) is is_reported


async def test_rejected_release_of_a_failed_cluster_is_reported_and_repeated(api: Api) -> None:
    class Refusing:
        """Rejects the autoscaler, and the first deletion."""

        has_deleted = False

        def __getattr__(self, name: str) -> Any:
            return getattr(api.client, name)

        async def patch(self, resource: Any, *arguments: Any, **options: Any) -> Any:
            if resource == HORIZONTAL_POD_AUTOSCALERS:
                raise build_error(Forbidden, 403)
            return await api.client.patch(resource, *arguments, **options)

        async def delete(self, *arguments: Any, **options: Any) -> Any:
            if not self.has_deleted:
                self.has_deleted = True
                raise build_error(Forbidden, 403)
            return await api.client.delete(*arguments, **options)

    client: Any = Refusing()
    async with run_controller(api, client):
        await submit(api, build_cluster())
        released = await wait_for_state(api, State.RESOURCE_RELEASED)
        await api.wait_for_events("ClusterReleaseFailed")
    assert list_states(released) == FAILED_STATES
    assert await list_names_of_children(api) == []


async def test_pod_of_a_user_with_the_labels_of_a_suspended_cluster_is_reported(api: Api) -> None:
    await create_pod(api, "notebook")
    await submit(api, build_cluster())
    time = "2026-11-01T00:00:00Z"
    suspended = {"currentStateSummary": "Suspended", "lastTransitionTime": time, "suspendReason": "SpecSuspend"}
    status = {"currentState": suspended, "stateTransitionHistory": {"0": suspended}}
    await api.client.patch(SPARK_CLUSTERS, "cl", api.namespace, {"status": status}, subresource="status")
    async with run_controller(api):
        await api.wait_for_events("SuspendReleaseFailed")
        events = await api.list_objects(EVENTS)
        event = next(each for each in events if each["reason"] == "SuspendReleaseFailed")
        assert event["type"] == "Warning"
        assert "not being deleted: notebook. " in event["message"]


@pytest.mark.parametrize("cause", ["SpecSuspend", "KueueEviction", None])
async def test_suspended_cluster_of_the_apache_operator_is_resumed(api: Api, cause: str | None) -> None:
    submitted = await submit(api, build_cluster())
    time = submitted["metadata"]["creationTimestamp"]
    suspended = {"currentStateSummary": "Suspended", "lastTransitionTime": time, "message": "theirs"}
    suspended |= {"suspendReason": cause} if cause else {}
    history = {
        str(number): {"currentStateSummary": word, "lastTransitionTime": time, "message": "theirs"}
        for number, word in enumerate(("Submitted", "RunningHealthy"))
    }
    status = {"currentState": suspended, "stateTransitionHistory": {**history, "2": suspended}}
    await api.client.patch(SPARK_CLUSTERS, "cl", api.namespace, {"status": status}, subresource="status")
    async with run_controller(api):
        running = await wait_until(api, lambda seen: state_of(seen) == "RunningHealthy")
    assert list(running["status"]["stateTransitionHistory"]) == ["3", "4"]
