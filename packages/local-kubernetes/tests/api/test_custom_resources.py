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
