"""Server-side apply: ownership of fields, conflicts, and removal of omitted fields."""

from typing import Any

from contract.behaviour import behaviour, behaviours_of, ignore_error_messages
from contract.conversation import APPLY_PATCH, Conversation
from contract.documents import EXAMPLE, build_config_map, build_pod, build_service, build_stateful_set, build_thing

ME = "?fieldManager=me"


@behaviour
async def apply_creates_missing_object(api: Conversation) -> None:
    await api.patch(api.path(f"configmaps/a{ME}"), build_config_map("a", {"k": "v"}), APPLY_PATCH)
    await api.get(api.path("configmaps/a"))


@behaviour
async def identical_apply_changes_nothing(api: Conversation) -> None:
    for _ in range(2):
        await api.patch(api.path(f"configmaps/a{ME}"), build_config_map("a", {"k": "v"}), APPLY_PATCH)


@behaviour
async def omitted_applied_fields_are_removed(api: Conversation) -> None:
    for data in ({"k": "v", "l": "v"}, {"k": "v"}):
        await api.patch(api.path(f"configmaps/a{ME}"), build_config_map("a", data), APPLY_PATCH)


@behaviour
async def omitted_fields_of_another_manager_are_kept(api: Conversation) -> None:
    await api.patch(api.path(f"configmaps/a{ME}"), build_config_map("a", {"k": "v", "l": "v"}), APPLY_PATCH)
    await api.patch(api.path("configmaps/a?fieldManager=you"), build_config_map("a", {"l": "v"}), APPLY_PATCH)
    await api.patch(api.path(f"configmaps/a{ME}"), build_config_map("a", {"k": "v"}), APPLY_PATCH)


@behaviour
async def conflict_error_names_other_manager(api: Conversation) -> None:
    await api.patch(api.path(f"configmaps/a{ME}"), build_config_map("a", {"k": "v", "l": "v"}), APPLY_PATCH)
    path = api.path("configmaps/a?fieldManager=you")
    await api.patch(path, build_config_map("a", {"k": "w"}), APPLY_PATCH)
    await api.patch(path, build_config_map("a", {"k": "w", "l": "w"}), APPLY_PATCH)
    await api.patch(f"{path}&force=true", build_config_map("a", {"k": "w"}), APPLY_PATCH)


@behaviour
async def apply_of_field_owned_by_creation_conflicts(api: Conversation) -> None:
    await api.ask("POST", api.path("configmaps") + "?fieldManager=you", build_config_map("a", {"k": "v"}))
    await api.patch(api.path(f"configmaps/a{ME}"), build_config_map("a", {"k": "w"}), APPLY_PATCH)
    await api.patch(api.path(f"configmaps/a{ME}"), build_config_map("a", {"k": "v"}), APPLY_PATCH)


@behaviour
async def update_transfers_ownership_of_changed_fields(api: Conversation) -> None:
    await api.patch(api.path(f"configmaps/a{ME}"), build_config_map("a", {"k": "v"}), APPLY_PATCH)
    await api.put(api.path("configmaps/a?fieldManager=you"), build_config_map("a", {"k": "w"}))


@behaviour
async def apply_without_field_manager_is_rejected(api: Conversation) -> None:
    await api.patch(api.path("configmaps/a"), build_config_map("a"), APPLY_PATCH)


@behaviours_of(
    [
        ("another name", lambda document: document["metadata"].update(name="b")),
        ("managed fields", lambda document: document["metadata"].update(managedFields=[{"manager": "x"}])),
        ("another version", lambda document: document.update(apiVersion="v2")),
        ("another kind", lambda document: document.update(kind="Secret")),
        ("no kind", lambda document: document.pop("kind")),
        ("no version", lambda document: document.pop("apiVersion")),
        ("no name", lambda document: document["metadata"].pop("name")),
        ("a uid", lambda document: document["metadata"].update(uid="00000000-0000-4000-8000-000000000001")),
        ("a version of the object", lambda document: document["metadata"].update(resourceVersion="1")),
        ("an unknown field", lambda document: document.update(nonsense=1)),
        ("a wrong type", lambda document: document.update(data=7)),
    ]
)
@ignore_error_messages
async def applied_configuration_is_validated(api: Conversation, change: Any) -> None:
    document = build_config_map("a", {"k": "v"})
    change(document)
    await api.patch(api.path(f"configmaps/a{ME}"), document, APPLY_PATCH)


@behaviours_of([("empty", ""), ("a text", "x"), ("a list", "[]"), ("no YAML", "{a: [}"), ("no JSON", '{"a":')])
@ignore_error_messages
async def malformed_configuration_is_rejected(api: Conversation, body: str) -> None:
    await api.patch(api.path(f"configmaps/a{ME}"), body, APPLY_PATCH)


@behaviour
async def apply_creates_and_updates_pod(api: Conversation) -> None:
    spec = {"containers": [{"name": "main", "image": "i:1", "ports": [{"containerPort": 80}]}]}
    await api.patch(api.path(f"pods/a{ME}"), build_pod("a", spec), APPLY_PATCH)
    spec["containers"][0]["image"] = "i:2"
    await api.patch(api.path(f"pods/a{ME}"), build_pod("a", spec, labels={"l": "1"}), APPLY_PATCH)


@behaviour
async def list_items_of_pod_are_owned_by_key(api: Conversation) -> None:
    container = {
        "name": "main",
        "image": "i:1",
        "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}},
        "command": ["a", "b"],
    }
    spec = {
        "containers": [container],
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}],
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "nodeSelector": {"a": "b"},
        "imagePullSecrets": [{"name": "s"}],
        "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["h"]}],
    }
    show = lambda body: body["metadata"]["managedFields"]  # noqa: E731
    await api.patch(api.path(f"pods/a{ME}"), build_pod("a", spec), APPLY_PATCH, show=show)


