"""Suspension by a controller, on a real API server and on the local one. The tests stand in for the kubelet."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import APPLICATION_FINALIZER, LABEL_ROLE, ROLE_EXECUTOR
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import ApplicationState, SuspendReason
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS
from airflow_provider_spark_operator.reconcile.serving.metrics import Metrics
from tests.contract.test_crds import server_with_definitions
from tests.reconcile.harness import IMAGE, Api, build_application, get_value, history_of, run_controller, state_of

from contract.conversation import Conversation
from control_plane import Server, build_kubeconfig

__all__ = ["server_with_definitions"]

State = ApplicationState
RUN = ["Submitted", "DriverRequested", "DriverStarted", "DriverReady", "RunningHealthy"]
HOLD = "example.com/hold"  # a finalizer: the pod terminates until the test removes it


@pytest.fixture
async def client(server: Server, server_with_definitions: Conversation) -> AsyncIterator[KubeClient]:
    if server.token is None and server.tls is not None:
        pytest.skip("the server of CONTRACT_KUBECONFIG has no token")
    access = ClusterAccess(kubeconfig_document=build_kubeconfig(server))
    async with await open_client(access) as client:
        yield client


@pytest.fixture
def api(client: KubeClient, server_with_definitions: Conversation) -> Api:
    return Api(client, server_with_definitions.namespace)


async def hold_pod(api: Api, name: str, *, held: bool) -> None:
    """Add or remove a finalizer, which keeps a deleted pod terminating."""
    await api.client.patch(PODS, name, api.namespace, {"metadata": {"finalizers": [HOLD] if held else None}})


async def create_executor(api: Api) -> None:
    """Create an executor as the driver does."""
    driver = await api.client.get(PODS, "pi-0-driver", api.namespace)
    metadata = driver["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
    executor = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "pi-exec-1",
            "labels": {**metadata["labels"], LABEL_ROLE: ROLE_EXECUTOR},
            "ownerReferences": [owner],
            "finalizers": [HOLD],
        },
        "spec": {"containers": [{"name": "executor", "image": IMAGE["spark.kubernetes.container.image"]}]},
    }
    await api.client.create(PODS, executor, api.namespace)


async def delete_executor(api: Api) -> None:
    """Delete the executor, as the garbage collector and the kubelet do."""
    try:
        await api.client.delete(PODS, "pi-exec-1", api.namespace)
        await hold_pod(api, "pi-exec-1", held=False)
    except NotFound:
        return


async def wait_until_deleting(api: Api, name: str) -> JsonObject:
    async def is_deleting() -> bool:
        return "deletionTimestamp" in (await api.client.get(PODS, name, api.namespace))["metadata"]

    await api.wait_until_true(is_deleting)
    return await api.client.get(PODS, name, api.namespace)


async def wait_for_reconciles(api: Api, metrics: Metrics, number: int) -> None:
    """Wait until the driver does not exist, and the application was reconciled `number` times afterwards."""

    def count() -> float:
        return get_value(metrics, "reconciles_total", kind="SparkApplication", result="done") or 0

    async def is_deleted() -> bool:
        return "pi-0-driver" not in await api.list_names(PODS)

    await api.wait_until_true(is_deleted)
    before = count()

    async def is_reached() -> bool:
        return count() >= before + number

    await api.wait_until_true(is_reached)


async def suspend_running(api: Api, document: JsonObject) -> JsonObject:
    """Submit an application, suspend it when it is running, and return it when it is suspended."""
    await api.submit(document)
    await api.wait_for_state(State.RUNNING_HEALTHY)
    await hold_pod(api, "pi-0-driver", held=True)
    await create_executor(api)
    await api.patch({"spec": {"suspend": True}})
    return await api.wait_for_state(State.SUSPENDED)


def get_attempt(document: JsonObject) -> dict[str, Any]:
    info: dict[str, Any] = document["status"]["currentAttemptSummary"]["attemptInfo"]
    return info


async def test_running_application_is_suspended_and_resumes_after_its_pods_are_released(api: Api) -> None:
    metrics = Metrics()
    controller = run_controller(api, metrics=metrics)
    async with controller, api.play_drivers("run", "succeeded"):
        suspended = await suspend_running(api, build_application())
        await wait_until_deleting(api, "pi-0-driver")
        await api.patch({"spec": {"suspend": False}})
        await hold_pod(api, "pi-0-driver", held=False)
        await wait_for_reconciles(api, metrics, 2)
        assert list(api.drivers) == ["pi-0-driver"], "the next driver does not wait for the executor"
        await api.wait_for_events(State.SUSPENDED)
        await delete_executor(api)
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert suspended["status"]["currentState"]["suspendReason"] == SuspendReason.SPEC_SUSPEND
    assert history_of(ended) == [*RUN, "Suspended", *RUN, "Succeeded", "ResourceReleased"]
    assert get_attempt(ended) == {
        "id": 1,
        "restartCounter": 0,
        "failureRestartCounter": 0,
        "schedulingFailureRestartCounter": 0,
    }
    assert list(api.drivers) == ["pi-0-driver", "pi-1-driver"]


async def test_application_that_is_created_suspended_has_no_status_until_it_starts(api: Api) -> None:
    async with run_controller(api), api.play_drivers("succeeded"):
        await api.submit(build_application(suspend=True))
        await api.wait_for_events(reasons.SUSPEND_HELD)
        (held,) = await api.list_objects(SPARK_APPLICATIONS)
        assert (state_of(held), api.drivers) == (None, {})
        await api.patch({"spec": {"suspend": False}})
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(ended) == [*RUN, "Succeeded", "ResourceReleased"]


async def test_edit_of_suspended_application_applies_to_the_next_attempt(api: Api) -> None:
    async with run_controller(api), api.play_drivers("run"):
        await suspend_running(api, build_application())
        colour = {"spark.kubernetes.driver.label.colour": "blue"}
        await api.patch({"spec": {"sparkConf": colour}})
        await api.patch({"spec": {"suspend": False}})
        await hold_pod(api, "pi-0-driver", held=False)
        await delete_executor(api)
        await api.wait_for_state(State.RUNNING_HEALTHY)
        driver = await api.client.get(PODS, "pi-1-driver", api.namespace)
    assert driver["metadata"]["labels"]["colour"] == "blue"


async def test_suspended_application_can_be_deleted(api: Api) -> None:
    async with run_controller(api), api.play_drivers("run"):
        await suspend_running(api, build_application())
        await wait_until_deleting(api, "pi-0-driver")
        await api.delete()
        (deleted,) = await api.list_objects(SPARK_APPLICATIONS)
        assert APPLICATION_FINALIZER in deleted["metadata"]["finalizers"]
        await delete_executor(api)
        await hold_pod(api, "pi-0-driver", held=False)
        await api.wait_for_deletion()
    assert list(api.drivers) == ["pi-0-driver"]


async def test_next_controller_continues_the_suspension(api: Api) -> None:
    async with api.play_drivers("run", "succeeded"):
        async with run_controller(api):
            await suspend_running(api, build_application())
            await wait_until_deleting(api, "pi-0-driver")
        await hold_pod(api, "pi-0-driver", held=False)
        await delete_executor(api)
        await api.patch({"spec": {"suspend": False}})
        async with run_controller(api):
            ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(ended) == [*RUN, "Suspended", *RUN, "Succeeded", "ResourceReleased"]
    assert list(api.drivers) == ["pi-0-driver", "pi-1-driver"]


async def test_status_of_apache_operator_that_contains_suspended_is_continued(api: Api) -> None:
    """Every part of the status can contain the state. Release 1.1.0 writes no `reason`."""
    suspended = {
        "currentStateSummary": "Suspended",
        "lastTransitionTime": "2026-11-12T10:00:00.123456789Z",
        "message": "Kueue evicted the application.",
        "suspendReason": "KueueEviction",
    }
    requested = {"currentStateSummary": "DriverRequested", "lastTransitionTime": "2026-11-12T09:00:00Z"}
    summary = {"attemptInfo": {"id": 3, "restartCounter": 2}}
    status = {
        "currentState": suspended,
        "stateTransitionHistory": {"7": requested, "8": suspended},
        "currentAttemptSummary": summary,
        "previousAttemptSummary": {**summary, "stateTransitionHistory": {"5": requested, "6": suspended}},
    }
    await api.submit(build_application())
    await api.patch({"status": status}, subresource="status")
    async with run_controller(api), api.play_drivers("run"):
        resumed = await api.wait_for_state(State.RUNNING_HEALTHY)
    assert history_of(resumed) == ["DriverRequested", "Suspended", *RUN]
    assert set(resumed["status"]["stateTransitionHistory"]) == {"9", "10", "11", "12", "13"}
    assert get_attempt(resumed) == {
        "id": 4,
        "restartCounter": 2,
        "failureRestartCounter": 0,
        "schedulingFailureRestartCounter": 0,
    }
    past = resumed["status"]["previousAttemptSummary"]["stateTransitionHistory"]
    assert past["8"].get("suspendReason") == SuspendReason.KUEUE_EVICTION
    assert list(api.drivers) == ["pi-4-driver"]
