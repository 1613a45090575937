import asyncio
from typing import Any

import pytest

from airflow_provider_spark_operator.core.names import APPLICATION_FINALIZER
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.resources import (
    CONFIG_MAPS,
    EVENTS,
    NAMESPACES,
    NETWORK_POLICIES,
    PODS,
    SERVICES,
    SPARK_APPLICATIONS,
)
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.scope import EveryNamespace, SelectedNamespaces
from tests.reconcile.stage import (
    IMAGE,
    FaultyClient,
    Stage,
    application,
    controlling,
    fault,
    history_of,
    playing,
    state_of,
)

State = ApplicationState
UP_TO_RUNNING = ["Submitted", "DriverRequested", "DriverStarted", "DriverReady", "RunningHealthy"]
ALWAYS = {"restartPolicy": "Always", "maxRestartAttempts": 1, "restartBackoffMillis": 1}


async def test_a_successful_application_goes_through_all_states_and_leaves_nothing(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace), playing(stage, "succeeded"):
        await stage.submit(application())
        ended = await stage.until_state(State.RESOURCE_RELEASED)
        await stage.until_no_child_is_left()
    assert history_of(ended) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
    assert stage.drivers.keys() == {"pi-0-driver"}
    assert ended["metadata"]["finalizers"] == [APPLICATION_FINALIZER]


async def test_the_driver_brings_its_children_and_owns_them(stage: Stage) -> None:
    config_maps = [{"name": "extra", "data": {"a": "b"}}]
    async with controlling(stage.client, stage.namespace), playing(stage, "run"):
        submitted = await stage.submit(application(configMapSpecs=config_maps))
        await stage.until_state(State.RUNNING_HEALTHY)
        (driver,) = await stage.objects(PODS)
        children = [child for kind in (SERVICES, CONFIG_MAPS, NETWORK_POLICIES) for child in await stage.objects(kind)]
    assert owners(driver) == [("SparkApplication", "pi", submitted["metadata"]["uid"])]
    assert driver["metadata"]["labels"]["spark.operator/spark-app-name"] == "pi"
    assert {child["metadata"]["name"] for child in children} == {
        "extra",
        "pi-0-driver-svc",
        "pi-0-spark-drv-conf-map",
        "pi-0-policy",
    }
    uid = driver["metadata"]["uid"]
    assert [owners(child) for child in children] == [[("Pod", "pi-0-driver", uid)]] * 4


async def test_a_driver_does_not_wait_for_what_it_owns(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace), playing(stage, "run"):
        await stage.submit(application())
        await stage.until_state(State.RUNNING_HEALTHY)
        (service,) = await stage.names(SERVICES)
        await stage.client.patch(SERVICES, service, stage.namespace, {"metadata": {"finalizers": ["test/held"]}})
        await stage.set_pod("pi-0-driver", "succeeded")
        await stage.until_state(State.RESOURCE_RELEASED)
        assert await stage.names(PODS) == []
        await stage.client.patch(SERVICES, service, stage.namespace, {"metadata": {"finalizers": None}})
        await stage.until_no_child_is_left()


@pytest.mark.parametrize(
    "modifiers",
    [
        pytest.param({"conf": {**IMAGE, "spark.app.id": "mine"}}, id="by the id"),
        pytest.param({"configMapSpecs": [{"name": "extra", "data": {"a": "b"}}]}, id="of a config map"),
    ],
)
async def test_names_that_the_user_has_chosen_are_free_before_anything_follows(
    stage: Stage, modifiers: dict[str, Any]
) -> None:
    """Of the next attempt, or of the next application, which may be another one."""
    held, free = {"metadata": {"finalizers": ["test/held"]}}, {"metadata": {"finalizers": None}}
    async with controlling(stage.client, stage.namespace), playing(stage, "run"):
        await stage.submit(application(**modifiers))
        await stage.until_state(State.RUNNING_HEALTHY)
        (driver,) = await stage.names(PODS)
        name = (await stage.names(CONFIG_MAPS))[0]
        await stage.client.patch(CONFIG_MAPS, name, stage.namespace, held)
        await stage.set_pod(driver, "succeeded")

        async def going_or_gone() -> bool:
            return all("deletionTimestamp" in pod["metadata"] for pod in await stage.objects(PODS))

        await stage.until_true(going_or_gone)
        assert await stage.names(PODS) == [driver]
        await stage.client.patch(CONFIG_MAPS, name, stage.namespace, free)
        await stage.until_state(State.RESOURCE_RELEASED)
        assert await stage.names(CONFIG_MAPS) == []


