"""Deletion: grace periods, finalizers, preconditions, collections, and dependents."""

from typing import Any

from contract.behaviour import behaviour, behaviours_of, ignore_error_messages
from contract.conversation import Conversation
from contract.documents import (
    EXAMPLE,
    build_bound_pod,
    build_config_map,
    build_lease,
    build_owners,
    build_pod,
    build_secret,
    build_service,
    build_stateful_set,
    build_thing,
)

HELD: dict[str, Any] = {"finalizers": ["example.com/x"]}


def _get_metadata(body: Any) -> Any:
    return body.get("metadata") if body.get("kind") != "Status" else body


@behaviours_of(
    [
        ("config map", "configmaps", "v1", build_config_map("a")),
        ("secret", "secrets", "v1", build_secret("a")),
        ("service", "services", "v1", build_service("a")),
        ("service account", "serviceaccounts", "v1", {"metadata": {"name": "a"}}),
        ("lease", "leases", "coordination.k8s.io/v1", build_lease("a", "me")),
        ("thing", "things", EXAMPLE, build_thing("a")),
        ("pod", "pods", "v1", build_pod("a")),
        ("stateful set", "statefulsets", "apps/v1", build_stateful_set("a")),
        ("role", "roles", "rbac.authorization.k8s.io/v1", {"metadata": {"name": "a"}, "rules": []}),
        (
            "claim",
            "persistentvolumeclaims",
            "v1",
            {
                "metadata": {"name": "a"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}},
            },
        ),
        ("quota", "resourcequotas", "v1", {"metadata": {"name": "a"}, "spec": {"hard": {"pods": "1000"}}}),
        (
            "budget",
            "poddisruptionbudgets",
            "policy/v1",
            {"metadata": {"name": "a"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}},
        ),
    ]
)
async def deletion_returns_status_or_object(api: Conversation, resource: str, group: str, document: Any) -> None:
    await api.create(api.path(resource, group), document)
    await api.delete(api.path(f"{resource}/a", group), show=_get_metadata)
    if resource != "persistentvolumeclaims":
        await api.get(api.path(f"{resource}/a", group))


@behaviour
async def deletion_of_missing_object_is_rejected(api: Conversation) -> None:
    await api.delete(api.path("secrets/missing"))
    await api.delete(api.path("things/missing", EXAMPLE))
    await api.delete("/api/v1/namespaces/missing-namespace")


