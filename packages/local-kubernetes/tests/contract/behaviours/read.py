"""Get and list: objects, selectors, pages, versions, formats."""

from contract.behaviour import behaviour, behaviours_of, ignore_error_messages
from contract.conversation import METADATA, METADATA_LIST, TABLE, Conversation
from contract.documents import (
    EXAMPLE,
    build_bound_pod,
    build_config_map,
    build_event,
    build_pod,
    build_secret,
    build_service,
    build_thing,
)


@behaviour
async def missing_object_is_not_found(api: Conversation) -> None:
    await api.get(api.path("pods/missing"))
    await api.get(api.path("things/missing", EXAMPLE))
    await api.get("/api/v1/namespaces/missing-namespace/pods/missing")
    await api.get("/api/v1/namespaces/missing-namespace")
    await api.get("/api/v1/nodes/missing")


@behaviour
async def list_without_objects_is_empty(api: Conversation) -> None:
    await api.get(api.path("pods"))
    await api.get(api.path("things", EXAMPLE))
    await api.get("/api/v1/namespaces/missing-namespace/pods")


@behaviour
async def list_is_sorted_by_name(api: Conversation) -> None:
    for name in ("b", "c", "a"):
        await api.create(api.path("secrets"), build_secret(name))
    await api.get(api.path("secrets"))


