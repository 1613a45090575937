"""Updates: versions, immutable fields, generations, field managers."""

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
async def update_creates_new_version(api: Conversation) -> None:
    await api.post(api.path("configmaps"), build_config_map("a", {"k": "v"}))
    await api.put(api.path("configmaps/a"), build_config_map("a", {"k": "w"}))


@behaviour
async def update_without_change_keeps_version(api: Conversation) -> None:
    await api.post(api.path("configmaps"), build_config_map("a", {"k": "v"}))
    await api.put(api.path("configmaps/a"), build_config_map("a", {"k": "v"}))


@behaviour
async def update_of_current_version_is_accepted(api: Conversation) -> None:
    document = await api.create(api.path("configmaps"), build_config_map("a", {"k": "v"}))
    document["data"] = {"k": "w"}
    await api.put(api.path("configmaps/a"), document)


@behaviour
async def update_of_old_version_is_rejected(api: Conversation) -> None:
    old = await api.create(api.path("configmaps"), build_config_map("a", {"k": "v"}))
    await api.ask("PUT", api.path("configmaps/a"), build_config_map("a", {"k": "w"}))
    await api.put(api.path("configmaps/a"), old)
    custom = await api.create(api.path("things", EXAMPLE), build_thing("a"))
    custom["spec"]["replicas"] = 2
    await api.ask("PUT", api.path("things/a", EXAMPLE), custom)
    await api.put(api.path("things/a", EXAMPLE), custom)


@behaviour
@ignore_error_messages
async def update_with_another_uid_is_rejected(api: Conversation) -> None:
    document = await api.create(api.path("configmaps"), build_config_map("a", {"k": "v"}))
    document["metadata"]["uid"] = "00000000-0000-4000-8000-000000000001"
    await api.put(api.path("configmaps/a"), document)


@behaviours_of([("not a number", "x"), ("negative", "-1")])
@ignore_error_messages
async def update_with_invalid_version_is_rejected(api: Conversation, version: str) -> None:
    await api.create(api.path("configmaps"), build_config_map("a"))
    await api.put(api.path("configmaps/a"), build_config_map("a", resourceVersion=version))


@behaviour
async def update_of_missing_object_is_rejected(api: Conversation) -> None:
    await api.put(api.path("secrets/missing"), build_secret("missing"))
    await api.put(api.path("things/missing", EXAMPLE), build_thing("missing", metadata={"resourceVersion": "1"}))
    await api.put(api.path("things/missing", EXAMPLE), build_thing("missing"))


@behaviour
async def update_creates_missing_lease_but_no_config_map(api: Conversation) -> None:
    await api.put(api.path("configmaps/new"), build_config_map("new"))
    await api.put(api.path("leases/new", "coordination.k8s.io/v1"), build_lease("new", "me"))