@behaviour
async def finalizer_delays_deletion(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a", **HELD))
    await api.delete(api.path("configmaps/a"))
    await api.delete(api.path("configmaps/a"))
    await api.patch(api.path("configmaps/a"), {"metadata": {"finalizers": None}})
    await api.get(api.path("configmaps/a"))


@behaviour
async def finalizer_delays_deletion_of_custom_resource(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a", metadata=HELD))
    await api.delete(api.path("things/a", EXAMPLE))
    await api.patch(api.path("things/a", EXAMPLE), {"metadata": {"finalizers": []}})
    await api.get(api.path("things/a", EXAMPLE))


@behaviour
async def finalizer_delays_deletion_of_finished_pod(api: Conversation) -> None:
    await api.create(api.path("pods"), build_bound_pod("a", **HELD))
    await api.merge(api.path("pods/a/status"), {"status": {"phase": "Succeeded"}})
    await api.delete(api.path("pods/a"), show=_get_metadata)
    await api.patch(api.path("pods/a"), {"metadata": {"finalizers": None}}, show=_get_metadata)
    await api.get(api.path("pods/a"))


@behaviour
async def bound_pod_is_deleted_after_grace_period(api: Conversation) -> None:
    await api.create(api.path("pods"), build_bound_pod("a"))
    await api.delete(api.path("pods/a"), show=_get_metadata)
    await api.get(api.path("pods/a"), show=_get_metadata)
    await api.delete(api.path("pods/a"), {"gracePeriodSeconds": 0}, show=_get_metadata)
    await api.get(api.path("pods/a"))


@behaviours_of(
    [
        ("from pod", {"terminationGracePeriodSeconds": 7}, ""),
        ("from request", {}, "?gracePeriodSeconds=3"),
        ("zero from request", {}, "?gracePeriodSeconds=0"),
        ("zero from pod", {"terminationGracePeriodSeconds": 0}, ""),
        ("negative", {}, "?gracePeriodSeconds=-5"),
        ("not a number", {}, "?gracePeriodSeconds=x"),
    ]
)
@ignore_error_messages
async def grace_period_is_taken_from_request_or_pod(api: Conversation, spec: dict[str, Any], query: str) -> None:
    await api.create(api.path("pods"), build_bound_pod("a", spec))
    await api.delete(api.path(f"pods/a{query}"), show=_get_metadata)
    reply = await api.ask("GET", api.path("pods/a"))
    api.note("status afterwards", reply.status)


@behaviour
async def second_deletion_can_only_shorten_grace_period(api: Conversation) -> None:
    await api.create(api.path("pods"), build_bound_pod("a"))
    for seconds in (20, 10, 15):
        await api.delete(api.path(f"pods/a?gracePeriodSeconds={seconds}"), show=_get_metadata)


@behaviour
async def unscheduled_pod_is_deleted_immediately(api: Conversation) -> None:
    await api.create(api.path("pods"), build_pod("a"))
    await api.delete(api.path("pods/a"), show=_get_metadata)
    await api.get(api.path("pods/a"))


@behaviour
async def finished_pod_is_deleted_immediately(api: Conversation) -> None:
    await api.create(api.path("pods"), build_bound_pod("a"))
    await api.merge(api.path("pods/a/status"), {"status": {"phase": "Failed"}})
    await api.delete(api.path("pods/a"), show=_get_metadata)
    await api.get(api.path("pods/a"))


@behaviour
async def grace_period_is_ignored_for_other_kinds(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a", **HELD))
    await api.delete(api.path("configmaps/a?gracePeriodSeconds=30"))
    await api.merge(api.path("configmaps/a"), {"metadata": {"finalizers": None}})


@behaviour
async def failed_precondition_prevents_deletion(api: Conversation) -> None:
    document = await api.create(api.path("secrets"), build_secret("a"))
    wrong = "00000000-0000-4000-8000-000000000001"
    await api.delete(api.path("secrets/a"), {"preconditions": {"uid": wrong}})
    await api.delete(api.path("secrets/a"), {"preconditions": {"resourceVersion": "1"}})
    await api.delete(api.path("secrets/a"), {"preconditions": {"uid": document["metadata"]["uid"]}})


@behaviour
async def failed_precondition_prevents_deletion_of_custom_resource(api: Conversation) -> None:
    document = await api.create(api.path("things", EXAMPLE), build_thing("a"))
    wrong = "00000000-0000-4000-8000-000000000001"
    await api.delete(api.path("things/a", EXAMPLE), {"preconditions": {"uid": wrong}})
    await api.delete(api.path("things/a", EXAMPLE), {"preconditions": {"resourceVersion": "1"}})
    await api.delete(
        api.path("things/a", EXAMPLE), {"preconditions": {"resourceVersion": document["metadata"]["resourceVersion"]}}
    )


@behaviours_of(
    [
        ("an unknown policy", {"propagationPolicy": "Nonsense"}),
        ("orphans and a policy", {"propagationPolicy": "Foreground", "orphanDependents": True}),
        ("another kind", {"kind": "ConfigMap", "apiVersion": "v1"}),
        ("kind DeleteOptions", {"kind": "DeleteOptions", "apiVersion": "v1"}),
        ("kind DeleteOptions of meta.k8s.io", {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}),
        ("a string for seconds", {"gracePeriodSeconds": "x"}),
        ("a list", []),
        ("malformed JSON", "{"),
        ("an unknown dry run", {"dryRun": ["Some"]}),
        ("an unknown field", {"nonsense": 1}),
    ]
)
@ignore_error_messages
async def delete_options_are_validated(api: Conversation, body: Any) -> None:
    await api.create(api.path("secrets"), build_secret("a"))
    await api.delete(api.path("secrets/a"), body)


@behaviour
async def collection_is_deleted_by_selector(api: Conversation) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "1"}), ("c", {"x": "2"})):
        await api.create(api.path("secrets"), {"metadata": {"name": name, "labels": labels}})
    await api.delete(api.path("secrets?labelSelector=x%3D1"))
    await api.get(api.path("secrets"))
    await api.delete(api.path("secrets?labelSelector=x%3D1"))


