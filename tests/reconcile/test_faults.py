"""An application completes although its controller is killed, or its API fails, at any request."""

import asyncio
import io
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Conflict, KubeError, ServerError, TooManyRequests, Unreachable
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS
from tests.reconcile.harness import (
    Api,
    FaultyClient,
    Killed,
    build_application,
    build_error,
    history_of,
    run_controller,
)

State = ApplicationState
WRITES = ("create", "patch", "delete")
CALLS = (*WRITES, "get", "list")
RUN = ["Submitted", "DriverRequested", "DriverStarted", "DriverReady", "RunningHealthy"]
AGAIN = ["ScheduledToRestart", *RUN[1:]]


@dataclass(frozen=True)
class Story:
    """The expected lifecycle of an application.

    Attributes:
        document: The submitted document.
        endings: The ends of its drivers.
        history: The expected history; None if the application is deleted.
        attempts: The expected number of drivers.
        is_suspended: Whether the application is suspended when it is running, and resumed then.
    """

    document: JsonObject
    endings: tuple[str, ...]
    history: list[str] | None
    attempts: int
    is_suspended: bool = False

    async def run(self, api: Api) -> None:
        """Wait for the end of the application, or delete or suspend it when it is running."""
        if self.is_suspended:
            await api.wait_for_state(State.RUNNING_HEALTHY)
            await api.patch({"spec": {"suspend": True}})
            await api.wait_for_state(State.SUSPENDED)
            await api.patch({"spec": {"suspend": False}})
        if self.history is not None:
            await api.wait_for_state(State.RESOURCE_RELEASED)
            return
        await api.wait_for_state(State.RUNNING_HEALTHY)
        await api.delete()
        await api.wait_for_deletion()


CONFIG_MAPS = [{"name": "extra", "data": {"a": "b"}}]
RESTARTS = {"restartPolicy": "Always", "maxRestartAttempts": 1, "restartBackoffMillis": 1}
STORIES = {
    "success": Story(
        build_application(configMapSpecs=CONFIG_MAPS), ("succeeded",), [*RUN, "Succeeded", "ResourceReleased"], 1
    ),
    "failure": Story(build_application(), ("failed",), [*RUN, "Failed", "ResourceReleased"], 1),
    "restart": Story(
        build_application(restart=RESTARTS, configMapSpecs=CONFIG_MAPS),
        ("failed", "succeeded"),
        [*RUN, "Failed", *AGAIN, "Succeeded", "ResourceReleased"],
        2,
    ),
    "deletion": Story(build_application(), ("run",), None, 1),
    "suspension": Story(
        build_application(configMapSpecs=CONFIG_MAPS),
        ("run", "succeeded"),
        [*RUN, "Suspended", *RUN, "Succeeded", "ResourceReleased"],
        2,
        is_suspended=True,
    ),
}
stories = pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)


async def check(api: Api, story: Story) -> None:
    await api.wait_for_deleted_children()
    # Each attempt has one driver: all pods had different names.
    assert [len(uids) for uids in api.drivers.values()] == [1] * story.attempts
    if story.history is not None:
        (ended,) = await api.list_objects(SPARK_APPLICATIONS)
        assert history_of(ended) == story.history
        await api.client.patch(SPARK_APPLICATIONS, "pi", api.namespace, {"metadata": {"finalizers": None}})
        await api.delete()
        await api.wait_for_deletion()


async def run_beside(story: Coroutine[None, None, None], controller: "asyncio.Future[None]") -> None:
    """Run a story to its end; if it fails, show why: the controller's failure, or where every task waits."""
    played = asyncio.ensure_future(story)
    await asyncio.wait({played, controller}, return_when=asyncio.FIRST_COMPLETED)
    if not played.done():
        played.cancel()
        controller.result()
        raise AssertionError("the controller has ended before the application")
    if (error := played.exception()) is not None:
        waiting = io.StringIO()
        for task in asyncio.all_tasks():
            task.print_stack(file=waiting)
        error.add_note(waiting.getvalue())
        raise error


async def play_once(
    client: KubeClient,
    namespace: str,
    story: Story,
    faulty: FaultyClient,
    control: Callable[[Api, FaultyClient], Awaitable[None]],
) -> bool:
    """Run the application once; return whether the fault has occurred."""
    api = Api(client, namespace)
    async with api.play_drivers(*story.endings):
        await api.submit(story.document)
        controller = asyncio.ensure_future(control(api, faulty))
        try:
            await run_beside(story.run(api), controller)
        finally:
            controller.cancel()
            await asyncio.wait([controller])
        if not controller.cancelled():
            controller.result()
        await check(api, story)
    return faulty.has_struck


async def restart_after_kill(api: Api, faulty: FaultyClient) -> None:
    try:
        async with run_controller(api, faulty) as task:  # type: ignore[arg-type]
            await asyncio.wait([task])
    except Killed:
        pass
    async with run_controller(api) as task:
        await asyncio.wait([task])


async def run_until_cancelled(api: Api, faulty: FaultyClient) -> None:
    async with run_controller(api, faulty) as task:  # type: ignore[arg-type]
        await asyncio.wait([task])


