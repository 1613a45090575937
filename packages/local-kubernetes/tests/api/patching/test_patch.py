import pytest

from api.builders import (
    APPLY_PATCH,
    CONFIG_MAPS,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    THINGS,
    Api,
    build_config_map,
    build_thing,
)


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"data": {"y": "3"}}, {"x": "1", "y": "3"}),
        ({"data": {"x": None}}, {}),
        ({"data": None}, None),
        ({}, {"x": "1"}),
    ],
)
async def test_a_merge_patch_merges_objects_and_removes_by_null(api: Api, patch: object, expected: object) -> None:
    await api.create(CONFIG_MAPS, build_config_map("a", {"x": "1"}))
    assert (await api.patch(f"{CONFIG_MAPS}/a", patch)).body.get("data") == expected


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([{"op": "add", "path": "/data/y", "value": "2"}], {"x": "1", "y": "2"}),
        ([{"op": "replace", "path": "/data/x", "value": "2"}], {"x": "2"}),
        ([{"op": "remove", "path": "/data/x"}], {}),
        ([{"op": "move", "from": "/data/x", "path": "/data/z"}], {"z": "1"}),
        ([{"op": "copy", "from": "/data/x", "path": "/data/z"}], {"x": "1", "z": "1"}),
        ([{"op": "test", "path": "/data/x", "value": "1"}], {"x": "1"}),
    ],
)
async def test_json_patch_applies_its_operations(api: Api, operations: object, expected: object) -> None:
    await api.create(CONFIG_MAPS, build_config_map("a", {"x": "1"}))
    reply = await api.patch(f"{CONFIG_MAPS}/a", operations, JSON_PATCH)
    assert reply.body["data"] == expected


async def test_a_json_pointer_escapes_slash_and_tilde(api: Api) -> None:
    await api.create(CONFIG_MAPS, build_config_map("a", annotations={"a": "b"}))
    operations = [{"op": "add", "path": "/metadata/annotations/example.com~1a", "value": "~"}]
    reply = await api.patch(f"{CONFIG_MAPS}/a", operations, JSON_PATCH)
    assert reply.body["metadata"]["annotations"] == {"a": "b", "example.com/a": "~"}


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        ([{"op": "test", "path": "/data/x", "value": "9"}], 422),
        ([{"op": "test", "path": "/metadata/labels/n", "value": None}], 422),
        ([{"op": "remove", "path": "/data/nope"}], 422),
        ([{"op": "replace", "path": "/data/nope", "value": "1"}], 422),
        ([{"op": "add", "path": "/no/such/place", "value": "1"}], 422),
        ([{"op": "add", "path": "/metadata/finalizers/5", "value": "a.b/c"}], 422),
        ([{"op": "add", "path": "/data/x"}], 422),
        ([{"op": "bogus", "path": "/data/x"}], 422),
        ([{"op": "add", "path": "data/x", "value": "1"}], 422),
        ([{"op": "add", "path": "", "value": []}], 422),
        ([1], 400),
        ({"op": "add"}, 400),
        ([{"op": "test", "path": "/data/x", "value": "1"}] * 10_001, 413),
    ],
    ids=lambda value: str(value)[:48],
)
async def test_failed_json_patch_changes_nothing(api: Api, operations: object, code: int) -> None:
    created = await api.create(CONFIG_MAPS, build_config_map("a", {"x": "1"}))
    assert (await api.patch(f"{CONFIG_MAPS}/a", operations, JSON_PATCH)).status == code
    assert (await api.get(f"{CONFIG_MAPS}/a")).body == created


@pytest.mark.parametrize(
    ("path", "media_type"), [(f"{CONFIG_MAPS}/a", "text/plain"), (f"{CONFIG_MAPS}/a", "application/json")]
)
async def test_a_patch_of_an_unknown_type_is_refused(api: Api, path: str, media_type: str) -> None:
    await api.create(CONFIG_MAPS, build_config_map("a"))
    assert (await api.patch(path, {}, media_type)).refusal == (415, "UnsupportedMediaType")


async def test_strategic_merge_patch_of_a_custom_resource_is_rejected(things: Api) -> None:
    await things.create(THINGS, build_thing("a"))
    reply = await things.patch(f"{THINGS}/a", {"spec": {"mode": "b"}}, STRATEGIC_PATCH)
    assert reply.refusal == (415, "UnsupportedMediaType")


@pytest.mark.parametrize("media_type", [MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH])
async def test_patch_that_is_not_an_object_is_rejected(api: Api, media_type: str) -> None:
    await api.create(CONFIG_MAPS, build_config_map("a"))
    reply = await api.patch(f"{CONFIG_MAPS}/a?fieldManager=m", [1], media_type)
    assert reply.refusal == (400, "BadRequest")


async def test_a_patch_against_an_old_version_is_refused(api: Api) -> None:
    created = await api.create(CONFIG_MAPS, build_config_map("a"))
    version = created["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": version}, "data": {"x": "1"}}
    assert (await api.patch(f"{CONFIG_MAPS}/a", patch)).status == 200
    assert (await api.patch(f"{CONFIG_MAPS}/a", patch)).refusal == (409, "Conflict")


async def test_patched_custom_resource_is_validated_and_gets_defaults(things: Api) -> None:
    await things.create(THINGS, build_thing("a", mode="b"))
    reply = await things.patch(f"{THINGS}/a", {"spec": {"mode": None}})
    assert reply.body["spec"]["mode"] == "a"
    assert (await things.patch(f"{THINGS}/a", {"spec": {"name": None}})).refusal == (422, "Invalid")
    assert (await things.patch(f"{THINGS}/a", {"kind": "Other"})).refusal == (422, "Invalid")
