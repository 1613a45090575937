"""Translate the errors of requests to the cluster into the exceptions of tasks."""

from collections.abc import Iterator
from contextlib import contextmanager

from .. import exceptions
from ..airflow_compat import AirflowFailException, mask_secrets
from ..core.dialects.dialect import find_alternatives
from ..core.kubernetes.problems import InvalidResource
from ..follow.access.reference import ApplicationDeleted, DeletionStuck, NameTaken, PodMissing
from ..follow.access.versions import KindNotServed
from ..follow.submission.stop import SuspensionNotSupported
from ..kube.errors import (
    AlreadyExists,
    ConfigurationError,
    Conflict,
    Forbidden,
    KubeError,
    NotFound,
    is_refused_content,
)
from ..kube.resources import SPARK_APPLICATIONS

_CLASSES: tuple[tuple[type[Exception], type[exceptions.SparkApplicationError]], ...] = (
    (NotFound, exceptions.SparkApplicationNotFound),
    (Forbidden, exceptions.SparkApplicationForbidden),
    (AlreadyExists, exceptions.SparkApplicationConflict),
    (Conflict, exceptions.SparkApplicationConflict),
    (NameTaken, exceptions.SparkApplicationConflict),
    (PodMissing, exceptions.SparkApplicationNotFound),
)

# A rejected read, for example of the log of a container that starts, can succeed later.
_WRITES = frozenset({"create", "patch", "update"})


@contextmanager
def translate_errors(action: str) -> Iterator[None]:
    """Translate the errors of requests in the `with` block.

    Args:
        action: What the requests do, after "could not", for example "submit the application".

    Raises:
        SparkApplicationDeleted: The application was deleted while the caller waited for it.
        SparkApplicationError: A request failed. The subclass depends on the cause. If the API server would reject the
            same content again, it is also an `AirflowFailException`.
    """
    try:
        yield
    except ApplicationDeleted as error:
        raise exceptions.SparkApplicationDeleted(str(error)) from None
    # The message names the cause: a chained exception would print it a second time in the task log.
    except (ConfigurationError, DeletionStuck, KubeError, NameTaken, PodMissing, SuspensionNotSupported) as error:
        kind = next((ours for theirs, ours in _CLASSES if isinstance(error, theirs)), exceptions.SparkApplicationError)
        failure = kind(f"could not {action}: {error}{_suggest_api_version(error)}")
        is_final = isinstance(error, KubeError) and error.verb in _WRITES and is_refused_content(error)
        raise (exceptions.rule_out_retry(failure, None) if is_final else failure) from None


def _suggest_api_version(error: Exception) -> str:
    """Return what to do if the cluster has another operator than the operator of the application."""
    if not isinstance(error, KindNotServed) or error.versions or error.resource != SPARK_APPLICATIONS.qualified_name:
        return ""
    return "".join(
        f'. For {dialect.operator}, set api_version="{dialect.group}/{dialect.versions[0]}"'
        for dialect in find_alternatives(error.group)
    )


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
