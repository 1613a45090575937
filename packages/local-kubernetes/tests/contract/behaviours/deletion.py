"""Deletion: grace periods, finalizers, preconditions, collections, and dependents."""

from typing import Any

from contract.behaviour import behaviour, behaviours_of, in_own_words
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
async def the_answer_to_the_deletion_of_a(api: Conversation, resource: str, group: str, document: Any) -> None:
    await api.created(api.path(resource, group), document)
    await api.delete(api.path(f"{resource}/a", group), show=_get_metadata)
    if resource != "persistentvolumeclaims":
        await api.get(api.path(f"{resource}/a", group))


@behaviour
async def what_is_not_there(api: Conversation) -> None:
    await api.delete(api.path("secrets/missing"))
    await api.delete(api.path("things/missing", EXAMPLE))
    await api.delete("/api/v1/namespaces/missing-namespace")


@behaviour
async def a_finalizer_holds_an_object(api: Conversation) -> None:
    await api.created(api.path("configmaps"), build_config_map("a", **HELD))
    await api.delete(api.path("configmaps/a"))
    await api.delete(api.path("configmaps/a"))
    await api.patch(api.path("configmaps/a"), {"metadata": {"finalizers": None}})
    await api.get(api.path("configmaps/a"))


@behaviour
async def a_finalizer_holds_a_custom_resource(api: Conversation) -> None:
    await api.created(api.path("things", EXAMPLE), build_thing("a", metadata=HELD))
    await api.delete(api.path("things/a", EXAMPLE))
    await api.patch(api.path("things/a", EXAMPLE), {"metadata": {"finalizers": []}})
    await api.get(api.path("things/a", EXAMPLE))


@behaviour
async def a_finalizer_holds_a_pod_that_has_ended(api: Conversation) -> None:
    await api.created(api.path("pods"), build_bound_pod("a", **HELD))
    await api.ask(
        "PATCH",
        api.path("pods/a/status"),
        {"status": {"phase": "Succeeded"}},
        content_type="application/merge-patch+json",
    )
    await api.delete(api.path("pods/a"), show=_get_metadata)
    await api.patch(api.path("pods/a"), {"metadata": {"finalizers": None}}, show=_get_metadata)
    await api.get(api.path("pods/a"))


@behaviour
async def a_pod_on_a_node_gets_its_grace_period(api: Conversation) -> None:
    await api.created(api.path("pods"), build_bound_pod("a"))
    await api.delete(api.path("pods/a"), show=_get_metadata)
    await api.get(api.path("pods/a"), show=_get_metadata)
    await api.delete(api.path("pods/a"), {"gracePeriodSeconds": 0}, show=_get_metadata)
    await api.get(api.path("pods/a"))


@behaviours_of(
    [
        ("of its own", {"terminationGracePeriodSeconds": 7}, ""),
        ("asked for", {}, "?gracePeriodSeconds=3"),
        ("none", {}, "?gracePeriodSeconds=0"),
        ("of its own, none", {"terminationGracePeriodSeconds": 0}, ""),
        ("negative", {}, "?gracePeriodSeconds=-5"),
        ("no number", {}, "?gracePeriodSeconds=x"),
    ]
)
@in_own_words
async def the_grace_period_of_a_pod(api: Conversation, spec: dict[str, Any], query: str) -> None:
    await api.created(api.path("pods"), build_bound_pod("a", spec))
    await api.delete(api.path(f"pods/a{query}"), show=_get_metadata)
    reply = await api.ask("GET", api.path("pods/a"))
    api.note("status afterwards", reply.status)


@behaviour
async def a_second_deletion_shortens_the_grace_period(api: Conversation) -> None:
    await api.created(api.path("pods"), build_bound_pod("a"))
    for seconds in (20, 10, 15):
        await api.delete(api.path(f"pods/a?gracePeriodSeconds={seconds}"), show=_get_metadata)


@behaviour
async def a_pod_without_a_node_goes_at_once(api: Conversation) -> None:
    await api.created(api.path("pods"), build_pod("a"))
    await api.delete(api.path("pods/a"), show=_get_metadata)
    await api.get(api.path("pods/a"))


@behaviour
async def a_pod_that_has_ended_goes_at_once(api: Conversation) -> None:
    await api.created(api.path("pods"), build_bound_pod("a"))
    await api.ask(
        "PATCH",
        api.path("pods/a/status"),
        {"status": {"phase": "Failed"}},
        content_type="application/merge-patch+json",
    )
    await api.delete(api.path("pods/a"), show=_get_metadata)
    await api.get(api.path("pods/a"))


