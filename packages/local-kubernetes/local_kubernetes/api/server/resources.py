"""The verbs of the API on objects: the layer between HTTP requests and the store."""

from __future__ import annotations

from dataclasses import replace as replace_field
from functools import partial
from typing import TYPE_CHECKING, Any

from ..admission import admission
from ..admission.shapes import check_shape
from ..kinds.documents import JsonObject, copy_json, get_text
from ..kinds.kinds import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CUSTOM_RESOURCE_DEFINITIONS,
    ENDPOINTS,
    EVENTS,
    LEASES,
    LIMIT_RANGES,
    POD_DISRUPTION_BUDGETS,
    ROLE_BINDINGS,
    ROLES,
)
from ..kinds.status import (
    ApiStatusError,
    Cause,
    build_bad_request,
    build_conflict,
    build_invalid,
    build_unsupported_media_type,
    build_version_required,
)
from ..patching import apply
from ..patching.patch import apply_json_patch, apply_merge_patch, build_unprocessable
from ..patching.strategic import apply_strategic_merge_patch
from ..rules import schema
from ..rules.metadata import drop_empty, ensure_metadata, require_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..requests.requests import WriteOptions
    from ..store.registry import ServedKind
    from ..store.store import Store

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_CREATED_BY_UPDATE = frozenset(
    kind.key
    for kind in (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ENDPOINTS, EVENTS, LEASES, LIMIT_RANGES, ROLE_BINDINGS, ROLES)
)
_VERSION_REQUIRED = frozenset({CUSTOM_RESOURCE_DEFINITIONS.key, LEASES.key, POD_DISRUPTION_BUDGETS.key})


def create(
    store: Store, served: ServedKind, namespace: str | None, body: JsonObject, options: WriteOptions
) -> JsonObject:
    """Create an object from a request's body; raises ApiStatusError if it is refused."""
    document = copy_json(body)
    _check_type(served, document)
    _check_fields(served, document, options)
    drop_empty(ensure_metadata(document))
    if served.kind.custom and served.kind.status:
        document.pop("status", None)
    admission.admit(served, document)
    apply.record_update(served, None, document, options.manager, None)
    admission.admit_new(store, served, namespace, document)
    created = store.create(served.kind, namespace, document, dry_run=options.dry_run)
    if not options.dry_run:
        admission.complete_creation(store, served, created)
    return created


def replace(
    store: Store,
    served: ServedKind,
    place: tuple[str | None, str],
    body: JsonObject,
    options: WriteOptions,
    subresource: str | None = None,
) -> JsonObject:
    """Replace an object or its status by a request's body; raises ApiStatusError if it is refused.

    Objects of some kinds are created if they do not exist.
    """
    _check_version(served, body)
    require_name(ensure_metadata(body), place[1])
    kind = served.kind
    if kind.key in _CREATED_BY_UPDATE and subresource is None and not store.objects.exists(kind, *place):
        return create(store, served, place[0], body, options)
    needs_version = kind.custom or kind.key in _VERSION_REQUIRED
    if needs_version and store.objects.get_shared(kind, *place) and not get_text(body, ("metadata", "resourceVersion")):
        raise build_version_required(kind, place[1])
    return change_object(store, served, place, lambda _: copy_json(body), options, subresource)


def patch(
    store: Store,
    served: ServedKind,
    place: tuple[str | None, str],
    content: tuple[str, Any],
    options: WriteOptions,
    subresource: str | None = None,
) -> tuple[JsonObject, bool]:
    """Patch an object or its status; `content` is the media type and value of the patch.

    Returns:
        The object, and whether it was created, which only server-side apply does.

    Raises:
        ApiStatusError: 415 for a patch that the kind does not support; else the errors of the patch or the update.
    """
    media_type, value = content
    if media_type == APPLY_PATCH:
        return _apply(store, served, place, value, options, subresource)
    appliers: dict[str, Callable[[Any, Any], Any]] = {JSON_PATCH: apply_json_patch, MERGE_PATCH: apply_merge_patch}
    if not served.kind.custom:
        appliers[STRATEGIC_PATCH] = partial(apply_strategic_merge_patch, schema=served.declared)
    if media_type not in appliers:
        raise build_unsupported_media_type((*appliers, APPLY_PATCH), None if served.kind.custom else {})
    if media_type != JSON_PATCH and not isinstance(value, dict):
        raise build_bad_request("the patch must be an object")

    def patch_from(current: JsonObject) -> JsonObject:
        patched = appliers[media_type](current, value)
        if not isinstance(patched, dict):
            raise build_unprocessable("the result of the patch must be an object")
        _check_patched(served, current, patched, options)
        return patched

    return change_object(store, served, place, patch_from, options, subresource), False


def change_object(
    store: Store,
    served: ServedKind,
    place: tuple[str | None, str],
    edit: Callable[[JsonObject], JsonObject],
    options: WriteOptions,
    subresource: str | None = None,
    *,
    tracked: bool = True,
) -> JsonObject:
    """Replace an object by the result of `edit`; raises ApiStatusError if it is refused.

    With `tracked`, changed fields belong to the field manager of the options.
    """

    def apply_edit(current: JsonObject) -> JsonObject:
        document = edit(served.present(current))
        _check_type(served, document)
        _check_fields(served, document, options)
        drop_empty(ensure_metadata(document))
        if subresource == "status":
            admission.complete_status(served.kind, document)
        if subresource != "status" or served.schema is not None:
            admission.admit(served, document)
        if subresource != "status":
            admission.check_update(served.kind, current, document)
        if tracked:
            apply.record_update(served, current, document, options.manager, subresource)
        return document

    return store.update(served.kind, *place, apply_edit, subresource=subresource, dry_run=options.dry_run)


