"""Creation of objects: fields that the server sets, and rejected documents."""

import base64
from typing import Any

from contract.behaviour import behaviour, behaviours_of, ignore_error_messages
from contract.conversation import Conversation
from contract.documents import (
    EXAMPLE,
    build_config_map,
    build_lease,
    build_pod,
    build_secret,
    build_service,
    build_stateful_set,
    build_thing,
)


@behaviour
async def created_object_gets_uid_version_and_time(api: Conversation) -> None:
    await api.post(api.path("configmaps"), build_config_map("a", {"k": "v"}, labels={"l": "1"}))
    await api.get(api.path("configmaps/a"))


@behaviour
async def built_in_object_without_kind_and_version_is_accepted(api: Conversation) -> None:
    await api.post(api.path("configmaps"), {"metadata": {"name": "a"}})


@behaviour
async def name_is_generated_from_prefix(api: Conversation) -> None:
    document = build_config_map("ignored")
    document["metadata"] = {"generateName": "prefix-"}
    await api.post(api.path("configmaps"), document)
    document["metadata"] = {"generateName": "x" * 80}
    reply = await api.post(api.path("configmaps"), document)
    api.note("length of a name from a long prefix", len(reply.body["metadata"]["name"]))


@behaviour
async def name_overrides_generate_name(api: Conversation) -> None:
    document = build_config_map("mine")
    document["metadata"]["generateName"] = "prefix-"
    reply = await api.post(api.path("configmaps"), document, show=lambda _: None)
    api.note("name", reply.body["metadata"]["name"])


@behaviour
async def existing_name_is_rejected(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a"))
    await api.post(api.path("configmaps"), build_config_map("a"))
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    await api.post(api.path("things", EXAMPLE), build_thing("a"))


@behaviour
async def missing_namespace_is_rejected(api: Conversation) -> None:
    await api.post("/api/v1/namespaces/missing-namespace/configmaps", build_config_map("a"))
    await api.post("/apis/example.com/v1/namespaces/missing-namespace/things", build_thing("a"))


@behaviour
async def namespace_different_from_path_is_rejected(api: Conversation) -> None:
    await api.post(api.path("configmaps"), build_config_map("a", namespace="other"))


@behaviour
async def creation_without_namespace_is_rejected(api: Conversation) -> None:
    await api.post("/api/v1/configmaps", build_config_map("a"))


@behaviour
async def creation_with_resource_version_is_rejected(api: Conversation) -> None:
    await api.post(api.path("configmaps"), build_config_map("a", resourceVersion="7"))


@behaviour
async def client_values_of_server_fields_are_ignored(api: Conversation) -> None:
    mine: dict[str, Any] = {
        "uid": "00000000-0000-4000-8000-000000000001",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "generation": 7,
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "selfLink": "/x",
    }
    await api.post(api.path("things", EXAMPLE), build_thing("a", metadata=mine))
    await api.post(api.path("configmaps"), build_config_map("a", **mine))


@behaviours_of(
    [
        ("upper case", "Name"),
        ("underscore", "a_b"),
        ("leading dash", "-a"),
        ("trailing dot", "a."),
        ("too long", "a" * 254),
        ("slash", "a/b"),
        ("empty", ""),
        ("unicode", "ä"),
    ]
)
async def invalid_name_is_rejected(api: Conversation, name: str) -> None:
    await api.post(api.path("configmaps"), build_config_map(name))


@behaviours_of([("dot", "a.b"), ("digit first", "1a"), ("too long", "a" * 64), ("upper case", "Svc")])
async def service_name_must_be_dns_label(api: Conversation, name: str) -> None:
    await api.post(api.path("services"), build_service(name))


@behaviour
async def namespace_name_must_be_dns_label(api: Conversation) -> None:
    await api.post("/api/v1/namespaces", {"metadata": {"name": "a.b"}})


@behaviour
async def role_name_must_be_path_segment(api: Conversation) -> None:
    group = "rbac.authorization.k8s.io/v1"
    await api.post(api.path("roles", group), {"metadata": {"name": "a:B_c"}, "rules": []})
    await api.post(api.path("roles", group), {"metadata": {"name": "a%b"}, "rules": []})


@behaviours_of(
    [
        ("value with space", {"labels": {"a": "b c"}}),
        ("value too long", {"labels": {"a": "b" * 64}}),
        ("key with two slashes", {"labels": {"a/b/c": "d"}}),
        ("key empty", {"labels": {"": "d"}}),
        ("key with space", {"labels": {"a b": "d"}}),
        ("prefix in upper case", {"labels": {"Example.com/a": "d"}}),
        ("annotation key", {"annotations": {"a b": "d"}}),
        ("number as value", {"labels": {"a": 1}}),
        ("annotations too large", {"annotations": {"a": "x" * 300_000}}),
        ("finalizer without a slash", {"finalizers": ["nonsense"]}),
        ("finalizer with a space", {"finalizers": ["example.com/a b"]}),
        ("owner without uid", {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]}),
        ("owner without name", {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "uid": "1", "name": ""}]}),
        (
            "two controllers",
            {
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1", "controller": True},
                    {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "2", "controller": True},
                ]
            },
        ),
    ]
)
@ignore_error_messages
async def invalid_metadata_is_rejected(api: Conversation, metadata: dict[str, Any]) -> None:
    await api.post(api.path("configmaps"), build_config_map("a", **metadata))


