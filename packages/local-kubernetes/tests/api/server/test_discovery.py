import json
import re

from api.builders import Api


async def test_the_schemas_of_custom_resources_are_described(things: Api) -> None:
    index = (await things.get("/openapi/v3")).body["paths"]
    described = (await things.get(index["apis/example.com/v1"]["serverRelativeURL"])).body
    schema = described["components"]["schemas"]["com.example.v1.Thing"]
    assert schema["properties"]["spec"]["required"] == ["name"]
    parameters = described["paths"]["/apis/example.com/v1/namespaces/{namespace}/things/{name}"]["patch"]["parameters"]
    assert [item["name"] for item in parameters] == ["fieldValidation"]
    assert (await things.get("/openapi/v3/apis/nope.com/v1")).status == 404
    assert (await things.get("/openapi/v2")).body["swagger"] == "2.0"


async def test_the_types_of_built_in_kinds_are_described(api: Api) -> None:
    described = (await api.get("/openapi/v3/apis/apps/v1")).body["components"]["schemas"]
    assert described["apps.v1.StatefulSet"]["x-kubernetes-group-version-kind"][0]["kind"] == "StatefulSet"
    references = set(re.findall(r'"\$ref": "#/components/schemas/([^"]+)"', json.dumps(described)))
    assert "core.v1.PodSpec" in references
    assert references <= described.keys()


async def test_access_review_allows_everything(api: Api) -> None:
    group = "/apis/authorization.k8s.io/v1"
    attributes = {"resourceAttributes": {"verb": "delete", "resource": "pods"}}
    access = await api.post(f"{group}/selfsubjectaccessreviews", {"spec": attributes})
    assert (access.status, access.body["status"]["allowed"]) == (201, True)
    rules = await api.post(f"{group}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}})
    assert rules.body["status"]["resourceRules"][0]["verbs"] == ["*"]
    who = await api.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {"kind": "SelfSubjectReview"})
    assert who.body["status"]["userInfo"]["username"] == "local-admin"
    local = f"{group}/namespaces/default/localsubjectaccessreviews"
    assert (await api.post(local, {"spec": attributes})).status == 201
    assert (await api.get(f"{group}/selfsubjectaccessreviews")).refusal == (405, "MethodNotAllowed")
