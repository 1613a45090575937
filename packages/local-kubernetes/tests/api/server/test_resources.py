import pytest

from api.builders import (
    CONFIG_MAPS,
    DEFINITIONS,
    NAMESPACES,
    PODS,
    SECRETS,
    SERVICES,
    Api,
    Document,
    build_config_map,
    build_pod,
)


async def test_a_created_object_gets_identity_and_version(api: Api) -> None:
    created = await api.create(CONFIG_MAPS, build_config_map("a", {"x": "1"}))
    metadata = created["metadata"]
    assert (created["apiVersion"], created["kind"], metadata["namespace"]) == ("v1", "ConfigMap", "default")
    assert metadata["uid"]
    assert int(metadata["resourceVersion"]) > 0
    assert metadata["creationTimestamp"].endswith("Z")
    assert (await api.get(f"{CONFIG_MAPS}/a")).body == created


async def test_a_name_is_generated_from_its_prefix(api: Api) -> None:
    names = {
        (await api.create(CONFIG_MAPS, {"metadata": {"generateName": "job-"}}))["metadata"]["name"] for _ in range(3)
    }
    assert len(names) == 3
    assert all(name.startswith("job-") and len(name) == 9 for name in names)


async def test_a_second_object_of_the_same_name_is_refused(api: Api) -> None:
    await api.create(CONFIG_MAPS, build_config_map("a"))
    reply = await api.post(CONFIG_MAPS, build_config_map("a"))
    assert reply.refusal == (409, "AlreadyExists")
    assert reply.body["message"] == 'configmaps "a" already exists'


@pytest.mark.parametrize(
    ("metadata", "code", "field"),
    [
        ({}, 422, "metadata.name"),
        ({"name": "A_b"}, 422, "metadata.name"),
        ({"name": "x" * 254}, 422, "metadata.name"),
        ({"name": "a/b"}, 422, "metadata.name"),
        ({"name": 7}, 400, ""),
        ({"name": "a", "labels": {"a b": "c"}}, 422, "metadata.labels"),
        ({"name": "a", "labels": {"a": "e f"}}, 422, "metadata.labels"),
        ({"name": "a", "labels": {"a": "x" * 64}}, 422, "metadata.labels"),
        ({"name": "a", "labels": {"a": 1}}, 400, ""),
        ({"name": "a", "annotations": {"a b": "c"}}, 422, "metadata.annotations"),
        ({"name": "a", "labels": ["x"]}, 400, ""),
        ({"name": "a", "ownerReferences": [{"kind": "Pod"}]}, 422, "metadata.ownerReferences.uid"),
        ({"name": "a", "ownerReferences": "x"}, 400, ""),
        ({"name": "a", "namespace": "other"}, 400, ""),
        ({"name": "a", "resourceVersion": "1"}, 500, ""),
        ("text", 400, ""),
    ],
)
async def test_metadata_that_is_not_valid_is_refused(api: Api, metadata: object, code: int, field: str) -> None:
    reply = await api.post(CONFIG_MAPS, {"metadata": metadata})
    assert reply.status == code
    fields = [cause["field"] for cause in (reply.body.get("details") or {}).get("causes", [])]
    assert not field or field in fields


async def test_create_in_a_missing_namespace_is_rejected(api: Api) -> None:
    reply = await api.post("/api/v1/namespaces/nope/configmaps", build_config_map("a"))
    assert reply.refusal == (404, "NotFound")
    assert reply.body["message"] == 'namespaces "nope" not found'


