"""Errors of the API: the `Status` document, and one constructor for each reason, with the messages of Kubernetes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .documents import JsonObject


_FAILURE: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}


class ApiStatusError(Exception):
    """A refused request.

    Args:
        code: HTTP status code.
        reason: Machine-readable reason of Kubernetes (`NotFound`, `Conflict`, …); may be empty.
        message: Message for the user.
        details: The `details` of the Status; None if there are none.
    """

    def __init__(self, code: int, reason: str, message: str, details: JsonObject | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def build_document(self) -> JsonObject:
        """Return the error as a `Status` document."""
        document = _FAILURE | {"message": self.message}
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
        field: Path in the document, such as `spec.jars[0]`.
        message: The part of the error message after the field.
        reason: `FieldValueRequired`, `FieldValueInvalid`, `FieldValueNotSupported`, `FieldValueForbidden`, …
    """

    field: str
    message: str
    reason: str = "FieldValueInvalid"

    def build_document(self) -> JsonObject:
        """Return the cause in the format of a Status' `details`."""
        return {"reason": self.reason, "message": self.message, "field": self.field}


def build_not_found(kind: Kind, name: str) -> ApiStatusError:
    """Return 404: the object does not exist."""
    return ApiStatusError(404, "NotFound", f'{kind.qualified_name} "{name}" not found', _build_details(kind, name))


def build_already_exists(kind: Kind, name: str) -> ApiStatusError:
    """Return 409: an object of this name exists."""
    message = f'{kind.qualified_name} "{name}" already exists'
    return ApiStatusError(409, "AlreadyExists", message, _build_details(kind, name))


def build_conflict(kind: Kind, name: str, why: str | None = None) -> ApiStatusError:
    """Return 409: the object is not the version that the client has read."""
    why = why or ("the object has been modified; please apply your changes to the latest version and try again")
    message = f'Operation cannot be fulfilled on {kind.qualified_name} "{name}": {why}'
    return ApiStatusError(409, "Conflict", message, _build_details(kind, name))


def build_invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> ApiStatusError:
    """Return 422: the document is not valid; the message lists all `causes`, at least one."""
    sentences = [f"{cause.field}: {cause.message}" for cause in causes]
    text = sentences[0] if len(sentences) == 1 else "[" + ", ".join(sentences) + "]"
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    details: JsonObject = {"name": name} if name else {}
    if kind.group:
        details["group"] = kind.group
    if kind.kind:
        details["kind"] = kind.kind
    details["causes"] = [cause.build_document() for cause in causes]
    return ApiStatusError(422, "Invalid", f'{qualified} "{name}" is invalid: {text}', details)


def build_invalid_options(kind: str, causes: Sequence[Cause]) -> ApiStatusError:
    """Return 422: the options of a request are not valid; `kind` is that of the options, such as `ListOptions`."""
    return build_invalid(Kind("meta.k8s.io", "", kind), "", causes)


def build_forbidden(kind: Kind, name: str, why: str, causes: Sequence[Cause] = ()) -> ApiStatusError:
    """Return 403: the request is not allowed for this object."""
    message = f'{kind.qualified_name} "{name}" is forbidden: {why}'
    details = _build_details(kind, name)
    if causes:
        details["causes"] = [cause.build_document() for cause in causes]
    return ApiStatusError(403, "Forbidden", message, details)


def build_bad_request(message: str) -> ApiStatusError:
    """Return 400: the request is malformed."""
    return ApiStatusError(400, "BadRequest", message)


def build_unauthorized() -> ApiStatusError:
    """Return 401: the token is missing or wrong."""
    return ApiStatusError(401, "Unauthorized", "Unauthorized")


def build_expired(message: str) -> ApiStatusError:
    """Return 410: the history does not reach back far enough; the client must list again."""
    return ApiStatusError(410, "Expired", message)


def build_resource_not_found() -> ApiStatusError:
    """Return 404: nothing is served at this path."""
    return ApiStatusError(404, "NotFound", "the server could not find the requested resource", {})


class PageNotFound(ApiStatusError):
    """Return 404 as plain text, as Kubernetes does outside of its API groups."""

    def __init__(self, text: str = "404 page not found\n") -> None:
        super().__init__(404, "NotFound", "404 page not found", {})
        self.text = text


def build_method_not_allowed(message: str | None = None) -> ApiStatusError:
    """Return 405: the resource does not support this verb."""
    message = message or "the server does not allow this method on the requested resource"
    return ApiStatusError(405, "MethodNotAllowed", message, {})


def build_verb_not_supported(kind: Kind, verb: str) -> ApiStatusError:
    """Return 405: a subresource of a custom resource does not support this verb."""
    message = f'{verb} is not supported on resources of kind "{kind.qualified_name}"'
    return ApiStatusError(405, "MethodNotAllowed", message, {"group": kind.group, "kind": kind.plural})


def build_precondition_failed(kind: Kind, name: str, field: str, wanted: str, found: str) -> ApiStatusError:
    """Return 409: a deletion names another UID or version (`field`: `UID`, `ResourceVersion`) than the object has."""
    hint = "deleted and then recreated" if field == "UID" else "modified"
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    message = (
        f'Operation cannot be fulfilled on {qualified} "{name}": the {field} in the precondition ({wanted}) does '
        f"not match the {field} in record ({found}). The object might have been {hint}"
    )
    return ApiStatusError(409, "Conflict", message, _build_details(kind, name) | {"kind": kind.kind})


def build_version_required(kind: Kind, name: str) -> ApiStatusError:
    """Return 422: an update of this kind must name the version that it replaces."""
    detail = "Invalid value: 0: must be specified for an update"
    cause = {"reason": "FieldValueInvalid", "message": detail, "field": "metadata.resourceVersion"}
    message = f'{kind.qualified_name} "{name}" is invalid: metadata.resourceVersion: {detail}'
    return ApiStatusError(422, "Invalid", message, _build_details(kind, name) | {"causes": [cause]})


def build_unsupported_media_type(accepted: Sequence[str], details: JsonObject | None = None) -> ApiStatusError:
    """Return 415: the media type of the body is not supported."""
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return ApiStatusError(415, "UnsupportedMediaType", message, details)


def build_too_large(limit: int) -> ApiStatusError:
    """Return 413: the body exceeds the limit, in bytes."""
    message = f"Request entity too large: limit is {limit}"
    return ApiStatusError(413, "RequestEntityTooLarge", message)


def build_not_implemented(message: str) -> ApiStatusError:
    """Return 501: Kubernetes has this feature, the local cluster does not."""
    return ApiStatusError(501, "NotImplemented", message)


def build_success(kind: Kind, name: str, uid: str) -> JsonObject:
    """Return the `Status` that answers a completed deletion."""
    details = _build_details(kind, name) | {"uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _build_details(kind: Kind, name: str) -> JsonObject:
    details: JsonObject = {"name": name}
    if kind.group:
        details["group"] = kind.group
    details["kind"] = kind.plural
    return details
