"""SparkClusters and the controller, on the local API server."""

from collections.abc import Callable
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import CLUSTER_FINALIZER
from airflow_provider_spark_operator.core.models.cluster import ClusterState
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.client import PatchType
from airflow_provider_spark_operator.kube.errors import (
    Conflict,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    NETWORK_POLICIES,
    POD_DISRUPTION_BUDGETS,
    SERVICES,
    SPARK_APPLICATIONS,
    SPARK_CLUSTERS,
    STATEFUL_SETS,
    ResourceType,
)
from airflow_provider_spark_operator.reconcile.objects.scope import EveryNamespace
from tests.core.cluster_resources.clusters import build_cluster_document
from tests.reconcile.harness import Api, FaultyClient, Killed, build_application, build_error, run_controller, state_of

State = ClusterState
FAILED_STATES = ["Submitted", "SchedulingFailure", "ResourceReleased"]
CHILDREN = (SERVICES, STATEFUL_SETS, NETWORK_POLICIES, HORIZONTAL_POD_AUTOSCALERS, POD_DISRUPTION_BUDGETS)
ALL_NAMES = ["cl-master-svc", "cl-worker-svc", "cl-master", "cl-worker", "cl-worker", "cl-worker-hpa", "cl-worker-pdb"]


def build_cluster(name: str = "cl", **modifiers: Any) -> JsonObject:
    """Build a cluster as a user submits it, by default with all optional objects."""
    document = build_cluster_document(name=name, **{"init": 2, "maximum": 4, **modifiers})
    document["metadata"] = {"name": name}
    return document


async def submit(api: Api, document: JsonObject) -> JsonObject:
    return await api.client.create(SPARK_CLUSTERS, document, api.namespace)


async def get(api: Api, name: str = "cl") -> JsonObject:
    return await api.client.get(SPARK_CLUSTERS, name, api.namespace)


async def wait_until(api: Api, condition: Callable[[JsonObject], bool], name: str = "cl") -> JsonObject:
    async def holds() -> bool:
        return condition(await get(api, name))

    await api.wait_until_true(holds)
    return await get(api, name)


async def wait_for_state(api: Api, state: ClusterState, name: str = "cl") -> JsonObject:
    return await wait_until(api, lambda seen: state_of(seen) == state, name)


async def wait_for_deletion(api: Api, name: str = "cl") -> None:
    async def is_deleted() -> bool:
        try:
            await get(api, name)
        except NotFound:
            return True
        return False

    await api.wait_until_true(is_deleted)


async def list_children(api: Api) -> list[JsonObject]:
    return [child for kind in CHILDREN for child in await api.list_objects(kind)]


async def list_names_of_children(api: Api) -> list[str]:
    return [child["metadata"]["name"] for child in await list_children(api)]


def list_states(document: JsonObject) -> list[str]:
    history = document["status"]["stateTransitionHistory"]
    return [history[key]["currentStateSummary"] for key in sorted(history, key=int)]


def build_refusing_client(api: Api, number: int, error: KubeError, *, for_good: bool = False) -> Any:
    """Build a client whose n-th patch fails. The first patch adds the finalizer."""
    return FaultyClient(api.client, ("patch",), number, error, after=False, for_good=for_good)