@behaviour
async def apply_merges_ports_by_number_and_protocol(api: Conversation) -> None:
    await api.patch(api.path(f"services/a{ME}"), build_service("a", ports=[{"name": "x", "port": 80}]), APPLY_PATCH)
    other = build_service("a", ports=[{"name": "y", "port": 81, "protocol": "TCP"}])
    await api.patch(api.path("services/a?fieldManager=you"), other, APPLY_PATCH)


@behaviour
async def scaling_transfers_ownership_of_replicas(api: Conversation) -> None:
    await api.patch(
        api.path(f"statefulsets/a{ME}", "apps/v1"), build_stateful_set("a"), APPLY_PATCH, show=_get_managers
    )
    await api.merge(api.path("statefulsets/a/scale?fieldManager=scaler", "apps/v1"), {"spec": {"replicas": 1}})
    await api.get(api.path("statefulsets/a", "apps/v1"), show=_get_managers)


@behaviour
async def list_items_of_custom_resource_are_owned_by_key(api: Conversation) -> None:
    path = api.path(f"things/a{ME}", EXAMPLE)
    await api.patch(path, build_thing("a", {"entries": [{"k": "1", "v": "a"}]}), APPLY_PATCH)
    other = build_thing("a", {"entries": [{"k": "2", "v": "b"}]})
    await api.patch(api.path("things/a?fieldManager=you", EXAMPLE), other, APPLY_PATCH)
    await api.patch(path, build_thing("a"), APPLY_PATCH)


@behaviour
async def list_without_keys_is_owned_as_one_field(api: Conversation) -> None:
    await api.patch(api.path(f"things/a{ME}", EXAMPLE), build_thing("a", {"texts": ["a"]}), APPLY_PATCH)
    path = api.path("things/a?fieldManager=you", EXAMPLE)
    await api.patch(path, build_thing("a", {"texts": ["b"]}), APPLY_PATCH)


@behaviour
async def default_value_has_no_owner(api: Conversation) -> None:
    await api.patch(api.path(f"things/a{ME}", EXAMPLE), build_thing("a"), APPLY_PATCH)
    path = api.path("things/a?fieldManager=you", EXAMPLE)
    await api.patch(path, build_thing("a", {"replicas": 3}), APPLY_PATCH)


@behaviour
async def status_has_separate_managers(api: Conversation) -> None:
    await api.patch(api.path(f"things/a{ME}", EXAMPLE), build_thing("a"), APPLY_PATCH)
    status = {"apiVersion": EXAMPLE, "kind": "Thing", "metadata": {"name": "a"}, "status": {"phase": "x"}}
    await api.patch(api.path("things/a/status?fieldManager=controller", EXAMPLE), status, APPLY_PATCH)
    await api.patch(api.path(f"things/a{ME}", EXAMPLE), build_thing("a"), APPLY_PATCH)


@behaviour
async def apply_to_main_resource_ignores_status(api: Conversation) -> None:
    await api.patch(api.path(f"things/a{ME}", EXAMPLE), build_thing("a", status={"phase": "x"}), APPLY_PATCH)


@behaviour
async def status_of_missing_object_is_rejected(api: Conversation) -> None:
    status = {"apiVersion": EXAMPLE, "kind": "Thing", "metadata": {"name": "a"}, "status": {"phase": "x"}}
    await api.patch(api.path(f"things/a/status{ME}", EXAMPLE), status, APPLY_PATCH)


@behaviour
async def invalid_custom_resource_is_rejected(api: Conversation) -> None:
    await api.patch(api.path(f"things/a{ME}", EXAMPLE), build_thing("a", {"replicas": -1}), APPLY_PATCH)
    await api.patch(api.path(f"things/a{ME}", EXAMPLE), build_thing("a", {"nonsense": 1}), APPLY_PATCH)
    await api.patch(
        api.path(f"things/b{ME}&fieldValidation=Strict", EXAMPLE), build_thing("b", {"nonsense": 1}), APPLY_PATCH
    )


@behaviour
async def finalizers_of_managers_are_merged_as_set(api: Conversation) -> None:
    document = build_config_map("a", finalizers=["example.com/a"])
    await api.patch(api.path(f"configmaps/a{ME}"), document, APPLY_PATCH)
    other = build_config_map("a", finalizers=["example.com/b"])
    await api.patch(api.path("configmaps/a?fieldManager=you"), other, APPLY_PATCH)
    await api.patch(api.path(f"configmaps/a{ME}"), build_config_map("a"), APPLY_PATCH)
    await api.merge(api.path("configmaps/a"), {"metadata": {"finalizers": None}})


@behaviour
async def labels_are_owned_by_applying_manager(api: Conversation) -> None:
    await api.patch(api.path(f"configmaps/a{ME}"), build_config_map("a", labels={"x": "1", "y": "1"}), APPLY_PATCH)
    other = build_config_map("a", labels={"z": "1"}, annotations={"n": "1"})
    await api.patch(api.path("configmaps/a?fieldManager=you"), other, APPLY_PATCH)
    await api.patch(api.path(f"configmaps/a{ME}"), build_config_map("a", labels={"x": "2"}), APPLY_PATCH)


def _get_managers(body: Any) -> Any:
    return [item for item in body["metadata"]["managedFields"] if item["manager"] in ("me", "scaler")]