async def test_a_new_namespace_has_a_service_account(api: Api) -> None:
    created = await api.create(NAMESPACES, {"metadata": {"name": "team"}})
    assert created["status"] == {"phase": "Active"}
    assert created["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}
    assert await api.names("/api/v1/namespaces/team/serviceaccounts") == ["default"]


async def test_a_replacement_against_an_old_version_is_refused(api: Api) -> None:
    first = await api.create(CONFIG_MAPS, build_config_map("a", {"x": "1"}))
    await api.put(f"{CONFIG_MAPS}/a", build_config_map("a", {"x": "2"}))
    reply = await api.put(f"{CONFIG_MAPS}/a", first)
    assert reply.refusal == (409, "Conflict")
    assert "the object has been modified" in reply.body["message"]


async def test_a_replacement_keeps_the_identity_of_the_object(api: Api) -> None:
    first = await api.create(CONFIG_MAPS, build_config_map("a", {"x": "1"}))
    second = (await api.put(f"{CONFIG_MAPS}/a", build_config_map("a", {"x": "2"}))).body
    for key in ("uid", "creationTimestamp"):
        assert second["metadata"][key] == first["metadata"][key]
    assert second["data"] == {"x": "2"}


async def test_update_without_changes_keeps_the_resource_version(api: Api) -> None:
    first = await api.create(CONFIG_MAPS, build_config_map("a", {"x": "1"}))
    second = (await api.patch(f"{CONFIG_MAPS}/a", {"data": {"x": "1"}})).body
    assert second == first


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        (f"{CONFIG_MAPS}/zz", build_config_map("zz"), (404, "NotFound")),
        (f"{CONFIG_MAPS}/a", build_config_map("b"), (400, "BadRequest")),
        (f"{CONFIG_MAPS}/a", build_config_map("a", uid="other"), (409, "Conflict")),
    ],
)
async def test_a_replacement_of_another_object_is_refused(
    api: Api, path: str, body: Document, expected: tuple[int, str]
) -> None:
    await api.create(CONFIG_MAPS, build_config_map("a"))
    assert (await api.put(path, body)).refusal == expected


async def test_a_dry_run_answers_and_stores_nothing(api: Api) -> None:
    assert (await api.post(f"{CONFIG_MAPS}?dryRun=All", build_config_map("a"))).status == 201
    assert await api.names(CONFIG_MAPS) == []
    first = await api.create(CONFIG_MAPS, build_config_map("a", {"x": "1"}))
    assert (await api.patch(f"{CONFIG_MAPS}/a?dryRun=All", {"data": {"x": "2"}})).body["data"] == {"x": "2"}
    assert (await api.delete(f"{CONFIG_MAPS}/a?dryRun=All")).status == 200
    assert (await api.get(f"{CONFIG_MAPS}/a")).body == first


async def test_a_list_names_its_kind_and_version(api: Api) -> None:
    created = await api.create(CONFIG_MAPS, build_config_map("a"))
    listed = (await api.get(CONFIG_MAPS)).body
    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert listed["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert "kind" not in listed["items"][0]


async def test_a_list_over_all_namespaces_is_sorted_by_place(api: Api) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": "b"}})
    for place, name in (("default", "z"), ("b", "y"), ("default", "x")):
        await api.create(f"{NAMESPACES}/{place}/configmaps", build_config_map(name))
    assert await api.names("/api/v1/configmaps") == ["y", "x", "z"]
    assert await api.names(CONFIG_MAPS) == ["x", "z"]


async def test_long_list_is_paged(api: Api) -> None:
    for number in range(5):
        await api.create(CONFIG_MAPS, build_config_map(f"c{number}"))
    names, token, parts = [], "", []
    while True:
        part = (await api.get(f"{CONFIG_MAPS}?limit=2&continue={token}")).body
        names += [item["metadata"]["name"] for item in part["items"]]
        parts.append(part["metadata"])
        token = part["metadata"].get("continue", "")
        if not token:
            break
    assert names == [f"c{number}" for number in range(5)]
    assert [part.get("remainingItemCount") for part in parts] == [3, 1, None]
    assert len({part["resourceVersion"] for part in parts}) == 1


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("continue=abc", (400, "BadRequest")),
        ("limit=x", (400, "BadRequest")),
        ("limit=", (400, "BadRequest")),
        ("limit=1_0", (400, "BadRequest")),
        ("timeoutSeconds=99999999999999999999", (400, "BadRequest")),
        ("resourceVersion=%C2%B2", (400, "BadRequest")),
        ("resourceVersion=99999999999999999999999", (400, "BadRequest")),
        ("labelSelector=a%3E99999999999999999999999", (400, "BadRequest")),
        ("resourceVersion=abc", (400, "BadRequest")),
        ("resourceVersion=99999999999999999", (504, "Timeout")),
        ("resourceVersion=1&resourceVersionMatch=Exact", (410, "Expired")),
        ("labelSelector=a%20b", (400, "BadRequest")),
        ("fieldSelector=spec.foo%3Dx", (400, "BadRequest")),
    ],
)
async def test_invalid_list_options_are_rejected(api: Api, query: str, expected: tuple[int, str]) -> None:
    assert (await api.get(f"{CONFIG_MAPS}?{query}")).refusal == expected