async def test_cluster_gets_all_its_objects_and_owns_them(api: Api) -> None:
    async with run_controller(api):
        submitted = await submit(api, build_cluster())
        running = await wait_for_state(api, State.RUNNING_HEALTHY)
        found = await list_children(api)
    assert list_states(running) == ["Submitted", "RunningHealthy"]
    assert running["metadata"]["finalizers"] == [CLUSTER_FINALIZER]
    assert sorted(child["metadata"]["name"] for child in found) == sorted(ALL_NAMES)
    for child in found:
        (owner,) = child["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("SparkCluster", submitted["metadata"]["uid"])


async def test_deletion_of_a_cluster_deletes_its_objects(api: Api) -> None:
    async with run_controller(api):
        await submit(api, build_cluster())
        await wait_for_state(api, State.RUNNING_HEALTHY)
        await api.client.delete(SPARK_CLUSTERS, "cl", api.namespace)
        await wait_for_deletion(api)
    assert await list_names_of_children(api) == []


async def test_two_clusters_in_a_namespace_select_different_pods(api: Api) -> None:
    async with run_controller(api):
        for name in ("one", "two"):
            await submit(api, build_cluster(name))
        for name in ("one", "two"):
            await wait_for_state(api, State.RUNNING_HEALTHY, name)
        sets = await api.list_objects(STATEFUL_SETS)
    selectors = [tuple(sorted(each["spec"]["selector"]["matchLabels"].items())) for each in sets]
    assert len(set(selectors)) == len(sets) == 4
    for each, selector in zip(sets, selectors, strict=True):
        selected = [
            other["metadata"]["name"]
            for other in sets
            if set(selector) <= set(other["spec"]["template"]["metadata"]["labels"].items())
        ]
        assert selected == [each["metadata"]["name"]]


async def test_cluster_fails_once_with_the_message_of_the_api(api: Api) -> None:
    # The seventh patch is the autoscaler, after the finalizer and five objects.
    error = Invalid(422, "Invalid", "spec.minReplicas: must be greater than 0", "patch", "horizontalpodautoscalers")
    async with run_controller(api, build_refusing_client(api, 7, error)):
        await submit(api, build_cluster(minimum=0))
        failed = await wait_for_state(api, State.RESOURCE_RELEASED)
        await api.client.patch(SPARK_CLUSTERS, "cl", api.namespace, {"metadata": {"labels": {"seen": "again"}}})
        await submit(api, build_cluster("other"))
        await wait_for_state(api, State.RUNNING_HEALTHY, "other")
        later = await get(api)
        remaining = await list_names_of_children(api)
    assert list_states(failed) == list_states(later) == FAILED_STATES
    for key in ("1", "2"):
        assert "spec.minReplicas: must be greater than 0" in failed["status"]["stateTransitionHistory"][key]["message"]
    assert [name for name in remaining if name.startswith("cl-")] == []


async def test_failed_cluster_can_be_deleted(api: Api) -> None:
    async with run_controller(api, build_refusing_client(api, 2, build_error(Forbidden, 403))):
        await submit(api, build_cluster())
        await wait_for_state(api, State.RESOURCE_RELEASED)
        await api.client.delete(SPARK_CLUSTERS, "cl", api.namespace)
        await wait_for_deletion(api)


async def test_invalid_template_fails_the_cluster_with_its_path(api: Api) -> None:
    master = {"statefulSetSpec": {"template": {"spec": {"containers": {"name": "master"}}}}}
    async with run_controller(api):
        await submit(api, build_cluster(master=master))
        failed = await wait_for_state(api, State.RESOURCE_RELEASED)
    assert (
        "spec.masterSpec.statefulSetSpec.template.spec.containers: must be a list"
        in (failed["status"]["currentState"]["message"])
    )
    assert await list_names_of_children(api) == []


@pytest.mark.parametrize(
    "error",
    [
        build_error(ServerError, 503),
        build_error(TooManyRequests, 429),
        build_error(Unreachable, None),
        build_error(Conflict, 409),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("number", range(1, 10))
async def test_cluster_runs_after_a_temporary_error_of_any_write(api: Api, error: KubeError, number: int) -> None:
    async with run_controller(api, build_refusing_client(api, number, error)):
        await submit(api, build_cluster())
        running = await wait_for_state(api, State.RUNNING_HEALTHY)
    assert list_states(running) == ["Submitted", "RunningHealthy"]
    assert sorted(await list_names_of_children(api)) == sorted(ALL_NAMES)


@pytest.mark.parametrize("number", range(1, 10))
async def test_cluster_runs_after_the_controller_was_killed_at_any_write(api: Api, number: int) -> None:
    dying: Any = FaultyClient(api.client, ("patch",), number, Killed(), for_good=True)

    async def has_struck() -> bool:
        return bool(dying.has_struck)

    await submit(api, build_cluster())
    with pytest.raises(Killed):
        async with run_controller(api, dying):
            await api.wait_until_true(has_struck)
    async with run_controller(api):
        running = await wait_for_state(api, State.RUNNING_HEALTHY)
    assert list_states(running) == ["Submitted", "RunningHealthy"]
    assert sorted(await list_names_of_children(api)) == sorted(ALL_NAMES)


async def test_object_of_another_owner_fails_the_cluster(api: Api) -> None:
    foreign = {"metadata": {"name": "cl-worker-svc"}, "spec": {"ports": [{"port": 1}], "selector": {"mine": "yes"}}}
    await api.client.create(SERVICES, {"apiVersion": "v1", "kind": "Service", **foreign}, api.namespace)
    async with run_controller(api):
        await submit(api, build_cluster())
        failed = await wait_for_state(api, State.RESOURCE_RELEASED)
    message = failed["status"]["currentState"]["message"]
    assert f"Service {api.namespace}/cl-worker-svc exists and does not belong to this SparkCluster" in message
    service = await api.client.get(SERVICES, "cl-worker-svc", api.namespace)
    assert service["spec"]["selector"] == {"mine": "yes"}


def build_apache_stateful_set(**metadata: Any) -> JsonObject:
    labels = {"spark.operator/name": "spark-kubernetes-operator", "spark.operator/spark-cluster-name": "cl"}
    container = {"name": "master", "image": "spark"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "cl-master", "labels": labels, **metadata},
        "spec": {
            "selector": {"matchLabels": {"spark-role": "master"}},
            "template": {
                "metadata": {"labels": {**labels, "spark-role": "master"}},
                "spec": {"containers": [container]},
            },
        },
    }


async def test_existing_stateful_set_keeps_its_immutable_fields(api: Api) -> None:
    submitted = await submit(api, build_cluster())
    uid = submitted["metadata"]["uid"]
    owner = {"apiVersion": "spark.apache.org/v1", "kind": "SparkCluster", "name": "cl", "uid": uid}
    document = build_apache_stateful_set(ownerReferences=[owner])
    await api.client.create(STATEFUL_SETS, document, api.namespace)
    async with run_controller(api):
        await wait_for_state(api, State.RUNNING_HEALTHY)
    master = await api.client.get(STATEFUL_SETS, "cl-master", api.namespace)
    assert master["spec"]["selector"] == {"matchLabels": {"spark-role": "master"}}
    assert master["spec"]["podManagementPolicy"] == "OrderedReady"


async def test_orphaned_objects_are_adopted_by_the_next_cluster_of_the_name(api: Api) -> None:
    await api.client.create(STATEFUL_SETS, build_apache_stateful_set(), api.namespace)
    async with run_controller(api):
        submitted = await submit(api, build_cluster())
        await wait_for_state(api, State.RUNNING_HEALTHY)
    master = await api.client.get(STATEFUL_SETS, "cl-master", api.namespace)
    assert [owner["uid"] for owner in master["metadata"]["ownerReferences"]] == [submitted["metadata"]["uid"]]


async def test_cluster_waits_until_earlier_objects_are_deleted(api: Api) -> None:
    document = build_apache_stateful_set(finalizers=["test/holds"])
    await api.client.create(STATEFUL_SETS, document, api.namespace)
    await api.client.delete(STATEFUL_SETS, "cl-master", api.namespace)
    async with run_controller(api):
        await submit(api, build_cluster())

        async def services_exist() -> bool:
            return len(await api.list_names(SERVICES)) == 2

        await api.wait_until_true(services_exist)
        assert state_of(await get(api)) is None
        release = {"metadata": {"finalizers": None}}
        await api.client.patch(STATEFUL_SETS, "cl-master", api.namespace, release)
        await wait_for_state(api, State.RUNNING_HEALTHY)


async def test_edit_of_a_running_cluster_is_ignored_with_an_event(api: Api) -> None:
    async with run_controller(api):
        await submit(api, build_cluster())
        await wait_for_state(api, State.RUNNING_HEALTHY)
        edit = {"spec": {"clusterTolerations": {"instanceConfig": {"initWorkers": 3}}}}
        await api.client.patch(SPARK_CLUSTERS, "cl", api.namespace, edit)
        await api.wait_for_events("SpecChangeIgnored")
    workers = await api.client.get(STATEFUL_SETS, "cl-worker", api.namespace)
    assert workers["spec"]["replicas"] == 2
    assert list_states(await get(api)) == ["Submitted", "RunningHealthy"]


async def test_cluster_of_the_apache_operator_keeps_its_status_and_can_be_deleted(api: Api) -> None:
    submitted = await submit(api, build_cluster())
    time = submitted["metadata"]["creationTimestamp"]
    record = {"currentStateSummary": "RunningHealthy", "lastTransitionTime": time, "message": "theirs"}
    status = {
        "currentState": record,
        "stateTransitionHistory": {"0": {**record, "currentStateSummary": "Submitted"}, "1": record},
        "currentAttemptSummary": {"attemptInfo": {"id": 0, "restartCounter": 0}},
    }
    await api.client.patch(SPARK_CLUSTERS, "cl", api.namespace, {"status": status}, subresource="status")
    async with run_controller(api):
        held = await wait_until(api, lambda seen: "finalizers" in seen["metadata"])
        await api.client.delete(SPARK_CLUSTERS, "cl", api.namespace)
        await wait_for_deletion(api)
    assert held["status"] == status
    assert await list_names_of_children(api) == []


async def test_tolerated_invalid_number_of_workers_is_reported_in_an_event(api: Api) -> None:
    async with run_controller(api):
        await submit(api, build_cluster(init=9, minimum=1, maximum=4))
        await wait_for_state(api, State.RUNNING_HEALTHY)
        await api.wait_for_events("SpecWarning")
    (event,) = [event for event in await api.list_objects(EVENTS) if event["reason"] == "SpecWarning"]
    assert event["message"] == ("spec.clusterTolerations.instanceConfig.initWorkers: is 9, more than maxWorkers (4)")


async def test_cluster_with_an_invalid_status_is_reported_and_can_be_deleted(api: Api) -> None:
    await submit(api, build_cluster())
    foreign = {"currentState": {"lastTransitionTime": "at noon", "currentStateSummary": "Submitted"}}
    await api.client.patch(SPARK_CLUSTERS, "cl", api.namespace, {"status": foreign}, subresource="status")
    held = {"metadata": {"finalizers": [CLUSTER_FINALIZER]}}
    await api.client.patch(SPARK_CLUSTERS, "cl", api.namespace, held)
    async with run_controller(api):
        await api.wait_for_events("InvalidResource")
        await api.client.delete(SPARK_CLUSTERS, "cl", api.namespace)
        await wait_for_deletion(api)


async def remove_required_fields_of_clusters(api: Api) -> None:
    """Change the CRD so that the API accepts clusters that this controller cannot parse."""
    path = "/schema/openAPIV3Schema/properties/spec/required"
    patch = [{"op": "remove", "path": f"/spec/versions/{each}{path}"} for each in range(3)]
    name = "sparkclusters.spark.apache.org"
    await api.client.patch(CUSTOM_RESOURCE_DEFINITIONS, name, None, patch, patch_type=PatchType.JSON)


def build_invalid_cluster() -> JsonObject:
    document = build_cluster()
    del document["spec"]["runtimeVersions"]
    return document


async def test_invalid_cluster_fails_with_the_problem(api: Api) -> None:
    await remove_required_fields_of_clusters(api)
    async with run_controller(api):
        await submit(api, build_invalid_cluster())
        failed = await wait_for_state(api, State.RESOURCE_RELEASED)
        assert list_states(failed) == FAILED_STATES
        assert "spec.runtimeVersions: is required" in failed["status"]["currentState"]["message"]
        await api.client.delete(SPARK_CLUSTERS, "cl", api.namespace)
        await wait_for_deletion(api)


async def test_running_cluster_that_becomes_invalid_is_left_alone(api: Api) -> None:
    async with run_controller(api):
        await submit(api, build_cluster())
        await wait_for_state(api, State.RUNNING_HEALTHY)
    await remove_required_fields_of_clusters(api)
    without = {"spec": {"runtimeVersions": None}}
    await api.client.patch(SPARK_CLUSTERS, "cl", api.namespace, without)
    await api.client.patch(SPARK_CLUSTERS, "cl", api.namespace, {"status": None}, subresource="status")
    async with run_controller(api):
        await api.wait_for_events("InvalidResource")
        await api.client.create(SPARK_APPLICATIONS, build_application("other"), api.namespace)
        await api.wait_for_state(ApplicationState.DRIVER_REQUESTED, name="other")
    assert state_of(await get(api)) is None


async def test_failed_write_of_the_status_of_an_invalid_cluster_is_logged(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    await remove_required_fields_of_clusters(api)
    async with run_controller(api, build_refusing_client(api, 1, build_error(Invalid, 422))):
        await submit(api, build_invalid_cluster())

        async def is_logged() -> bool:
            return "could not write the status of the invalid" in caplog.text

        await api.wait_until_true(is_logged)
    assert state_of(await get(api)) is None


async def test_applications_run_without_the_crd_of_clusters(api: Api) -> None:
    await api.client.delete(CUSTOM_RESOURCE_DEFINITIONS, "sparkclusters.spark.apache.org", None)
    async with run_controller(api, scope=EveryNamespace()):
        await api.submit(build_application())
        await api.wait_until(lambda seen: seen is not None and state_of(seen) == "DriverRequested")


async def test_applications_run_without_permissions_on_clusters(api: Api) -> None:
    class WithoutClusters:
        def __getattr__(self, name: str) -> Any:
            return getattr(api.client, name)

        async def list(self, resource: ResourceType, *arguments: Any, **options: Any) -> Any:
            if resource == SPARK_CLUSTERS:
                raise build_error(Forbidden, 403)
            return await api.client.list(resource, *arguments, **options)

    client: Any = WithoutClusters()
    async with run_controller(api, client):
        await api.submit(build_application())
        await api.wait_until(lambda seen: seen is not None and state_of(seen) == "DriverRequested")


async def test_repeated_apply_keeps_fields_of_other_managers(api: Api) -> None:
    dying: Any = FaultyClient(api.client, ("patch",), 6, Killed(), for_good=True)
    await submit(api, build_cluster())
    with pytest.raises(Killed):
        async with run_controller(api, dying):
            await api.wait_until_true(lambda: has_struck(dying))
    addition = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "cl-master-svc", "annotations": {"of": "somebody"}},
    }
    await api.client.patch(
        SERVICES, "cl-master-svc", api.namespace, addition, patch_type=PatchType.APPLY, field_manager="somebody"
    )
    async with run_controller(api):
        await wait_for_state(api, State.RUNNING_HEALTHY)
    service = await api.client.get(SERVICES, "cl-master-svc", api.namespace)
    assert service["metadata"]["annotations"] == {"of": "somebody"}


async def has_struck(client: Any) -> bool:
    return bool(client.has_struck)
