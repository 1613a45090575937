"""Applications that follow a script, and scripts for the common cases."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from ..core.dialects.dialect import dialect_of
from ..core.kubernetes.json_object import JsonObject
from ..core.kubernetes.names import DRIVER_CONTAINER, EXECUTOR_CONTAINER, LABEL_ROLE, ROLE_DRIVER, ROLE_EXECUTOR
from ..core.states.states import SuspendReason
from .dialect_states import StateChange, find_states
from .scripting import Log, ScriptTarget, build_ended_container, build_running_container

__all__ = ["Application", "fail", "run_on", "run_out_of_memory", "stay_submitted", "succeed"]


class Application:
    """One application. A script calls its methods, which act as the operator and the pods would.

    Attributes:
        name: Name of the application.
        namespace: Namespace of the application.
        uid: uid of the application.
        document: The application as it was when the script started.
        driver: Name of the driver pod.
        log: The log of the driver. `log.write("text")` adds a line.
        attempt: Number of the attempt; the first is 0. `resume` begins another attempt, with its own driver and log.
    """

    def __init__(self, cluster: ScriptTarget, document: JsonObject) -> None:
        self._cluster = cluster
        self._dialect = dialect_of(document["apiVersion"])
        self._states = find_states(self._dialect)
        self.document = document
        self.name: str = document["metadata"]["name"]
        self.namespace: str = document["metadata"]["namespace"]
        self.uid: str = document["metadata"]["uid"]
        self.attempt = self._dialect.read_progress(document).attempt
        self.driver = self._name_driver()
        log = cluster.logs.get((self.namespace, self.driver))
        if log is None or log.owner not in ("", self.uid):  # of an earlier application with the same name
            log = cluster.logs[self.namespace, self.driver] = Log(self.uid)
        self.log = log

    def enter(
        self,
        *states: str,
        message: str | None = None,
        driver: JsonObject | None = None,
        reason: str | None = None,
        suspend_reason: str | None = None,
    ) -> None:
        """Write states into the status, one after the other, as the operator does.

        Args:
            *states: The states, for example "SchedulingFailure".
            message: Message of each state, for the user. If None, the states have no message.
            driver: Status of the driver pod, as `end_driver` returns it. If None, the status contains no driver.
            reason: Reason of each state. If None, the states have no reason.
            suspend_reason: Reason of the suspension, if the state is "Suspended".
        """
        for state in states:
            self._write(StateChange(state, message, reason, driver, suspend_reason, self.attempt))

    def report(self, reason: str, message: str, *, warning: bool = False) -> None:
        """Record an Event about the application, as the operator does while it holds or queues the application.

        Args:
            reason: Reason of the Event, for example "KueueAdmissionPending".
            message: Message of the Event.
            warning: Whether the Event is a warning. The default is False.
        """
        self._cluster.record_event(self.document, reason, message, warning=warning)

    def suspend(self, reason: str = SuspendReason.SPEC_SUSPEND, message: str | None = None) -> None:
        """Suspend: stop the driver and delete its pod. Call `start` first.

        Args:
            reason: Reason of the suspension: "SpecSuspend" (the default), or "KueueEviction" if Kueue has evicted the
                application from its queue.
            message: Message of the state. If None, the state has no message.
        """
        first, *others = self._states.suspended
        self.enter(first, message=message, suspend_reason=reason)
        self.log.end()
        self.delete_driver()
        self.enter(*others, message=message, suspend_reason=reason)

    def resume(self, message: str | None = None) -> None:
        """Resume a suspended application with another attempt, which `start` then runs.

        Args:
            message: Message of the state. If None, the state has no message.
        """
        self.attempt += 1
        self.driver = self._name_driver()
        self.log = self._cluster.logs[self.namespace, self.driver] = Log(self.uid)
        self.enter(*self._states.resuming, message=message)

    def start(self, executors: int = 0) -> None:
        """Run: create a running driver and executors, and enter the states up to the running state.

        Args:
            executors: Number of executors, all ready. The default is 0.
        """
        # The operator has already written the first state of another attempt.
        self.enter(*(self._states.waiting[-1:] if self.attempt else self._states.waiting))
        self.start_driver(executors)
        self.enter(*self._states.running)

    def succeed(self) -> None:
        """End successfully. Call `start` first."""
        first, *others = self._states.succeeding
        self.enter(first, driver=self.end_driver(0))
        self.enter(*others)

    def fail(self, exit_code: int = 1, reason: str = "Error", message: str = "the driver failed") -> None:
        """Fail. Call `start` first.

        Args:
            exit_code: Exit code of the driver, not 0. The default is 1.
            reason: Reason of the driver container, for example "OOMKilled". The default is "Error".
            message: Message of the application, for the user.
        """
        first, *others = self._states.failing
        self.enter(first, message=message, driver=self.end_driver(exit_code, reason=reason))
        self.enter(*others)

    def set_driver_status(self, status: JsonObject) -> None:
        """Write the status of the driver pod.

        Args:
            status: Status of a pod, as Kubernetes defines it, for example {"phase": "Pending"}.
        """
        self._cluster.set_pod_status(self.namespace, self.driver, status)

    def start_driver(self, executors: int = 0) -> None:
        """Create a running driver pod and ready executors, without a change of the state.

        Args:
            executors: Number of executors. The default is 0.
        """
        api_version = self.document["apiVersion"]
        owner = {"apiVersion": api_version, "kind": "SparkApplication", "name": self.name, "uid": self.uid}
        driver = self._create_pod(self.driver, ROLE_DRIVER, DRIVER_CONTAINER, owner)
        metadata = driver["metadata"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        for number in range(executors):
            self._create_pod(self._name_executor(number), ROLE_EXECUTOR, EXECUTOR_CONTAINER, owner)

    def end_driver(self, exit_code: int, message: str | None = None, *, reason: str | None = None) -> JsonObject:
        """Terminate the driver container, and return the status of the driver pod.

        Args:
            exit_code: Exit code of the container.
            message: Termination message of the container. If None, there is no message.
            reason: Reason of the container. The default is "Completed" for exit code 0 and otherwise "Error".
        """
        word = reason if reason and exit_code else ("Error" if exit_code else "Completed")
        ended = build_ended_container(DRIVER_CONTAINER, exit_code, word, message)
        status = self._cluster.end_pod(self.namespace, self.driver, ended)
        self.log.end()
        return status

    def end_executor(self, number: int, *, exit_code: int, reason: str) -> None:
        """Terminate the container of an executor, with one line in its log.

        Args:
            number: Number of the executor, from 0.
            exit_code: Exit code of the container.
            reason: Reason of the container, for example "OOMKilled".
        """
        name = self._name_executor(number)
        log = self._cluster.logs.setdefault((self.namespace, name), Log())
        log.write(f"executor {number} ends")
        log.end()
        self._cluster.end_pod(self.namespace, name, build_ended_container(EXECUTOR_CONTAINER, exit_code, reason))

    def delete_driver(self) -> None:
        """Delete the driver pod, as the operator does when it releases the resources."""
        self._cluster.delete_pod(self.namespace, self.driver)

    def _name_driver(self) -> str:
        identifier = self._dialect.read_application_id(self.document, self.attempt)
        return self._dialect.read_driver_pod_name(self.document, identifier) or ""

    def _write(self, change: StateChange) -> None:
        self._cluster.write_status(self.namespace, self.name, lambda old: self._states.write(old, change))

    def _name_executor(self, number: int) -> str:
        return f"{self.name}-{self.uid[:8]}-exec-{number}"

    def _create_pod(self, name: str, role: str, container: str, owner: JsonObject) -> JsonObject:
        labels = {self._dialect.application_label: self.name, LABEL_ROLE: role}
        return self._cluster.create_pod(self.namespace, name, labels, owner, build_running_container(container))


Script: TypeAlias = Callable[[Application], Awaitable[None]]


async def succeed(application: Application) -> None:
    """Run with two executors and succeed. This is the default script."""
    application.start(executors=2)
    application.log.write("Pi is roughly 3.14")
    application.succeed()


async def fail(application: Application) -> None:
    """Run without executors and fail with exit code 3."""
    application.start()
    application.log.write("something went wrong")
    application.fail(exit_code=3)


async def run_out_of_memory(application: Application) -> None:
    """Run without executors until the driver is killed because it is out of memory (OOMKilled)."""
    application.start()
    application.fail(exit_code=137, reason="OOMKilled")


async def run_on(application: Application) -> None:
    """Run with two executors and never end."""
    application.start(executors=2)


async def stay_submitted(application: Application) -> None:
    """Do nothing, as if no operator managed the application."""
