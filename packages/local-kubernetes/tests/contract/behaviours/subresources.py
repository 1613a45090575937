"""Status, scale and logs; access reviews; events in both groups."""

from typing import Any

from contract.behaviour import behaviour, behaviours_of, ignore_error_messages
from contract.conversation import APPLY_PATCH, JSON_PATCH, STRATEGIC_PATCH, TABLE, Conversation
from contract.documents import (
    EXAMPLE,
    build_bound_pod,
    build_event,
    build_pod,
    build_secret,
    build_service,
    build_stateful_set,
    build_thing,
)


@behaviour
async def status_update_changes_only_status(api: Conversation) -> None:
    document = await api.create(api.path("things", EXAMPLE), build_thing("a"))
    document["status"] = {"phase": "x"}
    document["spec"]["replicas"] = 9
    document["metadata"]["labels"] = {"l": "1"}
    document["metadata"]["annotations"] = {"l": "1"}
    await api.put(api.path("things/a/status", EXAMPLE), document)
    await api.get(api.path("things/a/status", EXAMPLE))


@behaviour
async def status_patch_changes_only_status(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    patch = {"spec": {"replicas": 9}, "status": {"phase": "x", "nonsense": 1}, "metadata": {"labels": {"a": "b"}}}
    await api.patch(api.path("things/a/status", EXAMPLE), patch)
    await api.patch(api.path("things/a/status", EXAMPLE), [{"op": "remove", "path": "/status/phase"}], JSON_PATCH)


@behaviour
async def status_patch_of_pod_changes_labels_and_annotations(api: Conversation) -> None:
    await api.create(api.path("pods"), build_pod("a"))
    patch = {"status": {"message": "x"}, "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}
    await api.patch(api.path("pods/a/status"), patch)


@behaviour
async def status_apply_ignores_labels(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    status = {"apiVersion": EXAMPLE, "kind": "Thing", "metadata": {"name": "a", "labels": {"a": "b"}}}
    path = api.path("things/a/status?fieldManager=m", EXAMPLE)
    await api.patch(path, status | {"status": {"phase": "x"}}, APPLY_PATCH)
    await api.patch(path, status | {"status": {"phase": "y"}}, APPLY_PATCH)


@behaviour
@ignore_error_messages
async def status_is_validated_against_schema(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    await api.patch(api.path("things/a/status", EXAMPLE), {"status": {"phase": 7}})


@behaviour
async def status_update_of_old_version_is_rejected(api: Conversation) -> None:
    document = await api.create(api.path("things", EXAMPLE), build_thing("a"))
    await api.merge(api.path("things/a", EXAMPLE), {"spec": {"replicas": 2}})
    document["status"] = {"phase": "x"}
    await api.put(api.path("things/a/status", EXAMPLE), document)


@behaviour
async def other_verbs_on_status_are_rejected(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    await api.delete(api.path("things/a/status", EXAMPLE))
    await api.post(api.path("things/a/status", EXAMPLE), build_thing("a"))


@behaviour
async def status_patch_of_pod_changes_phase_and_addresses(api: Conversation) -> None:
    await api.create(api.path("pods"), build_bound_pod("a"))
    patch = {"status": {"phase": "Running", "podIP": "10.1.2.3"}, "metadata": {"labels": {"a": "b"}}}
    await api.patch(api.path("pods/a/status"), patch, STRATEGIC_PATCH)
    await api.get(api.path("pods/a"))


@behaviour
async def patch_of_pod_ignores_status(api: Conversation) -> None:
    await api.create(api.path("pods"), build_pod("a"))
    show = lambda body: body["status"]  # noqa: E731
    await api.patch(api.path("pods/a"), {"status": {"phase": "Running"}}, show=show)


@behaviour
async def scale_of_stateful_set_is_read_and_changed(api: Conversation) -> None:
    await api.create(api.path("statefulsets", "apps/v1"), build_stateful_set("a"))
    path = api.path("statefulsets/a/scale", "apps/v1")
    show = lambda body: {key: body[key] for key in ("kind", "apiVersion", "spec")}  # noqa: E731
    scale = (await api.get(path, show=show)).body
    scale["spec"] = {"replicas": 2}
    del scale["metadata"]["resourceVersion"]
    await api.put(path, scale, show=show)
    await api.patch(path, {"spec": {"replicas": 0}}, show=show)
    await api.patch(path, {"spec": {"replicas": -1}})


@behaviour
async def scale_of_custom_resource_is_read_and_changed(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a", {"replicas": 3}))
    path = api.path("things/a/scale", EXAMPLE)
    scale = (await api.get(path)).body
    scale["spec"] = {"replicas": 2}
    await api.put(path, scale)
    await api.put(path, scale)
    await api.patch(path, {"spec": {"replicas": 5}})
    await api.patch(path, {"spec": {"replicas": -1}})
    await api.get(api.path("things/a", EXAMPLE))


@behaviour
async def scale_of_missing_object_is_not_found(api: Conversation) -> None:
    await api.get(api.path("things/missing/scale", EXAMPLE))
    await api.get(api.path("statefulsets/missing/scale", "apps/v1"))
    await api.get(api.path("configmaps/missing/scale"))


@behaviour
async def deletion_of_scale_is_rejected(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    await api.delete(api.path("things/a/scale", EXAMPLE))


@behaviours_of(
    [
        ("no options", ""),
        ("container name", "?container=main"),
        ("unknown container", "?container=nobody"),
        ("non-numeric lines", "?tailLines=x"),
        ("negative lines", "?tailLines=-1"),
        ("zero seconds", "?sinceSeconds=0"),
        ("zero bytes", "?limitBytes=0"),
        ("both times", "?sinceSeconds=5&sinceTime=2026-01-01T00:00:00Z"),
        ("invalid time", "?sinceTime=yesterday"),
        ("invalid flag", "?follow=perhaps"),
    ]
)
@ignore_error_messages
async def log_options_of_unscheduled_pod_are_validated(api: Conversation, query: str) -> None:
    await api.create(api.path("pods"), build_pod("a"))
    await api.get(api.path(f"pods/a/log{query}"))


@behaviour
async def log_of_several_containers_requires_container_name(api: Conversation) -> None:
    containers = [{"name": "one", "image": "i:1"}, {"name": "two", "image": "i:1"}]
    init = [{"name": "first", "image": "i:1"}]
    await api.create(api.path("pods"), build_pod("a", {"containers": containers, "initContainers": init}))
    await api.get(api.path("pods/a/log"))


@behaviour
async def log_ignores_default_container_annotation(api: Conversation) -> None:
    containers = [{"name": "one", "image": "i:1"}, {"name": "two", "image": "i:1"}]
    annotations = {"kubectl.kubernetes.io/default-container": "two"}
    await api.create(api.path("pods"), build_pod("a", {"containers": containers}, annotations=annotations))
    await api.get(api.path("pods/a/log"))


@behaviour
async def log_of_missing_pod_is_not_found(api: Conversation) -> None:
    await api.get(api.path("pods/missing/log"))
    await api.post(api.path("pods/missing/log"), {})


@behaviour
async def access_review_allows_access(api: Conversation) -> None:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"namespace": api.namespace, "verb": "create", "resource": "pods"}},
    }

    def show(body: Any) -> Any:
        return {"kind": body["kind"], "spec": body["spec"], "allowed": body["status"]["allowed"]}

    await api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, show=show)


@behaviour
async def access_review_without_attributes_is_rejected(api: Conversation) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    await api.post(path, {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {}})
    await api.get(path)
    await api.delete(path)


@behaviour
async def rules_review_lists_all_permissions(api: Conversation) -> None:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": api.namespace},
    }

    def show(body: Any) -> Any:
        return {
            "kind": body["kind"],
            "everything": {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]} in body["status"]["resourceRules"],
        }

    await api.post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", review, show=show)


@behaviour
async def self_review_returns_groups_of_user(api: Conversation) -> None:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    show = lambda body: [body["kind"], "system:masters" in body["status"]["userInfo"]["groups"]]  # noqa: E731
    await api.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review, show=show)


