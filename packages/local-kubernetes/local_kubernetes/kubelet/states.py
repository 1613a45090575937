"""The states of a container, as a pod's status shows them."""

from dataclasses import dataclass, field
from datetime import datetime

from local_kubernetes.api.documents import JsonObject, timestamp
from local_kubernetes.kubelet.restarts import ALWAYS, RestartPolicy


@dataclass(frozen=True)
class Waiting:
    """Not running (yet).

    Args:
        reason: why, as one word: ContainerCreating, ErrImagePull, CrashLoopBackOff, …
        message: why, as a sentence.
    """

    reason: str
    message: str = ""

    def document(self) -> JsonObject:
        """The state as it stands in a status."""
        waiting = {"reason": self.reason} | ({"message": self.message} if self.message else {})
        return {"waiting": waiting}


@dataclass(frozen=True)
class Running:
    """Running.

    Args:
        started: since when.
    """

    started: datetime

    def document(self) -> JsonObject:
        """The state as it stands in a status."""
        return {"running": {"startedAt": timestamp(self.started)}}


@dataclass(frozen=True)
class Terminated:
    """Ended.

    Args:
        exit_code: the command's exit code, 128 + the signal's number where a signal ended it.
        reason: Completed, Error, StartError, …
        started: when it began.
        finished: when it ended.
        message: what it, or the runtime, said last.
    """

    exit_code: int
    reason: str
    started: datetime
    finished: datetime
    message: str = ""
    container_id: str = ""

    def document(self) -> JsonObject:
        """The state as it stands in a status."""
        terminated: JsonObject = {
            "exitCode": self.exit_code,
            "reason": self.reason,
            "startedAt": timestamp(self.started),
            "finishedAt": timestamp(self.finished),
        }
        if self.message:
            terminated["message"] = self.message
        if self.container_id:
            terminated["containerID"] = self.container_id
        return {"terminated": terminated}


State = Waiting | Running | Terminated


@dataclass
class ContainerRecord:
    """What is known of a container.

    Args:
        name: its name.
        image: its image.
        state: its present state.
        last: how its previous run ended.
        restarts: how often it was started again.
        container_id: the identity of its present or last run.
        sidecar: whether it is an init container that goes on running beside the others.
        policy: when it is started again.
    """

    name: str
    image: str
    state: State = field(default_factory=lambda: Waiting("ContainerCreating"))
    last: Terminated | None = None
    restarts: int = 0
    container_id: str = ""
    sidecar: bool = False
    policy: RestartPolicy = field(default_factory=lambda: RestartPolicy(ALWAYS))

    @property
    def starts_again(self) -> bool:
        """Whether the container has ended and its restart policy starts it again."""
        return isinstance(self.state, Terminated) and self.policy.restarts_after(self.state.exit_code)

    @property
    def succeeded(self) -> bool:
        """Whether it has ended with exit code 0."""
        return isinstance(self.state, Terminated) and self.state.exit_code == 0

    @property
    def failed(self) -> bool:
        """Whether it has ended with another exit code."""
        return isinstance(self.state, Terminated) and self.state.exit_code != 0

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return isinstance(self.state, Running)