async def test_a_failed_application_keeps_what_the_driver_said(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace), playing(stage, "killed"):
        await stage.submit(application())
        ended = await stage.until_state(State.RESOURCE_RELEASED)
    assert history_of(ended) == [*UP_TO_RUNNING, "Failed", "ResourceReleased"]
    failed = ended["status"]["stateTransitionHistory"]["5"]
    (container,) = failed["lastObservedDriverStatus"]["containerStatuses"]
    assert container["state"]["terminated"]["reason"] == "OOMKilled"


async def test_a_restarted_application_gets_a_driver_for_each_attempt(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace), playing(stage, "failed", "succeeded"):
        await stage.submit(application(restart=ALWAYS))
        ended = await stage.until_state(State.RESOURCE_RELEASED)
        await stage.until_no_child_is_left()
    assert [len(uids) for uids in stage.drivers.values()] == [1, 1]
    assert list(stage.drivers) == ["pi-0-driver", "pi-1-driver"]
    assert history_of(ended)[5:7] == ["Failed", "ScheduledToRestart"]
    assert ended["status"]["currentAttemptSummary"]["attemptInfo"]["id"] == 1


async def test_attempts_that_share_their_names_do_not_meet(stage: Stage) -> None:
    conf = {"spark.kubernetes.container.image": "spark", "spark.app.id": "mine"}
    config_maps = [{"name": "extra", "data": {"a": "b"}}]
    async with controlling(stage.client, stage.namespace), playing(stage, "failed", "succeeded"):
        await stage.submit(application(conf=conf, restart=ALWAYS, configMapSpecs=config_maps))
        ended = await stage.until_state(State.RESOURCE_RELEASED)
        await stage.until_no_child_is_left()
    assert [len(uids) for uids in stage.drivers.values()] == [2]
    assert history_of(ended)[-2:] == ["Succeeded", "ResourceReleased"]


async def test_a_driver_that_does_not_start_in_time_ends_the_application(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace):
        await stage.submit(application(timeouts={"driverStartTimeoutMillis": 100}))
        ended = await stage.until_state(State.RESOURCE_RELEASED)
        await stage.until_no_child_is_left()
    assert history_of(ended) == ["Submitted", "DriverRequested", "DriverStartTimedOut", "ResourceReleased"]


async def test_retained_resources_stay(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace), playing(stage, "failed"):
        await stage.submit(application(tolerations={"resourceRetainPolicy": "OnFailure"}))
        await stage.until_state(State.TERMINATED_WITHOUT_RELEASE_RESOURCES)
    assert await stage.names(PODS) == ["pi-0-driver"]
    assert await stage.names(SERVICES) == ["pi-0-driver-svc"]


async def test_a_deleted_application_goes_with_all_it_has(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace), playing(stage, "run"):
        await stage.submit(application())
        await stage.until_state(State.RUNNING_HEALTHY)
        await stage.delete()
        await stage.until(lambda seen: seen is None)
        await stage.until_no_child_is_left()


async def test_an_application_deleted_while_nobody_looked_is_let_go(stage: Stage) -> None:
    async with playing(stage, "run"):
        async with controlling(stage.client, stage.namespace):
            await stage.submit(application())
            await stage.until_state(State.RUNNING_HEALTHY)
        await stage.delete()
        async with controlling(stage.client, stage.namespace):
            await stage.until(lambda seen: seen is None)
            await stage.until_no_child_is_left()


async def test_an_application_that_has_outlived_itself_is_deleted(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace), playing(stage, "succeeded"):
        await stage.submit(application(tolerations={"ttlAfterStopMillis": 1}))
        await stage.until(lambda seen: seen is not None)
        await stage.until(lambda seen: seen is None)


async def test_a_driver_deleted_behind_our_back_is_a_failure(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace), playing(stage, "run"):
        await stage.submit(application())
        await stage.until_state(State.RUNNING_HEALTHY)
        await stage.client.delete(PODS, "pi-0-driver", stage.namespace, grace_seconds=0)
        ended = await stage.until_state(State.RESOURCE_RELEASED)
    assert history_of(ended)[-2:] == ["Failed", "ResourceReleased"]


