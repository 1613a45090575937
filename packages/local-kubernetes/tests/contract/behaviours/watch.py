"""Watches: their events, their start and their end."""

from typing import Any

from contract.behaviour import behaviour, behaviours_of, ignore_error_messages
from contract.conversation import METADATA, TABLE, Conversation
from contract.documents import (
    EXAMPLE,
    build_bound_pod,
    build_config_map,
    build_lease,
    build_pod,
    build_secret,
    build_thing,
)


async def _read_list_version(api: Conversation, path: str) -> str:
    version: str = (await api.ask("GET", path)).body["metadata"]["resourceVersion"]
    return version


@behaviour
async def watch_reports_creation_update_and_deletion(api: Conversation) -> None:
    version = await _read_list_version(api, api.path("secrets"))
    async with api.watch(api.path(f"secrets?watch=1&resourceVersion={version}")) as events:
        await api.create(api.path("secrets"), build_secret("a"))
        await api.ask("PUT", api.path("secrets/a"), build_secret("a", stringData={"k": "v"}))
        await api.ask("DELETE", api.path("secrets/a"))
        await events.take(3)


@behaviour
async def watch_reports_status_change_of_custom_resource(api: Conversation) -> None:
    version = await _read_list_version(api, api.path("things", EXAMPLE))
    async with api.watch(api.path(f"things?watch=1&resourceVersion={version}", EXAMPLE)) as events:
        await api.create(api.path("things", EXAMPLE), build_thing("a"))
        await api.merge(api.path("things/a/status", EXAMPLE), {"status": {"phase": "x"}})
        await api.ask("DELETE", api.path("things/a", EXAMPLE))
        await events.take(3)


@behaviour
async def watch_without_version_starts_with_existing_objects(api: Conversation) -> None:
    await api.create(api.path("secrets"), build_secret("a"))
    await api.create(api.path("secrets"), build_secret("b"))
    async with api.watch(api.path("secrets?watch=1")) as events:
        await events.take(2)
        await api.create(api.path("secrets"), build_secret("c"))
        await events.take(1)


@behaviour
async def watch_from_version_0_starts_with_existing_objects(api: Conversation) -> None:
    created = await api.create(api.path("secrets"), build_secret("a"))
    path = api.path("secrets")
    at_least = created["metadata"]["resourceVersion"]
    # The real server answers version 0 from a cache that may be behind, so let it catch up first.
    await api.ask("GET", f"{path}?resourceVersion={at_least}&resourceVersionMatch=NotOlderThan")
    async with api.watch(f"{path}?watch=1&resourceVersion=0") as events:
        await events.take(1)


@behaviour
async def resumed_watch_reports_all_missed_events(api: Conversation) -> None:
    first = await api.create(api.path("secrets"), build_secret("a"))
    await api.create(api.path("secrets"), build_secret("b"))
    await api.ask("DELETE", api.path("secrets/b"))
    await api.create(api.path("secrets"), build_secret("c"))
    version = first["metadata"]["resourceVersion"]
    async with api.watch(api.path(f"secrets?watch=1&resourceVersion={version}")) as events:
        await events.take(3)


@behaviour
async def deprecated_watch_path_is_served(api: Conversation) -> None:
    await api.create(api.path("secrets"), build_secret("a"))
    path = api.path("secrets").replace("/api/v1/", "/api/v1/watch/")
    async with api.watch(f"{path}?timeoutSeconds=1") as events:
        await events.take_rest()


@behaviour
async def watch_with_name_selector_reports_one_object(api: Conversation) -> None:
    await api.create(api.path("secrets"), build_secret("a"))
    async with api.watch(api.path("secrets?watch=1&fieldSelector=metadata.name%3Db")) as events:
        await api.create(api.path("secrets"), build_secret("b"))
        await events.take(1)


@behaviour
async def change_of_label_match_is_reported_as_added_or_deleted(api: Conversation) -> None:
    await api.create(api.path("secrets"), build_secret("a"))
    version = await _read_list_version(api, api.path("secrets"))
    path = api.path(f"secrets?watch=1&resourceVersion={version}&labelSelector=app%3Dx")
    async with api.watch(path) as events:
        await api.create(api.path("secrets"), build_secret("other"))
        for labels in ({"app": "x"}, {"more": "1"}, {"app": "y"}):
            await api.merge(api.path("secrets/a"), {"metadata": {"labels": labels}})
        await events.take(3)


@behaviour
async def change_of_field_match_is_reported_as_added_or_deleted(api: Conversation) -> None:
    await api.create(api.path("pods"), build_bound_pod("a"))
    version = await _read_list_version(api, api.path("pods"))
    path = api.path(f"pods?watch=1&resourceVersion={version}&fieldSelector=status.phase%3DRunning")
    async with api.watch(path) as events:
        for phase in ("Running", "Succeeded"):
            await api.merge(api.path("pods/a/status"), {"status": {"phase": phase}})
        await events.take(2)


