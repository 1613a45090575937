from api.builders import (
    CONFIG_MAPS,
    DEFINITIONS,
    NAMESPACES,
    PODS,
    THINGS,
    Api,
    Document,
    build_config_map,
    build_definition,
    build_owner,
    build_pod,
    build_thing,
)


async def create_bound_pod(api: Api, name: str, **metadata: object) -> Document:
    """Create a pod on a node, which has a grace period."""
    document = build_pod(name, **metadata)
    document["spec"]["nodeName"] = "local"
    return await api.create(PODS, document)


async def test_pod_with_maximum_grace_period_can_be_deleted(api: Api) -> None:
    document = build_pod("p")
    document["spec"] |= {"terminationGracePeriodSeconds": 2**62, "nodeName": "local"}
    await api.create(PODS, document)
    reply = await api.delete(f"{PODS}/p")
    assert (reply.status, reply.body["metadata"]["deletionTimestamp"]) == (200, "9999-12-31T23:59:59Z")
    assert (await api.delete(f"{PODS}/p", {"gracePeriodSeconds": 2**70})).status == 400
    assert (await api.delete(f"{PODS}/p", {"gracePeriodSeconds": 0})).status == 200
    assert (await api.get(f"{PODS}/p")).status == 404


async def test_orphaned_dependents_are_kept(api: Api) -> None:
    first = await api.create(CONFIG_MAPS, build_config_map("a"))
    await api.create(CONFIG_MAPS, build_config_map("b", ownerReferences=[build_owner(first)]))
    await api.delete(f"{CONFIG_MAPS}/a?orphanDependents=true")
    remaining = (await api.get(f"{CONFIG_MAPS}/b")).body
    assert "ownerReferences" not in remaining["metadata"]


async def test_foreground_deletion_ignores_dependents_that_do_not_block(api: Api) -> None:
    first = await api.create(CONFIG_MAPS, build_config_map("a"))
    await create_bound_pod(api, "p", ownerReferences=[build_owner(first)])
    await api.delete(f"{CONFIG_MAPS}/a", {"propagationPolicy": "Foreground"})
    assert await api.names(CONFIG_MAPS) == []
    assert (await api.get(f"{PODS}/p")).body["metadata"]["deletionTimestamp"]


async def test_a_collection_of_owners_and_dependents_is_deleted(api: Api) -> None:
    first = await api.create(CONFIG_MAPS, build_config_map("a"))
    await api.create(CONFIG_MAPS, build_config_map("b", ownerReferences=[build_owner(first)]))
    assert (await api.delete(CONFIG_MAPS)).status == 200
    assert await api.names(CONFIG_MAPS) == []


async def test_deleting_a_namespace_deletes_its_objects(api: Api) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": "team"}})
    await api.create(f"{NAMESPACES}/team/configmaps", build_config_map("a"))
    deleted = (await api.delete(f"{NAMESPACES}/team")).body
    assert deleted["status"]["phase"] == "Terminating"
    assert await api.names("/api/v1/configmaps") == []
    assert await api.names(NAMESPACES) == ["default"]


async def test_deleting_a_definition_deletes_its_instances(things: Api) -> None:
    await things.create(THINGS, build_thing("a", None, {"finalizers": ["example.com/f"]}))
    await things.create(THINGS, build_thing("b"))
    await things.delete(f"{DEFINITIONS}/things.example.com")
    assert await things.names(THINGS) == ["a"]
    await things.patch(f"{THINGS}/a", {"metadata": {"finalizers": []}})
    assert (await things.get(THINGS)).status == 404
    await things.create(DEFINITIONS, build_definition())
    assert await things.names(THINGS) == []
