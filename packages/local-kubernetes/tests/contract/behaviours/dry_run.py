"""Dry runs: validated and answered, but not stored."""

from contract.behaviour import behaviour
from contract.conversation import APPLY_PATCH, Conversation
from contract.documents import EXAMPLE, build_config_map, build_thing


@behaviour
async def a_creation(api: Conversation) -> None:
    await api.post(api.path("configmaps") + "?dryRun=All", build_config_map("a", {"k": "v"}))
    await api.get(api.path("configmaps/a"))


@behaviour
async def a_creation_of_a_custom_resource(api: Conversation) -> None:
    await api.post(api.path("things", EXAMPLE) + "?dryRun=All", build_thing("a"))
    await api.get(api.path("things/a", EXAMPLE))


@behaviour
async def a_creation_that_would_be_refused(api: Conversation) -> None:
    await api.created(api.path("configmaps"), build_config_map("a"))
    await api.post(api.path("configmaps") + "?dryRun=All", build_config_map("a"))
    await api.post(api.path("things", EXAMPLE) + "?dryRun=All", build_thing("a", {"replicas": -1}))


@behaviour
async def an_update(api: Conversation) -> None:
    await api.created(api.path("configmaps"), build_config_map("a", {"k": "v"}))
    await api.put(api.path("configmaps/a?dryRun=All"), build_config_map("a", {"k": "w"}))
    await api.get(api.path("configmaps/a"))


@behaviour
async def a_patch(api: Conversation) -> None:
    await api.created(api.path("things", EXAMPLE), build_thing("a"))
    await api.patch(api.path("things/a?dryRun=All", EXAMPLE), {"spec": {"replicas": 7}})
    await api.get(api.path("things/a", EXAMPLE))


@behaviour
async def an_apply(api: Conversation) -> None:
    path = api.path("configmaps/a?fieldManager=me&dryRun=All")
    await api.patch(path, build_config_map("a", {"k": "v"}), APPLY_PATCH)
    await api.get(api.path("configmaps/a"))


@behaviour
async def a_deletion(api: Conversation) -> None:
    await api.created(api.path("configmaps"), build_config_map("a"))
    await api.delete(api.path("configmaps/a?dryRun=All"))
    await api.delete(api.path("configmaps/a"), {"dryRun": ["All"]})
    await api.get(api.path("configmaps/a"))


@behaviour
async def a_deletion_of_many(api: Conversation) -> None:
    await api.created(api.path("secrets"), {"metadata": {"name": "a"}})
    await api.delete(api.path("secrets?dryRun=All"))
    await api.get(api.path("secrets/a"))


@behaviour
async def another_word_than_all(api: Conversation) -> None:
    await api.post(api.path("configmaps") + "?dryRun=Some", build_config_map("a"))
    await api.delete(api.path("configmaps/a?dryRun=true"))