async def test_what_cannot_be_built_is_a_scheduling_failure_that_names_the_field(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace):
        await stage.submit(application(conf={**IMAGE, "spark.driver.memory": "much"}))
        ended = await stage.until_state(State.RESOURCE_RELEASED)
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    assert "spark.driver.memory" in ended["status"]["stateTransitionHistory"]["1"]["message"]


async def test_what_the_api_refuses_is_a_scheduling_failure_that_leaves_nothing(stage: Stage) -> None:
    refusing = FaultyClient(stage.client, ("create",), 4, fault(Forbidden, 403), after=False)
    async with controlling(refusing, stage.namespace):  # type: ignore[arg-type]
        await stage.submit(application(configMapSpecs=[{"name": "extra", "data": {}}]))
        ended = await stage.until_state(State.RESOURCE_RELEASED)
        await stage.until_no_child_is_left()
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    assert "injected by a test" in ended["status"]["stateTransitionHistory"]["1"]["message"]


async def test_a_foreign_object_under_a_needed_name_is_left_alone(stage: Stage) -> None:
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extra"}, "data": {"theirs": "1"}}
    await stage.client.create(CONFIG_MAPS, theirs, stage.namespace)
    async with controlling(stage.client, stage.namespace):
        await stage.submit(application(configMapSpecs=[{"name": "extra", "data": {"a": "b"}}]))
        ended = await stage.until_state(State.RESOURCE_RELEASED)
    message = ended["status"]["stateTransitionHistory"]["1"]["message"]
    assert f"ConfigMap {stage.namespace}/extra exists and does not belong to this application" in message
    (kept,) = await stage.objects(CONFIG_MAPS)
    assert kept["data"] == {"theirs": "1"}
    assert await stage.names(PODS) == []


async def test_transitions_are_told_as_events(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace), playing(stage, "failed"):
        submitted = await stage.submit(application())
        await stage.until_state(State.RESOURCE_RELEASED)
        expected = ["DriverFailed", "DriverRequested", "ExecutorsReady", "ResourcesReleased"]

        async def all_told() -> bool:
            return await stage.event_reasons() == expected

        await stage.until_true(all_told)
    events = {event["reason"]: event for event in await stage.objects(EVENTS)}
    assert events["DriverFailed"]["type"] == "Warning"
    assert events["ExecutorsReady"]["type"] == "Normal"
    assert events["DriverFailed"]["involvedObject"]["uid"] == submitted["metadata"]["uid"]


async def test_an_application_that_runs_in_spite_of_an_absurd_number_gets_an_event_that_names_it(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace), playing(stage, "succeeded"):
        restarts = {"restartConfig": {"maxRestartAttempts": -3}}
        await stage.submit(application(applicationTolerations=restarts))
        ended = await stage.until_state(State.RESOURCE_RELEASED)

        async def told() -> bool:
            return "SpecWarning" in await stage.event_reasons()

        await stage.until_true(told)
    assert ended["status"]["outcome"] == "Succeeded"
    (event,) = [event for event in await stage.objects(EVENTS) if event["reason"] == "SpecWarning"]
    path = "spec.applicationTolerations.restartConfig.maxRestartAttempts"
    assert event["message"] == f"{path}: must not be negative, but is -3"
    assert event["type"] == "Warning"


async def test_no_request_asks_for_what_the_watches_have_shown(kubeconfig: JsonObject, stage: Stage) -> None:
    requests = []

    def note(call: Call, status: int | None, seconds: float) -> None:
        if call.resource != EVENTS:
            requests.append((call.verb, call.rbac_resource))

    async with (
        await open_client(ClusterAccess(kubeconfig_document=kubeconfig), observer=note) as client,
        controlling(client, stage.namespace),
        playing(stage, "succeeded"),
    ):
        requests.clear()
        await stage.submit(application())
        await stage.until_state(State.RESOURCE_RELEASED)
    told = ("patch", "sparkapplications/status.spark.apache.org")
    assert requests == [
        ("patch", "sparkapplications.spark.apache.org"),  # the finalizer
        ("create", "pods"),
        ("create", "services"),
        ("create", "networkpolicies.networking.k8s.io"),
        ("create", "configmaps"),
        told,  # DriverRequested
        told,  # RunningHealthy
        told,  # Succeeded
        ("delete", "pods"),
        told,  # ResourceReleased
    ]


