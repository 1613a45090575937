from typing import Any

import pytest

from api.builders import APPLY_PATCH, CONFIG_MAPS, PODS, THINGS, Api, Document, Reply, build_pod, build_thing


def build_configuration(**data: str) -> Document:
    body: Document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    return body | ({"data": data} if data else {})


async def apply(api: Api, manager: str, body: Document, path: str = f"{CONFIG_MAPS}/a", force: bool = False) -> Reply:
    query = f"?fieldManager={manager}" + ("&force=true" if force else "")
    return await api.patch(path + query, body, APPLY_PATCH)


def list_managers(document: Document) -> dict[tuple[str, str], Any]:
    entries = document["metadata"].get("managedFields", [])
    return {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in entries}


async def test_apply_creates_missing_object(api: Api) -> None:
    reply = await apply(api, "one", build_configuration(x="1"))
    assert reply.status == 201
    assert list_managers(reply.body) == {("one", "Apply"): {"f:data": {"f:x": {}}}}


async def test_repeated_apply_changes_nothing(api: Api) -> None:
    first = await apply(api, "one", build_configuration(x="1"))
    second = await apply(api, "one", build_configuration(x="1"))
    assert (second.status, second.body) == (200, first.body)


async def test_apply_removes_fields_that_the_manager_omits(api: Api) -> None:
    await apply(api, "one", build_configuration(x="1", y="2"))
    assert (await apply(api, "one", build_configuration(x="1"))).body["data"] == {"x": "1"}


async def test_apply_keeps_omitted_fields_of_another_manager(api: Api) -> None:
    await apply(api, "one", build_configuration(x="1", y="2"))
    await apply(api, "two", build_configuration(x="1"))
    reply = await apply(api, "one", build_configuration())
    assert reply.body["data"] == {"x": "1"}
    assert list_managers(reply.body) == {("two", "Apply"): {"f:data": {"f:x": {}}}}


async def test_apply_to_a_field_of_another_manager_is_a_conflict(api: Api) -> None:
    await apply(api, "one", build_configuration(x="1"))
    reply = await apply(api, "two", build_configuration(x="2"))
    assert reply.refusal == (409, "Conflict")
    assert reply.body["details"]["causes"][0]["field"] == ".data.x"
    assert 'conflict with "one"' in reply.body["message"]


async def test_forced_apply_takes_over_a_field(api: Api) -> None:
    await apply(api, "one", build_configuration(x="1"))
    reply = await apply(api, "two", build_configuration(x="2"), force=True)
    assert reply.body["data"] == {"x": "2"}
    assert list_managers(reply.body) == {("two", "Apply"): {"f:data": {"f:x": {}}}}


async def test_update_takes_over_changed_fields(api: Api) -> None:
    await apply(api, "one", build_configuration(x="1", y="2"))
    reply = await api.patch(f"{CONFIG_MAPS}/a?fieldManager=editor", {"data": {"x": "3"}})
    assert list_managers(reply.body) == {
        ("one", "Apply"): {"f:data": {"f:y": {}}},
        ("editor", "Update"): {"f:data": {"f:x": {}}},
    }


async def test_items_of_keyed_lists_have_separate_owners(api: Api) -> None:
    await api.create(f"{PODS}?fieldManager=creator", build_pod("p"))
    spec = {"containers": [{"name": "main", "image": "i:2"}]}
    body: Document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    conflict = await apply(api, "one", body, f"{PODS}/p")
    assert conflict.body["details"]["causes"][0]["field"] == '.spec.containers[name="main"].image'
    forced = await apply(api, "one", body, f"{PODS}/p", force=True)
    containers = forced.body["spec"]["containers"]
    assert [(item["name"], item["image"], item["imagePullPolicy"]) for item in containers] == [
        ("main", "i:2", "IfNotPresent")
    ]


async def test_lists_of_custom_resources_are_keyed_by_their_schema(things: Api) -> None:
    path = f"{THINGS}/a"
    await apply(things, "one", build_thing("a", entries=[{"k": "1", "v": "x"}]), path)
    both = await apply(things, "two", build_thing("a", entries=[{"k": "2", "v": "y"}]), path)
    assert [item["k"] for item in both.body["spec"]["entries"]] == ["1", "2"]
    reply = await apply(things, "one", build_thing("a", entries=[{"k": "3", "v": "z"}]), path)
    assert [item["k"] for item in reply.body["spec"]["entries"]] == ["2", "3"]


async def test_status_subresource_applies_the_status(things: Api) -> None:
    await things.create(THINGS, build_thing("a"))
    reply = await apply(things, "one", build_thing("a", {"phase": "go"}), f"{THINGS}/a/status")
    assert reply.body["status"] == {"phase": "go"}
    missing = await apply(things, "one", build_thing("b", {"phase": "go"}), f"{THINGS}/b/status")
    assert missing.refusal == (404, "NotFound")


@pytest.mark.parametrize(
    ("query", "body", "expected"),
    [
        ("", build_configuration(), (422, "Invalid")),
        ("?fieldManager=m", build_configuration() | {"kind": "Secret"}, (400, "BadRequest")),
        ("?fieldManager=m", build_configuration() | {"metadata": {"name": "b"}}, (400, "BadRequest")),
        (
            "?fieldManager=m",
            build_configuration() | {"metadata": {"name": "a", "managedFields": [{"manager": "x"}]}},
            (400, "BadRequest"),
        ),
    ],
)
async def test_apply_rejects_invalid_configuration(
    api: Api, query: str, body: Document, expected: tuple[int, str]
) -> None:
    reply = await api.patch(f"{CONFIG_MAPS}/a{query}", body, APPLY_PATCH)
    assert reply.refusal == expected
    assert await api.names(CONFIG_MAPS) == []
