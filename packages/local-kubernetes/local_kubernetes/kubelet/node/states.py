"""The states of a container, as in the status of a pod."""

from dataclasses import dataclass, field
from datetime import datetime

from ...api.kinds.documents import JsonObject, format_timestamp
from .restarts import ALWAYS, ContainerRestartPolicy


@dataclass(frozen=True)
class Waiting:
    """The container does not run (yet).

    Args:
        reason: The reason as one word, such as ContainerCreating, ErrImagePull or CrashLoopBackOff.
        message: The reason as a sentence.
    """

    reason: str
    message: str = ""

    def to_document(self) -> JsonObject:
        """Return the state in the format of a pod's status."""
        waiting = {"reason": self.reason} | ({"message": self.message} if self.message else {})
        return {"waiting": waiting}


@dataclass(frozen=True)
class Running:
    """The container runs.

    Args:
        started: Start time.
    """

    started: datetime

    def to_document(self) -> JsonObject:
        """Return the state in the format of a pod's status."""
        return {"running": {"startedAt": format_timestamp(self.started)}}


@dataclass(frozen=True)
class Terminated:
    """The container has terminated.

    Args:
        exit_code: Exit code of the command; 128 + the signal's number if a signal ended it.
        reason: The reason as one word, such as Completed, Error or StartError.
        started: Start time.
        finished: End time.
        message: Termination message of the container or the runtime.
    """

    exit_code: int
    reason: str
    started: datetime
    finished: datetime
    message: str = ""
    container_id: str = ""

    def to_document(self) -> JsonObject:
        """Return the state in the format of a pod's status."""
        terminated: JsonObject = {
            "exitCode": self.exit_code,
            "reason": self.reason,
            "startedAt": format_timestamp(self.started),
            "finishedAt": format_timestamp(self.finished),
        }
        if self.message:
            terminated["message"] = self.message
        if self.container_id:
            terminated["containerID"] = self.container_id
        return {"terminated": terminated}


State = Waiting | Running | Terminated


@dataclass
class ContainerRecord:
    """The current state and history of a container.

    Args:
        name: Name of the container.
        image: Image of the container.
        state: Current state.
        last: Termination of the previous run; None if there is none.
        restarts: Number of restarts.
        container_id: Identity of the current or last run.
        sidecar: Whether it is an init container that continues to run next to the main containers.
        policy: Restart policy.
        probed: Whether the readiness probe of the current run has not succeeded yet.
    """

    name: str
    image: str
    state: State = field(default_factory=lambda: Waiting("ContainerCreating"))
    last: Terminated | None = None
    restarts: int = 0
    container_id: str = ""
    sidecar: bool = False
    policy: ContainerRestartPolicy = field(default_factory=lambda: ContainerRestartPolicy(ALWAYS))
    probed: bool = False

    @property
    def starts_again(self) -> bool:
        """Whether the container has terminated and its restart policy starts it again."""
        return isinstance(self.state, Terminated) and self.policy.restarts_after(self.state.exit_code)

    @property
    def succeeded(self) -> bool:
        """Whether the container terminated with exit code 0."""
        return isinstance(self.state, Terminated) and self.state.exit_code == 0

    @property
    def failed(self) -> bool:
        """Whether the container terminated with another exit code than 0."""
        return isinstance(self.state, Terminated) and self.state.exit_code != 0

    @property
    def running(self) -> bool:
        """Whether the container runs."""
        return isinstance(self.state, Running)

    @property
    def ready(self) -> bool:
        """Whether the container runs, and its readiness probe has succeeded."""
        return self.running and not self.probed
