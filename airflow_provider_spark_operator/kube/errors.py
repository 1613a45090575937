"""Errors of requests to the API: one class for each kind of failure, with messages that say what to do."""

import re
from collections.abc import Mapping
from typing import Any, Final

# The verb in the message of a failed discovery request. Such a request has no namespace.
DISCOVER = "discover"


class ConfigurationError(Exception):
    """The configuration of the cluster is unusable: for example a missing kubeconfig, or an unknown context."""


class NoClusterConfigured(ConfigurationError):
    """There is no kubeconfig, and the process does not run in a pod."""


class KubeError(Exception):
    """A request that the API rejected or that did not reach it.

    Attributes:
        status: The HTTP status code. None if no answer was received.
        reason: The reason of the API (`Forbidden`, `AlreadyExists`), or a reason of this client if the API sent
            none.
        message: The message of the API.
        verb: The verb as RBAC rules name it (`create`, `watch`).
        resource: The kind as RBAC rules name it (`sparkapplications.spark.apache.org`, `pods/log`).
        namespace: The namespace. None for all namespaces and for cluster-scoped kinds.
        name: The name of the object. None for a collection.
        retry_after: The pause in seconds that an overloaded server requests (429 and 5xx). None without such a request.
    """

    retry_after: float | None = None

    def __init__(
        self,
        status: int | None,
        reason: str,
        message: str,
        verb: str = "",
        resource: str = "",
        namespace: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(status, reason, message, verb, resource, namespace, name)
        self.status = status
        self.reason = reason
        self.message = message
        self.verb = verb
        self.resource = resource
        self.namespace = namespace
        self.name = name

    @property
    def advice(self) -> str:
        """Advice for the user. Empty if the message says everything."""
        return ""

    @property
    def place(self) -> str:
        """The scope of the request: `in namespace x` or `cluster-wide`."""
        return f"in namespace {self.namespace}" if self.namespace else "cluster-wide"

    def __str__(self) -> str:
        action = " ".join(part for part in (self.verb or "complete the request", self.resource, self.name) if part)
        where = "" if self.verb == DISCOVER else f" {self.place}"
        message = " ".join(self.message.split())
        sentence = f"could not {action}{where}: {message or self.reason}"
        return f"{sentence}; {self.advice}" if self.advice else sentence


class BadRequest(KubeError):
    """400: the API cannot process the request."""


class Unauthorized(KubeError):
    """401: the API server does not accept the credentials.

    Attributes:
        renewal: Which credentials to renew, and where. Empty if unknown.
    """

    renewal: str = ""

    @property
    def advice(self) -> str:
        """The credentials to renew."""
        return self.renewal or "check the token, certificate or credential plugin of the connection"


class Forbidden(KubeError):
    """403: the API does not permit the request."""

    @property
    def advice(self) -> str:
        """The missing permission, as a Role names it. Empty if a permission would not help.

        Quotas, admission and terminating namespaces also reject requests with 403. Only the message of the authorizer
        (`k8s.io/apiserver`, `responsewriters/errors.go`) names a user and the verb.
        """
        if not re.search(rf'\bUser ".*" cannot {re.escape(self.verb)} resource ', self.message):
            return ""
        return f'grant the verb "{self.verb}" on {self.resource} {self.place}'

    @property
    def lacks_service_account(self) -> bool:
        """Whether the service account of a pod does not exist (`plugin/pkg/admission/serviceaccount`)."""
        return "error looking up service account" in self.message and self.message.endswith(" not found")


# The kinds that users name, by their plural, with the command that lists them.
_LISTED: Final = {
    "sparkapplications": ("SparkApplication", "spark-operator list"),
    "sparkclusters": ("SparkCluster", "spark-operator cluster list"),
}


class NotFound(KubeError):
    """404: the object, the namespace or the kind does not exist.

    Attributes:
        similar_name: The name of an existing object that the user may have meant. Empty if there is none.
    """

    similar_name: str = ""

    def __str__(self) -> str:
        kind, command = _LISTED.get(self.resource.partition(".")[0], ("", ""))
        if not kind or self.verb != "get" or not self.message.endswith(f'"{self.name}" not found'):
            return super().__str__()
        advice = f"; {self.advice}" if self.advice else f": `{command} -n {self.namespace}` shows others"
        return f"{kind} {self.name} not found {self.place}{advice}"

    @property
    def advice(self) -> str:
        """How to install the kind, if the API does not serve it, or the name that the user may have meant."""
        if "page not found" in self.message or "requested resource" in self.message:
            return f"check that the CustomResourceDefinition of {self.resource} is installed in this cluster"
        return f"did you mean {self.similar_name}?" if self.similar_name else ""


class Conflict(KubeError):
    """409: the object changed since it was read, or a precondition (uid, resourceVersion) is not met."""


class AlreadyExists(KubeError):
    """409 with reason AlreadyExists: an object with this name exists."""


class LogUnavailable(KubeError):
    """200: the node cannot read a container's log, and wrote the cause in place of the log or after its first part."""


class Gone(KubeError):
    """410: the resource version is too old to watch or page from. List again."""


class Invalid(KubeError):
    """422: the object does not pass the validation of the API. The message names the fields."""


class TooManyRequests(KubeError):
    """429: the API is overloaded."""


class ServerError(KubeError):
    """5xx, or an answer that is not from a Kubernetes API."""


class Unreachable(KubeError):
    """No answer: no connection, a TLS error, a lost connection or a timeout. The request may have taken effect."""


_BY_STATUS: Mapping[int, type[KubeError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


# The API server rejects an object with status 500 in two cases. The object exceeds etcd's limit, or server-side apply
# does not know one of its fields.
_FINAL_MESSAGES = ("failed to create typed patch object", "etcdserver: request is too large", "larger than max")
_REFUSED_CONTENT = frozenset({400, 413, 415, 422})
# All other errors (401, 408, 409, 410, 429, 5xx, no answer) may be temporary.
_REFUSED = frozenset({400, 403, 404, 405, 406, 413, 415, 422})

# Failures from which the API server may recover, or that the user can fix, while a task waits.
TRANSIENT = (Unreachable, ServerError, TooManyRequests, Unauthorized)


def build_error_from_status(
    status: int,
    document: Mapping[str, Any],
    *,
    verb: str,
    resource: str,
    namespace: str | None,
    name: str | None,
    retry_after: float | None = None,
) -> KubeError:
    """Return the error for an answer of the API.

    Args:
        status: The HTTP status code, or the `code` of an ERROR event of a watch.
        document: The `Status` object of the API (`reason`, `message`, `details`). Empty if the body was not a
            Status.
        verb: The verb as RBAC rules name it.
        resource: The kind as RBAC rules name it.
        namespace: The namespace of the request, see `KubeError`.
        name: The name of the object, see `KubeError`.
        retry_after: The seconds from the Retry-After header, if any.
    """
    reason = str(document.get("reason") or "")
    message = str(document.get("message") or reason or f"HTTP status {status}")
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else KubeError)
    if reason == "AlreadyExists":
        kind = AlreadyExists
    elif reason == "Expired":
        kind = Gone
    error = kind(status, reason or kind.__name__, message, verb, resource, namespace, name)
    if isinstance(error, TooManyRequests | ServerError):
        error.retry_after = retry_after
    return error


def is_refusal(error: KubeError) -> bool:
    """Return whether the API rejected the request and would reject it again."""
    return error.status in _REFUSED or _has_final_message(error)


def is_refused_content(error: KubeError) -> bool:
    """Return whether the API rejected the content of the request, independent of permissions and existing objects."""
    return error.status in _REFUSED_CONTENT or _has_final_message(error)


def describe_error(error: Exception, seconds: float) -> str:
    """Return the cause of a failed request. The text of a timeout is empty.

    Args:
        error: The error.
        seconds: The time limit of the request.
    """
    return str(error) or f"the Kubernetes API did not answer within {seconds:.0f} s"


def _has_final_message(error: KubeError) -> bool:
    return any(message in error.message for message in _FINAL_MESSAGES)
