"""Dry runs: validated and answered, but not stored."""

from contract.behaviour import behaviour
from contract.conversation import APPLY_PATCH, Conversation
from contract.documents import EXAMPLE, build_config_map, build_thing


@behaviour
async def dry_run_creation_stores_nothing(api: Conversation) -> None:
    await api.post(api.path("configmaps") + "?dryRun=All", build_config_map("a", {"k": "v"}))
    await api.get(api.path("configmaps/a"))


@behaviour
async def dry_run_creation_of_custom_resource_stores_nothing(api: Conversation) -> None:
    await api.post(api.path("things", EXAMPLE) + "?dryRun=All", build_thing("a"))
    await api.get(api.path("things/a", EXAMPLE))


@behaviour
async def invalid_dry_run_creation_is_rejected(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a"))
    await api.post(api.path("configmaps") + "?dryRun=All", build_config_map("a"))
    await api.post(api.path("things", EXAMPLE) + "?dryRun=All", build_thing("a", {"replicas": -1}))


@behaviour
async def dry_run_update_stores_nothing(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a", {"k": "v"}))
    await api.put(api.path("configmaps/a?dryRun=All"), build_config_map("a", {"k": "w"}))
    await api.get(api.path("configmaps/a"))


@behaviour
async def dry_run_patch_stores_nothing(api: Conversation) -> None:
    await api.create(api.path("things", EXAMPLE), build_thing("a"))
    await api.patch(api.path("things/a?dryRun=All", EXAMPLE), {"spec": {"replicas": 7}})
    await api.get(api.path("things/a", EXAMPLE))


@behaviour
async def dry_run_apply_stores_nothing(api: Conversation) -> None:
    path = api.path("configmaps/a?fieldManager=me&dryRun=All")
    await api.patch(path, build_config_map("a", {"k": "v"}), APPLY_PATCH)
    await api.get(api.path("configmaps/a"))


@behaviour
async def dry_run_deletion_keeps_object(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a"))
    await api.delete(api.path("configmaps/a?dryRun=All"))
    await api.delete(api.path("configmaps/a"), {"dryRun": ["All"]})
    await api.get(api.path("configmaps/a"))


@behaviour
async def dry_run_deletion_keeps_collection(api: Conversation) -> None:
    await api.create(api.path("secrets"), {"metadata": {"name": "a"}})
    await api.delete(api.path("secrets?dryRun=All"))
    await api.get(api.path("secrets/a"))


@behaviour
async def dry_run_value_other_than_all_is_rejected(api: Conversation) -> None:
    await api.post(api.path("configmaps") + "?dryRun=Some", build_config_map("a"))
    await api.delete(api.path("configmaps/a?dryRun=true"))
