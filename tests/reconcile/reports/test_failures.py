"""The Events of requests that fail while a resource is reconciled."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.models.cluster import ClusterState, SparkCluster
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
    PODS,
    SPARK_APPLICATIONS,
    SPARK_CLUSTERS,
    STATEFUL_SETS,
    ResourceType,
)
from airflow_provider_spark_operator.reconcile.reports.events import is_reported, name_failure
from tests.builders import build_application_model, build_status_at
from tests.reconcile.harness import Api, build_application, build_error, run_controller, state_of
from tests.reconcile.reconcilers.test_clusters import build_cluster

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


async def test_rejected_status_is_reported_until_it_is_accepted(api: Api) -> None:
    client: Any = Refusing(api.client, "patch", SPARK_APPLICATIONS, "status")
    client.error = build_error(Forbidden, 403)
    async with run_controller(api, client), api.play_drivers("succeeded"):
        await api.submit(build_application())
        (event,) = await api.wait_for_events("StatusUpdateFailed")
        client.error = None
        await api.wait_for_state(State.RESOURCE_RELEASED)
    assert event["type"] == "Warning"
    assert "injected by a test" in event["message"]


async def test_rejected_cleanup_of_a_deleted_application_is_reported(api: Api) -> None:
    client: Any = Refusing(api.client, "delete", PODS)
    async with run_controller(api, client), api.play_drivers("run"):
        await api.submit(build_application())
        await api.wait_for_state(State.RUNNING_HEALTHY)
        client.error = build_error(Forbidden, 403)
        await api.delete()
        (event,) = await api.wait_for_events("CleanupError")
        client.error = None
        await api.wait_for_deletion()
    assert event["type"] == "Warning"


async def test_unavailable_webhook_of_a_cluster_is_reported_and_the_cluster_runs_later(api: Api) -> None:
    client: Any = Refusing(api.client, "patch", STATEFUL_SETS)
    client.error = build_error(ServerError, 500)
    async with run_controller(api, client):
        await api.client.create(SPARK_CLUSTERS, build_cluster(), api.namespace)
        (event,) = await api.wait_for_events("ClusterRequestFailed")
        client.error = None

        async def is_running() -> bool:
            cluster = await api.client.get(SPARK_CLUSTERS, "cl", api.namespace)
            return state_of(cluster) == ClusterState.RUNNING_HEALTHY

        await api.wait_until_true(is_running)
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
