import asyncio
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import APPLICATION_FINALIZER
from airflow_provider_spark_operator.core.states.states import ApplicationState
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
from airflow_provider_spark_operator.reconcile.objects.scope import EveryNamespace, SelectedNamespaces
from airflow_provider_spark_operator.reconcile.reports.events import EventRecorder
from tests.reconcile.stage import (
    IMAGE,
    FaultyClient,
    Stage,
    build_application,
    build_error,
    history_of,
    play_drivers,
    run_controller,
    state_of,
)

State = ApplicationState
UP_TO_RUNNING = ["Submitted", "DriverRequested", "DriverStarted", "DriverReady", "RunningHealthy"]
ALWAYS = {"restartPolicy": "Always", "maxRestartAttempts": 1, "restartBackoffMillis": 1}


async def test_successful_application_passes_all_states_and_releases_its_resources(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "succeeded"):
        await stage.submit(build_application())
        ended = await stage.wait_for_state(State.RESOURCE_RELEASED)
        await stage.wait_for_deleted_children()
    assert history_of(ended) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
    assert stage.drivers.keys() == {"pi-0-driver"}
    assert ended["metadata"]["finalizers"] == [APPLICATION_FINALIZER]


async def test_driver_owns_its_services_and_config_maps(stage: Stage) -> None:
    config_maps = [{"name": "extra", "data": {"a": "b"}}]
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "run"):
        submitted = await stage.submit(build_application(configMapSpecs=config_maps))
        await stage.wait_for_state(State.RUNNING_HEALTHY)
        (driver,) = await stage.list_objects(PODS)
        children = [
            child for kind in (SERVICES, CONFIG_MAPS, NETWORK_POLICIES) for child in await stage.list_objects(kind)
        ]
    assert list_owners(driver) == [("SparkApplication", "pi", submitted["metadata"]["uid"])]
    assert driver["metadata"]["labels"]["spark.operator/spark-app-name"] == "pi"
    assert {child["metadata"]["name"] for child in children} == {
        "extra",
        "pi-0-driver-svc",
        "pi-0-spark-drv-conf-map",
        "pi-0-policy",
    }
    uid = driver["metadata"]["uid"]
    assert [list_owners(child) for child in children] == [[("Pod", "pi-0-driver", uid)]] * 4


async def test_deletion_of_the_driver_does_not_wait_for_its_children(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "run"):
        await stage.submit(build_application())
        await stage.wait_for_state(State.RUNNING_HEALTHY)
        (service,) = await stage.list_names(SERVICES)
        await stage.client.patch(SERVICES, service, stage.namespace, {"metadata": {"finalizers": ["test/held"]}})
        await stage.set_pod("pi-0-driver", "succeeded")
        await stage.wait_for_state(State.RESOURCE_RELEASED)
        assert await stage.list_names(PODS) == []
        await stage.client.patch(SERVICES, service, stage.namespace, {"metadata": {"finalizers": None}})
        await stage.wait_for_deleted_children()


@pytest.mark.parametrize(
    "modifiers",
    [
        pytest.param({"conf": {**IMAGE, "spark.app.id": "mine"}}, id="by the id"),
        pytest.param({"configMapSpecs": [{"name": "extra", "data": {"a": "b"}}]}, id="of a config map"),
    ],
)
async def test_driver_with_fixed_child_names_is_deleted_after_its_children(
    stage: Stage, modifiers: dict[str, Any]
) -> None:
    """The next attempt or the next application, which can be another one, uses the same names."""
    held, free = {"metadata": {"finalizers": ["test/held"]}}, {"metadata": {"finalizers": None}}
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "run"):
        await stage.submit(build_application(**modifiers))
        await stage.wait_for_state(State.RUNNING_HEALTHY)
        (driver,) = await stage.list_names(PODS)
        name = (await stage.list_names(CONFIG_MAPS))[0]
        await stage.client.patch(CONFIG_MAPS, name, stage.namespace, held)
        await stage.set_pod(driver, "succeeded")

        async def are_terminating() -> bool:
            return all("deletionTimestamp" in pod["metadata"] for pod in await stage.list_objects(PODS))

        await stage.wait_until_true(are_terminating)
        assert await stage.list_names(PODS) == [driver]
        await stage.client.patch(CONFIG_MAPS, name, stage.namespace, free)
        await stage.wait_for_state(State.RESOURCE_RELEASED)
        assert await stage.list_names(CONFIG_MAPS) == []


