"""The kinds and versions that are served at present: built-in ones and those of definitions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..kinds import types
from ..kinds.documents import JsonObject
from ..kinds.kinds import BUILT_IN_KINDS, CUSTOM_RESOURCE_DEFINITIONS, Kind
from ..kinds.missing_features import find_missing_resource
from ..kinds.status import PageNotFound, build_not_implemented, build_resource_not_found
from ..rules import definitions
from .store import Store


@dataclass(frozen=True)
class ServedKind:
    """A kind in one of its versions.

    Args:
        kind: The kind, as the store has it.
        version: The version.
        schema: Schema of the documents; None for built-in kinds.
        columns: Columns of `kubectl get` from the definition.
        scale: Paths of the `scale` subresource; None if there is none.
    """

    kind: Kind
    version: str
    schema: Mapping[str, Any] | None = None
    columns: tuple[Mapping[str, Any], ...] = ()
    scale: definitions.ScalePaths | None = None

    @property
    def group(self) -> str:
        """The group of the path."""
        return self.kind.group

    @property
    def api_version(self) -> str:
        """The `apiVersion` of documents in this version."""
        return self.kind.api_version_of(self.version)

    @property
    def declared(self) -> Mapping[str, Any]:
        """The schema of documents; for a built-in kind, that of its type."""
        if self.schema is not None:
            return self.schema
        return types.get_schema(types.get_type_name(self.group, self.version, self.kind.kind))

    def present(self, document: JsonObject) -> JsonObject:
        """Convert a stored document to this version; parts are shared with the original."""
        return document | {"apiVersion": self.api_version}


class KindRegistry:
    """The served kinds: built-in ones, and those of the store's CustomResourceDefinitions.

    Args:
        store: The cluster's objects; a new or deleted definition takes effect at once.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        scale = definitions.ScalePaths()
        self._built_in = {
            kind.key: ServedKind(kind, kind.versions[0], scale=scale if kind.scale else None) for kind in BUILT_IN_KINDS
        }
        self._built_in_groups = {group for group, _ in self._built_in}
        self._custom: dict[tuple[str, str], tuple[str, dict[str, ServedKind]]] = {}

    def find(self, group: str, version: str, plural: str) -> ServedKind:
        """Return the kind that is served at a path.

        Raises:
            ApiStatusError: 404, as plain text if the group is not one of Kubernetes. 501 for resources of Kubernetes
                that the local cluster lacks, unless a definition provides them.
        """
        absent = find_missing_resource(group, plural)
        built_in = self._built_in.get((group, plural))
        if built_in is not None and built_in.version == version:
            return built_in
        if absent is None and group in self._built_in_groups:
            raise build_resource_not_found()
        if self._store.objects.exists(CUSTOM_RESOURCE_DEFINITIONS, None, f"{plural}.{group}"):
            definition = self._store.objects.get_shared(CUSTOM_RESOURCE_DEFINITIONS, None, f"{plural}.{group}")
            found = self._get_versions(definition).get(version)
            if found is not None:
                return found
        if absent is not None:
            raise build_not_implemented(absent)
        raise PageNotFound

    def __iter__(self) -> Iterator[ServedKind]:
        """Return all kinds in all versions, the preferred version of each kind first."""
        yield from self._built_in.values()
        for definition in self._store.objects.list_shared(CUSTOM_RESOURCE_DEFINITIONS, None):
            yield from self._get_versions(definition).values()

    def _get_versions(self, definition: JsonObject) -> dict[str, ServedKind]:
        """Return the served versions of a definition; they are parsed once per change."""
        spec, metadata = definition["spec"], definition["metadata"]
        key = (spec["group"], spec["names"]["plural"])
        state = f"{metadata['uid']} {metadata['resourceVersion']}"
        known = self._custom.get(key)
        if known is None or known[0] != state:
            kind = definitions.build_kind(definition)
            known = (state, {version: _build_served_kind(definition, kind, version) for version in kind.versions})
            self._custom[key] = known
        return known[1]


def _build_served_kind(definition: JsonObject, kind: Kind, version: str) -> ServedKind:
    return ServedKind(
        kind,
        version,
        definitions.get_schema(definition, version),
        definitions.list_columns(definition, version),
        definitions.get_scale_paths(definition, version),
    )
