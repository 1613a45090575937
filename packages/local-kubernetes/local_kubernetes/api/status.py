"""Refusals as Kubernetes words them: the `Status` document, and one constructor for each reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from local_kubernetes.api.documents import JsonObject
    from local_kubernetes.api.kinds import Kind


class ApiStatusError(Exception):
    """A request that is refused.

    Args:
        code: the HTTP status.
        reason: Kubernetes' machine-readable reason (`NotFound`, `Conflict`, …); may be empty.
        message: the sentence for a person.
        details: the `details` object of the Status, where there is one.
    """

    def __init__(self, code: int, reason: str, message: str, details: JsonObject | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def document(self) -> JsonObject:
        """The refusal as a `Status` document."""
        document: JsonObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            document["reason"] = self.reason
        if self.details is not None:
            document["details"] = self.details
        document["code"] = self.code
        return document


@dataclass(frozen=True)
class Cause:
    """One reason why a document is invalid.

    Args:
        field: the path in the document, `spec.jars[0]`.
        message: what is wrong, as it follows the field in the sentence.
        reason: `FieldValueRequired`, `FieldValueInvalid`, `FieldValueNotSupported`, `FieldValueForbidden`, …
    """

    field: str
    message: str
    reason: str = "FieldValueInvalid"

    def document(self) -> JsonObject:
        """The cause as the `details` of a Status have it."""
        return {"reason": self.reason, "message": self.message, "field": self.field}


def not_found(kind: Kind, name: str) -> ApiStatusError:
    """404: there is no such object."""
    return ApiStatusError(404, "NotFound", f'{kind.qualified_name} "{name}" not found', _details(kind, name))


def already_exists(kind: Kind, name: str) -> ApiStatusError:
    """409: an object of this name exists."""
    message = f'{kind.qualified_name} "{name}" already exists'
    return ApiStatusError(409, "AlreadyExists", message, _details(kind, name))


def conflict(kind: Kind, name: str, why: str | None = None) -> ApiStatusError:
    """409: the object is not, or no longer, the one that the writer has read."""
    why = why or ("the object has been modified; please apply your changes to the latest version and try again")
    message = f'Operation cannot be fulfilled on {kind.qualified_name} "{name}": {why}'
    return ApiStatusError(409, "Conflict", message, _details(kind, name))


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> ApiStatusError:
    """422: the document breaks the rules of its kind; all of `causes` (at least one) are told."""
    sentences = [f"{cause.field}: {cause.message}" for cause in causes]
    text = sentences[0] if len(sentences) == 1 else "[" + ", ".join(sentences) + "]"
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    details: JsonObject = {"name": name} if name else {}
    if kind.group:
        details["group"] = kind.group
    if kind.kind:
        details["kind"] = kind.kind
    details["causes"] = [cause.document() for cause in causes]
    return ApiStatusError(422, "Invalid", f'{qualified} "{name}" is invalid: {text}', details)


def invalid_options(kind: str, causes: Sequence[Cause]) -> ApiStatusError:
    """422: the options of a request make no sense; `kind` is that of the options, `ListOptions`."""
    sentences = [f"{cause.field}: {cause.message}" for cause in causes]
    text = sentences[0] if len(sentences) == 1 else "[" + ", ".join(sentences) + "]"
    details = {"group": "meta.k8s.io", "kind": kind, "causes": [cause.document() for cause in causes]}
    return ApiStatusError(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {text}', details)


def forbidden(kind: Kind, name: str, why: str, causes: Sequence[Cause] = ()) -> ApiStatusError:
    """403: the request is understood and not allowed for this object."""
    message = f'{kind.qualified_name} "{name}" is forbidden: {why}'
    details = _details(kind, name)
    if causes:
        details["causes"] = [cause.document() for cause in causes]
    return ApiStatusError(403, "Forbidden", message, details)


def bad_request(message: str) -> ApiStatusError:
    """400: the request cannot be understood."""
    return ApiStatusError(400, "BadRequest", message)


def unauthorized() -> ApiStatusError:
    """401: no token, or a wrong one."""
    return ApiStatusError(401, "Unauthorized", "Unauthorized")


def expired(message: str) -> ApiStatusError:
    """410: the history does not reach back that far; the client has to list again."""
    return ApiStatusError(410, "Expired", message)


def resource_not_found() -> ApiStatusError:
    """404: there is nothing at this path."""
    return ApiStatusError(404, "NotFound", "the server could not find the requested resource", {})


class PageNotFound(ApiStatusError):
    """404: nothing is served below this path; told as plain text, as Kubernetes does outside of its API groups."""

    def __init__(self, text: str = "404 page not found\n") -> None:
        super().__init__(404, "NotFound", "404 page not found", {})
        self.text = text


def method_not_allowed(message: str | None = None) -> ApiStatusError:
    """405: the resource exists, this verb of it does not."""
    message = message or "the server does not allow this method on the requested resource"
    return ApiStatusError(405, "MethodNotAllowed", message, {})


def verb_not_supported(kind: Kind, verb: str) -> ApiStatusError:
    """405: a subresource of a custom resource does not have this verb."""
    message = f'{verb} is not supported on resources of kind "{kind.qualified_name}"'
    return ApiStatusError(405, "MethodNotAllowed", message, {"group": kind.group, "kind": kind.plural})


def precondition_failed(kind: Kind, name: str, field: str, wanted: str, found: str) -> ApiStatusError:
    """409: a deletion names another uid or version (`field`: `UID`, `ResourceVersion`) than the object has."""
    hint = "deleted and then recreated" if field == "UID" else "modified"
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    message = (
        f'Operation cannot be fulfilled on {qualified} "{name}": the {field} in the precondition ({wanted}) does '
        f"not match the {field} in record ({found}). The object might have been {hint}"
    )
    return ApiStatusError(409, "Conflict", message, _details(kind, name) | {"kind": kind.kind})


def version_required(kind: Kind, name: str) -> ApiStatusError:
    """422: an update of this kind has to say which version of the object it replaces."""
    told = "Invalid value: 0: must be specified for an update"
    cause = {"reason": "FieldValueInvalid", "message": told, "field": "metadata.resourceVersion"}
    message = f'{kind.qualified_name} "{name}" is invalid: metadata.resourceVersion: {told}'
    return ApiStatusError(422, "Invalid", message, _details(kind, name) | {"causes": [cause]})


def unsupported_media_type(accepted: Sequence[str], details: JsonObject | None = None) -> ApiStatusError:
    """415: the body is of a type that this request does not take."""
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return ApiStatusError(415, "UnsupportedMediaType", message, details)


def too_large(limit: int) -> ApiStatusError:
    """413: the body is over the limit, in bytes."""
    message = f"Request entity too large: limit is {limit}"
    return ApiStatusError(413, "RequestEntityTooLarge", message)


def not_implemented(message: str) -> ApiStatusError:
    """501: Kubernetes has this, the local cluster has not."""
    return ApiStatusError(501, "NotImplemented", message)


def success(kind: Kind, name: str, uid: str) -> JsonObject:
    """The `Status` that answers a deletion which is complete."""
    details = _details(kind, name) | {"uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _details(kind: Kind, name: str) -> JsonObject:
    details: JsonObject = {"name": name}
    if kind.group:
        details["group"] = kind.group
    details["kind"] = kind.plural
    return details
