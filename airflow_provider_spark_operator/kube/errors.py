"""What can go wrong between us and the API, each kind a class, each message one sentence with its cure."""

import re
from collections.abc import Mapping
from typing import Any

# The verb in the message of a failed request for what the API server serves; such a request has no place.
DISCOVER = "discover"


class ConfigurationError(Exception):
    """No way to the cluster can be made out: kubeconfig missing or wrong, context unknown, no credentials."""


class KubeError(Exception):
    """A request that the API refused or that never reached it.

    Attributes:
        status: HTTP status code; None where no answer came.
        reason: The API's reason word (`Forbidden`, `AlreadyExists`), or ours where it sent none.
        message: The API's own message.
        verb: The verb as RBAC rules name it (`create`, `watch`).
        resource: The kind as RBAC rules name it (`sparkapplications.spark.apache.org`, `pods/log`).
        namespace: None for all namespaces and for cluster-wide kinds.
        name: None for a collection.
    """

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
        """What the reader can do about it; empty where the message says all there is."""
        return ""

    @property
    def place(self) -> str:
        """Where it was to happen: `in namespace x`, or `in all namespaces`."""
        return f"in namespace {self.namespace}" if self.namespace else "cluster-wide"

    def __str__(self) -> str:
        action = " ".join(part for part in (self.verb or "complete the request", self.resource, self.name) if part)
        where = "" if self.verb == DISCOVER else f" {self.place}"
        sentence = f"could not {action}{where}: {_join_lines(self.message) or self.reason}"
        return f"{sentence}; {self.advice}" if self.advice else sentence


class BadRequest(KubeError):
    """400: the request itself makes no sense to the API."""


class Unauthorized(KubeError):
    """401: the API server does not accept the credentials.

    Attributes:
        renewal: Which credentials to renew, and where; empty if unknown.
    """

    renewal: str = ""

    @property
    def advice(self) -> str:
        """Name the credentials to renew."""
        return self.renewal or "check the token, certificate or credential plugin of the connection"


class Forbidden(KubeError):
    """403: the API knows us and says no."""

    @property
    def advice(self) -> str:
        """Name the right that is missing, as a Role spells it; empty where a right would not help.

        Quotas, admission and namespaces that are being terminated refuse with 403 as well. Only the words
        of the authorizer (`k8s.io/apiserver`, `responsewriters/errors.go`) name a user and the very verb.
        """
        if not re.search(rf'\bUser ".*" cannot {re.escape(self.verb)} resource ', self.message):
            return ""
        return f'grant the verb "{self.verb}" on {self.resource} {self.place}'


class NotFound(KubeError):
    """404: no such object, namespace or kind."""

    @property
    def advice(self) -> str:
        """Tell a kind the API does not serve from an object that is not there."""
        unknown_kind = "page not found" in self.message or "requested resource" in self.message
        return (
            f"check that the CustomResourceDefinition of {self.resource} is installed in this cluster"
            if unknown_kind
            else ""
        )


class Conflict(KubeError):
    """409: the object changed since it was read, or a precondition (uid, resourceVersion) does not hold."""


class AlreadyExists(KubeError):
    """409 with reason AlreadyExists: the name is taken."""


class LogUnavailable(KubeError):
    """200: the node has written why it cannot read a container's log, in place of the log or after its first part."""


class Gone(KubeError):
    """410: the resource version is too old to watch or page from; list again."""


class Invalid(KubeError):
    """422: the object does not pass the API's validation; the message names the fields."""


class TooManyRequests(KubeError):
    """429: the API sheds load. `retry_after` is its wish in seconds, None where it named none."""

    retry_after: float | None = None


class ServerError(KubeError):
    """5xx, or an answer that is none of the Kubernetes API's."""


class Unreachable(KubeError):
    """No answer: no connection, TLS refused, connection lost, time over. The call may have taken effect."""


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


# An object is rejected with status 500 if server-side apply does not know one of its fields, or if it is larger than
# etcd's limit.
_FINAL_MESSAGES = ("failed to create typed patch object", "etcdserver: request is too large", "larger than max")
_REFUSED_CONTENT = frozenset({400, 413, 415, 422})
# All other errors (401, 408, 409, 410, 429, 5xx, no answer) may be temporary.
_REFUSED = frozenset({400, 403, 404, 405, 406, 413, 415, 422})

# What the API server may recover from, or the user may correct, while a task waits.
PASSING = (Unreachable, ServerError, TooManyRequests, Unauthorized)


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
    """The error that an answer stands for.

    Args:
        status: HTTP status code, or the `code` of a watch's ERROR event.
        document: A `Status` of the API (`reason`, `message`, `details`); empty where the body was none.
        verb: As RBAC names it; so is `resource`.
        resource: See `KubeError`, as for `namespace` and `name`.
        namespace: See `KubeError`.
        name: See `KubeError`.
        retry_after: Seconds from the Retry-After header, if any.
    """
    reason = str(document.get("reason") or "")
    message = str(document.get("message") or reason or f"HTTP status {status}")
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else KubeError)
    if reason == "AlreadyExists":
        kind = AlreadyExists
    elif reason == "Expired":
        kind = Gone
    error = kind(status, reason or kind.__name__, message, verb, resource, namespace, name)
    if isinstance(error, TooManyRequests):
        error.retry_after = retry_after
    return error


def is_refusal(error: KubeError) -> bool:
    """Whether the API rejected the request, and would reject it again."""
    return error.status in _REFUSED or _has_final_message(error)


def is_refused_content(error: KubeError) -> bool:
    """Whether the API rejected the content of the request, whatever the permissions and the existing objects are."""
    return error.status in _REFUSED_CONTENT or _has_final_message(error)


def _has_final_message(error: KubeError) -> bool:
    return any(message in error.message for message in _FINAL_MESSAGES)


def _join_lines(text: str) -> str:
    return " ".join(text.split())
