"""Discovery: groups, versions and resources."""

from collections.abc import Iterable

from ..kinds.documents import JsonObject
from ..kinds.kinds import NAMESPACES, PODS, Kind
from ..kinds.status import PageNotFound, build_resource_not_found
from ..store.registry import KindRegistry, ServedKind
from .reviews import REVIEWS

VERSION: JsonObject = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3+local",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "local",
}
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_STATUS_VERBS = ["get", "patch", "update"]


def list_api_versions(address: str) -> JsonObject:
    """Return the answer to `/api`."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def list_groups(kinds: KindRegistry) -> JsonObject:
    """Return the answer to `/apis`."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": list(_build_groups(kinds).values())}


def get_group(kinds: KindRegistry, name: str) -> JsonObject:
    """Return the answer to `/apis/GROUP`.

    Raises:
        ApiStatusError: 404.
    """
    found = _build_groups(kinds).get(name)
    if found is None:
        raise PageNotFound
    return {"kind": "APIGroup", "apiVersion": "v1"} | found


def list_resources(kinds: KindRegistry, group_name: str, version: str) -> JsonObject:
    """Return the answer to `/api/v1` or `/apis/GROUP/VERSION`.

    Raises:
        ApiStatusError: 404.
    """
    resources = [
        entry
        for served in kinds
        if (served.group, served.version) == (group_name, version)
        for entry in _build_resources(served)
    ]
    resources += [
        {"name": plural, "singularName": kind.lower(), "namespaced": namespaced, "kind": kind, "verbs": ["create"]}
        for (review_group, plural), (kind, namespaced) in REVIEWS.items()
        if (review_group, "v1") == (group_name, version)
    ]
    if not resources and group_name in {item.group for item in kinds if not item.kind.custom}:
        raise build_resource_not_found()
    if not resources:
        raise PageNotFound
    # The list of the core group is older than the field `apiVersion`.
    header = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group_name else {})
    return header | {"groupVersion": f"{group_name}/{version}".lstrip("/"), "resources": resources}


def list_group_versions(kinds: KindRegistry) -> list[tuple[str, str]]:
    """Return every served group and version once."""
    served = [(item.group, item.version) for item in kinds]
    served += [(review_group, "v1") for review_group, _ in REVIEWS]
    return list(dict.fromkeys(served))


def _build_groups(kinds: KindRegistry) -> dict[str, JsonObject]:
    groups: dict[str, JsonObject] = {}
    for name, version in list_group_versions(kinds):
        if not name:
            continue
        entry = {"groupVersion": f"{name}/{version}", "version": version}
        found = groups.setdefault(name, {"name": name, "versions": [], "preferredVersion": entry})
        found["versions"].append(entry)
    return groups


def _build_resources(served: ServedKind) -> Iterable[JsonObject]:
    kind = served.kind
    entry: JsonObject = {
        "name": kind.plural,
        "singularName": kind.singular_name,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": [verb for verb in _VERBS if verb != "deletecollection" or kind.key != NAMESPACES.key],
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    yield entry
    if kind.status:
        yield _build_subresource(kind, "status", kind.kind, _STATUS_VERBS)
    if served.scale is not None:
        yield _build_subresource(kind, "scale", "Scale", _STATUS_VERBS) | {"group": "autoscaling", "version": "v1"}
    if kind.key == PODS.key:
        yield _build_subresource(kind, "eviction", "Eviction", ["create"]) | {"group": "policy", "version": "v1"}
        yield _build_subresource(kind, "log", "Pod", ["get"])
        yield _build_subresource(kind, "portforward", "PodPortForwardOptions", ["create", "get"])
        yield _build_subresource(kind, "proxy", "PodProxyOptions", ["get"])


def _build_subresource(kind: Kind, name: str, document_kind: str, verbs: list[str]) -> JsonObject:
    return {
        "name": f"{kind.plural}/{name}",
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": document_kind,
        "verbs": verbs,
    }
