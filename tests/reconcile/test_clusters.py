"""SparkClusters and the controller, on the local API server."""

from collections.abc import Callable
from typing import Any

import pytest

from airflow_provider_spark_operator.core.models.cluster_status import ClusterState
from airflow_provider_spark_operator.core.names import CLUSTER_FINALIZER
from airflow_provider_spark_operator.core.states import ApplicationState
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
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.scope import EveryNamespace
from tests.core.cluster_resources.clusters import build_cluster_document
from tests.reconcile.stage import FaultyClient, Killed, Stage, application, controlling, fault, state_of

State = ClusterState
CHILDREN = (SERVICES, STATEFUL_SETS, NETWORK_POLICIES, HORIZONTAL_POD_AUTOSCALERS, POD_DISRUPTION_BUDGETS)
ALL_NAMES = [
    "cl-master-svc",
    "cl-worker-svc",
    "cl-master",
    "cl-worker",
    "cl-worker",
    "cl-worker-hpa",
    "cl-worker-pdb",
]


def cluster(name: str = "cl", **modifiers: Any) -> JsonObject:
    """A cluster as a user submits it, by default with everything that a cluster can have."""
    document = build_cluster_document(name=name, **{"init": 2, "maximum": 4, **modifiers})
    document["metadata"] = {"name": name}
    return document


async def submit(stage: Stage, document: JsonObject) -> JsonObject:
    return await stage.client.create(SPARK_CLUSTERS, document, stage.namespace)


async def get(stage: Stage, name: str = "cl") -> JsonObject:
    return await stage.client.get(SPARK_CLUSTERS, name, stage.namespace)


async def until(stage: Stage, condition: Callable[[JsonObject], bool], name: str = "cl") -> JsonObject:
    async def holds() -> bool:
        return condition(await get(stage, name))

    await stage.until_true(holds)
    return await get(stage, name)


async def until_state(stage: Stage, state: ClusterState, name: str = "cl") -> JsonObject:
    return await until(stage, lambda seen: state_of(seen) == state, name)


async def until_gone(stage: Stage, name: str = "cl") -> None:
    async def gone() -> bool:
        try:
            await get(stage, name)
        except NotFound:
            return True
        return False

    await stage.until_true(gone)


async def until_told(stage: Stage, reason: str) -> None:
    async def told() -> bool:
        return reason in await stage.event_reasons()

    await stage.until_true(told)


async def children(stage: Stage) -> list[JsonObject]:
    return [child for kind in CHILDREN for child in await stage.objects(kind)]


async def names_of_children(stage: Stage) -> list[str]:
    return [child["metadata"]["name"] for child in await children(stage)]


def states(document: JsonObject) -> list[str]:
    history = document["status"]["stateTransitionHistory"]
    return [history[key]["currentStateSummary"] for key in sorted(history, key=int)]


def refusing(stage: Stage, number: int, error: KubeError, *, for_good: bool = False) -> Any:
    """A client whose patch of that number fails; the first one sets the finalizer."""
    return FaultyClient(stage.client, ("patch",), number, error, after=False, for_good=for_good)