@behaviour
async def a_grace_period_has_no_meaning_for_others(api: Conversation) -> None:
    await api.created(api.path("configmaps"), build_config_map("a", **HELD))
    await api.delete(api.path("configmaps/a?gracePeriodSeconds=30"))
    await api.ask(
        "PATCH",
        api.path("configmaps/a"),
        {"metadata": {"finalizers": None}},
        content_type="application/merge-patch+json",
    )


@behaviour
async def preconditions(api: Conversation) -> None:
    document = await api.created(api.path("secrets"), build_secret("a"))
    wrong = "00000000-0000-4000-8000-000000000001"
    await api.delete(api.path("secrets/a"), {"preconditions": {"uid": wrong}})
    await api.delete(api.path("secrets/a"), {"preconditions": {"resourceVersion": "1"}})
    await api.delete(api.path("secrets/a"), {"preconditions": {"uid": document["metadata"]["uid"]}})


@behaviour
async def preconditions_of_custom_resources(api: Conversation) -> None:
    document = await api.created(api.path("things", EXAMPLE), build_thing("a"))
    wrong = "00000000-0000-4000-8000-000000000001"
    await api.delete(api.path("things/a", EXAMPLE), {"preconditions": {"uid": wrong}})
    await api.delete(api.path("things/a", EXAMPLE), {"preconditions": {"resourceVersion": "1"}})
    await api.delete(
        api.path("things/a", EXAMPLE),
        {"preconditions": {"resourceVersion": document["metadata"]["resourceVersion"]}},
    )


@behaviours_of(
    [
        ("an unknown policy", {"propagationPolicy": "Nonsense"}),
        ("orphans and a policy", {"propagationPolicy": "Foreground", "orphanDependents": True}),
        ("another kind", {"kind": "ConfigMap", "apiVersion": "v1"}),
        ("its kind", {"kind": "DeleteOptions", "apiVersion": "v1"}),
        ("the kind of the group", {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}),
        ("a text for seconds", {"gracePeriodSeconds": "x"}),
        ("a list", []),
        ("no JSON", "{"),
        ("an unknown dry run", {"dryRun": ["Some"]}),
        ("an unknown field", {"nonsense": 1}),
    ]
)
@in_own_words
async def options_with(api: Conversation, body: Any) -> None:
    await api.created(api.path("secrets"), build_secret("a"))
    await api.delete(api.path("secrets/a"), body)


@behaviour
async def many_at_once(api: Conversation) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "1"}), ("c", {"x": "2"})):
        await api.created(api.path("secrets"), {"metadata": {"name": name, "labels": labels}})
    await api.delete(api.path("secrets?labelSelector=x%3D1"))
    await api.get(api.path("secrets"))
    await api.delete(api.path("secrets?labelSelector=x%3D1"))


@behaviour
async def many_custom_resources_at_once(api: Conversation) -> None:
    await api.created(api.path("things", EXAMPLE), build_thing("a"))
    await api.created(api.path("things", EXAMPLE), build_thing("b", metadata=HELD))
    await api.delete(api.path("things", EXAMPLE))
    await api.get(api.path("things", EXAMPLE))
    await api.ask(
        "PATCH",
        api.path("things/b", EXAMPLE),
        {"metadata": {"finalizers": None}},
        content_type="application/merge-patch+json",
    )


@behaviour
async def many_pods_at_once(api: Conversation) -> None:
    await api.created(api.path("pods"), build_pod("a"))
    await api.created(api.path("pods"), build_bound_pod("b"))
    show = lambda body: [item["metadata"] for item in body["items"]]  # noqa: E731
    await api.delete(api.path("pods?gracePeriodSeconds=9"), show=show)
    await api.get(api.path("pods"), show=show)


@behaviour
@in_own_words
async def many_with_a_bad_selector(api: Conversation) -> None:
    await api.delete(api.path("secrets?labelSelector=%3D"))
    await api.delete("/api/v1/secrets")
    await api.delete("/api/v1/namespaces")


@behaviours_of([("background", "Background"), ("by default", None)])
async def dependents_go_after_their_owner(api: Conversation, policy: str | None) -> None:
    owner = await api.created(api.path("configmaps"), build_config_map("owner"))
    await api.created(
        api.path("secrets"), build_secret("a", metadata={"name": "a", "ownerReferences": build_owners(owner)})
    )
    body = {"propagationPolicy": policy} if policy else None
    await api.delete(api.path("configmaps/owner"), body)
    await api.until_gone(api.path("secrets/a"))
    await api.get(api.path("secrets/a"))


@behaviour
async def dependents_of_dependents_go_too(api: Conversation) -> None:
    owner = await api.created(api.path("things", EXAMPLE), build_thing("owner"))
    child = await api.created(api.path("configmaps"), build_config_map("child", ownerReferences=build_owners(owner)))
    await api.created(
        api.path("secrets"), build_secret("a", metadata={"name": "a", "ownerReferences": build_owners(child)})
    )
    await api.delete(api.path("things/owner", EXAMPLE))
    await api.until_gone(api.path("secrets/a"))
    await api.get(api.path("configmaps/child"))


