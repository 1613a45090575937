"""Watches: their events, their start and their end."""

from typing import Any

from contract.behaviour import behaviour, behaviours_of, in_own_words
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
async def the_life_of_an_object(api: Conversation) -> None:
    version = await _read_list_version(api, api.path("secrets"))
    async with api.watch(api.path(f"secrets?watch=1&resourceVersion={version}")) as events:
        await api.created(api.path("secrets"), build_secret("a"))
        await api.ask("PUT", api.path("secrets/a"), build_secret("a", stringData={"k": "v"}))
        await api.ask("DELETE", api.path("secrets/a"))
        await events.take(3)


@behaviour
async def the_life_of_a_custom_resource(api: Conversation) -> None:
    version = await _read_list_version(api, api.path("things", EXAMPLE))
    async with api.watch(api.path(f"things?watch=1&resourceVersion={version}", EXAMPLE)) as events:
        await api.created(api.path("things", EXAMPLE), build_thing("a"))
        await api.ask(
            "PATCH",
            api.path("things/a/status", EXAMPLE),
            {"status": {"phase": "x"}},
            content_type="application/merge-patch+json",
        )
        await api.ask("DELETE", api.path("things/a", EXAMPLE))
        await events.take(3)


@behaviour
async def from_no_version_what_is_there_comes_first(api: Conversation) -> None:
    await api.created(api.path("secrets"), build_secret("a"))
    await api.created(api.path("secrets"), build_secret("b"))
    async with api.watch(api.path("secrets?watch=1")) as events:
        await events.take(2)
        await api.created(api.path("secrets"), build_secret("c"))
        await events.take(1)


@behaviour
async def version_0_shows_what_is_there(api: Conversation) -> None:
    created = await api.created(api.path("secrets"), build_secret("a"))
    path = api.path("secrets")
    at_least = created["metadata"]["resourceVersion"]
    # The real server answers version 0 from a cache that may be behind, so let it catch up first.
    await api.ask("GET", f"{path}?resourceVersion={at_least}&resourceVersionMatch=NotOlderThan")
    async with api.watch(f"{path}?watch=1&resourceVersion=0") as events:
        await events.take(1)


@behaviour
async def a_resumed_watch_misses_nothing(api: Conversation) -> None:
    first = await api.created(api.path("secrets"), build_secret("a"))
    await api.created(api.path("secrets"), build_secret("b"))
    await api.ask("DELETE", api.path("secrets/b"))
    await api.created(api.path("secrets"), build_secret("c"))
    version = first["metadata"]["resourceVersion"]
    async with api.watch(api.path(f"secrets?watch=1&resourceVersion={version}")) as events:
        await events.take(3)


@behaviour
async def the_old_path_of_a_watch(api: Conversation) -> None:
    await api.created(api.path("secrets"), build_secret("a"))
    path = api.path("secrets").replace("/api/v1/", "/api/v1/watch/")
    async with api.watch(f"{path}?timeoutSeconds=1") as events:
        await events.rest()


@behaviour
async def one_object_is_watched_by_its_name(api: Conversation) -> None:
    await api.created(api.path("secrets"), build_secret("a"))
    async with api.watch(api.path("secrets?watch=1&fieldSelector=metadata.name%3Db")) as events:
        await api.created(api.path("secrets"), build_secret("b"))
        await events.take(1)


@behaviour
async def an_object_that_comes_to_match_a_selector_is_added_and_one_that_ceases_is_deleted(api: Conversation) -> None:
    await api.created(api.path("secrets"), build_secret("a"))
    version = await _read_list_version(api, api.path("secrets"))
    path = api.path(f"secrets?watch=1&resourceVersion={version}&labelSelector=app%3Dx")
    merge = {"content_type": "application/merge-patch+json"}
    async with api.watch(path) as events:
        await api.created(api.path("secrets"), build_secret("other"))
        for labels in ({"app": "x"}, {"more": "1"}, {"app": "y"}):
            await api.ask("PATCH", api.path("secrets/a"), {"metadata": {"labels": labels}}, **merge)  # type: ignore[arg-type]
        await events.take(3)


@behaviour
async def a_pod_that_comes_to_match_a_field_selector_is_added(api: Conversation) -> None:
    await api.created(api.path("pods"), build_bound_pod("a"))
    version = await _read_list_version(api, api.path("pods"))
    path = api.path(f"pods?watch=1&resourceVersion={version}&fieldSelector=status.phase%3DRunning")
    async with api.watch(path) as events:
        for phase in ("Running", "Succeeded"):
            await api.ask(
                "PATCH",
                api.path("pods/a/status"),
                {"status": {"phase": phase}},
                content_type="application/merge-patch+json",
            )
        await events.take(2)


@behaviour
async def a_deletion_carries_the_last_state_and_a_new_version(api: Conversation) -> None:
    created = await api.created(api.path("secrets"), build_secret("a", stringData={"k": "v"}))
    version = created["metadata"]["resourceVersion"]
    async with api.watch(api.path(f"secrets?watch=1&resourceVersion={version}")) as events:
        await api.ask("DELETE", api.path("secrets/a"))
        found = await events.take(1)
    last = found[0]["object"]["metadata"]["resourceVersion"]
    api.note("the version is later", int(last) > int(version))


