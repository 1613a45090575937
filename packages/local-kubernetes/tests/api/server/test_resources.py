import pytest

from api.builders import (
    CONFIG_MAPS,
    DEFINITIONS,
    NAMESPACES,
    PODS,
    SECRETS,
    Api,
    Document,
    build_config_map,
)


async def test_a_name_is_generated_from_its_prefix(api: Api) -> None:
    names = {
        (await api.create(CONFIG_MAPS, {"metadata": {"generateName": "job-"}}))["metadata"]["name"] for _ in range(3)
    }
    assert len(names) == 3
    assert all(name.startswith("job-") and len(name) == 9 for name in names)


@pytest.mark.parametrize(
    ("metadata", "code", "field"),
    [
        ({}, 422, "metadata.name"),
        ({"name": 7}, 400, ""),
        ({"name": "a", "labels": ["x"]}, 400, ""),
        ({"name": "a", "ownerReferences": [{"kind": "Pod"}]}, 422, "metadata.ownerReferences.uid"),
        ({"name": "a", "ownerReferences": "x"}, 400, ""),
    ],
)
async def test_metadata_that_is_not_valid_is_refused(api: Api, metadata: object, code: int, field: str) -> None:
    reply = await api.post(CONFIG_MAPS, {"metadata": metadata})
    assert reply.status == code
    fields = [cause["field"] for cause in (reply.body.get("details") or {}).get("causes", [])]
    assert not field or field in fields


async def test_a_new_namespace_has_a_service_account(api: Api) -> None:
    created = await api.create(NAMESPACES, {"metadata": {"name": "team"}})
    assert created["status"] == {"phase": "Active"}
    assert created["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}
    assert await api.names("/api/v1/namespaces/team/serviceaccounts") == ["default"]


async def test_a_list_over_all_namespaces_is_sorted_by_place(api: Api) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": "b"}})
    for place, name in (("default", "z"), ("b", "y"), ("default", "x")):
        await api.create(f"{NAMESPACES}/{place}/configmaps", build_config_map(name))
    assert await api.names("/api/v1/configmaps") == ["y", "x", "z"]
    assert await api.names(CONFIG_MAPS) == ["x", "z"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("limit=", (400, "BadRequest")),
        ("limit=1_0", (400, "BadRequest")),
        ("timeoutSeconds=99999999999999999999", (400, "BadRequest")),
        ("resourceVersion=%C2%B2", (400, "BadRequest")),
        ("resourceVersion=99999999999999999999999", (400, "BadRequest")),
        ("labelSelector=a%3E99999999999999999999999", (400, "BadRequest")),
        ("resourceVersion=1&resourceVersionMatch=Exact", (410, "Expired")),
    ],
)
async def test_invalid_list_options_are_rejected(api: Api, query: str, expected: tuple[int, str]) -> None:
    assert (await api.get(f"{CONFIG_MAPS}?{query}")).refusal == expected


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (CONFIG_MAPS, {"data": {"a": 1}}, "data.a"),
        (CONFIG_MAPS, {"data": []}, "data"),
        (SECRETS, {"data": {"a": "!"}}, "data.a"),
        (PODS, {"spec": {"containers": [{"name": "a", "env": [{"value": 1}]}]}}, "spec.containers[0].env[0].value"),
        (PODS, {"spec": "x"}, "spec"),
        (DEFINITIONS, {"spec": {"versions": "x"}}, "spec.versions"),
        (CONFIG_MAPS, {"kind": "Secret", "apiVersion": "v1"}, "Secret"),
        (CONFIG_MAPS, {"kind": "ConfigMap", "apiVersion": "v2"}, "v2"),
    ],
)
async def test_document_with_wrong_types_is_rejected(api: Api, path: str, body: Document, message: str) -> None:
    reply = await api.post(path, {"metadata": {"name": "a"}} | body)
    assert reply.refusal == (400, "BadRequest")
    assert message in reply.body["message"]


@pytest.mark.parametrize("text", [b"\\ud800", b"\\uDFFF\\ud800x", b"\xff"])
async def test_invalid_utf8_is_replaced(api: Api, text: bytes) -> None:
    body = b'{"metadata": {"name": "a"}, "data": {"k": "whole \\ud83d\\ude00 ' + text + b'"}}'
    assert (await api.send("POST", CONFIG_MAPS, body)).status == 201
    stored = (await api.get(f"{CONFIG_MAPS}/a")).body["data"]["k"]
    assert stored.startswith("whole \N{GRINNING FACE} \N{REPLACEMENT CHARACTER}")
