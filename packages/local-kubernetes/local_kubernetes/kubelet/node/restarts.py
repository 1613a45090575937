"""The restart policies of containers."""

from dataclasses import dataclass

ALWAYS = "Always"
NEVER = "Never"
ON_FAILURE = "OnFailure"


@dataclass(frozen=True)
class ContainerRestartPolicy:
    """The restart policy of one container.

    Args:
        name: Always, OnFailure or Never.
    """

    name: str

    @property
    def can_restart(self) -> bool:
        """Whether any exit code restarts the container."""
        return self.name != NEVER

    def restarts_after(self, exit_code: int) -> bool:
        """Whether a container that ended with this exit code is started again."""
        return self.name == ALWAYS or (self.name == ON_FAILURE and exit_code != 0)
