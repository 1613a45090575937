"""One request to the API, as RBAC, error messages and HTTP describe it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .errors import DISCOVER, KubeError, Unreachable, build_error_from_status
from .resources import ResourceType

_FORWARDED = frozenset({"attach", "exec", "log", "portforward", "proxy"})
_NOT_IN_NAMES = frozenset("/%?#")


@dataclass(frozen=True)
class Call:
    """One request.

    Attributes:
        verb: The verb as RBAC rules name it, for example "list".
        method: The HTTP method.
        resource: The kind of the object or collection.
        namespace: Its namespace; None for cluster-scoped kinds and for all namespaces.
        name: The name of the object; None for a collection.
        subresource: The subresource, for example "status", and a path below it. If None, the object itself is used.
        parameters: The query parameters.
        body: The body, which is sent as JSON. If None, no body is sent.
        content_type: The media type of the body.
        address: The URL path, if it is not the path of the resource.
    """

    verb: str
    method: str
    resource: ResourceType
    namespace: str | None
    name: str | None = None
    subresource: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    body: object = None
    content_type: str = "application/json"
    address: str | None = None

    @property
    def path(self) -> str:
        """The URL path.

        Raises:
            KubeError: A name would address another object, such as the whole collection.
        """
        for part in (self.namespace, self.name):
            if part is not None and (part in {"", ".", ".."} or not _NOT_IN_NAMES.isdisjoint(part)):
                raise self.build_error(400, {"reason": "BadRequest", "message": f"{part!r} is not a valid name"})
        return self.address or self.resource.build_path(self.namespace, self.name, self.subresource)

    @property
    def is_forwarded(self) -> bool:
        """Whether a pod or its node answers, so that the headers of the answer are not those of the API server."""
        return (self.subresource or "").partition("/")[0] in _FORWARDED

    @property
    def is_proxied(self) -> bool:
        """Whether a program in a pod answers, so that it chooses the status and the body."""
        return (self.subresource or "").partition("/")[0] == "proxy"

    def build_error(self, status: int, document: Mapping[str, Any], retry_after: float | None = None) -> KubeError:
        """Return the error for an answer of the API to this call."""
        return build_error_from_status(
            status,
            document,
            verb=self._action,
            resource=self.rbac_resource,
            namespace=self.namespace,
            name=self.name,
            retry_after=retry_after,
        )

    def build_unreachable(self, message: str) -> Unreachable:
        """Return the error for a call without an answer."""
        return Unreachable(None, "Unreachable", message, self._action, self.rbac_resource, self.namespace, self.name)

    @property
    def object_level(self) -> int | None:
        """The number of JSON objects and lists around each Kubernetes object in the answer; None without objects."""
        return {"list": 2, "watch": 1}.get(self.verb, 0) if self.address is None else None

    @property
    def _action(self) -> str:
        return self.verb if self.address is None else DISCOVER

    @property
    def rbac_resource(self) -> str:
        """The kind as RBAC rules name it, including the subresource: `pods/log`."""
        if self.subresource is None:
            return self.resource.qualified_name
        group = f".{self.resource.group}" if self.resource.group else ""
        return f"{self.resource.plural}/{self.subresource.partition('/')[0]}{group}"


CallObserver: TypeAlias = Callable[[Call, int | None, float], None]
"""Called after each request with the request, the status code of the answer (or None), and the seconds it took."""

RequestGate: TypeAlias = Callable[[Call], Awaitable[None]]
"""Awaited before a connection for a request is opened. It can delay the request, or reject it with a `KubeError`."""

RequestCheck: TypeAlias = Callable[[Call], None]
"""Called before a connection is opened, and again before the request is sent. It can reject it with a `KubeError`."""
