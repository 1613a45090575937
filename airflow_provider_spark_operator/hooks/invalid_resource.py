"""Translate an invalid resource into a failure of the task."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..airflow_compat import AirflowFailException, mask_secrets
from ..core.kubernetes.problems import InvalidResource


@contextmanager
def fail_if_invalid(noun: str) -> Iterator[None]:
    """Translate an invalid resource into a failure of the task that no retry repeats.

    Args:
        noun: What the resource is, for the message.

    Raises:
        AirflowFailException: The resource is not valid.
    """
    try:
        yield
    # The message names the cause: a chained exception would appear a second time in the task log.
    except InvalidResource as error:
        raise AirflowFailException(mask_secrets(f"the {noun} is not valid: {error}")) from None
