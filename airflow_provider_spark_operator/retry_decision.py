"""The interface of Airflow 3.3 for retry policies, for older versions of Airflow, which do not have it.

The operators of this provider ask the policy themselves there: see `airflow_compat.py`.
"""

import abc
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow.sdk import Context


class RetryAction(Enum):
    """What follows a failure."""

    RETRY = "retry"
    FAIL = "fail"
    DEFAULT = "default"


@dataclass(frozen=True)
class RetryDecision:
    """The decision of a policy about one failure.

    Attributes:
        action: What follows the failure.
        retry_delay: Delay before the retry. If None, the delay of the task is used. Airflow before 3.3 ignores it.
        reason: The reason of the decision, for the user.
    """

    action: RetryAction = RetryAction.DEFAULT
    retry_delay: timedelta | None = None
    reason: str | None = None

    @classmethod
    def fail(cls, reason: str | None = None) -> "RetryDecision":
        """Return the decision to fail without a retry."""
        return cls(RetryAction.FAIL, reason=reason)

    @classmethod
    def retry(cls, delay: timedelta | None = None, reason: str | None = None) -> "RetryDecision":
        """Return the decision to retry."""
        return cls(RetryAction.RETRY, delay, reason)

    @classmethod
    def default(cls) -> "RetryDecision":
        """Return the decision to retry as the task specifies."""
        return cls()


class RetryPolicy(abc.ABC):
    """The base class of policies."""

    @abc.abstractmethod
    def evaluate(
        self, exception: BaseException, try_number: int, max_tries: int, context: "Context | None" = None
    ) -> RetryDecision:
        """Return the decision for an exception.

        Args:
            exception: Why the task failed.
            try_number: Number of the try that failed, from 1.
            max_tries: Number of the last try.
            context: The context of the task.
        """