@behaviour
async def deleted_event_has_last_state_and_new_version(api: Conversation) -> None:
    created = await api.create(api.path("secrets"), build_secret("a", stringData={"k": "v"}))
    version = created["metadata"]["resourceVersion"]
    async with api.watch(api.path(f"secrets?watch=1&resourceVersion={version}")) as events:
        await api.ask("DELETE", api.path("secrets/a"))
        found = await events.take(1)
    last = found[0]["object"]["metadata"]["resourceVersion"]
    api.note("the version is later", int(last) > int(version))


@behaviour
async def initial_events_end_with_bookmark(api: Conversation) -> None:
    await api.create(api.path("secrets"), build_secret("a"))
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    async with api.watch(api.path(f"secrets?{query}")) as events:
        await events.take(2)


@behaviour
async def initial_events_of_custom_resources_end_with_bookmark(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    async with api.watch(api.path(f"things?{query}", EXAMPLE)) as events:
        await events.take(2)


@behaviour
async def watch_ends_after_timeout(api: Conversation) -> None:
    await api.create(api.path("secrets"), build_secret("a"))
    async with api.watch(api.path("secrets?watch=1&timeoutSeconds=1")) as events:
        await events.take_rest()


@behaviour
async def watch_from_expired_version_reports_error(api: Conversation) -> None:
    show = _remove_message
    async with api.watch(api.path("secrets?watch=1&resourceVersion=1&timeoutSeconds=2")) as events:
        await events.take_rest()
        events.items = [show(event) for event in events.items]


@behaviour
async def watch_of_custom_resources_from_expired_version_reports_error(api: Conversation) -> None:
    async with api.watch(api.path("things?watch=1&resourceVersion=1&timeoutSeconds=2", EXAMPLE)) as events:
        await events.take_rest()
        events.items = [_remove_message(event) for event in events.items]


@behaviours_of(
    [("a non-numeric version", "watch=1&resourceVersion=abc"), ("a bad selector", "watch=1&labelSelector=%3D%3D")]
)
@ignore_error_messages
async def invalid_watch_option_is_rejected(api: Conversation, query: str) -> None:
    await api.get(api.path(f"secrets?{query}"))


@behaviour
async def watch_returns_partial_metadata_on_request(api: Conversation) -> None:
    await api.create(api.path("secrets"), build_secret("a", stringData={"k": "v"}))
    async with api.watch(api.path("secrets?watch=1&timeoutSeconds=1"), accept=METADATA) as events:
        await events.take_rest()


@behaviour
async def only_first_table_event_has_columns(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a", labels={"l": "1"}))
    await api.create(api.path("configmaps"), build_config_map("b", labels={"l": "1"}))
    async with api.watch(api.path("configmaps?watch=1&labelSelector=l&timeoutSeconds=1"), accept=TABLE) as events:
        await events.take_rest()
        for event in events.items:
            for column in event["object"]["columnDefinitions"] or ():
                column.pop("description")


@behaviour
async def graceful_deletion_is_reported_as_modified_then_deleted(api: Conversation) -> None:
    await api.create(api.path("pods"), build_bound_pod("a"))
    version = await _read_list_version(api, api.path("pods"))
    async with api.watch(api.path(f"pods?watch=1&resourceVersion={version}")) as events:
        await api.ask("DELETE", api.path("pods/a?gracePeriodSeconds=20"))
        await api.ask("DELETE", api.path("pods/a?gracePeriodSeconds=0"))
        await events.take(3)


@behaviour
async def finalizer_delays_deleted_event(api: Conversation) -> None:
    await api.create(api.path("secrets"), build_secret("a", metadata={"name": "a", "finalizers": ["example.com/x"]}))
    version = await _read_list_version(api, api.path("secrets"))
    async with api.watch(api.path(f"secrets?watch=1&resourceVersion={version}")) as events:
        await api.ask("DELETE", api.path("secrets/a"))
        await api.merge(api.path("secrets/a"), {"metadata": {"finalizers": None}})
        await events.take(2)


@behaviour
async def patch_without_change_causes_no_event(api: Conversation) -> None:
    await api.create(api.path("leases", "coordination.k8s.io/v1"), build_lease("a", "me"))
    path = api.path("leases", "coordination.k8s.io/v1")
    version = await _read_list_version(api, path)
    async with api.watch(f"{path}?watch=1&resourceVersion={version}") as events:
        for holder in ("me", "you"):
            await api.merge(f"{path}/a", {"spec": {"holderIdentity": holder}})
        await events.take(1)


@behaviour
async def watch_without_namespace_covers_all_namespaces(api: Conversation) -> None:
    version = await _read_list_version(api, api.path("pods"))
    path = f"/api/v1/pods?watch=1&resourceVersion={version}&labelSelector=of%3D{api.namespace}"
    async with api.watch(path) as events:
        await api.create(api.path("pods"), build_pod("a", labels={"of": api.namespace}))
        await events.take(1)


@behaviour
async def custom_resource_is_watched_in_another_version(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    async with api.watch(api.path("things?watch=1&timeoutSeconds=1", "example.com/v1alpha1")) as events:
        await events.take_rest()


def _remove_message(event: Any) -> Any:
    event["object"].pop("message", None)
    return event
