"""Patches: merge, JSON, strategic merge."""

from typing import Any

from contract.behaviour import behaviour, behaviours_of, ignore_error_messages
from contract.conversation import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Conversation
from contract.documents import (
    EXAMPLE,
    build_bound_pod,
    build_config_map,
    build_pod,
    build_secret,
    build_service,
    build_stateful_set,
    build_thing,
)


def _get_data(body: Any) -> Any:
    return {"data": body.get("data"), "labels": body["metadata"].get("labels")}


def _get_spec(body: Any) -> Any:
    return body["spec"]


@behaviours_of(
    [
        ("sets", {"data": {"x": "1"}}),
        ("replaces", {"data": {"k": "1"}}),
        ("removes", {"data": {"k": None}}),
        ("removes missing key", {"data": {"nothing": None}}),
        ("removes an object", {"data": None}),
        ("sets labels", {"metadata": {"labels": {"a": "b"}}}),
        ("nothing", {}),
    ]
)
async def merge_patch_is_applied(api: Conversation, patch: Any) -> None:
    await api.create(api.path("configmaps"), build_config_map("a", {"k": "v", "l": "v"}))
    await api.patch(api.path("configmaps/a"), patch, show=_get_data)


@behaviours_of(
    [
        ("string for an object", {"data": "x"}),
        ("number for a string", {"data": {"k": 1}}),
        ("another name", {"metadata": {"name": "b"}}),
        ("another namespace", {"metadata": {"namespace": "b"}}),
        ("old version", {"metadata": {"resourceVersion": "1"}, "data": {"k": "w"}}),
        ("another uid", {"metadata": {"uid": "00000000-0000-4000-8000-000000000001"}}),
        ("another kind", {"kind": "Secret"}),
        ("invalid label", {"metadata": {"labels": {"a": "b c"}}}),
        ("creation timestamp", {"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}}),
        ("list", []),
        ("string", "x"),
        ("null", "null"),
        ("empty", ""),
        ("malformed JSON", "{"),
    ]
)
@ignore_error_messages
async def merge_patch_is_validated(api: Conversation, patch: Any) -> None:
    await api.create(api.path("configmaps"), build_config_map("a", {"k": "v"}))
    await api.patch(api.path("configmaps/a"), patch)


@behaviour
async def merge_patch_of_custom_resource_replaces_lists(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a", {"texts": ["a", "b"], "entries": [{"k": "1"}]}))
    patch = {"spec": {"texts": ["c"], "entries": [{"k": "2"}]}}
    await api.patch(api.path("things/a", EXAMPLE), patch)


@behaviour
async def merge_patch_of_custom_resource_is_validated(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    await api.patch(api.path("things/a", EXAMPLE), {"spec": {"replicas": -1}})
    await api.patch(api.path("things/a", EXAMPLE), {"spec": {"nonsense": 1}})
    await api.patch(api.path("things/a", EXAMPLE), {"spec": {"mode": None}})
    await api.patch(api.path("things/a", EXAMPLE), {"spec": {"name": None}})


@behaviours_of(
    [
        ("add", [{"op": "add", "path": "/data/x", "value": "1"}]),
        ("add to existing key", [{"op": "add", "path": "/data/k", "value": "1"}]),
        ("replace", [{"op": "replace", "path": "/data/k", "value": "1"}]),
        ("remove", [{"op": "remove", "path": "/data/k"}]),
        ("test and replace", [{"op": "test", "path": "/data/k", "value": "v"}, {"op": "remove", "path": "/data/k"}]),
        ("copy", [{"op": "copy", "from": "/data/k", "path": "/data/m"}]),
        ("move", [{"op": "move", "from": "/data/k", "path": "/data/m"}]),
        ("escapes", [{"op": "add", "path": "/metadata/labels", "value": {"a.b/c": "d"}}]),
        (
            "escaped path",
            [
                {"op": "add", "path": "/metadata/labels", "value": {"a.b/c": "d"}},
                {"op": "replace", "path": "/metadata/labels/a.b~1c", "value": "e"},
            ],
        ),
        ("nothing", []),
    ]
)
async def json_patch_is_applied(api: Conversation, patch: Any) -> None:
    await api.create(api.path("configmaps"), build_config_map("a", {"k": "v", "l": "v"}))
    await api.patch(api.path("configmaps/a"), patch, JSON_PATCH, show=_get_data)


@behaviours_of(
    [
        ("failed test", [{"op": "test", "path": "/data/k", "value": "other"}]),
        ("test of missing key", [{"op": "test", "path": "/data/x", "value": "v"}]),
        ("remove of missing key", [{"op": "remove", "path": "/data/x"}]),
        ("replace of missing key", [{"op": "replace", "path": "/data/x", "value": "v"}]),
        ("missing parent", [{"op": "add", "path": "/x/y/z", "value": "v"}]),
        ("unknown operation", [{"op": "nonsense", "path": "/data/k"}]),
        ("missing path", [{"op": "add", "value": "v"}]),
        ("missing value", [{"op": "add", "path": "/data/x"}]),
        ("relative path", [{"op": "add", "path": "data", "value": "v"}]),
        ("object instead of a list", {"op": "add"}),
        ("list of strings", ["x"]),
        ("malformed JSON", "["),
        ("index in an object", [{"op": "add", "path": "/metadata/finalizers/5", "value": "a.b/c"}]),
        ("copy from missing key", [{"op": "copy", "from": "/x", "path": "/data/m"}]),
        ("removal of name", [{"op": "remove", "path": "/metadata/name"}]),
        ("removal of root", [{"op": "remove", "path": ""}]),
        ("replacement of root by string", [{"op": "replace", "path": "", "value": "x"}]),
    ]
)
@ignore_error_messages
async def json_patch_is_validated(api: Conversation, patch: Any) -> None:
    await api.create(api.path("configmaps"), build_config_map("a", {"k": "v"}))
    await api.patch(api.path("configmaps/a"), patch, JSON_PATCH)


@behaviour
async def json_patch_with_too_many_operations_is_rejected(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a"))
    patch = [{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10_001
    await api.patch(api.path("configmaps/a"), patch, JSON_PATCH)


@behaviour
@ignore_error_messages
async def json_patch_edits_list_by_index(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a", {"texts": ["a"]}))
    path = api.path("things/a", EXAMPLE)
    for operation in (
        {"op": "add", "path": "/spec/texts/-", "value": "b"},
        {"op": "add", "path": "/spec/texts/9", "value": "b"},
        {"op": "remove", "path": "/spec/texts/0"},
        {"op": "replace", "path": "/spec/texts/0", "value": "z"},
        {"op": "remove", "path": "/spec/texts/-1"},
    ):
        await api.patch(path, [operation], JSON_PATCH, show=lambda body: body["spec"].get("texts"))


CONTAINERS = [{"name": "main", "image": "i:1", "env": [{"name": "A", "value": "1"}]}, {"name": "side", "image": "i:1"}]


@behaviours_of(
    [
        ("image by name", {"spec": {"containers": [{"name": "side", "image": "i:2"}]}}),
        ("tolerations are replaced", {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}}),
        ("finalizer is added", {"metadata": {"finalizers": ["example.com/b"]}}),
        ("finalizer is removed", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}),
        ("labels", {"metadata": {"labels": {"a": None, "b": "c"}}}),
        ("labels replaced", {"metadata": {"labels": {"$patch": "replace", "b": "c"}}}),
        ("labels deleted", {"metadata": {"labels": {"$patch": "delete"}}}),
    ]
)
async def strategic_patch_of_pod_is_merged(api: Conversation, patch: Any) -> None:
    metadata = {"finalizers": ["example.com/a"], "labels": {"a": "b"}}
    await api.create(api.path("pods"), build_pod("a", {"containers": CONTAINERS}, **metadata))
    show = lambda body: {  # noqa: E731
        "spec": body["spec"],
        "finalizers": body["metadata"].get("finalizers"),
        "labels": body["metadata"].get("labels"),
    }
    await api.patch(api.path("pods/a"), patch, STRATEGIC_PATCH, show=show)
    await api.merge(api.path("pods/a"), {"metadata": {"finalizers": None}})


@behaviours_of(
    [
        ("adds", {"containers": [{"name": "new", "image": "i:1"}]}),
        ("removes", {"containers": [{"name": "side", "$patch": "delete"}]}),
        ("replaces", {"containers": [{"$patch": "replace"}, {"name": "only", "image": "i:1"}]}),
        ("reorders", {"$setElementOrder/containers": [{"name": "side"}, {"name": "main"}], "containers": []}),
        ("edits a variable", {"containers": [{"name": "main", "env": [{"name": "A", "value": "2"}]}]}),
        ("adds a variable", {"containers": [{"name": "main", "env": [{"name": "B", "value": "2"}]}]}),
        ("adds a volume", {"volumes": [{"name": "v", "emptyDir": {}}]}),
        ("retains keys", {"securityContext": {"$retainKeys": ["runAsUser"], "runAsUser": 7}}),
    ]
)
async def strategic_patch_of_pod_template_is_merged(api: Conversation, patch: Any) -> None:
    document = build_stateful_set("a")
    document["spec"]["template"]["spec"]["containers"] = CONTAINERS
    await api.create(api.path("statefulsets", "apps/v1"), document)
    body = {"spec": {"template": {"spec": patch}}}
    show = lambda found: found["spec"]["template"]["spec"]  # noqa: E731
    await api.patch(api.path("statefulsets/a", "apps/v1"), body, STRATEGIC_PATCH, show=show)


@behaviours_of(
    [
        ("item without its key", {"spec": {"containers": [{"image": "i:2"}]}}),
        ("list", []),
        ("text for a list", {"spec": {"containers": "x"}}),
        ("text for an object", {"spec": "x"}),
        ("unknown directive", {"spec": {"$patch": "wat"}}),
        ("unknown directive at the top", {"$patch": "wat"}),
        ("number for a directive", {"$patch": 1}),
        ("unknown directive in an item", {"spec": {"containers": [{"name": "main", "$patch": "wat"}]}}),
        ("text for an item", {"spec": {"containers": ["x"]}}),
        ("text for keys to retain", {"spec": {"$retainKeys": "x"}}),
        ("text for an order", {"metadata": {"$setElementOrder/finalizers": "x"}}),
        ("deletion of root", {"$patch": "delete"}),
        ("replacement of root", {"$patch": "replace"}),
    ]
)
@ignore_error_messages
async def invalid_strategic_patch_is_rejected(api: Conversation, patch: Any) -> None:
    await api.create(api.path("pods"), build_pod("a"))
    await api.patch(api.path("pods/a"), patch, STRATEGIC_PATCH)


@behaviour
async def strategic_patch_merges_ports_by_number(api: Conversation) -> None:
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    await api.create(api.path("services"), build_service("a", ports=ports))
    show = lambda body: body["spec"]["ports"]  # noqa: E731
    await api.patch(
        api.path("services/a"), {"spec": {"ports": [{"port": 81, "name": "c"}]}}, STRATEGIC_PATCH, show=show
    )


@behaviour
async def strategic_patch_merges_conditions_by_type(api: Conversation) -> None:
    await api.create(api.path("pods"), build_bound_pod("a"))
    for kind, status in (("Ready", "False"), ("Initialized", "True"), ("Ready", "True")):
        patch = {"status": {"conditions": [{"type": kind, "status": status}]}}
        await api.patch(api.path("pods/a/status"), patch, STRATEGIC_PATCH, show=lambda body: body["status"])


@behaviour
async def strategic_patch_of_custom_resource_is_rejected(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    await api.patch(api.path("things/a", EXAMPLE), {"spec": {"replicas": 2}}, STRATEGIC_PATCH)


@behaviours_of(
    [
        ("JSON", JSON),
        ("plain text", "text/plain"),
        ("no type", ""),
        ("YAML", "application/yaml"),
        ("with a parameter", MERGE_PATCH + "; charset=utf-8"),
    ]
)
@ignore_error_messages
async def content_type_of_patch_is_validated(api: Conversation, content_type: str) -> None:
    await api.create(api.path("configmaps"), build_config_map("a"))
    await api.patch(api.path("configmaps/a"), {"data": {"a": "b"}}, content_type, show=_get_data)


@behaviours_of([("merge", MERGE_PATCH, {}), ("json", JSON_PATCH, []), ("strategic", STRATEGIC_PATCH, {})])
async def patch_of_missing_object_is_rejected(api: Conversation, content_type: str, patch: Any) -> None:
    await api.patch(api.path("configmaps/missing"), patch, content_type)


@behaviour
async def apply_creates_missing_custom_resource(api: Conversation) -> None:
    await api.patch(api.path("things/a?fieldManager=me", EXAMPLE), build_thing("a"), APPLY_PATCH)


@behaviour
async def patch_records_field_manager(api: Conversation) -> None:
    await api.create(api.path("secrets"), build_secret("a", stringData={"k": "v"}))
    await api.patch(api.path("secrets/a?fieldManager=me"), {"metadata": {"labels": {"a": "b"}}})
    await api.patch(api.path("secrets/a?fieldManager=me"), {"metadata": {"labels": {"a": None}}})


@behaviour
async def force_is_rejected_without_apply(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a"))
    await api.patch(api.path("configmaps/a?force=true"), {"data": {"a": "b"}})
