"""The Events of requests that fail while a resource is reconciled."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.core.models.cluster_status import ClusterState
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import (
    Conflict,
    Forbidden,
    KubeError,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from airflow_provider_spark_operator.kube.resources import (
    EVENTS,
    PODS,
    SPARK_APPLICATIONS,
    SPARK_CLUSTERS,
    STATEFUL_SETS,
    ResourceType,
)
from airflow_provider_spark_operator.reconcile.reports.failures import is_reported, name_failure
from tests.builders import build_application_model, build_status_at
from tests.reconcile.reconcilers.test_clusters import build_cluster
from tests.reconcile.stage import Stage, build_application, build_error, play_drivers, run_controller, state_of

State = ApplicationState


class Refusing:
    """A client whose writes of one kind are rejected as long as `error` is set.

    Args:
        client: The real client.
        verb: The verb of the rejected requests.
        resource: Their kind.
        subresource: Their subresource.
    """

    def __init__(self, client: KubeClient, verb: str, resource: ResourceType, subresource: str | None = None) -> None:
        self.error: KubeError | None = None
        self._client = client
        self._rejected = verb, resource, subresource

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._client, name)
        if name not in ("patch", "delete"):
            return real

        async def call(resource: ResourceType, *arguments: Any, **options: Any) -> Any:
            if self.error is not None and (name, resource, options.get("subresource")) == self._rejected:
                raise self.error
            return await real(resource, *arguments, **options)

        return call


async def wait_for_event(stage: Stage, reason: str) -> JsonObject:
    async def is_recorded() -> bool:
        return reason in await stage.list_event_reasons()

    await stage.wait_until_true(is_recorded)
    (event,) = [event for event in await stage.list_objects(EVENTS) if event["reason"] == reason]
    return event


async def test_rejected_status_is_reported_until_it_is_accepted(stage: Stage) -> None:
    client: Any = Refusing(stage.client, "patch", SPARK_APPLICATIONS, "status")
    client.error = build_error(Forbidden, 403)
    async with run_controller(client, stage.namespace), play_drivers(stage, "succeeded"):
        await stage.submit(build_application())
        event = await wait_for_event(stage, "StatusUpdateFailed")
        client.error = None
        await stage.wait_for_state(State.RESOURCE_RELEASED)
    assert event["type"] == "Warning"
    assert "injected by a test" in event["message"]


async def test_rejected_cleanup_of_a_deleted_application_is_reported(stage: Stage) -> None:
    client: Any = Refusing(stage.client, "delete", PODS)
    async with run_controller(client, stage.namespace), play_drivers(stage, "run"):
        await stage.submit(build_application())
        await stage.wait_for_state(State.RUNNING_HEALTHY)
        client.error = build_error(Forbidden, 403)
        await stage.delete()
        event = await wait_for_event(stage, "CleanupError")
        client.error = None
        await stage.wait_until(lambda seen: seen is None)
    assert event["type"] == "Warning"


async def test_unavailable_webhook_of_a_cluster_is_reported_and_the_cluster_runs_later(stage: Stage) -> None:
    client: Any = Refusing(stage.client, "patch", STATEFUL_SETS)
    client.error = build_error(ServerError, 500)
    async with run_controller(client, stage.namespace):
        await stage.client.create(SPARK_CLUSTERS, build_cluster(), stage.namespace)
        event = await wait_for_event(stage, "ClusterRequestFailed")
        client.error = None

        async def is_running() -> bool:
            cluster = await stage.client.get(SPARK_CLUSTERS, "cl", stage.namespace)
            return state_of(cluster) == ClusterState.RUNNING_HEALTHY

        await stage.wait_until_true(is_running)
    assert event["type"] == "Warning"


def build_cluster_model(state: ClusterState, *, deleted: bool = False, suspend: bool = False) -> SparkCluster:
    document = build_cluster(suspend=suspend)
    document["metadata"] |= {"namespace": "jobs", "uid": "u"}
    if deleted:
        document["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    current = {"currentStateSummary": state, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return SparkCluster.model_validate({**document, "status": {"currentState": current}})


@pytest.mark.parametrize(
    ("state", "suspend", "reason"),
    [
        (ClusterState.SUBMITTED, False, "ClusterRequestFailed"),
        (ClusterState.SUBMITTED, True, "SuspendCheckFailed"),
        (ClusterState.SCHEDULING_FAILURE, False, "ClusterReleaseFailed"),
        (ClusterState.SUSPENDED, False, "SuspendReleaseFailed"),
        (ClusterState.RUNNING_HEALTHY, True, "ReconcileError"),
    ],
)
def test_failure_of_a_cluster_is_named_by_its_state(state: ClusterState, suspend: bool, reason: str) -> None:
    assert name_failure(build_cluster_model(state, suspend=suspend)) == reason
    assert name_failure(build_cluster_model(state, suspend=suspend, deleted=True)) == "CleanupError"


@pytest.mark.parametrize(
    ("state", "suspend", "reason"),
    [
        (State.SUBMITTED, False, "ReconcileError"),
        (State.SUBMITTED, True, "SuspendCheckFailed"),
        (State.SCHEDULED_TO_RESTART, True, "SuspendCheckFailed"),
        (State.RUNNING_HEALTHY, True, "ReconcileError"),
        (State.SUSPENDED, False, "SuspendReleaseFailed"),
    ],
)
def test_failure_of_an_application_is_named_by_its_state(state: ApplicationState, suspend: bool, reason: str) -> None:
    assert name_failure(build_application_model(status=build_status_at(state), suspend=suspend)) == reason


@pytest.mark.parametrize(
    ("error", "reported"),
    [
        (build_error(Forbidden, 403), {"ReconcileError", "StatusUpdateFailed"}),
        (build_error(ServerError, 500), {"StatusUpdateFailed"}),
        (build_error(TooManyRequests, 429), set()),
        (build_error(Conflict, 409), set()),
        (build_error(Unreachable, None), set()),
    ],
    ids=["rejected", "server error", "throttled", "conflict", "unreachable"],
)
def test_errors_that_end_by_themselves_are_not_reported(error: KubeError, reported: set[str]) -> None:
    assert {reason for reason in ("ReconcileError", "StatusUpdateFailed") if is_reported(reason, error)} == reported