@behaviours_of([("secret", "secrets", "v1", {})])
@ignore_error_messages
async def unqualified_finalizer_is_rejected_only_by_core_group(
    api: Conversation, resource: str, group: str, document: dict[str, Any]
) -> None:
    metadata = {"name": "a", "finalizers": ["nonsense"]}
    await api.post(
        api.path(resource, group) + "?dryRun=All",
        document | {"metadata": metadata},
        show=lambda body: body["metadata"]["finalizers"],
    )


@behaviours_of([("at the limit", 1024 * 1024), ("above the limit", 1024 * 1024 + 1)])
async def size_of_decoded_data_is_limited(api: Conversation, size: int) -> None:
    encoded = base64.b64encode(bytes(size)).decode()
    for resource, document in (("secrets", {"data": {"a": encoded}}), ("configmaps", {"binaryData": {"a": encoded}})):
        named = document | {"metadata": {"name": "a"}}
        await api.post(api.path(resource) + "?dryRun=All", named, show=lambda body: body["kind"])


@behaviours_of(
    [
        ("number for data", {"data": {"a": 1}}),
        ("list for data", {"data": []}),
        ("text for metadata", {"metadata": "a"}),
        ("invalid base64", {"binaryData": {"a": "%"}}),
        ("key with a slash", {"data": {"a/b": "c"}}),
        ("key in both", {"data": {"a": "b"}, "binaryData": {"a": "YQ=="}}),
        ("other kind", {"kind": "Secret"}),
        ("other version", {"apiVersion": "v2"}),
        ("other group", {"apiVersion": "apps/v1"}),
    ]
)
@ignore_error_messages
async def invalid_config_map_is_rejected(api: Conversation, more: dict[str, Any]) -> None:
    await api.post(api.path("configmaps"), {**build_config_map("a"), **more})


@behaviour
async def string_data_of_secret_is_encoded(api: Conversation) -> None:
    await api.post(api.path("secrets"), build_secret("a", stringData={"k": "v"}, data={"l": "dg=="}))


@behaviour
@ignore_error_messages
async def secret_with_invalid_base64_is_rejected(api: Conversation) -> None:
    await api.post(api.path("secrets"), build_secret("a", data={"l": "%%"}))


@behaviour
async def service_gets_cluster_ip(api: Conversation) -> None:
    await api.post(api.path("services"), build_service("a"))


@behaviours_of(
    [
        ("headless", {"clusterIP": "None"}),
        ("headless without ports", {"clusterIP": "None", "ports": []}),
        ("external name", {"type": "ExternalName", "externalName": "example.com", "ports": [], "selector": None}),
        ("named ports", {"ports": [{"name": "a", "port": 80, "targetPort": "http"}, {"name": "b", "port": 81}]}),
        ("without ports", {"ports": []}),
        ("a port out of range", {"ports": [{"port": 70000}]}),
        ("two ports without names", {"ports": [{"port": 80}, {"port": 81}]}),
        ("unknown type", {"type": "Nonsense"}),
        ("unknown protocol", {"ports": [{"port": 80, "protocol": "X"}]}),
        ("external name missing", {"type": "ExternalName", "ports": []}),
    ]
)
async def service_spec_is_validated(api: Conversation, spec: dict[str, Any]) -> None:
    await api.post(api.path("services"), build_service("a", **spec))


