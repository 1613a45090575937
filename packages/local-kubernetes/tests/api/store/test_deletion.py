import pytest

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


async def test_deleted_object_is_not_found(api: Api) -> None:
    created = await api.create(CONFIG_MAPS, build_config_map("a"))
    reply = await api.delete(f"{CONFIG_MAPS}/a")
    assert (reply.status, reply.body["status"]) == (200, "Success")
    assert reply.body["details"] == {"name": "a", "kind": "configmaps", "uid": created["metadata"]["uid"]}
    assert (await api.get(f"{CONFIG_MAPS}/a")).refusal == (404, "NotFound")
    assert (await api.delete(f"{CONFIG_MAPS}/a")).refusal == (404, "NotFound")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"preconditions": {"uid": "other"}}, 409),
        ({"preconditions": {"resourceVersion": "1"}}, 409),
        ({"preconditions": "x"}, 400),
        ({"propagationPolicy": "Bogus"}, 422),
        ({"gracePeriodSeconds": "soon"}, 400),
        ({"kind": "Pod"}, 400),
        ({"dryRun": ["Some"]}, 422),
    ],
)
async def test_deletion_with_failing_precondition_is_rejected(api: Api, options: Document, code: int) -> None:
    await api.create(CONFIG_MAPS, build_config_map("a"))
    assert (await api.delete(f"{CONFIG_MAPS}/a", options)).status == code
    assert await api.names(CONFIG_MAPS) == ["a"]


async def test_deletion_with_matching_preconditions_succeeds(api: Api) -> None:
    metadata = (await api.create(CONFIG_MAPS, build_config_map("a")))["metadata"]
    preconditions = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    assert (await api.delete(f"{CONFIG_MAPS}/a", {"preconditions": preconditions})).status == 200


async def test_object_exists_until_its_finalizer_is_removed(api: Api) -> None:
    await api.create(CONFIG_MAPS, build_config_map("a", finalizers=["example.com/f"]))
    held = (await api.delete(f"{CONFIG_MAPS}/a")).body
    assert held["kind"] == "ConfigMap"
    assert held["metadata"]["deletionTimestamp"]
    assert (await api.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}})).status == 200
    assert await api.names(CONFIG_MAPS) == []


async def test_finalizer_cannot_be_added_during_deletion(api: Api) -> None:
    await api.create(CONFIG_MAPS, build_config_map("a", finalizers=["example.com/f"]))
    await api.delete(f"{CONFIG_MAPS}/a")
    added = {"metadata": {"finalizers": ["example.com/f", "example.com/g"]}}
    assert (await api.patch(f"{CONFIG_MAPS}/a", added)).refusal == (422, "Invalid")


async def test_running_pod_gets_its_grace_period(api: Api) -> None:
    await create_bound_pod(api, "p")
    marked = (await api.delete(f"{PODS}/p")).body["metadata"]
    assert marked["deletionGracePeriodSeconds"] == 30
    again = (await api.delete(f"{PODS}/p?gracePeriodSeconds=5")).body["metadata"]
    assert again["deletionGracePeriodSeconds"] == 5
    longer = (await api.delete(f"{PODS}/p?gracePeriodSeconds=60")).body["metadata"]
    assert longer["deletionGracePeriodSeconds"] == 5
    assert (await api.delete(f"{PODS}/p", {"gracePeriodSeconds": 0})).status == 200
    assert await api.names(PODS) == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_terminated_pod_is_deleted_immediately(api: Api, phase: str) -> None:
    await create_bound_pod(api, "p")
    await api.patch(f"{PODS}/p/status", {"status": {"phase": phase}})
    await api.delete(f"{PODS}/p")
    assert await api.names(PODS) == []


