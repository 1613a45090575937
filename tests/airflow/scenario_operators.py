"""The operators that can manage the applications of a scripted cluster: a recorded Apache operator, or the controller.

Both play the same scenarios. The tests play the scheduler, the kubelet and Spark on the pods of the cluster. The
actions of the operator are either the recorded writes of the Apache operator, or those of the controller.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Protocol

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import (
    DRIVER_CONTAINER,
    LABEL_APPLICATION_NAME,
    LABEL_ROLE,
    ROLE_DRIVER,
    ROLE_EXECUTOR,
)
from airflow_provider_spark_operator.core.lifecycle.decision import Settings
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import SERVICE_ACCOUNTS
from airflow_provider_spark_operator.reconcile.controller import Controller
from airflow_provider_spark_operator.reconcile.objects.scope import EveryNamespace
from airflow_provider_spark_operator.reconcile.settings.settings import ControllerSettings
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.testing.scripting import Log, build_running_container
from local_kubernetes.api.kinds.kinds import PODS
from local_kubernetes.api.kinds.status import ApiStatusError
from tests.cluster import NAMESPACE, Cluster
from tests.core.scenario import read_scenario
from tests.core.simulated_kubernetes import build_pod_status, complete_story

_DEADLINE = 60.0
_RESTART = "ScheduledToRestart"
# The values of the recordings.
_SETTINGS = ControllerSettings(
    decisions=Settings(
        reconcile_interval=timedelta(seconds=1),
        missing_driver_grace_period=timedelta(seconds=3),
        missing_driver_requeue_interval=timedelta(seconds=1),
    )
)


class ScenarioOperator(Protocol):
    """The operator in a scenario of one application."""

    async def wait_for_driver(self) -> str:
        """Wait for the driver pod of the next attempt, and return its name."""
        ...

    async def wait_for_states(self, words: Sequence[str]) -> None:
        """Wait until the application has one of these states, after the state of the previous call."""
        ...

    async def wait_for_end(self) -> None:
        """Wait until the operator does nothing more."""
        ...


class RecordedOperator:
    """The Apache operator: its states with their messages, in the writes of the recording."""

    def __init__(self, cluster: Cluster, application: Application, scenario: JsonObject) -> None:
        self._cluster = cluster
        self._application = application
        (self._course,) = scenario["recorded"]["applications"].values()
        self._trims = scenario.get("profile") != "notrim"
        self._writes = iter(self._course["writes"])
        self._entries: list[JsonObject] = []
        self._pods: list[str] = []

    async def wait_for_driver(self) -> str:
        document = self._application.document
        name = f"{self._application.name}-{len(self._pods)}-driver"
        owner = {"apiVersion": document["apiVersion"], "kind": "SparkApplication", "name": self._application.name}
        labels = {LABEL_APPLICATION_NAME: self._application.name, LABEL_ROLE: ROLE_DRIVER}
        create_pod(self._cluster, name, labels, owner | {"uid": self._application.uid}, DRIVER_CONTAINER)
        self._pods.append(name)
        return name

    async def wait_for_states(self, words: Sequence[str]) -> None:
        while (state := next(self._writes, None)) is not None:
            self._write(state)
            if state in words:
                return
        raise AssertionError(f"the recording ends without {' or '.join(words)}")

    async def wait_for_end(self) -> None:
        for state in self._writes:
            self._write(state)
        if not self._course["exists"]:
            self._cluster.store.delete(self._cluster.kind, self._application.namespace, self._application.name)

    def _write(self, last: str) -> None:
        if last in (_RESTART, "ResourceReleased"):
            self._release()  # the pods are deleted before the status is written
        states = self._course["states"]
        first = len(self._entries)
        position = states.index(last, first)
        self._entries += [self._build_entry(number) for number in range(first, position + 1)]
        self._cluster.resources.write_status(
            self._application.namespace, self._application.name, lambda old: old | {"status": self._build_status()}
        )

    def _build_entry(self, number: int) -> JsonObject:
        entry = {
            "currentStateSummary": self._course["states"][number],
            "lastTransitionTime": datetime.now(UTC).isoformat(),
            "message": self._course["messages"][number],
        }
        if number in self._course["drivers_observed"]:
            entry["lastObservedDriverStatus"] = self._read_driver_status()
        return entry

    def _build_status(self) -> JsonObject:
        restarts = [number for number, entry in enumerate(self._entries) if entry["currentStateSummary"] == _RESTART]
        begin = restarts[-1] if restarts and self._trims else 0
        status = {
            "currentState": self._entries[-1],
            "stateTransitionHistory": self._build_history(begin, len(self._entries)),
            "currentAttemptSummary": {"attemptInfo": {"id": len(restarts), "restartCounter": len(restarts)}},
        }
        if restarts:
            before = ([0, *restarts])[len(restarts) - 1]
            kept = self._build_history(before, begin) if self._trims else {}
            attempt = {"id": len(restarts) - 1, "restartCounter": len(restarts) - 1}
            status["previousAttemptSummary"] = {"attemptInfo": attempt, "stateTransitionHistory": kept}
        return status

    def _build_history(self, begin: int, end: int) -> JsonObject:
        return {str(number): self._entries[number] for number in range(begin, end)}

    def _read_driver_status(self) -> JsonObject:
        driver = self._cluster.store.objects.get(PODS, self._application.namespace, self._pods[-1])
        status: JsonObject = driver["status"]
        return status

    def _release(self) -> None:
        if self._pods and self._cluster.store.objects.exists(PODS, self._application.namespace, self._pods[-1]):
            self._cluster.resources.delete_pod(self._application.namespace, self._pods[-1])


class ControllerOperator:
    """The controller, whose actions are awaited."""

    def __init__(self, cluster: Cluster, application: Application, scenario: JsonObject) -> None:
        self._cluster = cluster
        self._application = application
        self._gone = not next(iter(scenario["recorded"]["applications"].values()))["exists"]
        self._seen = -1
        self._used: set[str] = set()

    async def wait_for_driver(self) -> str:
        return str(await _wait_until(self._cluster, PODS, self._claim_new_driver))

    async def wait_for_states(self, words: Sequence[str]) -> None:
        await _wait_until(self._cluster, self._cluster.kind, lambda: self._advance_to(words))

    async def wait_for_end(self) -> None:
        if self._gone:
            await _wait_until(self._cluster, self._cluster.kind, lambda: not self._find_application())

    def _claim_new_driver(self) -> str | None:
        for pod in self._cluster.store.objects.list(PODS, self._application.namespace)[0]:
            metadata = pod["metadata"]
            ours = any(owner["uid"] == self._application.uid for owner in metadata.get("ownerReferences", ()))
            if ours and metadata["uid"] not in self._used:
                self._used.add(metadata["uid"])
                return str(metadata["name"])
        return None

    def _advance_to(self, words: Sequence[str]) -> bool:
        status = (self._find_application() or {}).get("status") or {}
        found: dict[int, str] = {}
        for part in (status.get("previousAttemptSummary") or {}, status):
            for number, entry in (part.get("stateTransitionHistory") or {}).items():
                found[int(number)] = entry["currentStateSummary"]
        for number, state in sorted(found.items()):
            if number > self._seen and state in words:
                self._seen = number
                return True
        return False

    def _find_application(self) -> JsonObject | None:
        try:
            objects = self._cluster.store.objects
            return objects.get(self._cluster.kind, self._application.namespace, self._application.name)
        except ApiStatusError:
            return None


class ScenarioPlayer:
    """The scheduler, the kubelet, Spark and the users in a scenario."""

    def __init__(self, cluster: Cluster, application: Application, operator: ScenarioOperator) -> None:
        self._cluster = cluster
        self._application = application
        self._operator = operator
        self._driver = ""
        self._executors = 0

    async def play(self, steps: Sequence[JsonObject]) -> None:
        """Play the steps one after the other, without the pauses of the recording."""
        for step in steps:
            ((word, argument),) = step.items()
            if word != "sleep":
                await getattr(self, f"_step_{word}")(argument)
        await self._operator.wait_for_end()

    @property
    def _place(self) -> tuple[str, str]:
        return self._application.namespace, self._driver

    async def _step_wait_driver(self, _: object) -> None:
        self._driver = await self._operator.wait_for_driver()
        self._cluster.logs[self._place] = Log()

    async def _step_wait_state(self, argument: Any) -> None:
        words = argument["state"] if isinstance(argument, dict) else argument
        await self._operator.wait_for_states(words if isinstance(words, list) else [words])

    async def _step_driver(self, story: Any) -> None:
        self._write_pod_status(self._driver, complete_story(story))
        log = self._cluster.logs[self._place]
        log.write(f"the driver is {story}")
        if complete_story(story)["phase"] in ("Succeeded", "Failed"):
            log.end()

    async def _step_executors(self, argument: JsonObject) -> None:
        driver = self._cluster.store.objects.get(PODS, self._application.namespace, self._driver)
        owner = {"apiVersion": "v1", "kind": "Pod", "name": self._driver, "uid": driver["metadata"]["uid"]}
        labels = driver["metadata"]["labels"] | {LABEL_ROLE: ROLE_EXECUTOR}
        for _ in range(argument["create"]):
            self._executors += 1
            name = f"{self._driver}-exec-{self._executors}"
            create_pod(self._cluster, name, labels, owner, "spark-kubernetes-executor")
            self._write_pod_status(name, complete_story(argument["as"]))

    async def _step_delete_driver(self, _: object) -> None:
        self._cluster.logs[self._place].end()
        self._cluster.resources.delete_pod(self._application.namespace, self._driver)

    async def _step_wait_gone(self, _: object) -> None:
        await self._operator.wait_for_end()

    def _write_pod_status(self, name: str, story: JsonObject) -> None:
        pod = self._cluster.store.objects.get(PODS, self._application.namespace, name)
        self._cluster.resources.set_pod_status(self._application.namespace, name, build_pod_status(pod, story))


def create_pod(cluster: Cluster, name: str, labels: JsonObject, owner: JsonObject, container: str) -> None:
    """Create a pod as an operator or a driver does."""
    cluster.resources.create_pod(NAMESPACE, name, labels, owner, build_running_container(container))


@contextmanager
def replay_recording(cluster: Cluster) -> Iterator[list[str]]:
    """Manage each application as the Apache operator managed that of the scenario of the same name.

    Yields the deviations from the scenarios.
    """
    problems: list[str] = []
    cluster.script = _play_scenarios(cluster, RecordedOperator, problems)
    yield problems


@contextmanager
def manage_with_controller(cluster: Cluster) -> Iterator[list[str]]:
    """Manage the applications with the controller, and delete pods as a kubelet does.

    Yields the deviations from the scenarios.
    """
    ready, problems = threading.Event(), list[str]()

    async def control() -> None:
        async with await open_client(ClusterAccess(kubeconfig_document=cluster.kubeconfig)) as client:
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
            await client.create(SERVICE_ACCOUNTS, account, NAMESPACE)
            await Controller(client, EveryNamespace(), _SETTINGS).run(ready.set)

    cluster.script = _play_scenarios(cluster, ControllerOperator, problems)
    tasks = [cluster.do(partial(asyncio.create_task, part)) for part in (control(), _act_as_kubelet(cluster))]
    assert ready.wait(_DEADLINE), "the controller is not ready"
    try:
        yield problems
    finally:
        for task in tasks:
            cluster.do(task.cancel)


def _play_scenarios(
    cluster: Cluster, driving: Callable[[Cluster, Application, JsonObject], ScenarioOperator], problems: list[str]
) -> Callable[[Application], Awaitable[None]]:
    async def play(application: Application) -> None:
        scenario = read_scenario(application.name)
        surroundings = ScenarioPlayer(cluster, application, driving(cluster, application, scenario))
        try:
            async with asyncio.timeout(_DEADLINE):
                await surroundings.play(scenario["steps"])
        except Exception as error:
            # Nothing more happens, and the task would wait indefinitely.
            problems.append(f"{application.name}: {error!r}")
            with suppress(ApiStatusError):
                cluster.store.delete(cluster.kind, application.namespace, application.name)

    return play


async def _act_as_kubelet(cluster: Cluster) -> None:
    with closing(cluster.store.changes.subscribe(PODS, None, None)) as changes:
        async for change in changes:
            metadata = change.object["metadata"]
            if change.type == "MODIFIED" and metadata.get("deletionTimestamp"):
                with suppress(ApiStatusError):  # the pod does not exist any more
                    cluster.resources.delete_pod(metadata["namespace"], metadata["name"])


async def _wait_until(cluster: Cluster, kind: Any, found: Callable[[], Any]) -> Any:
    """Return the result of `found` as soon as it finds something in the objects of the kind."""
    with closing(cluster.store.changes.subscribe(kind, None, None)) as changes:
        if result := found():
            return result
        async for _ in changes:
            if result := found():
                return result
    raise AssertionError("the cluster has ended")