@behaviour
async def in_the_foreground_the_owner_waits(api: Conversation) -> None:
    owner = await api.created(api.path("configmaps"), build_config_map("owner"))
    references = build_owners(owner, blockOwnerDeletion=True)
    await api.created(
        api.path("secrets"), build_secret("a", metadata={"name": "a", "ownerReferences": references, **HELD})
    )
    await api.delete(api.path("configmaps/owner"), {"propagationPolicy": "Foreground"}, show=_get_metadata)
    await api.until(api.path("secrets/a"), lambda reply: "deletionTimestamp" in reply.body["metadata"])
    await api.get(api.path("configmaps/owner"), show=_get_metadata)
    await api.ask(
        "PATCH",
        api.path("secrets/a"),
        {"metadata": {"finalizers": None}},
        content_type="application/merge-patch+json",
    )
    await api.until_gone(api.path("configmaps/owner"))
    await api.get(api.path("configmaps/owner"))


@behaviour
async def in_the_foreground_without_dependents_the_owner_goes(api: Conversation) -> None:
    await api.created(api.path("configmaps"), build_config_map("owner"))
    reply = await api.ask("DELETE", api.path("configmaps/owner"), {"propagationPolicy": "Foreground"})
    api.note("status", reply.status)
    await api.until_gone(api.path("configmaps/owner"))


@behaviour
async def orphans_stay(api: Conversation) -> None:
    owner = await api.created(api.path("configmaps"), build_config_map("owner"))
    await api.created(
        api.path("secrets"), build_secret("a", metadata={"name": "a", "ownerReferences": build_owners(owner)})
    )
    await api.ask("DELETE", api.path("configmaps/owner"), {"propagationPolicy": "Orphan"})
    await api.until_gone(api.path("configmaps/owner"))
    await api.until(api.path("secrets/a"), lambda reply: not reply.body["metadata"].get("ownerReferences"))
    await api.get(api.path("secrets/a"), show=lambda body: body["metadata"].get("ownerReferences"))


@behaviour
async def what_has_another_owner_stays(api: Conversation) -> None:
    first = await api.created(api.path("configmaps"), build_config_map("first"))
    second = await api.created(api.path("configmaps"), build_config_map("second"))
    references = build_owners(first) + build_owners(second)
    await api.created(api.path("secrets"), build_secret("a", metadata={"name": "a", "ownerReferences": references}))
    await api.ask("DELETE", api.path("configmaps/first"))
    left = await api.until(
        api.path("secrets/a"), lambda reply: len(reply.body["metadata"].get("ownerReferences", ())) == 1
    )
    api.note("who is left", [item["name"] for item in left.body["metadata"]["ownerReferences"]])


@behaviour
async def what_names_an_owner_that_never_was_goes(api: Conversation) -> None:
    owner = build_config_map("never")
    owner["metadata"]["uid"] = "00000000-0000-4000-8000-000000000001"
    await api.created(
        api.path("secrets"), build_secret("a", metadata={"name": "a", "ownerReferences": build_owners(owner)})
    )
    await api.until_gone(api.path("secrets/a"))
    await api.get(api.path("secrets/a"))


@behaviour
async def a_namespace_takes_its_contents_along(api: Conversation) -> None:
    name = f"{api.namespace}-more"
    path = f"/api/v1/namespaces/{name}"
    await api.created("/api/v1/namespaces", {"metadata": {"name": name}})
    await api.created(f"{path}/secrets", build_secret("a", metadata={"name": "a", **HELD}))
    await api.ask("DELETE", path)
    await api.until(f"{path}/secrets/a", lambda reply: "deletionTimestamp" in reply.body["metadata"])
    await api.get(path, show=lambda body: [body["spec"], body["status"]["phase"]])
    await api.post(f"{path}/configmaps", build_config_map("late"))
    await api.ask(
        "PATCH", f"{path}/secrets/a", {"metadata": {"finalizers": None}}, content_type="application/merge-patch+json"
    )
    await api.until_gone(path)
    await api.get(f"{path}/secrets/a")


@behaviours_of([("default", "default"), ("system", "kube-system")])
async def some_namespaces_stay(api: Conversation, name: str) -> None:
    await api.delete(f"/api/v1/namespaces/{name}?dryRun=All")


@behaviour
async def an_eviction_is_a_deletion(api: Conversation) -> None:
    await api.created(api.path("pods"), build_bound_pod("a"))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    await api.post(api.path("pods/a/eviction"), eviction)
    await api.get(api.path("pods/a"), show=_get_metadata)
    await api.post(api.path("pods/missing/eviction"), eviction | {"metadata": {"name": "missing"}})