async def test_unscheduled_pod_is_deleted_immediately(api: Api) -> None:
    await api.create(PODS, build_pod("p"))
    deleted = (await api.delete(f"{PODS}/p")).body
    assert (deleted["kind"], deleted["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    assert await api.names(PODS) == []


async def test_an_evicted_pod_is_deleted(api: Api) -> None:
    await api.create(PODS, build_pod("p"))
    assert (await api.post(f"{PODS}/p/eviction", {"metadata": {"name": "p"}})).status == 201
    assert await api.names(PODS) == []


async def test_dependents_are_deleted_with_their_last_owner(api: Api) -> None:
    owners = [await api.create(PODS, build_pod(name)) for name in ("p", "q")]
    await api.create(CONFIG_MAPS, build_config_map("a", ownerReferences=[build_owner(item) for item in owners]))
    await api.create(CONFIG_MAPS, build_config_map("b", ownerReferences=[build_owner(owners[0])]))
    await api.delete(f"{PODS}/p")
    assert await api.names(CONFIG_MAPS) == ["a"]
    references = (await api.get(f"{CONFIG_MAPS}/a")).body["metadata"]["ownerReferences"]
    assert [item["name"] for item in references] == ["q"]
    await api.delete(f"{PODS}/q")
    assert await api.names(CONFIG_MAPS) == []


async def test_dependents_of_dependents_are_deleted(api: Api) -> None:
    first = await api.create(CONFIG_MAPS, build_config_map("a"))
    second = await api.create(CONFIG_MAPS, build_config_map("b", ownerReferences=[build_owner(first)]))
    await api.create(CONFIG_MAPS, build_config_map("c", ownerReferences=[build_owner(second)]))
    await api.delete(f"{CONFIG_MAPS}/a")
    assert await api.names(CONFIG_MAPS) == []


async def test_dependent_of_a_missing_owner_is_deleted_immediately(api: Api) -> None:
    owner = await api.create(CONFIG_MAPS, build_config_map("a"))
    await api.delete(f"{CONFIG_MAPS}/a")
    await api.create(CONFIG_MAPS, build_config_map("b", ownerReferences=[build_owner(owner)]))
    assert await api.names(CONFIG_MAPS) == []


@pytest.mark.parametrize("query", ["propagationPolicy=Orphan", "orphanDependents=true"])
async def test_orphaned_dependents_are_kept(api: Api, query: str) -> None:
    first = await api.create(CONFIG_MAPS, build_config_map("a"))
    await api.create(CONFIG_MAPS, build_config_map("b", ownerReferences=[build_owner(first)]))
    await api.delete(f"{CONFIG_MAPS}/a?{query}")
    remaining = (await api.get(f"{CONFIG_MAPS}/b")).body
    assert "ownerReferences" not in remaining["metadata"]


async def test_foreground_deletion_removes_the_owner_last(api: Api) -> None:
    first = await api.create(CONFIG_MAPS, build_config_map("a"))
    await create_bound_pod(api, "p", ownerReferences=[build_owner(first, blockOwnerDeletion=True)])
    held = (await api.delete(f"{CONFIG_MAPS}/a", {"propagationPolicy": "Foreground"})).body
    assert held["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert (await api.get(f"{PODS}/p")).body["metadata"]["deletionTimestamp"]
    await api.delete(f"{PODS}/p?gracePeriodSeconds=0")
    assert await api.names(CONFIG_MAPS) == []


async def test_foreground_deletion_ignores_dependents_that_do_not_block(api: Api) -> None:
    first = await api.create(CONFIG_MAPS, build_config_map("a"))
    await create_bound_pod(api, "p", ownerReferences=[build_owner(first)])
    await api.delete(f"{CONFIG_MAPS}/a", {"propagationPolicy": "Foreground"})
    assert await api.names(CONFIG_MAPS) == []
    assert (await api.get(f"{PODS}/p")).body["metadata"]["deletionTimestamp"]


async def test_a_collection_is_deleted_by_selector(api: Api) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2"}), ("c", {"x": "1"})):
        await api.create(CONFIG_MAPS, build_config_map(name, labels=labels))
    deleted = (await api.delete(f"{CONFIG_MAPS}?labelSelector=x%3D1")).body
    assert [item["metadata"]["name"] for item in deleted["items"]] == ["a", "c"]
    assert await api.names(CONFIG_MAPS) == ["b"]


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


async def test_namespace_exists_until_finalizers_of_its_objects_are_removed(api: Api) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": "team"}})
    place = f"{NAMESPACES}/team/configmaps"
    await api.create(place, build_config_map("a", finalizers=["example.com/f"]))
    await api.delete(f"{NAMESPACES}/team")
    reply = await api.post(place, build_config_map("b"))
    assert reply.refusal == (403, "Forbidden")
    assert "being terminated" in reply.body["message"]
    await api.patch(f"{place}/a", {"metadata": {"finalizers": []}})
    assert (await api.get(f"{NAMESPACES}/team")).status == 404


async def test_default_namespace_cannot_be_deleted(api: Api) -> None:
    assert (await api.delete(f"{NAMESPACES}/default")).refusal == (403, "Forbidden")


async def test_deleting_a_definition_deletes_its_instances(things: Api) -> None:
    await things.create(THINGS, build_thing("a", None, {"finalizers": ["example.com/f"]}))
    await things.create(THINGS, build_thing("b"))
    await things.delete(f"{DEFINITIONS}/things.example.com")
    assert await things.names(THINGS) == ["a"]
    await things.patch(f"{THINGS}/a", {"metadata": {"finalizers": []}})
    assert (await things.get(THINGS)).status == 404
    await things.create(DEFINITIONS, build_definition())
    assert await things.names(THINGS) == []