async def test_status_of_a_failed_application_contains_the_status_of_the_driver(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "killed"):
        await stage.submit(build_application())
        ended = await stage.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(ended) == [*UP_TO_RUNNING, "Failed", "ResourceReleased"]
    failed = ended["status"]["stateTransitionHistory"]["5"]
    (container,) = failed["lastObservedDriverStatus"]["containerStatuses"]
    assert container["state"]["terminated"]["reason"] == "OOMKilled"


async def test_each_attempt_has_its_own_driver(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "failed", "succeeded"):
        await stage.submit(build_application(restart=ALWAYS))
        ended = await stage.wait_for_state(State.RESOURCE_RELEASED)
        await stage.wait_for_deleted_children()
    assert [len(uids) for uids in stage.drivers.values()] == [1, 1]
    assert list(stage.drivers) == ["pi-0-driver", "pi-1-driver"]
    assert history_of(ended)[5:7] == ["Failed", "ScheduledToRestart"]
    assert ended["status"]["currentAttemptSummary"]["attemptInfo"]["id"] == 1


async def test_attempts_with_the_same_object_names_run_one_after_the_other(stage: Stage) -> None:
    conf = {"spark.kubernetes.container.image": "spark", "spark.app.id": "mine"}
    config_maps = [{"name": "extra", "data": {"a": "b"}}]
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "failed", "succeeded"):
        await stage.submit(build_application(conf=conf, restart=ALWAYS, configMapSpecs=config_maps))
        ended = await stage.wait_for_state(State.RESOURCE_RELEASED)
        await stage.wait_for_deleted_children()
    assert [len(uids) for uids in stage.drivers.values()] == [2]
    assert history_of(ended)[-2:] == ["Succeeded", "ResourceReleased"]


async def test_application_ends_if_its_driver_does_not_start_in_time(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace):
        await stage.submit(build_application(timeouts={"driverStartTimeoutMillis": 100}))
        ended = await stage.wait_for_state(State.RESOURCE_RELEASED)
        await stage.wait_for_deleted_children()
    assert history_of(ended) == ["Submitted", "DriverRequested", "DriverStartTimedOut", "ResourceReleased"]


async def test_retained_resources_are_not_deleted(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "failed"):
        await stage.submit(build_application(tolerations={"resourceRetainPolicy": "OnFailure"}))
        await stage.wait_for_state(State.TERMINATED_WITHOUT_RELEASE_RESOURCES)
    assert await stage.list_names(PODS) == ["pi-0-driver"]
    assert await stage.list_names(SERVICES) == ["pi-0-driver-svc"]


async def test_deletion_of_an_application_deletes_its_objects(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "run"):
        await stage.submit(build_application())
        await stage.wait_for_state(State.RUNNING_HEALTHY)
        await stage.delete()
        await stage.wait_until(lambda seen: seen is None)
        await stage.wait_for_deleted_children()


async def test_application_deleted_without_a_controller_is_finalized_at_the_next_start(stage: Stage) -> None:
    async with play_drivers(stage, "run"):
        async with run_controller(stage.client, stage.namespace):
            await stage.submit(build_application())
            await stage.wait_for_state(State.RUNNING_HEALTHY)
        await stage.delete()
        async with run_controller(stage.client, stage.namespace):
            await stage.wait_until(lambda seen: seen is None)
            await stage.wait_for_deleted_children()


async def test_application_is_deleted_after_its_time_to_live(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "succeeded"):
        await stage.submit(build_application(tolerations={"ttlAfterStopMillis": 1}))
        await stage.wait_until(lambda seen: seen is not None)
        await stage.wait_until(lambda seen: seen is None)


async def test_deletion_of_the_driver_by_a_user_fails_the_application(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "run"):
        await stage.submit(build_application())
        await stage.wait_for_state(State.RUNNING_HEALTHY)
        await stage.client.delete(PODS, "pi-0-driver", stage.namespace, grace_seconds=0)
        ended = await stage.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(ended)[-2:] == ["Failed", "ResourceReleased"]


async def test_invalid_spec_is_a_scheduling_failure_that_names_the_field(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace):
        await stage.submit(build_application(conf={**IMAGE, "spark.driver.memory": "much"}))
        ended = await stage.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    assert "spark.driver.memory" in ended["status"]["stateTransitionHistory"]["1"]["message"]