@behaviour
async def collection_of_custom_resources_is_deleted(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    await api.create(api.path("things", EXAMPLE), build_thing("b", metadata=HELD))
    await api.delete(api.path("things", EXAMPLE))
    await api.get(api.path("things", EXAMPLE))
    await api.merge(api.path("things/b", EXAMPLE), {"metadata": {"finalizers": None}})


@behaviour
async def collection_of_pods_is_deleted(api: Conversation) -> None:
    await api.create(api.path("pods"), build_pod("a"))
    await api.create(api.path("pods"), build_bound_pod("b"))
    show = lambda body: [item["metadata"] for item in body["items"]]  # noqa: E731
    await api.delete(api.path("pods?gracePeriodSeconds=9"), show=show)
    await api.get(api.path("pods"), show=show)


@behaviour
@ignore_error_messages
async def invalid_collection_deletion_is_rejected(api: Conversation) -> None:
    await api.delete(api.path("secrets?labelSelector=%3D"))
    await api.delete("/api/v1/secrets")
    await api.delete("/api/v1/namespaces")


@behaviours_of([("background", "Background"), ("by default", None)])
async def dependents_are_deleted_after_owner(api: Conversation, policy: str | None) -> None:
    owner = await api.create(api.path("configmaps"), build_config_map("owner"))
    await api.create(
        api.path("secrets"), build_secret("a", metadata={"name": "a", "ownerReferences": build_owners(owner)})
    )
    body = {"propagationPolicy": policy} if policy else None
    await api.delete(api.path("configmaps/owner"), body)
    await api.wait_until_deleted(api.path("secrets/a"))
    await api.get(api.path("secrets/a"))


@behaviour
async def transitive_dependents_are_deleted(api: Conversation) -> None:
    owner = await api.create(api.path("things", EXAMPLE), build_thing("owner"))
    child = await api.create(api.path("configmaps"), build_config_map("child", ownerReferences=build_owners(owner)))
    await api.create(
        api.path("secrets"), build_secret("a", metadata={"name": "a", "ownerReferences": build_owners(child)})
    )
    await api.delete(api.path("things/owner", EXAMPLE))
    await api.wait_until_deleted(api.path("secrets/a"))
    await api.get(api.path("configmaps/child"))


@behaviour
async def foreground_deletion_waits_for_dependents(api: Conversation) -> None:
    owner = await api.create(api.path("configmaps"), build_config_map("owner"))
    references = build_owners(owner, blockOwnerDeletion=True)
    await api.create(
        api.path("secrets"), build_secret("a", metadata={"name": "a", "ownerReferences": references, **HELD})
    )
    await api.delete(api.path("configmaps/owner"), {"propagationPolicy": "Foreground"}, show=_get_metadata)
    await api.until(api.path("secrets/a"), lambda reply: "deletionTimestamp" in reply.body["metadata"])
    await api.get(api.path("configmaps/owner"), show=_get_metadata)
    await api.merge(api.path("secrets/a"), {"metadata": {"finalizers": None}})
    await api.wait_until_deleted(api.path("configmaps/owner"))
    await api.get(api.path("configmaps/owner"))


@behaviour
async def foreground_deletion_without_dependents_deletes_owner(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("owner"))
    reply = await api.ask("DELETE", api.path("configmaps/owner"), {"propagationPolicy": "Foreground"})
    api.note("status", reply.status)
    await api.wait_until_deleted(api.path("configmaps/owner"))


@behaviour
async def orphan_policy_keeps_dependents(api: Conversation) -> None:
    owner = await api.create(api.path("configmaps"), build_config_map("owner"))
    await api.create(
        api.path("secrets"), build_secret("a", metadata={"name": "a", "ownerReferences": build_owners(owner)})
    )
    await api.ask("DELETE", api.path("configmaps/owner"), {"propagationPolicy": "Orphan"})
    await api.wait_until_deleted(api.path("configmaps/owner"))
    await api.until(api.path("secrets/a"), lambda reply: not reply.body["metadata"].get("ownerReferences"))
    await api.get(api.path("secrets/a"), show=lambda body: body["metadata"].get("ownerReferences"))


@behaviour
async def dependent_with_another_owner_is_kept(api: Conversation) -> None:
    first = await api.create(api.path("configmaps"), build_config_map("first"))
    second = await api.create(api.path("configmaps"), build_config_map("second"))
    references = build_owners(first) + build_owners(second)
    await api.create(api.path("secrets"), build_secret("a", metadata={"name": "a", "ownerReferences": references}))
    await api.ask("DELETE", api.path("configmaps/first"))
    remaining = await api.until(
        api.path("secrets/a"), lambda reply: len(reply.body["metadata"].get("ownerReferences", ())) == 1
    )
    api.note("who is left", [item["name"] for item in remaining.body["metadata"]["ownerReferences"]])


@behaviour
async def dependent_of_nonexistent_owner_is_deleted(api: Conversation) -> None:
    owner = build_config_map("never")
    owner["metadata"]["uid"] = "00000000-0000-4000-8000-000000000001"
    await api.create(
        api.path("secrets"), build_secret("a", metadata={"name": "a", "ownerReferences": build_owners(owner)})
    )
    await api.wait_until_deleted(api.path("secrets/a"))
    await api.get(api.path("secrets/a"))


@behaviour
async def namespace_is_deleted_after_its_objects(api: Conversation) -> None:
    name = f"{api.namespace}-more"
    path = f"/api/v1/namespaces/{name}"
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    await api.create(f"{path}/secrets", build_secret("a", metadata={"name": "a", **HELD}))
    await api.ask("DELETE", path)
    await api.until(f"{path}/secrets/a", lambda reply: "deletionTimestamp" in reply.body["metadata"])
    await api.get(path, show=lambda body: [body["spec"], body["status"]["phase"]])
    await api.post(f"{path}/configmaps", build_config_map("late"))
    await api.merge(f"{path}/secrets/a", {"metadata": {"finalizers": None}})
    await api.wait_until_deleted(path)
    await api.get(f"{path}/secrets/a")


@behaviours_of([("default", "default"), ("system", "kube-system")])
async def protected_namespace_cannot_be_deleted(api: Conversation, name: str) -> None:
    await api.delete(f"/api/v1/namespaces/{name}?dryRun=All")


@behaviour
async def eviction_deletes_pod(api: Conversation) -> None:
    await api.create(api.path("pods"), build_bound_pod("a"))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    await api.post(api.path("pods/a/eviction"), eviction)
    await api.get(api.path("pods/a"), show=_get_metadata)
    await api.get(api.path("pods/a"), show=lambda body: body["status"]["conditions"])
    await api.post(api.path("pods/missing/eviction"), eviction | {"metadata": {"name": "missing"}})