async def test_a_cluster_gets_all_it_consists_of_and_owns_it(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace):
        submitted = await submit(stage, cluster())
        running = await until_state(stage, State.RUNNING_HEALTHY)
        found = await children(stage)
    assert states(running) == ["Submitted", "RunningHealthy"]
    assert running["metadata"]["finalizers"] == [CLUSTER_FINALIZER]
    assert sorted(child["metadata"]["name"] for child in found) == sorted(ALL_NAMES)
    for child in found:
        (owner,) = child["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("SparkCluster", submitted["metadata"]["uid"])


async def test_a_deleted_cluster_goes_with_all_it_has(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace):
        await submit(stage, cluster())
        await until_state(stage, State.RUNNING_HEALTHY)
        await stage.client.delete(SPARK_CLUSTERS, "cl", stage.namespace)
        await until_gone(stage)
    assert await names_of_children(stage) == []


async def test_two_clusters_in_a_namespace_select_different_pods(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace):
        for name in ("one", "two"):
            await submit(stage, cluster(name))
        for name in ("one", "two"):
            await until_state(stage, State.RUNNING_HEALTHY, name)
        sets = await stage.objects(STATEFUL_SETS)
    selectors = [tuple(sorted(each["spec"]["selector"]["matchLabels"].items())) for each in sets]
    assert len(set(selectors)) == len(sets) == 4
    for each, selector in zip(sets, selectors, strict=True):
        selected = [
            other["metadata"]["name"]
            for other in sets
            if set(selector) <= set(other["spec"]["template"]["metadata"]["labels"].items())
        ]
        assert selected == [each["metadata"]["name"]]


async def test_a_refused_object_ends_the_cluster_once_with_the_apis_words(stage: Stage) -> None:
    # The finalizer, five objects, then the autoscaler.
    error = Invalid(422, "Invalid", "spec.minReplicas: must be greater than 0", "patch", "horizontalpodautoscalers")
    async with controlling(refusing(stage, 7, error), stage.namespace):
        await submit(stage, cluster(minimum=0))
        failed = await until_state(stage, State.FAILED)
        await stage.client.patch(SPARK_CLUSTERS, "cl", stage.namespace, {"metadata": {"labels": {"seen": "again"}}})
        await submit(stage, cluster("other"))
        await until_state(stage, State.RUNNING_HEALTHY, "other")
        later = await get(stage)
    assert states(failed) == states(later) == ["Submitted", "SchedulingFailure", "Failed"]
    for key in ("1", "2"):
        assert "spec.minReplicas: must be greater than 0" in failed["status"]["stateTransitionHistory"][key]["message"]


async def test_a_failed_cluster_can_be_deleted(stage: Stage) -> None:
    async with controlling(refusing(stage, 2, fault(Forbidden, 403)), stage.namespace):
        await submit(stage, cluster())
        await until_state(stage, State.FAILED)
        await stage.client.delete(SPARK_CLUSTERS, "cl", stage.namespace)
        await until_gone(stage)


async def test_a_template_that_cannot_be_built_upon_is_named(stage: Stage) -> None:
    master = {"statefulSetSpec": {"template": {"spec": {"containers": {"name": "master"}}}}}
    async with controlling(stage.client, stage.namespace):
        await submit(stage, cluster(master=master))
        failed = await until_state(stage, State.FAILED)
    assert (
        "spec.masterSpec.statefulSetSpec.template.spec.containers: must be a list"
        in (failed["status"]["currentState"]["message"])
    )
    assert await names_of_children(stage) == []


@pytest.mark.parametrize(
    "error",
    [
        fault(ServerError, 503),
        fault(TooManyRequests, 429),
        fault(Unreachable, None),
        fault(Conflict, 409),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("number", range(1, 10))
async def test_a_call_that_fails_for_now_is_made_again(stage: Stage, error: KubeError, number: int) -> None:
    async with controlling(refusing(stage, number, error), stage.namespace):
        await submit(stage, cluster())
        running = await until_state(stage, State.RUNNING_HEALTHY)
    assert states(running) == ["Submitted", "RunningHealthy"]
    assert sorted(await names_of_children(stage)) == sorted(ALL_NAMES)


@pytest.mark.parametrize("number", range(1, 10))
async def test_another_controller_completes_what_a_killed_one_began(stage: Stage, number: int) -> None:
    dying: Any = FaultyClient(stage.client, ("patch",), number, Killed(), for_good=True)

    async def struck() -> bool:
        return bool(dying.has_struck)

    await submit(stage, cluster())
    with pytest.raises(Killed):
        async with controlling(dying, stage.namespace):
            await stage.until_true(struck)
    async with controlling(stage.client, stage.namespace):
        running = await until_state(stage, State.RUNNING_HEALTHY)
    assert states(running) == ["Submitted", "RunningHealthy"]
    assert sorted(await names_of_children(stage)) == sorted(ALL_NAMES)


async def test_an_object_of_somebody_else_is_not_taken_over(stage: Stage) -> None:
    foreign = {"metadata": {"name": "cl-worker-svc"}, "spec": {"ports": [{"port": 1}], "selector": {"mine": "yes"}}}
    await stage.client.create(SERVICES, {"apiVersion": "v1", "kind": "Service", **foreign}, stage.namespace)
    async with controlling(stage.client, stage.namespace):
        await submit(stage, cluster())
        failed = await until_state(stage, State.FAILED)
    message = failed["status"]["currentState"]["message"]
    assert f"Service {stage.namespace}/cl-worker-svc exists and does not belong to this cluster" in message
    kept = await stage.client.get(SERVICES, "cl-worker-svc", stage.namespace)
    assert kept["spec"]["selector"] == {"mine": "yes"}


def stateful_set_of_the_apache_operator(**metadata: Any) -> JsonObject:
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


async def test_a_stateful_set_that_exists_keeps_what_cannot_be_changed(stage: Stage) -> None:
    submitted = await submit(stage, cluster())
    uid = submitted["metadata"]["uid"]
    owner = {"apiVersion": "spark.apache.org/v1", "kind": "SparkCluster", "name": "cl", "uid": uid}
    document = stateful_set_of_the_apache_operator(ownerReferences=[owner])
    await stage.client.create(STATEFUL_SETS, document, stage.namespace)
    async with controlling(stage.client, stage.namespace):
        await until_state(stage, State.RUNNING_HEALTHY)
    master = await stage.client.get(STATEFUL_SETS, "cl-master", stage.namespace)
    assert master["spec"]["selector"] == {"matchLabels": {"spark-role": "master"}}
    assert master["spec"]["podManagementPolicy"] == "OrderedReady"


async def test_what_a_cluster_has_left_is_the_next_ones_of_its_name(stage: Stage) -> None:
    await stage.client.create(STATEFUL_SETS, stateful_set_of_the_apache_operator(), stage.namespace)
    async with controlling(stage.client, stage.namespace):
        submitted = await submit(stage, cluster())
        await until_state(stage, State.RUNNING_HEALTHY)
    master = await stage.client.get(STATEFUL_SETS, "cl-master", stage.namespace)
    assert [owner["uid"] for owner in master["metadata"]["ownerReferences"]] == [submitted["metadata"]["uid"]]


async def test_a_cluster_waits_for_the_end_of_what_bears_its_names(stage: Stage) -> None:
    document = stateful_set_of_the_apache_operator(finalizers=["test/holds"])
    await stage.client.create(STATEFUL_SETS, document, stage.namespace)
    await stage.client.delete(STATEFUL_SETS, "cl-master", stage.namespace)
    async with controlling(stage.client, stage.namespace):
        await submit(stage, cluster())

        async def services_are_there() -> bool:
            return len(await stage.names(SERVICES)) == 2

        await stage.until_true(services_are_there)
        assert state_of(await get(stage)) is None
        release = {"metadata": {"finalizers": None}}
        await stage.client.patch(STATEFUL_SETS, "cl-master", stage.namespace, release)
        await until_state(stage, State.RUNNING_HEALTHY)


async def test_an_edit_does_not_reach_a_running_cluster_and_that_is_said(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace):
        await submit(stage, cluster())
        await until_state(stage, State.RUNNING_HEALTHY)
        edit = {"spec": {"clusterTolerations": {"instanceConfig": {"initWorkers": 3}}}}
        await stage.client.patch(SPARK_CLUSTERS, "cl", stage.namespace, edit)
        await until_told(stage, "SpecChangeIgnored")
    workers = await stage.client.get(STATEFUL_SETS, "cl-worker", stage.namespace)
    assert workers["spec"]["replicas"] == 2
    assert states(await get(stage)) == ["Submitted", "RunningHealthy"]


async def test_a_cluster_that_the_apache_operator_drove_goes_on(stage: Stage) -> None:
    submitted = await submit(stage, cluster())
    time = submitted["metadata"]["creationTimestamp"]
    record = {"currentStateSummary": "RunningHealthy", "lastTransitionTime": time, "message": "theirs"}
    status = {
        "currentState": record,
        "stateTransitionHistory": {"0": {**record, "currentStateSummary": "Submitted"}, "1": record},
        "currentAttemptSummary": {"attemptInfo": {"id": 0, "restartCounter": 0}},
    }
    await stage.client.patch(SPARK_CLUSTERS, "cl", stage.namespace, {"status": status}, subresource="status")
    async with controlling(stage.client, stage.namespace):
        held = await until(stage, lambda seen: "finalizers" in seen["metadata"])
        await stage.client.delete(SPARK_CLUSTERS, "cl", stage.namespace)
        await until_gone(stage)
    assert held["status"] == status
    assert await names_of_children(stage) == []


async def test_a_cluster_that_runs_with_an_absurd_number_gets_an_event_that_names_it(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace):
        await submit(stage, cluster(init=9, minimum=1, maximum=4))
        await until_state(stage, State.RUNNING_HEALTHY)
        await until_told(stage, "SpecWarning")
    (event,) = [event for event in await stage.objects(EVENTS) if event["reason"] == "SpecWarning"]
    assert event["message"] == ("spec.clusterTolerations.instanceConfig.initWorkers: is 9, more than maxWorkers (4)")


async def test_a_cluster_that_cannot_be_read_is_told_and_can_be_deleted(stage: Stage) -> None:
    await submit(stage, cluster())
    foreign = {"currentState": {"lastTransitionTime": "at noon", "currentStateSummary": "Submitted"}}
    await stage.client.patch(SPARK_CLUSTERS, "cl", stage.namespace, {"status": foreign}, subresource="status")
    held = {"metadata": {"finalizers": [CLUSTER_FINALIZER]}}
    await stage.client.patch(SPARK_CLUSTERS, "cl", stage.namespace, held)
    async with controlling(stage.client, stage.namespace):
        await until_told(stage, "InvalidResource")
        await stage.client.delete(SPARK_CLUSTERS, "cl", stage.namespace)
        await until_gone(stage)


async def require_nothing_of_clusters(stage: Stage) -> None:
    """Make the API accept clusters that this controller cannot read."""
    path = "/schema/openAPIV3Schema/properties/spec/required"
    patch = [{"op": "remove", "path": f"/spec/versions/{each}{path}"} for each in range(3)]
    name = "sparkclusters.spark.apache.org"
    await stage.client.patch(CUSTOM_RESOURCE_DEFINITIONS, name, None, patch, patch_type=PatchType.JSON)


def unreadable() -> JsonObject:
    document = cluster()
    del document["spec"]["runtimeVersions"]
    return document


async def test_who_waits_for_a_cluster_that_cannot_be_read_learns_why(stage: Stage) -> None:
    await require_nothing_of_clusters(stage)
    async with controlling(stage.client, stage.namespace):
        await submit(stage, unreadable())
        failed = await until_state(stage, State.FAILED)
        assert states(failed) == ["Submitted", "SchedulingFailure", "Failed"]
        assert "spec.runtimeVersions: is required" in failed["status"]["currentState"]["message"]
        await stage.client.delete(SPARK_CLUSTERS, "cl", stage.namespace)
        await until_gone(stage)


async def test_a_cluster_that_cannot_be_read_any_more_but_runs_is_left_alone(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace):
        await submit(stage, cluster())
        await until_state(stage, State.RUNNING_HEALTHY)
    await require_nothing_of_clusters(stage)
    without = {"spec": {"runtimeVersions": None}}
    await stage.client.patch(SPARK_CLUSTERS, "cl", stage.namespace, without)
    await stage.client.patch(SPARK_CLUSTERS, "cl", stage.namespace, {"status": None}, subresource="status")
    async with controlling(stage.client, stage.namespace):
        await until_told(stage, "InvalidResource")
        await stage.client.create(SPARK_APPLICATIONS, application("other"), stage.namespace)
        await stage.until_state(ApplicationState.DRIVER_REQUESTED, name="other")
    assert state_of(await get(stage)) is None


async def test_a_status_that_cannot_be_written_either_stops_nothing(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await require_nothing_of_clusters(stage)
    async with controlling(refusing(stage, 1, fault(Invalid, 422)), stage.namespace):
        await submit(stage, unreadable())

        async def given_up() -> bool:
            return "failed to write the status of the invalid" in caplog.text

        await stage.until_true(given_up)
    assert state_of(await get(stage)) is None


async def test_applications_run_where_clusters_are_not_defined(stage: Stage) -> None:
    await stage.client.delete(CUSTOM_RESOURCE_DEFINITIONS, "sparkclusters.spark.apache.org", None)
    async with controlling(stage.client, stage.namespace, scope=EveryNamespace()):
        await stage.submit(application())
        await stage.until(lambda seen: seen is not None and state_of(seen) == "DriverRequested")


async def test_applications_run_where_nothing_is_granted_on_clusters(stage: Stage) -> None:
    class WithoutClusters:
        def __getattr__(self, name: str) -> Any:
            return getattr(stage.client, name)

        async def list(self, resource: ResourceType, *arguments: Any, **options: Any) -> Any:
            if resource == SPARK_CLUSTERS:
                raise fault(Forbidden, 403)
            return await stage.client.list(resource, *arguments, **options)

    client: Any = WithoutClusters()
    async with controlling(client, stage.namespace):
        await stage.submit(application())
        await stage.until(lambda seen: seen is not None and state_of(seen) == "DriverRequested")


async def test_fields_of_others_survive_a_repeated_application(stage: Stage) -> None:
    dying: Any = FaultyClient(stage.client, ("patch",), 6, Killed(), for_good=True)
    await submit(stage, cluster())
    with pytest.raises(Killed):
        async with controlling(dying, stage.namespace):
            await stage.until_true(lambda: _struck(dying))
    addition = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "cl-master-svc", "annotations": {"of": "somebody"}},
    }
    await stage.client.patch(
        SERVICES, "cl-master-svc", stage.namespace, addition, patch_type=PatchType.APPLY, field_manager="somebody"
    )
    async with controlling(stage.client, stage.namespace):
        await until_state(stage, State.RUNNING_HEALTHY)
    service = await stage.client.get(SERVICES, "cl-master-svc", stage.namespace)
    assert service["metadata"]["annotations"] == {"of": "somebody"}


async def _struck(client: Any) -> bool:
    return bool(client.has_struck)
