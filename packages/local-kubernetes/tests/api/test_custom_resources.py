import pytest

from api.builders import DEFINITIONS, THINGS, Api, Document, build_definition, build_thing


async def test_new_definition_is_served_immediately_in_all_versions(api: Api) -> None:
    created = await api.create(DEFINITIONS, build_definition())
    assert {item["type"]: item["status"] for item in created["status"]["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    await api.create(THINGS, build_thing("a"))
    other = (await api.get(f"{THINGS.replace('/v1/', '/v1alpha1/')}/a")).body
    assert other["apiVersion"] == "example.com/v1alpha1"
    assert (await api.get(THINGS.replace("/v1/", "/v2/"))).status == 404


async def test_defaults_are_set_and_unknown_fields_pruned(things: Api) -> None:
    reply = await things.post(THINGS, build_thing("a", {"phase": "x"}, foo=1, free={"any": 1}))
    assert reply.status == 201
    assert reply.body["spec"] == {"name": "abc", "free": {"any": 1}, "replicas": 1, "mode": "a"}
    assert "status" not in reply.body
    assert reply.headers["Warning"] == '299 - "unknown field \\"spec.foo\\""'


async def test_strict_validation_rejects_unknown_fields(things: Api) -> None:
    reply = await things.post(f"{THINGS}?fieldValidation=Strict", build_thing("a", foo=1))
    assert reply.refusal == (400, "BadRequest")
    assert 'strict decoding error: unknown field "spec.foo"' in reply.body["message"]


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"name": "a"}, "spec.name", "at least 2 chars"),
        ({"name": "abcdef"}, "spec.name", "not be more than 5 bytes"),
        ({"name": "AB"}, "spec.name", "should match"),
        ({"name": 1}, "spec.name", "must be of type string"),
        ({"name": None}, "spec.name", "Required value"),
        ({"replicas": -1}, "spec.replicas", "greater than or equal to 0"),
        ({"replicas": 1.5}, "spec.replicas", "must be of type integer"),
        ({"replicas": True}, "spec.replicas", "must be of type integer"),
        ({"mode": "z"}, "spec.mode", 'supported values: "a", "b"'),
        ({"port": True}, "spec.port", "must be of type"),
        ({"texts": [1]}, "spec.texts[0]", "must be of type string"),
        ({"texts": ["a", "b", "c"]}, "spec.texts", "at most 2 items"),
        ({"labels": {"a": 1}}, "spec.labels.a", "must be of type string"),
        ({"entries": [{"v": "1"}]}, "spec.entries[0].k", "Required value"),
    ],
)
async def test_invalid_custom_resource_is_rejected(things: Api, spec: Document, field: str, message: str) -> None:
    reply = await things.post(THINGS, build_thing("a", **spec))
    assert reply.refusal == (422, "Invalid")
    causes = {cause["field"]: cause["message"] for cause in reply.body["details"]["causes"]}
    assert message in causes[field]


@pytest.mark.parametrize("port", [80, "http"])
async def test_a_port_is_a_number_or_a_name(things: Api, port: object) -> None:
    assert (await things.post(THINGS, build_thing("a", port=port))).status == 201


async def test_custom_resource_without_required_spec_is_rejected(things: Api) -> None:
    document = {key: value for key, value in build_thing("a").items() if key != "spec"}
    assert (await things.post(THINGS, document)).body["details"]["causes"][0]["field"] == "spec"


async def test_generation_increases_with_changes_of_the_spec(things: Api) -> None:
    await things.create(THINGS, build_thing("a"))
    generations = []
    for path, patch in (
        (f"{THINGS}/a", {"metadata": {"labels": {"a": "b"}}}),
        (f"{THINGS}/a/status", {"status": {"phase": "x"}}),
        (f"{THINGS}/a", {"spec": {"mode": "b"}}),
        (f"{THINGS}/a", {"status": {"phase": "y"}}),
    ):
        generations.append((await things.patch(path, patch)).body["metadata"]["generation"])
    assert generations == [1, 1, 2, 2]


async def test_status_request_writes_only_the_status(things: Api) -> None:
    await things.create(THINGS, build_thing("a"))
    reply = await things.patch(
        f"{THINGS}/a/status", {"status": {"phase": "go"}, "spec": {"name": "other"}, "metadata": {"labels": {"a": "b"}}}
    )
    assert reply.body["status"] == {"phase": "go"}
    assert reply.body["spec"]["name"] == "abc"
    assert "labels" not in reply.body["metadata"]


async def test_replacement_without_resource_version_is_rejected(things: Api) -> None:
    created = await things.create(THINGS, build_thing("a"))
    assert (await things.put(f"{THINGS}/a", build_thing("a"))).refusal == (422, "Invalid")
    assert (await things.put(f"{THINGS}/a", created)).status == 200


async def test_scale_uses_the_paths_of_the_definition(things: Api) -> None:
    await things.create(THINGS, build_thing("a"))
    scale = (await things.patch(f"{THINGS}/a/scale", {"spec": {"replicas": 4}})).body
    assert (scale["kind"], scale["spec"]) == ("Scale", {"replicas": 4})
    assert (await things.get(f"{THINGS}/a")).body["spec"]["replicas"] == 4
    assert (await things.patch(f"{THINGS}/a/scale", {"spec": {"replicas": -1}})).status == 422
    scale["metadata"]["resourceVersion"] = "1"
    assert (await things.put(f"{THINGS}/a/scale", scale)).refusal == (409, "Conflict")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"group": "other.com"}, "metadata.name"),
        ({"scope": "Everywhere"}, "spec.scope"),
        ({"versions": []}, "spec.versions"),
        ({"versions": [{"name": "v1", "served": True, "storage": True}]}, "spec.versions[0].schema.openAPIV3Schema"),
        ({"names": {}}, "spec.names"),
        ({"names": {"plural": "things"}}, "spec.names.kind"),
        ({"conversion": {"strategy": "Webhook"}}, "spec.conversion.strategy"),
    ],
)
async def test_invalid_definition_is_rejected(api: Api, change: Document, field: str) -> None:
    document = build_definition()
    document["spec"] |= change
    reply = await api.post(DEFINITIONS, document)
    assert reply.refusal == (422, "Invalid")
    assert field in [cause["field"] for cause in reply.body["details"]["causes"]]


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({"items": []}, "a.items"),
        ({"items": {"minLength": "x"}}, "a.items.minLength"),
        ({"additionalProperties": "x"}, "a.additionalProperties"),
        ({"additionalProperties": {"properties": {"b": 1}}}, "a.additionalProperties.properties.b"),
        ({"not": 1}, "a.not"),
    ],
)
async def test_definition_whose_schema_has_a_keyword_of_another_type_is_rejected(
    api: Api, schema: Document, field: str
) -> None:
    definition = build_definition()
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["a"] = schema
    reply = await api.post(DEFINITIONS, definition)
    assert reply.refusal == (400, "BadRequest")
    assert f"openAPIV3Schema.properties.{field}: " in reply.body["message"]


async def test_schema_can_allow_any_further_properties(api: Api) -> None:
    definition = build_definition()
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["a"] = {
        "type": "object",
        "additionalProperties": True,
    }
    await api.create(DEFINITIONS, definition)
    created = await api.create(THINGS, build_thing("a") | {"a": {"b": [1]}})
    assert created["a"] == {"b": [1]}
