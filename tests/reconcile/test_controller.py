import asyncio
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import APPLICATION_FINALIZER
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.core.verdict.verdict import judge_progress
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
from tests.reconcile.harness import (
    IMAGE,
    Api,
    FaultyClient,
    build_application,
    build_error,
    history_of,
    run_controller,
    state_of,
)

State = ApplicationState
UP_TO_RUNNING = ["Submitted", "DriverRequested", "DriverStarted", "DriverReady", "RunningHealthy"]
ALWAYS = {"restartPolicy": "Always", "maxRestartAttempts": 1, "restartBackoffMillis": 1}


async def test_successful_application_passes_all_states_and_releases_its_resources(api: Api) -> None:
    async with run_controller(api), api.play_drivers("succeeded"):
        await api.submit(build_application())
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
        await api.wait_for_deleted_children()
    assert history_of(ended) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
    assert api.drivers.keys() == {"pi-0-driver"}
    assert ended["metadata"]["finalizers"] == [APPLICATION_FINALIZER]


async def test_driver_owns_its_services_and_config_maps(api: Api) -> None:
    config_maps = [{"name": "extra", "data": {"a": "b"}}]
    async with run_controller(api), api.play_drivers("run"):
        submitted = await api.submit(build_application(configMapSpecs=config_maps))
        await api.wait_for_state(State.RUNNING_HEALTHY)
        (driver,) = await api.list_objects(PODS)
        children = [
            child for kind in (SERVICES, CONFIG_MAPS, NETWORK_POLICIES) for child in await api.list_objects(kind)
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


async def test_deletion_of_the_driver_does_not_wait_for_its_children(api: Api) -> None:
    async with run_controller(api), api.play_drivers("run"):
        await api.submit(build_application())
        await api.wait_for_state(State.RUNNING_HEALTHY)
        (service,) = await api.list_names(SERVICES)
        await api.client.patch(SERVICES, service, api.namespace, {"metadata": {"finalizers": ["test/held"]}})
        await api.set_pod("pi-0-driver", "succeeded")
        await api.wait_for_state(State.RESOURCE_RELEASED)
        assert await api.list_names(PODS) == []
        await api.client.patch(SERVICES, service, api.namespace, {"metadata": {"finalizers": None}})
        await api.wait_for_deleted_children()


@pytest.mark.parametrize(
    "modifiers",
    [
        pytest.param({"conf": {**IMAGE, "spark.app.id": "mine"}}, id="by the id"),
        pytest.param({"configMapSpecs": [{"name": "extra", "data": {"a": "b"}}]}, id="of a config map"),
    ],
)
async def test_driver_with_fixed_child_names_is_deleted_after_its_children(api: Api, modifiers: dict[str, Any]) -> None:
    """The next attempt or the next application, which can be another one, uses the same names."""
    held, free = {"metadata": {"finalizers": ["test/held"]}}, {"metadata": {"finalizers": None}}
    async with run_controller(api), api.play_drivers("run"):
        await api.submit(build_application(**modifiers))
        await api.wait_for_state(State.RUNNING_HEALTHY)
        (driver,) = await api.list_names(PODS)
        name = (await api.list_names(CONFIG_MAPS))[0]
        await api.client.patch(CONFIG_MAPS, name, api.namespace, held)
        await api.set_pod(driver, "succeeded")

        async def are_terminating() -> bool:
            return all("deletionTimestamp" in pod["metadata"] for pod in await api.list_objects(PODS))

        await api.wait_until_true(are_terminating)
        assert await api.list_names(PODS) == [driver]
        await api.client.patch(CONFIG_MAPS, name, api.namespace, free)
        await api.wait_for_state(State.RESOURCE_RELEASED)
        assert await api.list_names(CONFIG_MAPS) == []


async def test_status_of_a_failed_application_contains_the_status_of_the_driver(api: Api) -> None:
    async with run_controller(api), api.play_drivers("killed"):
        await api.submit(build_application())
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(ended) == [*UP_TO_RUNNING, "Failed", "ResourceReleased"]
    failed = ended["status"]["stateTransitionHistory"]["5"]
    (container,) = failed["lastObservedDriverStatus"]["containerStatuses"]
    assert container["state"]["terminated"]["reason"] == "OOMKilled"


async def test_each_attempt_has_its_own_driver(api: Api) -> None:
    async with run_controller(api), api.play_drivers("failed", "succeeded"):
        await api.submit(build_application(restart=ALWAYS))
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
        await api.wait_for_deleted_children()
    assert [len(uids) for uids in api.drivers.values()] == [1, 1]
    assert list(api.drivers) == ["pi-0-driver", "pi-1-driver"]
    assert history_of(ended)[5:7] == ["Failed", "ScheduledToRestart"]
    assert ended["status"]["currentAttemptSummary"]["attemptInfo"]["id"] == 1


async def test_attempts_with_the_same_object_names_run_one_after_the_other(api: Api) -> None:
    conf = {"spark.kubernetes.container.image": "spark", "spark.app.id": "mine"}
    config_maps = [{"name": "extra", "data": {"a": "b"}}]
    async with run_controller(api), api.play_drivers("failed", "succeeded"):
        await api.submit(build_application(conf=conf, restart=ALWAYS, configMapSpecs=config_maps))
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
        await api.wait_for_deleted_children()
    assert [len(uids) for uids in api.drivers.values()] == [2]
    assert history_of(ended)[-2:] == ["Succeeded", "ResourceReleased"]


async def test_application_ends_if_its_driver_does_not_start_in_time(api: Api) -> None:
    async with run_controller(api):
        await api.submit(build_application(timeouts={"driverStartTimeoutMillis": 100}))
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
        await api.wait_for_deleted_children()
    assert history_of(ended) == ["Submitted", "DriverRequested", "DriverStartTimedOut", "ResourceReleased"]


async def test_retained_resources_are_not_deleted(api: Api) -> None:
    async with run_controller(api), api.play_drivers("failed"):
        await api.submit(build_application(tolerations={"resourceRetainPolicy": "OnFailure"}))
        await api.wait_for_state(State.TERMINATED_WITHOUT_RELEASE_RESOURCES)
    assert await api.list_names(PODS) == ["pi-0-driver"]
    assert await api.list_names(SERVICES) == ["pi-0-driver-svc"]


async def test_deletion_of_an_application_deletes_its_objects(api: Api) -> None:
    async with run_controller(api), api.play_drivers("run"):
        await api.submit(build_application())
        await api.wait_for_state(State.RUNNING_HEALTHY)
        await api.delete()
        await api.wait_for_deletion()
        await api.wait_for_deleted_children()


async def test_application_deleted_without_a_controller_is_finalized_at_the_next_start(api: Api) -> None:
    async with api.play_drivers("run"):
        async with run_controller(api):
            await api.submit(build_application())
            await api.wait_for_state(State.RUNNING_HEALTHY)
        await api.delete()
        async with run_controller(api):
            await api.wait_for_deletion()
            await api.wait_for_deleted_children()


async def test_application_is_deleted_after_its_time_to_live(api: Api) -> None:
    async with run_controller(api), api.play_drivers("succeeded"):
        await api.submit(build_application(tolerations={"ttlAfterStopMillis": 1}))
        await api.wait_until(lambda seen: seen is not None)
        await api.wait_for_deletion()


async def test_deletion_of_the_driver_by_a_user_fails_the_application(api: Api) -> None:
    async with run_controller(api), api.play_drivers("run"):
        await api.submit(build_application())
        await api.wait_for_state(State.RUNNING_HEALTHY)
        await api.client.delete(PODS, "pi-0-driver", api.namespace, grace_seconds=0)
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(ended)[-2:] == ["Failed", "ResourceReleased"]


async def test_invalid_spec_is_a_scheduling_failure_that_names_the_field(api: Api) -> None:
    async with run_controller(api):
        await api.submit(build_application(conf={**IMAGE, "spark.driver.memory": "much"}))
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    assert "spark.driver.memory" in ended["status"]["stateTransitionHistory"]["1"]["message"]


async def test_rejected_object_is_a_scheduling_failure_and_nothing_remains(api: Api) -> None:
    refusing = FaultyClient(api.client, ("create",), 4, build_error(Forbidden, 403), after=False)
    async with run_controller(api, refusing):  # type: ignore[arg-type]
        await api.submit(build_application(configMapSpecs=[{"name": "extra", "data": {}}]))
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
        await api.wait_for_deleted_children()
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    assert "injected by a test" in ended["status"]["stateTransitionHistory"]["1"]["message"]


async def test_object_of_another_owner_is_a_scheduling_failure_and_stays_unchanged(api: Api) -> None:
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extra"}, "data": {"theirs": "1"}}
    await api.client.create(CONFIG_MAPS, theirs, api.namespace)
    async with run_controller(api):
        await api.submit(build_application(configMapSpecs=[{"name": "extra", "data": {"a": "b"}}]))
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    message = ended["status"]["stateTransitionHistory"]["1"]["message"]
    assert f"ConfigMap {api.namespace}/extra exists and does not belong to this application" in message
    verdict = judge_progress(replace(read_progress(ended), driver_read=True))
    assert (verdict.reason, verdict.retry_worthy) == (reasons.NAME_TAKEN, False)
    (config_map,) = await api.list_objects(CONFIG_MAPS)
    assert config_map["data"] == {"theirs": "1"}
    assert await api.list_names(PODS) == []


async def test_transitions_are_recorded_as_events(api: Api) -> None:
    async with run_controller(api), api.play_drivers("failed"):
        submitted = await api.submit(build_application())
        await api.wait_for_state(State.RESOURCE_RELEASED)
        expected = ["Failed", "RunningHealthy"]

        async def are_recorded() -> bool:
            return await api.list_event_reasons() == expected

        await api.wait_until_true(are_recorded)
    events = {event["reason"]: event for event in await api.list_objects(EVENTS)}
    assert events["Failed"]["type"] == "Warning"
    assert events["RunningHealthy"]["type"] == "Normal"
    assert events["Failed"]["involvedObject"]["uid"] == submitted["metadata"]["uid"]


async def test_events_of_the_last_transition_are_written_at_the_shutdown(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, recorded, may_write = EventRecorder._write, asyncio.Event(), asyncio.Event()

    async def write_later(recorder: EventRecorder, document: JsonObject) -> None:
        recorded.set()
        await may_write.wait()
        await write(recorder, document)

    monkeypatch.setattr(EventRecorder, "_write", write_later)
    async with run_controller(api) as controller:
        await api.submit(build_application(suspend=True))
        await recorded.wait()
        controller.cancel()
        await asyncio.sleep(0)
        may_write.set()
    assert await api.list_event_reasons() == ["SuspendHeld"]


async def test_tolerated_invalid_number_is_reported_in_an_event(api: Api) -> None:
    async with run_controller(api), api.play_drivers("succeeded"):
        restarts = {"restartConfig": {"maxRestartAttempts": -3}}
        await api.submit(build_application(applicationTolerations=restarts))
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
        await api.wait_for_events("SpecWarning")
    assert ended["status"]["outcome"] == "Succeeded"
    (event,) = [event for event in await api.list_objects(EVENTS) if event["reason"] == "SpecWarning"]
    path = "spec.applicationTolerations.restartConfig.maxRestartAttempts"
    assert event["message"] == f"{path}: must not be negative, but is -3"
    assert event["type"] == "Warning"


async def test_no_request_reads_an_object_that_a_watch_has_shown(kubeconfig: JsonObject, api: Api) -> None:
    requests = []

    def note(call: Call, status: int | None, seconds: float) -> None:
        if call.resource != EVENTS:
            requests.append((call.verb, call.rbac_resource))

    async with (
        await open_client(ClusterAccess(kubeconfig_document=kubeconfig), observer=note) as client,
        run_controller(api, client),
        api.play_drivers("succeeded"),
    ):
        requests.clear()
        await api.submit(build_application())
        await api.wait_for_state(State.RESOURCE_RELEASED)
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
        status_patch,  # ResourceReleased
    ]


async def test_completed_application_is_not_written_again(api: Api) -> None:
    async with run_controller(api), api.play_drivers("succeeded"):
        await api.submit(build_application())
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    async with run_controller(api), api.play_drivers("succeeded"):
        # A write to the first application would occur during the lifecycle of a second one.
        await api.submit(build_application("other"))
        await api.wait_for_state(State.RUNNING_HEALTHY, name="other")
        later = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert later["metadata"]["resourceVersion"] == ended["metadata"]["resourceVersion"]


async def test_all_or_selected_namespaces_are_watched(api: Api) -> None:
    other = f"{api.namespace}-other"
    for scope in (EveryNamespace(), SelectedNamespaces(f"for={api.namespace}")):
        async with run_controller(api, scope=scope):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}}
            if isinstance(scope, EveryNamespace):
                await api.client.create(NAMESPACES, body, None)
            else:
                labels = {"metadata": {"labels": {"for": api.namespace}}}
                await api.client.patch(NAMESPACES, other, None, labels)
            there = Api(api.client, other)
            name = type(scope).__name__.lower()
            await there.submit(build_application(name))
            await there.wait_for_state(State.DRIVER_REQUESTED, name=name)