@behaviour
async def created_namespace_is_active(api: Conversation) -> None:
    name = f"{api.namespace}-more"
    await api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    await api.get(f"/api/v1/namespaces/{name}")
    await api.ask("DELETE", f"/api/v1/namespaces/{name}")


@behaviour
async def lease_duration_must_be_positive(api: Conversation) -> None:
    path = api.path("leases", "coordination.k8s.io/v1")
    await api.post(path, build_lease("a", "me"))
    wrong = build_lease("b", "me")
    wrong["spec"]["leaseDurationSeconds"] = 0
    await api.post(path, wrong)


@behaviour
async def lease_times_keep_microseconds(api: Conversation) -> None:
    path = api.path("leases", "coordination.k8s.io/v1")
    document = build_lease("a", "me")
    document["spec"] |= {"acquireTime": "2026-01-02T03:04:05.678901Z", "renewTime": "2026-01-02T03:04:05.000000Z"}
    reply = await api.ask("POST", path, document)
    api.note("times", [reply.body["spec"][key].replace("2026", "year") for key in ("acquireTime", "renewTime")])


@behaviour
@ignore_error_messages
async def lease_time_without_microseconds_is_rejected(api: Conversation) -> None:
    document = build_lease("a", "me")
    document["spec"]["renewTime"] = "2026-01-02T03:04:05Z"
    await api.post(api.path("leases", "coordination.k8s.io/v1"), document)


@behaviour
async def stateful_set_gets_defaults(api: Conversation) -> None:
    document = build_stateful_set("a")
    await api.post(api.path("statefulsets", "apps/v1"), document)


@behaviours_of(
    [
        ("missing selector", lambda spec: spec.pop("selector")),
        ("selector without match", lambda spec: spec.update(selector={"matchLabels": {"x": "y"}})),
        ("missing template", lambda spec: spec.pop("template")),
        ("negative replicas", lambda spec: spec.update(replicas=-1)),
    ]
)
async def incomplete_stateful_set_is_rejected(api: Conversation, change: Any) -> None:
    document = build_stateful_set("a")
    change(document["spec"])
    await api.post(api.path("statefulsets", "apps/v1"), document)


@behaviour
async def pod_gets_defaults(api: Conversation) -> None:
    await api.post(api.path("pods"), build_pod("a"))


@behaviour
async def persistent_volume_claim_gets_defaults(api: Conversation) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await api.post(api.path("persistentvolumeclaims"), {"metadata": {"name": "a"}, "spec": spec})


@behaviour
async def service_account_is_created(api: Conversation) -> None:
    await api.post(api.path("serviceaccounts"), {"metadata": {"name": "a"}})


@behaviour
async def role_binding_is_created(api: Conversation) -> None:
    document = {
        "metadata": {"name": "a"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": api.namespace}],
    }
    await api.post(api.path("rolebindings", "rbac.authorization.k8s.io/v1"), document)


@behaviour
async def priority_class_is_created_and_deleted(api: Conversation) -> None:
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    await api.post(path, {"metadata": {"name": f"{api.namespace}-high"}, "value": 7})
    await api.delete(f"{path}/{api.namespace}-high")


@behaviour
async def unknown_fields_are_dropped_or_rejected_by_field_validation(api: Conversation) -> None:
    await api.post(api.path("things", EXAMPLE), build_thing("a", {"nonsense": 1}))
    await api.post(api.path("things", EXAMPLE) + "?fieldValidation=Ignore", build_thing("b", {"nonsense": 1}))
    await api.post(api.path("things", EXAMPLE) + "?fieldValidation=Strict", build_thing("c", {"nonsense": 1}))
    await api.post(api.path("things", EXAMPLE) + "?fieldValidation=Odd", build_thing("d"))


@behaviour
async def given_field_manager_is_recorded(api: Conversation) -> None:
    await api.post(api.path("configmaps") + "?fieldManager=me", build_config_map("a", {"k": "v"}))
    await api.post(api.path("configmaps") + "?fieldManager=" + "x" * 129, build_config_map("b", {"k": "v"}))