@pytest.mark.parametrize("subresource", ["", "/status"])
async def test_the_status_is_written_by_its_subresource_only(api: Api, subresource: str) -> None:
    await api.create(PODS, build_pod("p"))
    reply = await api.patch(
        f"{PODS}/p{subresource}", {"status": {"phase": "Running"}, "metadata": {"labels": {"a": "b"}}}
    )
    assert reply.body["status"]["phase"] == ("Running" if subresource else "Pending")
    assert reply.body["metadata"]["labels"] == {"a": "b"}


async def test_service_gets_an_immutable_address(api: Api) -> None:
    created = await api.create(SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    spec = created["spec"]
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    replaced = await api.put(f"{SERVICES}/s", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 81}]}})
    assert replaced.body["spec"]["clusterIP"] == spec["clusterIP"]


async def test_a_headless_service_has_no_address(api: Api) -> None:
    created = await api.create(SERVICES, {"metadata": {"name": "s"}, "spec": {"clusterIP": "None"}})
    assert created["spec"]["clusterIPs"] == ["None"]


async def test_plain_text_of_a_secret_is_encoded(api: Api) -> None:
    created = await api.create(SECRETS, {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    assert created["data"] == {"a": "Yg=="}
    assert created["type"] == "Opaque"
    assert "stringData" not in created


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


async def test_immutable_config_map_cannot_be_changed(api: Api) -> None:
    await api.create(CONFIG_MAPS, build_config_map("a", {"x": "1"}) | {"immutable": True})
    assert (await api.patch(f"{CONFIG_MAPS}/a", {"data": {"x": "2"}})).refusal == (422, "Invalid")
    assert (await api.patch(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"a": "b"}}})).status == 200


async def test_events_are_selected_by_the_fields_of_their_object(api: Api) -> None:
    involved = {"kind": "Pod", "name": "p", "namespace": "default"}
    event = {"metadata": {"name": "e"}, "involvedObject": involved, "reason": "Started", "message": "Began"}
    await api.create("/api/v1/namespaces/default/events", event)
    assert await api.names("/api/v1/events?fieldSelector=involvedObject.name%3Dp,reason%3DStarted") == ["e"]
    assert await api.names("/api/v1/events?fieldSelector=involvedObject.name%3Dq") == []


@pytest.mark.parametrize("text", [b"\\ud800", b"\\uDFFF\\ud800x", b"\xff"])
async def test_invalid_utf8_is_replaced(api: Api, text: bytes) -> None:
    body = b'{"metadata": {"name": "a"}, "data": {"k": "whole \\ud83d\\ude00 ' + text + b'"}}'
    assert (await api.send("POST", CONFIG_MAPS, body)).status == 201
    stored = (await api.get(f"{CONFIG_MAPS}/a")).body["data"]["k"]
    assert stored.startswith("whole \N{GRINNING FACE} \N{REPLACEMENT CHARACTER}")