async def test_application_in_a_deselected_namespace_is_left_alone(api: Api) -> None:
    label = {"metadata": {"labels": {"for": api.namespace}}}
    await api.client.patch(NAMESPACES, api.namespace, None, label)
    other = Api(api.client, f"{api.namespace}-other")
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other.namespace}}
    await api.client.create(NAMESPACES, body, None)
    await api.client.patch(NAMESPACES, other.namespace, None, label)
    scope = SelectedNamespaces(f"for={api.namespace}")
    async with run_controller(api, scope=scope):
        await api.submit(build_application())
        await api.wait_for_state(State.DRIVER_REQUESTED)
        await api.client.patch(NAMESPACES, api.namespace, None, {"metadata": {"labels": {"for": None}}})
        await api.set_pod("pi-0-driver", "ready")
        await other.submit(build_application())
        await other.wait_for_state(State.DRIVER_REQUESTED)
        application = await api.wait_until(lambda seen: seen is not None)
    assert application is not None
    # It is unknown whether the controller saw the last change of the pod. It saw no later change.
    assert state_of(application) in {"DriverRequested", "DriverReady", "RunningHealthy"}


async def test_controller_exits_with_an_error_without_permission_to_list(api: Api) -> None:
    refusing = FaultyClient(api.client, ("list",), 1, build_error(Forbidden, 403), after=False, for_good=True)
    with pytest.raises(Forbidden):
        async with run_controller(api, refusing) as task:  # type: ignore[arg-type]
            await asyncio.wait([task])


