"""The format of an answer: the object, its metadata only, or a table for `kubectl get`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from aiohttp import web

from ..kinds.documents import JsonObject
from ..kinds.status import ApiStatusError, build_bad_request
from ..store.registry import ServedKind
from ..store.watch import Event
from .columns import list_columns

META_VERSION = "meta.k8s.io/v1"
_JSON_TYPES = frozenset({"application/json", "*/*"})


@dataclass(frozen=True)
class Presentation:
    """The format that the client accepts.

    Args:
        form: `object`, `metadata` or `table`.
        include: The content of a table's rows in addition to cells: `Object`, `Metadata` or `None`.
    """

    form: str = "object"
    include: str = "Metadata"


def negotiate(accept: str, include: str | None) -> Presentation:
    """Read the `Accept` header; the first supported entry counts.

    Raises:
        ApiStatusError: 406 if no entry is supported.
    """
    for entry in accept.split(",") if accept.strip() else ["*/*"]:
        media_type, *parameters = (part.strip() for part in entry.split(";"))
        given = dict(part.partition("=")[::2] for part in parameters)
        wanted = given.get("as", "")
        if media_type not in _JSON_TYPES:
            continue
        if not wanted:
            return Presentation()
        if given.get("g") == "meta.k8s.io" and given.get("v") == "v1":
            if wanted == "Table":
                _check_include(include)
                return Presentation("table", include=include or "Metadata")
            if wanted in ("PartialObjectMetadata", "PartialObjectMetadataList"):
                return Presentation("metadata")
    message = "only the following media types are accepted: application/json"
    raise ApiStatusError(406, "NotAcceptable", message, None if "as=" in accept else {})


def _check_include(include: str | None) -> None:
    if include not in (None, "", "Metadata", "Object", "None"):
        detail = f"includeObject: Invalid value: \"{include}\": must be 'Metadata', 'Object', 'None', or empty"
        raise build_bad_request(f"Unable to convert to Table as requested: {detail}")


class Presenter:
    """Presents objects of one kind to one client.

    Args:
        served: The kind, in the requested version.
        presentation: The format.
    """

    def __init__(self, served: ServedKind, presentation: Presentation) -> None:
        self.served = served
        self.presentation = presentation

    @property
    def plain(self) -> bool:
        """Whether objects are shown unchanged, except for their version."""
        return self.presentation.form == "object"

    def present_one(self, document: JsonObject, *, header: bool = True) -> JsonObject:
        """Return the answer with one object; `header` is whether a table names its columns."""
        shown = self.served.present(document)
        if self.presentation.form == "metadata":
            return _build_partial_metadata(shown)
        if self.presentation.form == "table":
            return self._build_table([shown], {"resourceVersion": shown["metadata"]["resourceVersion"]}, header=header)
        return shown

    def present_list(self, documents: list[JsonObject], metadata: JsonObject) -> JsonObject:
        """Return a list of objects with the list's own metadata, for a format that is not `plain`."""
        shown = [self.served.present(document) for document in documents]
        if self.presentation.form == "table":
            return self._build_table(shown, metadata, header=True)
        return {
            "kind": "PartialObjectMetadataList",
            "apiVersion": META_VERSION,
            "metadata": metadata,
            "items": [_build_partial_metadata(item) for item in shown],
        }

    def encode_list(self, events: Sequence[Event], metadata: JsonObject) -> bytes:
        """Return a list of objects as JSON, for a format that is `plain`; the objects are already encoded."""
        api_version = self.served.api_version
        head = {"kind": self.served.kind.collection_kind, "apiVersion": api_version, "metadata": metadata}
        # Items of a typed list do not repeat their type.
        items = b",".join(event.encode(api_version if self.served.kind.custom else "") for event in events)
        return json.dumps(head).encode()[:-1] + b', "items":[' + items + b"]}"

    def present_bookmark(self, version: int, *, initial_events_end: bool) -> JsonObject:
        """Return the object of a bookmark, which has only a version."""
        metadata: JsonObject = {"resourceVersion": str(version)}
        if initial_events_end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        if self.presentation.form == "table":
            return self._build_table([], metadata, header=False)
        kind = "PartialObjectMetadata" if self.presentation.form == "metadata" else self.served.kind.kind
        api_version = META_VERSION if self.presentation.form == "metadata" else self.served.api_version
        return {"kind": kind, "apiVersion": api_version, "metadata": metadata}

    def _build_table(self, documents: list[JsonObject], metadata: JsonObject, *, header: bool) -> JsonObject:
        columns = list_columns(self.served)
        metadata = {key: value for key, value in metadata.items() if value or key != "continue"}
        now = datetime.now(UTC)
        rows: list[JsonObject] = []
        for document in documents:
            row: JsonObject = {"cells": [column.cell(document, now) for column in columns]}
            if self.presentation.include == "Object":
                row["object"] = document
            else:
                row["object"] = None if self.presentation.include == "None" else _build_partial_metadata(document)
            rows.append(row)
        return {
            "kind": "Table",
            "apiVersion": META_VERSION,
            "metadata": metadata,
            "columnDefinitions": [column.build_definition() for column in columns] if header else None,
            "rows": rows,
        }


def build_json_response(document: JsonObject, status: int = 200) -> web.Response:
    """Return an answer in JSON; like Kubernetes, without a charset in the media type."""
    return build_encoded_response(json.dumps(document).encode(), status)


def build_encoded_response(body: bytes, status: int = 200) -> web.Response:
    """Return an answer with encoded JSON."""
    return web.Response(status=status, body=body, content_type="application/json")


def _build_partial_metadata(document: JsonObject) -> JsonObject:
    return {"kind": "PartialObjectMetadata", "apiVersion": META_VERSION, "metadata": document["metadata"]}
