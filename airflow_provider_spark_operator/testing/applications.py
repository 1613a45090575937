"""Applications that do as a script says, and scripts for the common cases."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from airflow_provider_spark_operator.core.dialects.dialect import dialect_of
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.core.names import (
    DRIVER_CONTAINER,
    EXECUTOR_CONTAINER,
    LABEL_ROLE,
    ROLE_DRIVER,
    ROLE_EXECUTOR,
)
from airflow_provider_spark_operator.testing.lives import StateChange, life_in
from airflow_provider_spark_operator.testing.log import Log
from airflow_provider_spark_operator.testing.pods import container_ended, container_running
from airflow_provider_spark_operator.testing.target import ScriptTarget


class Application:
    """What a script does to one application. Everything runs on the cluster's loop.

    Attributes:
        name: Of the application, as `namespace` and `uid`.
        document: The application when it was created, or taken up again.
        driver: The name of its driver pod.
        log: Its driver's.
    """

    def __init__(self, cluster: ScriptTarget, document: JsonObject) -> None:
        self._cluster = cluster
        self._dialect = dialect_of(document["apiVersion"])
        self._life = life_in(self._dialect)
        self.document = document
        self.name: str = document["metadata"]["name"]
        self.namespace: str = document["metadata"]["namespace"]
        self.uid: str = document["metadata"]["uid"]
        identifier = self._dialect.read_application_id(document, 0)
        self.driver: str = self._dialect.read_driver_pod_name(document, identifier) or ""
        log = cluster.logs.get((self.namespace, self.driver))
        if log is None or log.owner not in ("", self.uid):  # an earlier application of this name had the same driver
            log = cluster.logs[self.namespace, self.driver] = Log(self.uid)
        self.log = log

    def enter(
        self,
        *states: str,
        message: str | None = None,
        driver: JsonObject | None = None,
        reason: str | None = None,
    ) -> None:
        """Move through states, as an operator writes them."""
        for state in states:
            self._write(StateChange(state, message, reason, driver))

    def start(self, executors: int = 0) -> None:
        """Come to run, with a driver and ready executors."""
        self.enter(*self._life.waiting)
        self.start_driver(executors)
        self.enter(*self._life.running)

    def succeed(self) -> None:
        """End well, once it runs."""
        first, *others = self._life.succeeding
        self.enter(first, driver=self.end_driver(0))
        self.enter(*others)

    def fail(self, exit_code: int = 1, reason: str = "Error", message: str = "the driver failed") -> None:
        """End badly, once it runs: by this exit code, for this reason of its container (such as `OOMKilled`)."""
        first, *others = self._life.failing
        self.enter(first, message=message, driver=self.end_driver(exit_code, reason=reason))
        self.enter(*others)

    def set_driver_status(self, status: JsonObject) -> None:
        """Write the status of the driver's pod."""
        self._cluster.set_pod_status(self.namespace, self.driver, status)

    def start_driver(self, executors: int = 0) -> None:
        """Create the driver pod, running, and executors that are ready."""
        api_version = self.document["apiVersion"]
        owner = {"apiVersion": api_version, "kind": "SparkApplication", "name": self.name, "uid": self.uid}
        driver = self._pod(self.driver, ROLE_DRIVER, DRIVER_CONTAINER, owner)
        metadata = driver["metadata"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        for number in range(executors):
            self._pod(self._executor(number), ROLE_EXECUTOR, EXECUTOR_CONTAINER, owner)

    def end_driver(self, exit_code: int, message: str | None = None, *, reason: str | None = None) -> JsonObject:
        """Let the driver's container end; the pod's status."""
        word = reason if reason and exit_code else ("Error" if exit_code else "Completed")
        ended = container_ended(DRIVER_CONTAINER, exit_code, word, message)
        status = self._cluster.end_pod(self.namespace, self.driver, ended)
        self.log.end()
        return status

    def end_executor(self, number: int, *, exit_code: int, reason: str) -> None:
        """Let an executor's container end, with one line in its log."""
        name = self._executor(number)
        log = self._cluster.logs.setdefault((self.namespace, name), Log())
        log.write(f"executor {number} ends")
        log.end()
        self._cluster.end_pod(self.namespace, name, container_ended(EXECUTOR_CONTAINER, exit_code, reason))

    def delete_driver(self) -> None:
        """Let the driver pod go, as an operator does when it releases the resources."""
        self._cluster.delete_pod(self.namespace, self.driver)

    def _write(self, change: StateChange) -> None:
        self._cluster.write_status(self.namespace, self.name, lambda old: self._life.written(old, change))

    def _executor(self, number: int) -> str:
        return f"{self.name}-{self.uid[:8]}-exec-{number}"

    def _pod(self, name: str, role: str, container: str, owner: JsonObject) -> JsonObject:
        labels = {self._dialect.application_label: self.name, LABEL_ROLE: role}
        return self._cluster.create_pod(self.namespace, name, labels, owner, container_running(container))


Script: TypeAlias = Callable[[Application], Awaitable[None]]


async def succeed(application: Application) -> None:
    """Run with two executors and end well."""
    application.start(executors=2)
    application.log.write("Pi is roughly 3.14")
    application.succeed()


async def fail(application: Application) -> None:
    """Run without executors and end with exit code 3."""
    application.start()
    application.log.write("something went wrong")
    application.fail(exit_code=3)


async def run_out_of_memory(application: Application) -> None:
    """Run without executors until the driver has no memory left."""
    application.start()
    application.fail(exit_code=137, reason="OOMKilled")


async def run_on(application: Application) -> None:
    """Run and never end."""
    application.start(executors=2)


async def stay_submitted(application: Application) -> None:
    """Show no sign of an operator."""