@behaviours_of(
    [
        ("another namespace", {"involvedObject": {"kind": "Pod", "namespace": "elsewhere", "name": "p"}}),
        ("no object", {"involvedObject": {}}),
        ("an unknown type", {"type": "Odd"}),
    ]
)
async def core_event_is_validated(api: Conversation, more: dict[str, Any]) -> None:
    await api.post(api.path("events"), build_event("a", api.namespace) | more)


def _get_rows(body: Any) -> Any:
    titles = [[item["name"], item["type"], item["format"], item["priority"]] for item in body["columnDefinitions"]]
    return {"columns": titles, "rows": [{"cells": row["cells"]} for row in body["rows"] or ()]}


@behaviours_of(
    [
        ("pods", "pods", "v1"),
        ("services", "services", "v1"),
        ("secrets", "secrets", "v1"),
        ("events", "events", "v1"),
        ("service accounts", "serviceaccounts", "v1"),
        ("stateful sets", "statefulsets", "apps/v1"),
        ("leases", "leases", "coordination.k8s.io/v1"),
        ("claims", "persistentvolumeclaims", "v1"),
        ("autoscalers", "horizontalpodautoscalers", "autoscaling/v2"),
        ("endpoints", "endpoints", "v1"),
        ("things", "things", EXAMPLE),
    ]
)
async def table_has_columns_of_kind(api: Conversation, resource: str, group: str) -> None:
    path = api.path(f"{resource}?labelSelector=nothing", group)
    await api.get(path, accept=TABLE, show=lambda body: _get_rows(body)["columns"])


