"""Which kinds are served at the moment, in which versions: the built-in ones and those of definitions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from local_kubernetes.api import definitions, events, types
from local_kubernetes.api.absent import absent_resource
from local_kubernetes.api.documents import JsonObject
from local_kubernetes.api.kinds import (
    BUILT_IN_KINDS,
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    Kind,
)
from local_kubernetes.api.status import PageNotFound, not_implemented, resource_not_found
from local_kubernetes.api.store import Store


@dataclass(frozen=True)
class ServedKind:
    """A kind in one of its versions.

    Args:
        kind: the kind, as the store knows it.
        group: the group of the path it is served at.
        version: the version.
        schema: what its documents look like; None for built-in kinds.
        columns: the columns of `kubectl get` that its definition names.
        scale: where it keeps its numbers, for kinds with a `scale` subresource.
    """

    kind: Kind
    group: str
    version: str
    schema: Mapping[str, Any] | None = None
    columns: tuple[definitions.Column, ...] = ()
    scale: definitions.ScalePaths | None = None

    @property
    def api_version(self) -> str:
        """The `apiVersion` of documents in this version."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def declared(self) -> Mapping[str, Any]:
        """The schema of its documents, of a built-in kind the type."""
        if self.schema is not None:
            return self.schema
        return types.get_schema(types.type_name(self.group, self.version, self.kind.kind))

    def present(self, document: JsonObject) -> JsonObject:
        """A stored document as this version shows it; parts are shared with the original."""
        if self.group == events.GROUP:
            return events.present_event(document)
        return document | {"apiVersion": self.api_version}

    def accept(self, document: JsonObject) -> JsonObject:
        """A document of this version as it is stored; parts are shared with the original."""
        if self.group == events.GROUP:
            return events.accept_event(document)
        return document


class KindRegistry:
    """The served kinds: built-in ones, and what the store's CustomResourceDefinitions define.

    Args:
        store: the objects of the cluster; definitions that come or go there count at once.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._built_in = {kind.key: ServedKind(kind, kind.group, kind.versions[0]) for kind in BUILT_IN_KINDS}
        self._built_in[events.GROUP, EVENTS.plural] = ServedKind(EVENTS, events.GROUP, "v1")
        for kind in BUILT_IN_KINDS:
            if kind.scale:
                served = ServedKind(kind, kind.group, kind.versions[0], scale=definitions.ScalePaths())
                self._built_in[kind.key] = served
        self._built_in_groups = {group for group, _ in self._built_in}
        self._custom: dict[tuple[str, str], tuple[str, dict[str, ServedKind]]] = {}

    def find(self, group: str, version: str, plural: str) -> ServedKind:
        """The kind that is served at a path.

        Raises:
            ApiStatusError: 404, a page that is not found where the group is none of Kubernetes' own; 501 for what
                Kubernetes has and the local cluster has not, unless a definition stands in for it.
        """
        absent = absent_resource(group, plural)
        built_in = self._built_in.get((group, plural))
        if built_in is not None and built_in.version == version:
            return built_in
        if absent is None and group in self._built_in_groups:
            raise resource_not_found()
        if self._store.exists(CUSTOM_RESOURCE_DEFINITIONS, None, f"{plural}.{group}"):
            definition = self._store.view(CUSTOM_RESOURCE_DEFINITIONS, None, f"{plural}.{group}")
            found = self._versions(definition).get(version)
            if found is not None:
                return found
        if absent is not None:
            raise not_implemented(absent)
        raise PageNotFound

    def __iter__(self) -> Iterator[ServedKind]:
        """All kinds in all of their versions, the preferred version of each kind first."""
        yield from self._built_in.values()
        for definition in self._store.views(CUSTOM_RESOURCE_DEFINITIONS, None):
            yield from self._versions(definition).values()

    def _versions(self, definition: JsonObject) -> dict[str, ServedKind]:
        """The served versions of a definition, read once for each of its states."""
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
        kind.group,
        version,
        definitions.schema_of(definition, version),
        definitions.columns_of(definition, version),
        definitions.scale_of(definition, version),
    )