async def test_rejected_object_is_a_scheduling_failure_and_nothing_remains(stage: Stage) -> None:
    refusing = FaultyClient(stage.client, ("create",), 4, build_error(Forbidden, 403), after=False)
    async with run_controller(refusing, stage.namespace):  # type: ignore[arg-type]
        await stage.submit(build_application(configMapSpecs=[{"name": "extra", "data": {}}]))
        ended = await stage.wait_for_state(State.RESOURCE_RELEASED)
        await stage.wait_for_deleted_children()
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    assert "injected by a test" in ended["status"]["stateTransitionHistory"]["1"]["message"]


async def test_object_of_another_owner_is_a_scheduling_failure_and_stays_unchanged(stage: Stage) -> None:
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extra"}, "data": {"theirs": "1"}}
    await stage.client.create(CONFIG_MAPS, theirs, stage.namespace)
    async with run_controller(stage.client, stage.namespace):
        await stage.submit(build_application(configMapSpecs=[{"name": "extra", "data": {"a": "b"}}]))
        ended = await stage.wait_for_state(State.RESOURCE_RELEASED)
    message = ended["status"]["stateTransitionHistory"]["1"]["message"]
    assert f"ConfigMap {stage.namespace}/extra exists and does not belong to this application" in message
    (config_map,) = await stage.list_objects(CONFIG_MAPS)
    assert config_map["data"] == {"theirs": "1"}
    assert await stage.list_names(PODS) == []


async def test_transitions_are_recorded_as_events(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "failed"):
        submitted = await stage.submit(build_application())
        await stage.wait_for_state(State.RESOURCE_RELEASED)
        expected = ["DriverRequested", "Failed", "ResourceReleased", "RunningHealthy"]

        async def are_recorded() -> bool:
            return await stage.list_event_reasons() == expected

        await stage.wait_until_true(are_recorded)
    events = {event["reason"]: event for event in await stage.list_objects(EVENTS)}
    assert events["Failed"]["type"] == "Warning"
    assert events["RunningHealthy"]["type"] == "Normal"
    assert events["Failed"]["involvedObject"]["uid"] == submitted["metadata"]["uid"]


async def test_events_of_the_last_transition_are_written_at_the_shutdown(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, may_write = EventRecorder._write, asyncio.Event()

    async def write_later(recorder: EventRecorder, document: JsonObject) -> None:
        await may_write.wait()
        await write(recorder, document)

    monkeypatch.setattr(EventRecorder, "_write", write_later)
    async with run_controller(stage.client, stage.namespace) as controller:
        await stage.submit(build_application())
        await stage.wait_for_state(State.DRIVER_REQUESTED)
        controller.cancel()
        await asyncio.sleep(0)
        may_write.set()
    assert await stage.list_event_reasons() == ["DriverRequested"]


async def test_tolerated_invalid_number_is_reported_in_an_event(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "succeeded"):
        restarts = {"restartConfig": {"maxRestartAttempts": -3}}
        await stage.submit(build_application(applicationTolerations=restarts))
        ended = await stage.wait_for_state(State.RESOURCE_RELEASED)

        async def is_recorded() -> bool:
            return "SpecWarning" in await stage.list_event_reasons()

        await stage.wait_until_true(is_recorded)
    assert ended["status"]["outcome"] == "Succeeded"
    (event,) = [event for event in await stage.list_objects(EVENTS) if event["reason"] == "SpecWarning"]
    path = "spec.applicationTolerations.restartConfig.maxRestartAttempts"
    assert event["message"] == f"{path}: must not be negative, but is -3"
    assert event["type"] == "Warning"


async def test_no_request_reads_an_object_that_a_watch_has_shown(kubeconfig: JsonObject, stage: Stage) -> None:
    requests = []

    def note(call: Call, status: int | None, seconds: float) -> None:
        if call.resource != EVENTS:
            requests.append((call.verb, call.rbac_resource))

    async with (
        await open_client(ClusterAccess(kubeconfig_document=kubeconfig), observer=note) as client,
        run_controller(client, stage.namespace),
        play_drivers(stage, "succeeded"),
    ):
        requests.clear()
        await stage.submit(build_application())
        await stage.wait_for_state(State.RESOURCE_RELEASED)
    status_patch = ("patch", "sparkapplications/status.spark.apache.org")
    assert requests == [
        ("patch", "sparkapplications.spark.apache.org"),  # finalizer
        ("create", "pods"),
        ("create", "services"),
        ("create", "networkpolicies.networking.k8s.io"),
        ("create", "configmaps"),
        status_patch,  # DriverRequested
        status_patch,  # RunningHealthy
        status_patch,  # Succeeded
        ("delete", "pods"),
        ("get", "pods"),  # only a read by name proves that the driver does not exist
        status_patch,  # ResourceReleased
    ]


async def test_completed_application_is_not_written_again(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "succeeded"):
        await stage.submit(build_application())
        ended = await stage.wait_for_state(State.RESOURCE_RELEASED)
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "succeeded"):
        # A write to the first application would occur during the lifecycle of a second one.
        await stage.submit(build_application("other"))
        await stage.wait_for_state(State.RUNNING_HEALTHY, name="other")
        later = await stage.wait_for_state(State.RESOURCE_RELEASED)
    assert later["metadata"]["resourceVersion"] == ended["metadata"]["resourceVersion"]