@behaviour
async def the_initial_list_can_be_part_of_the_watch(api: Conversation) -> None:
    await api.created(api.path("secrets"), build_secret("a"))
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    async with api.watch(api.path(f"secrets?{query}")) as events:
        await events.take(2)


@behaviour
async def the_initial_list_of_custom_resources_can_be_part_of_the_watch(api: Conversation) -> None:
    await api.created(api.path("things", EXAMPLE), build_thing("a"))
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    async with api.watch(api.path(f"things?{query}", EXAMPLE)) as events:
        await events.take(2)


@behaviour
async def it_ends_when_its_time_is_up(api: Conversation) -> None:
    await api.created(api.path("secrets"), build_secret("a"))
    async with api.watch(api.path("secrets?watch=1&timeoutSeconds=1")) as events:
        await events.rest()


@behaviour
async def a_version_that_has_expired(api: Conversation) -> None:
    show = _remove_message
    async with api.watch(api.path("secrets?watch=1&resourceVersion=1&timeoutSeconds=2")) as events:
        await events.rest()
        events.read = [show(event) for event in events.read]


@behaviour
async def a_version_that_has_expired_for_custom_resources(api: Conversation) -> None:
    async with api.watch(api.path("things?watch=1&resourceVersion=1&timeoutSeconds=2", EXAMPLE)) as events:
        await events.rest()
        events.read = [_remove_message(event) for event in events.read]


@behaviours_of(
    [
        ("a version that is no number", "watch=1&resourceVersion=abc"),
        ("a match", "watch=1&resourceVersion=1&resourceVersionMatch=Exact"),
        ("initial events without match", "watch=1&sendInitialEvents=true"),
        ("initial events and exactly a version", "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact"),
        ("a bad selector", "watch=1&labelSelector=%3D%3D"),
    ]
)
@in_own_words
async def a_watch_with(api: Conversation, query: str) -> None:
    await api.get(api.path(f"secrets?{query}"))


@behaviour
async def metadata_only(api: Conversation) -> None:
    await api.created(api.path("secrets"), build_secret("a", stringData={"k": "v"}))
    async with api.watch(api.path("secrets?watch=1&timeoutSeconds=1"), accept=METADATA) as events:
        await events.rest()


@behaviour
async def a_table_names_its_columns_once(api: Conversation) -> None:
    await api.created(api.path("configmaps"), build_config_map("a", labels={"l": "1"}))
    await api.created(api.path("configmaps"), build_config_map("b", labels={"l": "1"}))
    async with api.watch(api.path("configmaps?watch=1&labelSelector=l&timeoutSeconds=1"), accept=TABLE) as events:
        await events.rest()
        for event in events.read:
            for column in event["object"]["columnDefinitions"] or ():
                column.pop("description")


@behaviour
async def a_graceful_deletion_is_a_change_and_then_a_deletion(api: Conversation) -> None:
    await api.created(api.path("pods"), build_bound_pod("a"))
    version = await _read_list_version(api, api.path("pods"))
    async with api.watch(api.path(f"pods?watch=1&resourceVersion={version}")) as events:
        await api.ask("DELETE", api.path("pods/a?gracePeriodSeconds=20"))
        await api.ask("DELETE", api.path("pods/a?gracePeriodSeconds=0"))
        await events.take(3)


@behaviour
async def a_finalizer_delays_the_event_of_the_deletion(api: Conversation) -> None:
    await api.created(api.path("secrets"), build_secret("a", metadata={"name": "a", "finalizers": ["example.com/x"]}))
    version = await _read_list_version(api, api.path("secrets"))
    async with api.watch(api.path(f"secrets?watch=1&resourceVersion={version}")) as events:
        await api.ask("DELETE", api.path("secrets/a"))
        await api.ask(
            "PATCH",
            api.path("secrets/a"),
            {"metadata": {"finalizers": None}},
            content_type="application/merge-patch+json",
        )
        await events.take(2)


@behaviour
async def a_change_that_changes_nothing_is_no_event(api: Conversation) -> None:
    await api.created(api.path("leases", "coordination.k8s.io/v1"), build_lease("a", "me"))
    path = api.path("leases", "coordination.k8s.io/v1")
    version = await _read_list_version(api, path)
    async with api.watch(f"{path}?watch=1&resourceVersion={version}") as events:
        for holder in ("me", "you"):
            await api.ask(
                "PATCH",
                f"{path}/a",
                {"spec": {"holderIdentity": holder}},
                content_type="application/merge-patch+json",
            )
        await events.take(1)


@behaviour
async def all_namespaces_can_be_watched(api: Conversation) -> None:
    version = await _read_list_version(api, api.path("pods"))
    path = f"/api/v1/pods?watch=1&resourceVersion={version}&labelSelector=of%3D{api.namespace}"
    async with api.watch(path) as events:
        await api.created(api.path("pods"), build_pod("a", labels={"of": api.namespace}))
        await events.take(1)


@behaviour
async def a_custom_resource_can_be_watched_in_another_version(api: Conversation) -> None:
    await api.created(api.path("things", EXAMPLE), build_thing("a"))
    async with api.watch(api.path("things?watch=1&timeoutSeconds=1", "example.com/v1alpha1")) as events:
        await events.rest()


def _remove_message(event: Any) -> Any:
    event["object"].pop("message", None)
    return event