async def test_an_application_is_not_touched_again_when_it_has_ended(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace), playing(stage, "succeeded"):
        await stage.submit(application())
        ended = await stage.until_state(State.RESOURCE_RELEASED)
    async with controlling(stage.client, stage.namespace), playing(stage, "succeeded"):
        # A second application's whole life is time enough for anything to happen to the first.
        await stage.submit(application("other"))
        await stage.until_state(State.RUNNING_HEALTHY, name="other")
        later = await stage.until_state(State.RESOURCE_RELEASED)
    assert later["metadata"]["resourceVersion"] == ended["metadata"]["resourceVersion"]


async def test_all_namespaces_or_those_selected_can_be_watched(stage: Stage) -> None:
    other = f"{stage.namespace}-other"
    for scope in (EveryNamespace(), SelectedNamespaces(f"for={stage.namespace}")):
        async with controlling(stage.client, stage.namespace, scope=scope):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}}
            if isinstance(scope, EveryNamespace):
                await stage.client.create(NAMESPACES, body, None)
            else:
                labels = {"metadata": {"labels": {"for": stage.namespace}}}
                await stage.client.patch(NAMESPACES, other, None, labels)
            there = Stage(stage.client, other)
            name = type(scope).__name__.lower()
            await there.submit(application(name))
            await there.until_state(State.DRIVER_REQUESTED, name=name)


async def test_a_namespace_that_is_no_longer_selected_is_left_alone(stage: Stage) -> None:
    label = {"metadata": {"labels": {"for": stage.namespace}}}
    await stage.client.patch(NAMESPACES, stage.namespace, None, label)
    other = Stage(stage.client, f"{stage.namespace}-other")
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other.namespace}}
    await stage.client.create(NAMESPACES, body, None)
    await stage.client.patch(NAMESPACES, other.namespace, None, label)
    scope = SelectedNamespaces(f"for={stage.namespace}")
    async with controlling(stage.client, stage.namespace, scope=scope):
        await stage.submit(application())
        await stage.until_state(State.DRIVER_REQUESTED)
        await stage.client.patch(NAMESPACES, stage.namespace, None, {"metadata": {"labels": {"for": None}}})
        await stage.set_pod("pi-0-driver", "ready")
        await other.submit(application())
        await other.until_state(State.DRIVER_REQUESTED)
        left = await stage.until(lambda seen: seen is not None)
    assert left is not None
    # Whether the last change of its pod was still seen is a matter of chance; afterwards nothing is.
    assert state_of(left) in {"DriverRequested", "DriverReady", "RunningHealthy"}


async def test_a_controller_that_may_not_list_says_so_and_ends(stage: Stage) -> None:
    refusing = FaultyClient(stage.client, ("list",), 1, fault(Forbidden, 403), after=False, for_good=True)
    with pytest.raises(Forbidden):
        async with controlling(refusing, stage.namespace) as task:  # type: ignore[arg-type]
            await asyncio.wait([task])


async def test_edits_of_others_during_a_look_are_kept(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace), playing(stage, "succeeded"):
        await stage.submit(application())
        for number in range(20):
            await stage.patch({"metadata": {"annotations": {"number": str(number)}}})
        ended = await stage.until_state(State.RESOURCE_RELEASED)
    assert ended["metadata"]["annotations"]["number"] == "19"
    assert history_of(ended) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
    assert [len(uids) for uids in stage.drivers.values()] == [1]


async def test_without_a_finalizer_nothing_is_created(stage: Stage) -> None:
    refusing = FaultyClient(stage.client, ("patch",), 1, fault(Forbidden, 403), after=False, for_good=True)
    async with controlling(refusing, stage.namespace):  # type: ignore[arg-type]
        await stage.submit(application())

        async def tried() -> bool:
            return refusing.has_struck

        await stage.until_true(tried)
    assert await stage.names(PODS) == []
    (left,) = await stage.objects(SPARK_APPLICATIONS)
    assert "finalizers" not in left["metadata"]


def owners(document: JsonObject) -> list[tuple[str, str, str]]:
    references = document["metadata"]["ownerReferences"]
    return [(reference["kind"], reference["name"], reference["uid"]) for reference in references]