def _apply(
    store: Store,
    served: ServedKind,
    place: tuple[str | None, str],
    value: Any,
    options: WriteOptions,
    subresource: str | None,
) -> tuple[JsonObject, bool]:
    if not isinstance(value, dict):
        raise build_bad_request("the configuration to apply must be an object")
    _check_applied(served, value)
    namespace, name = place
    metadata = ensure_metadata(value)
    if metadata.get("managedFields"):
        raise build_bad_request("metadata.managedFields must be nil")
    require_name(metadata, name)
    if not store.objects.exists(served.kind, namespace, name) and subresource is None:
        _check_no_object_is_meant(served, metadata, name)
        document = copy_json(value)
        admission.admit(served, document)
        apply.record_apply(served, document, value, options.manager, None)
        admission.admit_new(store, served, namespace, document)
        created = store.create(served.kind, namespace, document, dry_run=options.dry_run)
        if not options.dry_run:
            admission.complete_creation(store, served, created)
        return created, True

    def merge_in(current: JsonObject) -> JsonObject:
        return apply.apply_configuration(served, current, value, options, subresource)

    return change_object(store, served, place, merge_in, options, subresource, tracked=False), False


def _check_applied(served: ServedKind, value: JsonObject) -> None:
    """Reject a configuration of another type, or with unknown fields, as Kubernetes does."""
    kind, version = value.get("kind") or "", value.get("apiVersion") or ""
    if (kind, version) != (served.kind.kind, served.api_version):
        group, _, short = str(version).rpartition("/")
        raise build_bad_request(f"invalid object type: {group}/{short}, Kind={kind}")
    place = f"{get_text(value, ('metadata', 'namespace'))}/{get_text(value, ('metadata', 'name'))}"
    problem = f"failed to create typed patch object ({place}; {served.group}/{served.version}, Kind={kind})"
    try:
        check_shape(served, value)
    except ApiStatusError as error:
        raise ApiStatusError(500, "", f"{problem}: {error.message}") from error
    unknown = schema.find_unknown_fields(served.declared, value)
    if unknown:
        detail = ", ".join(f".{path}: field not declared in schema" for path in unknown)
        raise ApiStatusError(500, "", f"{problem}: {detail}")


def _check_no_object_is_meant(served: ServedKind, metadata: JsonObject, name: str) -> None:
    """Reject a configuration with the UID of an object that does not exist."""
    metadata.pop("resourceVersion", None)
    if metadata.get("uid"):
        why = f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
        raise build_conflict(served.kind, name, why)


def _check_patched(served: ServedKind, current: JsonObject, patched: JsonObject, options: WriteOptions) -> None:
    """Reject a patch that changes the type of an object."""
    require_name(ensure_metadata(patched), get_text(current, ("metadata", "name")))
    uid = get_text(patched, ("metadata", "uid"))
    if uid and uid != get_text(current, ("metadata", "uid")):
        cause = Cause("metadata.uid", f'Invalid value: "{uid}": field is immutable')
        raise build_invalid(served.kind, get_text(current, ("metadata", "name")), [cause])
    if served.kind.custom:
        return
    try:
        _check_type(served, patched)
        _check_fields(served, patched, options)
    except ApiStatusError as error:
        raise _build_bad_patch(error.message) from error


def _build_bad_patch(why: str) -> ApiStatusError:
    """Return 422: the patched object is not of its kind."""
    cause = Cause("patch", f"Invalid value: {why}")
    return ApiStatusError(
        422, "Invalid", f' "" is invalid: patch: {cause.message}', {"causes": [cause.build_document()]}
    )


def _check_version(served: ServedKind, document: JsonObject) -> None:
    version = document.get("apiVersion")
    if version != served.api_version and (version or document.get("kind")):
        raise build_bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({served.api_version})"
        )


def _check_type(served: ServedKind, document: JsonObject) -> None:
    kind, version = document.get("kind"), document.get("apiVersion")
    if not kind and not version and not served.kind.custom:
        document["kind"], document["apiVersion"] = kind, version = served.kind.kind, served.api_version
    if not kind:
        raise build_bad_request("Object 'Kind' is missing: say what it is, `kind: " + served.kind.kind + "`")
    _check_version(served, document)
    if kind != served.kind.kind and served.kind.custom:
        cause = Cause("kind", f'Invalid value: "{kind}": must be {served.kind.kind}')
        raise build_invalid(
            replace_field(served.kind, kind=str(kind)), get_text(document, ("metadata", "name")), [cause]
        )
    if kind != served.kind.kind:
        raise build_bad_request(
            f'{kind} in version "{served.version}" cannot be handled as a {served.kind.kind}: '
            "the kind does not match the path"
        )
    check_shape(served, document)


def _check_fields(served: ServedKind, document: JsonObject, options: WriteOptions) -> None:
    """Warn of unknown fields, or reject them; remove those of a built-in kind, in place."""
    unknown = [f'unknown field "{path}"' for path in schema.find_unknown_fields(served.declared, document)]
    if unknown and not served.kind.custom:
        schema.prune(served.declared, document)
    if options.field_validation == "Ignore":
        return
    if unknown and options.field_validation == "Strict":
        kind = served.kind.kind
        raise ApiStatusError(
            400,
            "BadRequest",
            f'{kind} in version "{served.version}" cannot be handled as a {kind}: '
            f"strict decoding error: {', '.join(unknown)}",
        )
    options.warnings.extend(unknown)
