"""Discovery: groups, versions, resources, OpenAPI."""

import json
from typing import Any

from contract.behaviour import behaviour, behaviours_of
from contract.conversation import Conversation
from contract.documents import EXAMPLE, build_thing


def _select_resource(*names: str) -> Any:
    """Return only the named resources of a list, because the real server has many more."""

    def show(body: Any) -> Any:
        found = [item for item in body["resources"] if item["name"] in names]
        for item in found:
            item.pop("storageVersionHash", None)
            item["verbs"] = sorted(item["verbs"])
        header = {key: body[key] for key in ("kind", "apiVersion", "groupVersion") if key in body}
        return header | {"resources": sorted(found, key=lambda item: item["name"])}

    return show


@behaviour
async def core_group_lists_its_versions(api: Conversation) -> None:
    await api.get("/api", show=lambda body: {"kind": body["kind"], "versions": body["versions"]})


@behaviour
async def group_list_describes_versions_of_groups(api: Conversation) -> None:
    def show(body: Any) -> Any:
        wanted = ("apps", "coordination.k8s.io", "example.com", "apiextensions.k8s.io")
        groups = {item["name"]: item for item in body["groups"] if item["name"] in wanted}
        return {"kind": body["kind"], "apiVersion": body["apiVersion"], "groups": groups}

    await api.get("/apis", show=show)


@behaviours_of(
    [
        ("custom", "/apis/example.com"),
        ("apps", "/apis/apps"),
        ("coordination", "/apis/coordination.k8s.io"),
        ("authorization", "/apis/authorization.k8s.io"),
        ("unknown", "/apis/nobody.example.com"),
    ]
)
async def group_is_described_if_served(api: Conversation, path: str) -> None:
    await api.get(path)


@behaviours_of(
    [
        ("pods", "/api/v1", ("pods", "pods/status", "pods/eviction", "pods/log")),
        ("namespaces", "/api/v1", ("namespaces", "namespaces/status")),
        ("config maps", "/api/v1", ("configmaps",)),
        ("secrets", "/api/v1", ("secrets",)),
        ("services", "/api/v1", ("services", "services/status")),
        ("endpoints", "/api/v1", ("endpoints",)),
        ("events", "/api/v1", ("events",)),
        ("service accounts", "/api/v1", ("serviceaccounts",)),
        ("volumes", "/api/v1", ("persistentvolumes", "persistentvolumeclaims", "persistentvolumeclaims/status")),
        ("quotas", "/api/v1", ("resourcequotas", "limitranges")),
        ("nodes", "/api/v1", ("nodes", "nodes/status")),
        ("stateful sets", "/apis/apps/v1", ("statefulsets", "statefulsets/scale", "statefulsets/status")),
        ("autoscalers", "/apis/autoscaling/v2", ("horizontalpodautoscalers",)),
        ("leases", "/apis/coordination.k8s.io/v1", ("leases",)),
        ("policies", "/apis/networking.k8s.io/v1", ("networkpolicies", "ingresses", "ingresses/status")),
        ("budgets", "/apis/policy/v1", ("poddisruptionbudgets", "poddisruptionbudgets/status")),
        ("roles", "/apis/rbac.authorization.k8s.io/v1", ("roles", "rolebindings", "clusterroles")),
        ("priority classes", "/apis/scheduling.k8s.io/v1", ("priorityclasses",)),
        ("storage classes", "/apis/storage.k8s.io/v1", ("storageclasses",)),
        ("definitions", "/apis/apiextensions.k8s.io/v1", ("customresourcedefinitions",)),
        ("reviews", "/apis/authorization.k8s.io/v1", ("selfsubjectaccessreviews", "localsubjectaccessreviews")),
        ("custom", "/apis/example.com/v1", ("things", "things/status", "things/scale")),
        ("another version", "/apis/example.com/v1alpha1", ("things", "things/status")),
        ("a version that is not served", "/apis/example.com/v9", ()),
        ("a core version that is not served", "/api/v2", ()),
    ]
)
async def resources_are_described_if_version_is_served(api: Conversation, path: str, names: tuple[str, ...]) -> None:
    await api.get(path, show=_select_resource(*names))


@behaviour
async def delete_on_discovery_path_is_rejected(api: Conversation) -> None:
    await api.delete("/api/v1")


@behaviour
async def version_is_served_without_token(api: Conversation) -> None:
    await api.get(
        "/version",
        headers={"Authorization": ""},
        show=lambda body: {"major": body["major"], "minor": body["minor"], "fields": sorted(body)},
    )


@behaviours_of([("healthz", "/healthz"), ("livez", "/livez"), ("readyz", "/readyz"), ("ping", "/healthz/ping")])
async def health_check_returns_ok(api: Conversation, path: str) -> None:
    await api.get(path)


@behaviour
async def openapi_index_lists_document_for_each_version(api: Conversation) -> None:
    reply = await api.until("/openapi/v3", lambda reply: "apis/example.com/v1" in str(reply.body))
    found = json.loads(reply.body) if isinstance(reply.body, str) else reply.body
    for path in ("api/v1", "apis/apps/v1", "apis/example.com/v1"):
        api.note(path, found["paths"][path]["serverRelativeURL"].partition("?")[0])


@behaviour
async def openapi_describes_custom_resources(api: Conversation) -> None:
    def show(body: Any) -> Any:
        schemas = body["components"]["schemas"]
        found = next(schema for name, schema in schemas.items() if name.endswith(".Thing"))
        return {
            "openapi": body["openapi"],
            "group": found["x-kubernetes-group-version-kind"],
            "properties": sorted(found["properties"]),
            "spec": found["properties"]["spec"],
        }

    await api.get("/openapi/v3/apis/example.com/v1", show=show)


@behaviours_of([("unknown group", "/openapi/v3/apis/nobody.example.com/v1"), ("unknown version", "/openapi/v4")])
async def unknown_openapi_path_is_not_found(api: Conversation, path: str) -> None:
    await api.get(path)


@behaviours_of(
    [
        ("group", "/apis/nobody.example.com/v1/things"),
        ("version", "/apis/apps/v9/statefulsets"),
        ("core resource", "/api/v1/nothings"),
        ("resource", "/apis/apps/v1/nothings"),
        ("custom resource", "/apis/example.com/v1/nothings"),
        ("custom version", "/apis/example.com/v9/things"),
        ("namespaced resource", "/api/v1/namespaces/default/nothings/x"),
        ("root", "/nothing/here"),
    ]
)
async def unknown_path_is_not_found(api: Conversation, path: str) -> None:
    await api.get(path)


@behaviour
async def undefined_subresource_is_not_found(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    await api.get(api.path("things/a/nothing", EXAMPLE))
