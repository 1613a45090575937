"""The restart policies of containers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ALWAYS = "Always"
NEVER = "Never"
ON_FAILURE = "OnFailure"


@dataclass(frozen=True)
class ExitCodes:
    """A rule by which exit codes restart a container.

    Args:
        operator: In or NotIn.
        values: The exit codes.
    """

    operator: str
    values: frozenset[int]

    def matches(self, exit_code: int) -> bool:
        """Whether the rule restarts a container that ended with this exit code."""
        return (exit_code in self.values) == (self.operator == "In")


@dataclass(frozen=True)
class ContainerRestartPolicy:
    """The restart policy of one container.

    Args:
        name: Always, OnFailure or Never; applies to exit codes that no rule matches.
        rules: Exit codes that restart the container, whatever the policy is.
    """

    name: str
    rules: tuple[ExitCodes, ...] = ()

    @property
    def can_restart(self) -> bool:
        """Whether any exit code restarts the container."""
        return self.name != NEVER or bool(self.rules)

    def restarts_after(self, exit_code: int) -> bool:
        """Whether a container that ended with this exit code is started again."""
        if any(rule.matches(exit_code) for rule in self.rules):
            return True
        return self.name == ALWAYS or (self.name == ON_FAILURE and exit_code != 0)


def restart_policy(container: Mapping[str, Any], default: str) -> ContainerRestartPolicy:
    """Return the restart policy of a container.

    Args:
        container: The container's entry in the pod's specification.
        default: The policy that applies if the container has none.
    """
    codes = [rule["exitCodes"] for rule in container.get("restartPolicyRules") or ()]
    rules = tuple(ExitCodes(str(item["operator"]), frozenset(item.get("values") or ())) for item in codes)
    return ContainerRestartPolicy(str(container.get("restartPolicy") or default), rules)