async def test_concurrent_edits_of_other_clients_are_kept(api: Api) -> None:
    async with run_controller(api), api.play_drivers("succeeded"):
        await api.submit(build_application())
        for number in range(20):
            await api.patch({"metadata": {"annotations": {"number": str(number)}}})
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert ended["metadata"]["annotations"]["number"] == "19"
    assert history_of(ended) == [*UP_TO_RUNNING, "Succeeded", "ResourceReleased"]
    assert [len(uids) for uids in api.drivers.values()] == [1]


async def test_nothing_is_created_before_the_finalizer_is_added(api: Api) -> None:
    refusing = FaultyClient(api.client, ("patch",), 1, build_error(Forbidden, 403), after=False, for_good=True)
    async with run_controller(api, refusing):  # type: ignore[arg-type]
        await api.submit(build_application())

        async def has_failed() -> bool:
            return refusing.has_struck

        await api.wait_until_true(has_failed)
    assert await api.list_names(PODS) == []
    (application,) = await api.list_objects(SPARK_APPLICATIONS)
    assert "finalizers" not in application["metadata"]


def list_owners(document: JsonObject) -> list[tuple[str, str, str]]:
    references = document["metadata"]["ownerReferences"]
    return [(reference["kind"], reference["name"], reference["uid"]) for reference in references]