@behaviour
async def items_of_custom_resource_list_have_kind_and_version(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    await api.get(api.path("things", EXAMPLE))


@behaviour
async def list_without_namespace_covers_all_namespaces(api: Conversation) -> None:
    await api.create(api.path("secrets"), build_secret("a", metadata={"name": "a", "labels": {"of": api.namespace}}))
    await api.get(f"/api/v1/secrets?labelSelector=of%3D{api.namespace}")


LABELS = {"one": {"app": "x", "tier": "1"}, "two": {"app": "y", "tier": "2"}, "three": {"app": "x"}, "four": {}}


@behaviours_of(
    [
        ("equals", "app%3Dx"),
        ("double equals", "app%3D%3Dx"),
        ("not equals", "app!%3Dx"),
        ("in", "app%20in%20(x,y)"),
        ("in without spaces", "app%20in%20(x,%20y),tier"),
        ("not in", "app%20notin%20(x)"),
        ("exists", "tier"),
        ("absent", "!tier"),
        ("both", "app%3Dx,tier%3D1"),
        ("empty", ""),
        ("empty value", "app%3D"),
        ("missing operand", "app%20in"),
        ("missing parenthesis", "app%20in%20(x"),
        ("nonsense", "%3D%3D%3D"),
        ("trailing comma", "app%3Dx,"),
        ("bad value", "app%3Dx%20y"),
        ("bad key", "a%2Fb%2Fc%3Dd"),
        ("greater than text", "tier%3Eabc"),
    ]
)
@ignore_error_messages
async def label_selector_is_evaluated(api: Conversation, selector: str) -> None:
    for name, labels in LABELS.items():
        await api.create(api.path("secrets"), {"metadata": {"name": name, "labels": labels}})
    show = lambda body: [item["metadata"]["name"] for item in body["items"]]  # noqa: E731
    await api.get(api.path(f"secrets?labelSelector={selector}"), show=show)


@behaviours_of(
    [
        ("name", "metadata.name%3Da"),
        ("not name", "metadata.name!%3Da"),
        ("phase", "status.phase%3DPending"),
        ("other phase", "status.phase%3DRunning"),
        ("node", "spec.nodeName%3Dnowhere"),
        ("no node", "spec.nodeName%3D"),
        ("restart policy", "spec.restartPolicy%3DNever"),
        ("two", "spec.nodeName%3Dnowhere,metadata.name%3Db"),
        ("namespace", "metadata.namespace%3Ddefault"),
        ("account", "spec.serviceAccountName%3Ddefault"),
        ("unknown field", "spec.nonsense%3D1"),
        ("nonsense", "nonsense"),
        ("in", "metadata.name%20in%20(a)"),
    ]
)
@ignore_error_messages
async def field_selector_of_pods_is_evaluated(api: Conversation, selector: str) -> None:
    await api.create(api.path("pods"), build_pod("a", {"restartPolicy": "Never"}))
    await api.create(api.path("pods"), build_bound_pod("b"))
    show = lambda body: [item["metadata"]["name"] for item in body["items"]]  # noqa: E731
    await api.get(api.path(f"pods?fieldSelector={selector}"), show=show)


@behaviours_of(
    [
        ("name", "configmaps", "metadata.name%3Da"),
        ("label", "configmaps", "metadata.labels.a%3Db"),
        ("type of secret", "secrets", "type%3DOpaque"),
        ("reason of event", "events", "reason%3DStarted"),
        ("object of event", "events", "involvedObject.name%3Dp,involvedObject.kind%3DPod"),
        ("address of service", "services", "spec.clusterIP%3DNone"),
    ]
)
async def field_selector_of_kind_is_evaluated(api: Conversation, resource: str, selector: str) -> None:
    await api.create(api.path("configmaps"), build_config_map("a"))
    await api.create(api.path("secrets"), build_secret("a"))
    await api.create(api.path("events"), build_event("a", api.namespace))
    await api.create(api.path("services"), build_service("a", clusterIP="None"))
    show = lambda body: [item["metadata"]["name"] for item in body["items"]]  # noqa: E731
    await api.get(api.path(f"{resource}?fieldSelector={selector}"), show=show)


@behaviour
async def custom_resources_are_selected_by_metadata_only(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    await api.get(api.path("things?fieldSelector=metadata.name%3Da", EXAMPLE))
    await api.get(api.path("things?fieldSelector=spec.name%3Dabc", EXAMPLE))


@behaviour
async def list_is_split_into_pages(api: Conversation) -> None:
    for name in ("a", "b", "c", "d", "e"):
        await api.create(api.path("secrets"), build_secret(name))
    first = await api.get(api.path("secrets?limit=2"))
    second = await api.ask_compared("GET", api.path(f"secrets?limit=2&continue={first.body['metadata']['continue']}"))
    versions = [page.body["metadata"]["resourceVersion"] for page in (first, second)]
    api.note("all pages are of one version", versions[0] == versions[1])
    await api.ask_compared("GET", api.path(f"secrets?limit=2&continue={second.body['metadata']['continue']}"))


@behaviour
async def page_with_selector_omits_remaining_count(api: Conversation) -> None:
    for name in ("a", "b", "c"):
        await api.create(api.path("secrets"), {"metadata": {"name": name, "labels": {"l": "1"}}})
    await api.get(api.path("secrets?limit=2&labelSelector=l"))


@behaviour
async def limit_that_is_not_exceeded_returns_whole_list(api: Conversation) -> None:
    await api.create(api.path("secrets"), build_secret("a"))
    await api.get(api.path("secrets?limit=1"))
    await api.get(api.path("secrets?limit=0"))


@behaviours_of(
    [
        ("an invalid token", "continue=nonsense"),
        ("a token and a version", "resourceVersion=1&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"),
        ("a non-numeric limit", "limit=many"),
        ("a non-numeric version", "resourceVersion=abc"),
        ("a non-numeric timeout", "timeoutSeconds=x"),
    ]
)
@ignore_error_messages
async def invalid_list_option_is_rejected(api: Conversation, query: str) -> None:
    await api.get(api.path(f"secrets?{query}"))


@behaviour
@ignore_error_messages
async def list_at_future_version_times_out(api: Conversation) -> None:
    await api.get(api.path("secrets?resourceVersion=999999999999999999"), show=lambda body: body)


@behaviour
async def list_not_older_than_version_contains_object(api: Conversation) -> None:
    created = await api.create(api.path("secrets"), build_secret("a"))
    version = created["metadata"]["resourceVersion"]
    query = f"resourceVersion={version}&resourceVersionMatch=NotOlderThan"
    reply = await api.ask("GET", api.path(f"secrets?{query}"))
    api.note("names", [item["metadata"]["name"] for item in reply.body["items"]])


@behaviour
async def partial_metadata_is_returned_on_request(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a", {"k": "v"}, labels={"l": "1"}))
    await api.get(api.path("configmaps/a"), accept=METADATA)
    await api.get(api.path("configmaps?labelSelector=l"), accept=METADATA_LIST)


@behaviours_of(
    [
        ("plain text", "text/plain"),
        ("HTML, then anything", "text/html,*/*;q=0.1"),
        ("any application", "application/*"),
        ("unknown, then JSON", "application/nonsense, application/json"),
        ("an unknown form", "application/json;as=Nonsense;v=v1;g=meta.k8s.io"),
        ("an unknown form, then JSON", "application/json;as=Nonsense;v=v1;g=meta.k8s.io,application/json"),
        ("empty", ""),
    ]
)
@ignore_error_messages
async def accept_header_is_negotiated(api: Conversation, accept: str) -> None:
    await api.create(api.path("configmaps"), build_config_map("a"))
    await api.get(api.path("configmaps/a"), accept=accept)


@behaviour
async def head_request_is_rejected(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a"))
    reply = await api.ask("HEAD", api.path("configmaps/a"))
    api.note("status of HEAD", reply.status)


@behaviour
async def table_includes_objects_on_request(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a", {"k": "v"}, labels={"l": "1"}))
    show = _remove_descriptions
    await api.get(api.path("configmaps?labelSelector=l"), accept=TABLE, show=show)
    await api.get(api.path("configmaps/a?includeObject=None"), accept=TABLE, show=show)
    await api.get(api.path("configmaps/a?includeObject=Object"), accept=TABLE, show=show)
    await api.get(api.path("configmaps/a?includeObject=Nonsense"), accept=TABLE, show=show)


@behaviour
async def table_of_custom_resources_has_printer_columns(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    await api.get(api.path("things", EXAMPLE), accept=TABLE, show=_remove_descriptions)


def _remove_descriptions(table: dict[str, object]) -> dict[str, object]:
    for column in table["columnDefinitions"]:  # type: ignore[attr-defined]
        column.pop("description")
    return table