@behaviours_of(
    [
        ("nodes", "/api/v1/nodes"),
        ("namespaces", "/api/v1/namespaces"),
        ("priority classes", "/apis/scheduling.k8s.io/v1/priorityclasses"),
    ]
)
async def table_has_columns_of_cluster_scoped_kind(api: Conversation, path: str) -> None:
    show = lambda body: _get_rows(body)["columns"]  # noqa: E731
    await api.get(f"{path}?labelSelector=nothing", accept=TABLE, show=show)


RUNNING = {"name": "main", "ready": True, "restartCount": 2, "state": {"running": {}}, "image": "i", "imageID": ""}
ENDED = {
    "name": "main",
    "ready": False,
    "restartCount": 0,
    "image": "i",
    "imageID": "",
    "state": {"terminated": {"exitCode": 3, "reason": "Error"}},
}
WAITING = {
    "name": "main",
    "ready": False,
    "restartCount": 0,
    "image": "i",
    "imageID": "",
    "state": {"waiting": {"reason": "ImagePullBackOff"}},
}


@behaviours_of(
    [
        ("pending", {}),
        ("running", {"phase": "Running", "podIP": "10.1.2.3", "containerStatuses": [RUNNING]}),
        ("failed", {"phase": "Failed", "containerStatuses": [ENDED]}),
        ("waiting", {"phase": "Pending", "containerStatuses": [WAITING]}),
        ("evicted", {"phase": "Failed", "reason": "Evicted"}),
        ("completed", {"phase": "Succeeded"}),
    ]
)
async def table_row_shows_status_of_pod(api: Conversation, status: Any) -> None:
    await api.create(api.path("pods"), build_bound_pod("a"))
    await api.merge(api.path("pods/a/status"), {"status": status})
    await api.get(api.path("pods/a"), accept=TABLE, show=lambda body: _get_rows(body)["rows"])


@behaviour
async def table_row_shows_deletion_of_pod(api: Conversation) -> None:
    await api.create(api.path("pods"), build_bound_pod("a"))
    await api.ask("DELETE", api.path("pods/a"))
    await api.get(api.path("pods/a"), accept=TABLE, show=lambda body: _get_rows(body)["rows"])


@behaviour
async def table_rows_show_fields_of_kind(api: Conversation) -> None:
    await api.create(
        api.path("services"), build_service("a", ports=[{"name": "x", "port": 80}, {"name": "y", "port": 81}])
    )
    await api.create(api.path("services"), build_service("b", clusterIP="None"))
    await api.create(api.path("secrets"), build_secret("a", stringData={"k": "v", "l": "v"}))
    await api.create(api.path("things", EXAMPLE), build_thing("a", {"mode": "b"}))
    for resource, group in (("services", "v1"), ("secrets", "v1"), ("things", EXAMPLE)):
        await api.get(api.path(resource, group), accept=TABLE, show=lambda body: _get_rows(body)["rows"])