@behaviour
async def update_with_another_name_is_rejected(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a"))
    await api.put(api.path("configmaps/a"), build_config_map("b"))
    await api.put(api.path("configmaps/a"), build_config_map("a", namespace="other"))
    nameless = build_config_map("a")
    nameless["metadata"] = {}
    await api.put(api.path("configmaps/a"), nameless)


@behaviour
async def update_of_custom_resource_requires_version(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    await api.put(api.path("things/a", EXAMPLE), build_thing("a"))


@behaviour
async def update_of_lease_requires_version(api: Conversation) -> None:
    await api.create(api.path("leases", "coordination.k8s.io/v1"), build_lease("a", "me"))
    await api.put(api.path("leases/a", "coordination.k8s.io/v1"), build_lease("a", "you"))


@behaviour
async def generation_counts_changes_of_spec(api: Conversation) -> None:
    document = await api.create(api.path("things", EXAMPLE), build_thing("a"))
    generations = [document["metadata"]["generation"]]
    changes: tuple[dict[str, Any], ...] = ({"replicas": 2}, {"replicas": 2}, {"mode": "b"})
    for change in changes:
        document["spec"] |= change
        document = (await api.ask("PUT", api.path("things/a", EXAMPLE), document)).body
        generations.append(document["metadata"]["generation"])
    document["metadata"]["labels"] = {"a": "b"}
    document = (await api.ask("PUT", api.path("things/a", EXAMPLE), document)).body
    api.note("generations", [*generations, document["metadata"]["generation"]])


@behaviour
async def generation_of_pod_counts_changes_of_spec(api: Conversation) -> None:
    document = await api.create(api.path("pods"), build_pod("a"))
    document["spec"]["activeDeadlineSeconds"] = 60
    changed = (await api.ask("PUT", api.path("pods/a"), document)).body
    api.note("generations", [item["metadata"].get("generation") for item in (document, changed)])


@behaviour
async def update_ignores_status(api: Conversation) -> None:
    document = await api.create(api.path("things", EXAMPLE), build_thing("a", status={"phase": "mine"}))
    document["status"] = {"phase": "x"}
    document["spec"]["replicas"] = 5
    await api.put(api.path("things/a", EXAMPLE), document)


@behaviour
async def update_keeps_metadata_set_by_server(api: Conversation) -> None:
    document = await api.create(api.path("things", EXAMPLE), build_thing("a"))
    document["metadata"] |= {"creationTimestamp": "2001-01-01T00:00:00Z", "generation": 70}
    reply = await api.ask("PUT", api.path("things/a", EXAMPLE), document)
    api.note("generation", reply.body["metadata"]["generation"])
    api.note("creation is kept", not reply.body["metadata"]["creationTimestamp"].startswith("2001"))


@behaviour
async def finalizer_cannot_be_added_during_deletion(api: Conversation) -> None:
    metadata = {"name": "a", "finalizers": ["example.com/x"]}
    await api.create(api.path("secrets"), build_secret("a", metadata=metadata))
    await api.ask("DELETE", api.path("secrets/a"))
    await api.put(
        api.path("secrets/a"), build_secret("a", metadata=metadata | {"finalizers": ["example.com/x", "a.b/y"]})
    )
    await api.put(api.path("secrets/a"), build_secret("a", metadata=metadata | {"finalizers": []}))
    await api.get(api.path("secrets/a"))


@behaviour
async def immutable_config_map_cannot_change_data(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a", {"k": "v"}) | {"immutable": True})
    await api.put(api.path("configmaps/a"), build_config_map("a", {"k": "w"}) | {"immutable": True})
    await api.put(api.path("configmaps/a"), build_config_map("a", {"k": "v"}))
    await api.put(api.path("configmaps/a"), build_config_map("a", {"k": "v"}, labels={"l": "1"}) | {"immutable": True})


@behaviour
async def immutable_secret_cannot_change_data(api: Conversation) -> None:
    await api.create(api.path("secrets"), build_secret("a", data={"k": "dg=="}, immutable=True))
    await api.put(api.path("secrets/a"), build_secret("a", data={"k": "dw=="}, immutable=True))


@behaviour
async def type_of_secret_cannot_change(api: Conversation) -> None:
    await api.create(api.path("secrets"), build_secret("a", type="example.com/x"))
    await api.put(api.path("secrets/a"), build_secret("a", type="example.com/y"))


@behaviour
async def command_of_pod_cannot_change(api: Conversation) -> None:
    document = await api.create(api.path("pods"), build_pod("a"))
    document["spec"]["containers"][0]["command"] = ["x"]
    reply = await api.ask("PUT", api.path("pods/a"), document)
    api.note("status", [reply.status, reply.body["reason"], reply.body["details"]["causes"][0]["field"]])
    first = reply.body["message"].split("\n")[0]
    api.note("first line of the message", first)


@behaviour
async def image_of_container_can_change(api: Conversation) -> None:
    document = await api.create(api.path("pods"), build_pod("a"))
    document["spec"]["containers"][0]["image"] = "i:2"
    reply = await api.put(api.path("pods/a"), document, show=lambda body: body["spec"]["containers"])
    api.note("status", reply.status)


@behaviour
async def update_keeps_cluster_ip_of_service(api: Conversation) -> None:
    await api.create(api.path("services"), build_service("a"))
    await api.put(api.path("services/a"), build_service("a", ports=[{"port": 81}]))
    await api.put(api.path("services/a"), build_service("a", clusterIP="10.96.77.77"))


@behaviour
async def service_name_of_stateful_set_cannot_change(api: Conversation) -> None:
    document = await api.create(api.path("statefulsets", "apps/v1"), build_stateful_set("a"))
    document["spec"]["serviceName"] = "other"
    del document["metadata"]["resourceVersion"]
    await api.put(api.path("statefulsets/a", "apps/v1"), document)


@behaviour
async def update_records_field_managers(api: Conversation) -> None:
    await api.post(api.path("configmaps") + "?fieldManager=one", build_config_map("a", {"k": "v", "l": "v"}))
    await api.put(api.path("configmaps/a?fieldManager=two"), build_config_map("a", {"k": "w", "l": "v"}))
    await api.put(api.path("configmaps/a?fieldManager=one"), build_config_map("a", {"k": "w", "m": "v"}))


@behaviour
async def default_field_manager_is_user_agent(api: Conversation) -> None:
    await api.post(
        api.path("configmaps"), build_config_map("a", {"k": "v"}), headers={"User-Agent": "kubectl/v1 (linux)"}
    )


@behaviour
async def empty_managed_fields_reset_managers(api: Conversation) -> None:
    document = await api.create(api.path("configmaps"), build_config_map("a", {"k": "v"}))
    document["metadata"]["managedFields"] = [{}]
    await api.put(api.path("configmaps/a"), document)


@behaviour
async def update_with_another_kind_is_rejected(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    await api.put(api.path("things/a", EXAMPLE), build_thing("a") | {"kind": "Other"})
    await api.put(api.path("things/a", EXAMPLE), build_config_map("a"))


@behaviour
async def method_for_wrong_path_is_rejected(api: Conversation) -> None:
    await api.put(api.path("configmaps"), build_config_map("a"))
    await api.patch(api.path("configmaps"), {})
    await api.post(api.path("configmaps/a"), build_config_map("a"))


@behaviour
async def options_and_trace_are_rejected(api: Conversation) -> None:
    await api.ask_compared("OPTIONS", api.path("configmaps"))
    await api.ask_compared("TRACE", api.path("configmaps"))