async def test_all_or_selected_namespaces_are_watched(stage: Stage) -> None:
    other = f"{stage.namespace}-other"
    for scope in (EveryNamespace(), SelectedNamespaces(f"for={stage.namespace}")):
        async with run_controller(stage.client, stage.namespace, scope=scope):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}}
            if isinstance(scope, EveryNamespace):
                await stage.client.create(NAMESPACES, body, None)
            else:
                labels = {"metadata": {"labels": {"for": stage.namespace}}}
                await stage.client.patch(NAMESPACES, other, None, labels)
            there = Stage(stage.client, other)
            name = type(scope).__name__.lower()
            await there.submit(build_application(name))
            await there.wait_for_state(State.DRIVER_REQUESTED, name=name)


async def test_application_in_a_deselected_namespace_is_left_alone(stage: Stage) -> None:
    label = {"metadata": {"labels": {"for": stage.namespace}}}
    await stage.client.patch(NAMESPACES, stage.namespace, None, label)
    other = Stage(stage.client, f"{stage.namespace}-other")
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other.namespace}}
    await stage.client.create(NAMESPACES, body, None)
    await stage.client.patch(NAMESPACES, other.namespace, None, label)
    scope = SelectedNamespaces(f"for={stage.namespace}")
    async with run_controller(stage.client, stage.namespace, scope=scope):
        await stage.submit(build_application())
        await stage.wait_for_state(State.DRIVER_REQUESTED)
        await stage.client.patch(NAMESPACES, stage.namespace, None, {"metadata": {"labels": {"for": None}}})
        await stage.set_pod("pi-0-driver", "ready")
        await other.submit(build_application())
        await other.wait_for_state(State.DRIVER_REQUESTED)
        application = await stage.wait_until(lambda seen: seen is not None)
    assert application is not None
    # It is unknown whether the controller saw the last change of the pod. It saw no later change.
    assert state_of(application) in {"DriverRequested", "DriverReady", "RunningHealthy"}


async def test_controller_exits_with_an_error_without_permission_to_list(stage: Stage) -> None:
    refusing = FaultyClient(stage.client, ("list",), 1, build_error(Forbidden, 403), after=False, for_good=True)
    with pytest.raises(Forbidden):
        async with run_controller(refusing, stage.namespace) as task:  # type: ignore[arg-type]
            await asyncio.wait([task])


async def test_concurrent_edits_of_other_clients_are_kept(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "succeeded"):
        await stage.submit(build_application())
        for number in range(20):
            await stage.patch({"metadata": {"annotations": {"number": str(number)}}})
        ended = await stage.wait_for_state(State.RESOURCE_RELEASED)
    assert ended["metadata"]["annotations"]["number"] == "19"
    assert history_of(ended) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
    assert [len(uids) for uids in stage.drivers.values()] == [1]


async def test_nothing_is_created_before_the_finalizer_is_added(stage: Stage) -> None:
    refusing = FaultyClient(stage.client, ("patch",), 1, build_error(Forbidden, 403), after=False, for_good=True)
    async with run_controller(refusing, stage.namespace):  # type: ignore[arg-type]
        await stage.submit(build_application())

        async def has_failed() -> bool:
            return refusing.has_struck

        await stage.wait_until_true(has_failed)
    assert await stage.list_names(PODS) == []
    (application,) = await stage.list_objects(SPARK_APPLICATIONS)
    assert "finalizers" not in application["metadata"]


def list_owners(document: JsonObject) -> list[tuple[str, str, str]]:
    references = document["metadata"]["ownerReferences"]
    return [(reference["kind"], reference["name"], reference["uid"]) for reference in references]
