"""Applications for benchmarks: creation, removal, and the times in their status."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from uuid import uuid4

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import AlreadyExists, NotFound
from airflow_provider_spark_operator.kube.listwatch import Changed, list_and_watch
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    SERVICE_ACCOUNTS,
    SPARK_APPLICATIONS,
)

LAST_STATE = "ResourceReleased"
CLIENTS = 20
_HISTORY = (
    ("Submitted", None, "The application was submitted."),
    ("DriverRequested", "DriverRequested", "The driver has been requested."),
    ("DriverStarted", "DriverStarted", "The driver has started."),
    ("DriverReady", "DriverReady", "The driver is ready."),
    ("RunningHealthy", "ExecutorsReady", "The application runs (executors ready: 2)."),
    ("Succeeded", "DriverSucceeded", "The driver ended with exit code 0."),
    (LAST_STATE, "ResourcesReleased", "All resources are released."),
)


def build_application(name: str, namespace: str) -> JsonObject:
    """Build a small application."""
    return {
        "apiVersion": SPARK_APPLICATIONS.api_version,
        "kind": SPARK_APPLICATIONS.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "mainClass": "org.apache.spark.examples.SparkPi",
            "jars": "local:///opt/spark/examples/jars/spark-examples.jar",
            "driverArgs": ["1000"],
            "runtimeVersions": {"sparkVersion": "4.3.0"},
            "sparkConf": {
                "spark.executor.instances": "2",
                "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
                "spark.kubernetes.container.image": "spark:4.3.0",
            },
        },
    }


@dataclass
class Fleet:
    """The applications of one benchmark.

    Attributes:
        client: The client of the API.
        namespace: The namespace, which contains only these applications.
        created: The time at which each application was sent to the API, in seconds since the epoch.
    """

    client: KubeClient
    namespace: str
    created: dict[str, float] = field(default_factory=dict)

    async def create(self, number: int, per_second: float | None, *, is_endless: bool = False) -> None:
        """Create N applications, as fast as the API accepts them or at a steady rate.

        The drivers of endless applications run until they are deleted.
        """
        names = [f"app-{index:05}" for index in range(number)]
        begun = time.monotonic()

        async def create(index: int, name: str) -> None:
            if per_second:
                await asyncio.sleep(begun + index / per_second - time.monotonic())
            self.created[name] = time.time()
            document = build_application(name, self.namespace)
            if is_endless:
                document["spec"]["sparkConf"]["spark.kubernetes.driver.label.simulated-life"] = "endless"
            await self.client.create(SPARK_APPLICATIONS, document, self.namespace)

        await _run_limited(create(index, name) for index, name in enumerate(names))

    async def run(self, number: int, per_second: float | None) -> None:
        """Create N applications, and wait until they have completed."""
        ending = asyncio.create_task(self._wait_for_completion(number))
        try:
            await self.create(number, per_second)
            await ending
        finally:
            ending.cancel()

    async def create_finished(self, number: int) -> None:
        """Create N completed applications, like those that remain in a cluster for days."""
        now = datetime.now().astimezone().isoformat()
        status = _build_finished_status(now)

        async def create(name: str) -> None:
            await self.client.create(SPARK_APPLICATIONS, build_application(name, self.namespace), self.namespace)
            patch = {"status": status}
            await self.client.patch(SPARK_APPLICATIONS, name, self.namespace, patch, subresource="status")

        await _run_limited(create(f"old-{index:05}") for index in range(number))

    async def _wait_for_completion(self, number: int) -> None:
        ended: set[str] = set()
        async with aclosing(list_and_watch(self.client, SPARK_APPLICATIONS, self.namespace)) as stream:
            async for change in stream:
                if isinstance(change, Changed) and (status := change.object.get("status")):
                    if status["currentState"]["currentStateSummary"] == LAST_STATE:
                        ended.add(change.object["metadata"]["name"])
                    if len(ended & self.created.keys()) == number:
                        return

    async def read_moments(self, state: str) -> dict[str, float]:
        """Read the time at which each application entered `state`, in seconds since the epoch."""
        listed = await self.client.list(SPARK_APPLICATIONS, self.namespace)
        found = {}
        for document in listed.items:
            name = document["metadata"]["name"]
            if name in self.created:
                entries = document["status"]["stateTransitionHistory"].values()
                at = next(one["lastTransitionTime"] for one in entries if one["currentStateSummary"] == state)
                found[name] = datetime.fromisoformat(at).timestamp()
        return found


@asynccontextmanager
async def create_fleet(client: KubeClient) -> AsyncIterator[Fleet]:
    """Create a namespace for applications, and delete it at the end."""
    for definition in build_custom_resource_definitions():
        await _ignore_existing(client.create(CUSTOM_RESOURCE_DEFINITIONS, definition, None))
    namespace = f"bench-{uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, None)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "spark"}}
    await _ignore_existing(client.create(SERVICE_ACCOUNTS, account, namespace))
    try:
        yield Fleet(client, namespace)
    finally:
        await _delete_namespace(client, namespace)


async def _delete_namespace(client: KubeClient, namespace: str) -> None:
    listed = await client.list(SPARK_APPLICATIONS, namespace)
    held = [item["metadata"]["name"] for item in listed.items if item["metadata"].get("finalizers")]
    patch = {"metadata": {"finalizers": None}}
    await _run_limited(client.patch(SPARK_APPLICATIONS, name, namespace, patch) for name in held)
    await client.delete(NAMESPACES, namespace, None)
    while True:
        try:
            await client.get(NAMESPACES, namespace, None)
        except NotFound:
            return
        await asyncio.sleep(0.5)


async def _run_limited(calls: Iterable[Awaitable[object]]) -> None:
    """Run all calls, a limited number concurrently."""
    waiting = iter(calls)

    async def run_next() -> None:
        for call in waiting:
            await call

    async with asyncio.TaskGroup() as group:
        for _ in range(CLIENTS):
            group.create_task(run_next())


async def _ignore_existing(call: Awaitable[object]) -> None:
    try:
        await call
    except AlreadyExists:
        return


def _build_finished_status(now: str) -> JsonObject:
    records = [
        {"currentStateSummary": state, "lastTransitionTime": now, "message": message}
        | ({"reason": reason} if reason else {})
        for state, reason, message in _HISTORY
    ]
    return {
        "currentState": records[-1],
        "stateTransitionHistory": {str(index): record for index, record in enumerate(records)},
        "currentAttemptSummary": {"attemptInfo": {"id": 0, "restartCounter": 0}},
    }