@stories
async def test_next_controller_continues_after_a_kill_at_any_write(api: Api, story: Story) -> None:
    number = 1
    while await play_once(
        api.client,
        api.namespace,
        story,
        FaultyClient(api.client, WRITES, number, Killed(), for_good=True),
        restart_after_kill,
    ):
        number += 1
    assert number > 5  # the controller was killed once after every write


@pytest.mark.parametrize(
    ("error", "after"),
    [
        pytest.param(build_error(Unreachable, None), False, id="not reached"),
        pytest.param(build_error(Unreachable, None), True, id="answer lost"),
        pytest.param(build_error(ServerError, 500), False, id="500"),
        pytest.param(build_error(TooManyRequests, 429), False, id="429"),
        pytest.param(build_error(Conflict, 409), False, id="409"),
    ],
)
async def test_application_completes_after_a_temporary_error_of_any_request(
    api: Api, error: KubeError, after: bool
) -> None:
    story, number = STORIES["success"], 4  # the first three requests are the lists that the start needs
    while await play_once(
        api.client,
        api.namespace,
        story,
        FaultyClient(api.client, CALLS, number, error, after=after),
        run_until_cancelled,
    ):
        number += 1
    assert number > 10


@pytest.mark.parametrize(("requested", "pause"), [(7, "7.0 s"), (3600, "40.0 s")], ids=["short", "too long"])
@pytest.mark.parametrize(("kind", "status"), [(TooManyRequests, 429), (ServerError, 503)])
async def test_reconcile_is_repeated_after_the_pause_that_the_server_requests(
    api: Api, caplog: pytest.LogCaptureFixture, kind: type[KubeError], status: int, requested: float, pause: str
) -> None:
    error = build_error(kind, status)
    error.retry_after = requested
    faulty = FaultyClient(api.client, ("create",), 1, error, after=False)
    async with run_controller(api, faulty):  # type: ignore[arg-type]
        await api.submit(build_application())

        async def is_logged() -> bool:
            return any("reconcile failed" in record.getMessage() for record in caplog.records)

        await api.wait_until_true(is_logged)
    (message,) = [record.getMessage() for record in caplog.records if "reconcile failed" in record.getMessage()]
    assert message.endswith(f"retrying in {pause}")


async def test_repeated_creation_uses_the_existing_objects(api: Api) -> None:
    story = STORIES["success"]
    faulty = FaultyClient(api.client, ("create",), 2, build_error(Unreachable, None), after=True)
    async with run_controller(api, faulty):  # type: ignore[arg-type]
        await api.submit(story.document)
        await api.wait_for_state(State.DRIVER_REQUESTED)
        (driver,) = await api.list_objects(PODS)
    assert driver["metadata"]["name"] == "pi-0-driver"


@pytest.mark.parametrize(
    "edit",
    [{"spark.kubernetes.driver.pod.name": "another"}, {"spark.driver.memory": "much"}],
    ids=["another name", "unbuildable"],
)
async def test_deletion_of_an_edited_application_deletes_its_earlier_driver(api: Api, edit: dict[str, str]) -> None:
    async with run_controller(api):
        await api.submit(build_application())
        await api.wait_for_state(State.DRIVER_REQUESTED)
    # The same state as after a kill before the write of the status, and a later edit.
    await api.patch({"status": None}, subresource="status")
    await api.patch({"spec": {"sparkConf": edit}})
    await api.delete()
    async with run_controller(api):
        await api.wait_for_deletion()
        await api.wait_for_deleted_children()


async def test_creation_after_an_edit_of_the_pod_name_replaces_the_driver(api: Api) -> None:
    async with run_controller(api):
        submitted = await api.submit(build_application())
        await api.wait_for_state(State.DRIVER_REQUESTED)
    # The same state as after a kill before the write of the status, and a later edit.
    await api.patch({"status": None}, subresource="status")
    await api.patch({"spec": {"sparkConf": {"spark.kubernetes.driver.pod.name": "another"}}})
    async with run_controller(api):
        await api.wait_for_state(State.DRIVER_REQUESTED)
        (driver,) = await api.list_objects(PODS)
    assert driver["metadata"]["name"] == "another"
    assert [owner["uid"] for owner in driver["metadata"]["ownerReferences"]] == [submitted["metadata"]["uid"]]


async def test_driver_that_stays_terminating_fails_the_application(api: Api) -> None:
    document = build_application(timeouts={"forceTerminationGracePeriodMillis": 100})
    async with run_controller(api), api.play_drivers("run"):
        await api.submit(document)
        await api.wait_for_state(State.RUNNING_HEALTHY)
        # On an unreachable node, a deleted pod stays.
        await hold_driver(api, ["example.com/lost-node"])
        await api.client.delete(PODS, "pi-0-driver", api.namespace, grace_seconds=0)
        failed = await api.wait_for_state(State.FAILED)
        assert failed["status"]["currentState"]["reason"] == reasons.DRIVER_INTERRUPTED
        await hold_driver(api, [])
        await api.wait_for_state(State.RESOURCE_RELEASED)
        await api.wait_for_deleted_children()


async def hold_driver(api: Api, finalizers: list[str]) -> None:
    await api.client.patch(PODS, "pi-0-driver", api.namespace, {"metadata": {"finalizers": finalizers}})
