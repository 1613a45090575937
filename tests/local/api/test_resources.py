import pytest

from tests.local.api.builders import (
    CONFIG_MAPS,
    DEFINITIONS,
    NAMESPACES,
    PODS,
    SECRETS,
    SERVICES,
    THINGS,
    Api,
    Document,
    config_map,
    definition,
    pod,
    thing,
)


async def test_a_created_object_gets_identity_and_version(api: Api) -> None:
    created = await api.created(CONFIG_MAPS, config_map("a", {"x": "1"}))
    metadata = created["metadata"]
    assert (created["apiVersion"], created["kind"], metadata["namespace"]) == ("v1", "ConfigMap", "default")
    assert metadata["uid"]
    assert int(metadata["resourceVersion"]) > 0
    assert metadata["creationTimestamp"].endswith("Z")
    assert (await api.get(f"{CONFIG_MAPS}/a")).body == created


async def test_a_name_is_generated_from_its_prefix(api: Api) -> None:
    names = {
        (await api.created(CONFIG_MAPS, {"metadata": {"generateName": "job-"}}))["metadata"]["name"] for _ in range(3)
    }
    assert len(names) == 3
    assert all(name.startswith("job-") and len(name) == 9 for name in names)


async def test_a_second_object_of_the_same_name_is_refused(api: Api) -> None:
    await api.created(CONFIG_MAPS, config_map("a"))
    reply = await api.post(CONFIG_MAPS, config_map("a"))
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


async def test_a_namespace_that_is_not_there_takes_nothing(api: Api) -> None:
    reply = await api.post("/api/v1/namespaces/nope/configmaps", config_map("a"))
    assert reply.refusal == (404, "NotFound")
    assert reply.body["message"] == 'namespaces "nope" not found'


async def test_a_new_namespace_has_a_service_account(api: Api) -> None:
    created = await api.created(NAMESPACES, {"metadata": {"name": "team"}})
    assert created["status"] == {"phase": "Active"}
    assert created["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}
    assert await api.names("/api/v1/namespaces/team/serviceaccounts") == ["default"]


async def test_a_replacement_against_an_old_version_is_refused(api: Api) -> None:
    first = await api.created(CONFIG_MAPS, config_map("a", {"x": "1"}))
    await api.put(f"{CONFIG_MAPS}/a", config_map("a", {"x": "2"}))
    reply = await api.put(f"{CONFIG_MAPS}/a", first)
    assert reply.refusal == (409, "Conflict")
    assert "the object has been modified" in reply.body["message"]


async def test_a_replacement_keeps_the_identity_of_the_object(api: Api) -> None:
    first = await api.created(CONFIG_MAPS, config_map("a", {"x": "1"}))
    second = (await api.put(f"{CONFIG_MAPS}/a", config_map("a", {"x": "2"}))).body
    for key in ("uid", "creationTimestamp"):
        assert second["metadata"][key] == first["metadata"][key]
    assert second["data"] == {"x": "2"}


async def test_an_update_that_changes_nothing_makes_no_new_version(api: Api) -> None:
    first = await api.created(CONFIG_MAPS, config_map("a", {"x": "1"}))
    second = (await api.patch(f"{CONFIG_MAPS}/a", {"data": {"x": "1"}})).body
    assert second == first


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        (f"{CONFIG_MAPS}/zz", config_map("zz"), (404, "NotFound")),
        (f"{CONFIG_MAPS}/a", config_map("b"), (400, "BadRequest")),
        (f"{CONFIG_MAPS}/a", config_map("a", uid="other"), (409, "Conflict")),
    ],
)
async def test_a_replacement_of_another_object_is_refused(
    api: Api, path: str, body: Document, expected: tuple[int, str]
) -> None:
    await api.created(CONFIG_MAPS, config_map("a"))
    assert (await api.put(path, body)).refusal == expected


async def test_a_dry_run_answers_and_stores_nothing(api: Api) -> None:
    assert (await api.post(f"{CONFIG_MAPS}?dryRun=All", config_map("a"))).status == 201
    assert await api.names(CONFIG_MAPS) == []
    first = await api.created(CONFIG_MAPS, config_map("a", {"x": "1"}))
    assert (await api.patch(f"{CONFIG_MAPS}/a?dryRun=All", {"data": {"x": "2"}})).body["data"] == {"x": "2"}
    assert (await api.delete(f"{CONFIG_MAPS}/a?dryRun=All")).status == 200
    assert (await api.get(f"{CONFIG_MAPS}/a")).body == first


async def test_a_list_names_its_kind_and_version(api: Api) -> None:
    created = await api.created(CONFIG_MAPS, config_map("a"))
    listed = (await api.get(CONFIG_MAPS)).body
    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert listed["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert "kind" not in listed["items"][0]


async def test_a_list_over_all_namespaces_is_sorted_by_place(api: Api) -> None:
    await api.created(NAMESPACES, {"metadata": {"name": "b"}})
    for place, name in (("default", "z"), ("b", "y"), ("default", "x")):
        await api.created(f"{NAMESPACES}/{place}/configmaps", config_map(name))
    assert await api.names("/api/v1/configmaps") == ["y", "x", "z"]
    assert await api.names(CONFIG_MAPS) == ["x", "z"]


async def test_a_long_list_comes_in_parts(api: Api) -> None:
    for number in range(5):
        await api.created(CONFIG_MAPS, config_map(f"c{number}"))
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
        ("resourceVersionMatch=Exact", (422, "Invalid")),
        ("resourceVersionMatch=Never", (422, "Invalid")),
        ("watch=1&sendInitialEvents=true", (422, "Invalid")),
        ("watch=1&resourceVersionMatch=Exact", (422, "Invalid")),
        ("labelSelector=a%20b", (400, "BadRequest")),
        ("fieldSelector=spec.foo%3Dx", (400, "BadRequest")),
    ],
)
async def test_options_of_a_list_that_make_no_sense_are_refused(
    api: Api, query: str, expected: tuple[int, str]
) -> None:
    assert (await api.get(f"{CONFIG_MAPS}?{query}")).refusal == expected


def with_host_path(source: Document) -> Document:
    volumes = [{"name": "v", "hostPath": source}]
    return {"spec": {"containers": [{"name": "a", "image": "x"}], "volumes": volumes}}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"spec": {}}, "spec.containers"),
        ({"spec": {"containers": [{"name": "C_", "image": "x"}]}}, "spec.containers[0].name"),
        ({"spec": {"containers": [{"name": "a"}]}}, "spec.containers[0].image"),
        ({"spec": {"containers": [{"name": "a", "image": "x"}] * 2}}, "spec.containers[1].name"),
        ({"spec": {"containers": [{"name": "a", "image": "x"}], "restartPolicy": "X"}}, "spec.restartPolicy"),
        (
            {"spec": {"containers": [{"name": "a", "image": "x", "volumeMounts": [{"name": "v"}]}]}},
            "spec.containers[0].volumeMounts[0].name",
        ),
        ({}, "spec.containers"),
        ({"spec": {"containers": [{"name": "a", "image": " x"}]}}, "spec.containers[0].image"),
        (with_host_path({}), "spec.volumes[0].hostPath.path"),
        (with_host_path({"path": "/a/../b"}), "spec.volumes[0].hostPath.path"),
        (with_host_path({"path": "/a", "type": "Link"}), "spec.volumes[0].hostPath.type"),
    ],
)
async def test_a_pod_that_cannot_run_is_refused(api: Api, body: Document, field: str) -> None:
    reply = await api.post(PODS, {"metadata": {"name": "p"}} | body)
    assert reply.refusal == (422, "Invalid")
    assert field in [cause["field"] for cause in reply.body["details"]["causes"]]


async def test_a_pod_gets_the_defaults_of_kubernetes(api: Api) -> None:
    spec = (await api.created(PODS, pod("p")))["spec"]
    assert (spec["restartPolicy"], spec["serviceAccountName"], spec["terminationGracePeriodSeconds"]) == (
        "Always",
        "default",
        30,
    )
    assert spec["containers"][0]["imagePullPolicy"] == "IfNotPresent"


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
    ],
)
async def test_a_pod_begins_pending_in_its_class_of_service(api: Api, resources: Document, expected: str) -> None:
    document = pod("p") | {"status": {"phase": "Running"}}
    document["spec"]["containers"][0]["resources"] = resources
    assert (await api.created(PODS, document))["status"] == {"phase": "Pending", "qosClass": expected}


async def test_a_pod_whose_service_account_is_missing_is_refused(api: Api) -> None:
    document = pod("p")
    document["spec"]["serviceAccountName"] = "nobody"
    reply = await api.post(PODS, document)
    assert reply.refusal == (403, "Forbidden")
    assert 'serviceaccount "nobody" not found' in reply.body["message"]


async def test_of_a_pod_only_the_image_can_be_changed(api: Api) -> None:
    await api.created(PODS, pod("p"))
    changed = await api.patch(
        f"{PODS}/p",
        [{"op": "replace", "path": "/spec/containers/0/image", "value": "i:2"}],
        "application/json-patch+json",
    )
    assert changed.body["spec"]["containers"][0]["image"] == "i:2"
    refused = await api.patch(f"{PODS}/p", {"spec": {"restartPolicy": "Never"}})
    assert refused.refusal == (422, "Invalid")
    assert "pod updates may not change fields" in refused.body["message"]


async def test_a_pod_is_bound_to_a_node_once(api: Api) -> None:
    await api.created(PODS, pod("p"))
    binding = {"target": {"kind": "Node", "name": "local"}}
    assert (await api.post(f"{PODS}/p/binding", binding)).status == 201
    assert (await api.get(f"{PODS}/p")).body["spec"]["nodeName"] == "local"
    assert (await api.post(f"{PODS}/p/binding", binding)).refusal == (409, "Conflict")


@pytest.mark.parametrize("subresource", ["", "/status"])
async def test_the_status_is_written_by_its_subresource_only(api: Api, subresource: str) -> None:
    await api.created(PODS, pod("p"))
    reply = await api.patch(
        f"{PODS}/p{subresource}", {"status": {"phase": "Running"}, "metadata": {"labels": {"a": "b"}}}
    )
    assert reply.body["status"]["phase"] == ("Running" if subresource else "Pending")
    assert reply.body["metadata"]["labels"] == {"a": "b"}


async def test_a_service_gets_an_address_that_stays(api: Api) -> None:
    created = await api.created(SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    spec = created["spec"]
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    replaced = await api.put(f"{SERVICES}/s", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 81}]}})
    assert replaced.body["spec"]["clusterIP"] == spec["clusterIP"]


async def test_a_headless_service_has_no_address(api: Api) -> None:
    created = await api.created(SERVICES, {"metadata": {"name": "s"}, "spec": {"clusterIP": "None"}})
    assert created["spec"]["clusterIPs"] == ["None"]


async def test_plain_text_of_a_secret_is_encoded(api: Api) -> None:
    created = await api.created(SECRETS, {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    assert created["data"] == {"a": "Yg=="}
    assert created["type"] == "Opaque"
    assert "stringData" not in created


@pytest.mark.parametrize(
    ("path", "body", "told"),
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
async def test_a_document_of_the_wrong_form_is_refused(api: Api, path: str, body: Document, told: str) -> None:
    reply = await api.post(path, {"metadata": {"name": "a"}} | body)
    assert reply.refusal == (400, "BadRequest")
    assert told in reply.body["message"]


async def test_an_immutable_config_map_stays(api: Api) -> None:
    await api.created(CONFIG_MAPS, config_map("a", {"x": "1"}) | {"immutable": True})
    assert (await api.patch(f"{CONFIG_MAPS}/a", {"data": {"x": "2"}})).refusal == (422, "Invalid")
    assert (await api.patch(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"a": "b"}}})).status == 200


async def test_a_definition_is_served_at_once_in_all_its_versions(api: Api) -> None:
    created = await api.created(DEFINITIONS, definition())
    assert {item["type"]: item["status"] for item in created["status"]["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    await api.created(THINGS, thing("a"))
    other = (await api.get(f"{THINGS.replace('/v1/', '/v1alpha1/')}/a")).body
    assert other["apiVersion"] == "example.com/v1alpha1"
    assert (await api.get(THINGS.replace("/v1/", "/v2/"))).status == 404


async def test_what_a_definition_says_is_filled_in_and_pruned(things: Api) -> None:
    reply = await things.post(THINGS, thing("a", {"phase": "x"}, foo=1, free={"any": 1}))
    assert reply.status == 201
    assert reply.body["spec"] == {"name": "abc", "free": {"any": 1}, "replicas": 1, "mode": "a"}
    assert "status" not in reply.body
    assert reply.headers["Warning"] == '299 - "unknown field \\"spec.foo\\""'


async def test_unknown_fields_are_refused_where_the_client_asks_for_it(things: Api) -> None:
    reply = await things.post(f"{THINGS}?fieldValidation=Strict", thing("a", foo=1))
    assert reply.refusal == (400, "BadRequest")
    assert 'strict decoding error: unknown field "spec.foo"' in reply.body["message"]


@pytest.mark.parametrize(
    ("spec", "field", "told"),
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
async def test_a_custom_resource_that_breaks_its_rules_is_refused(
    things: Api, spec: Document, field: str, told: str
) -> None:
    reply = await things.post(THINGS, thing("a", **spec))
    assert reply.refusal == (422, "Invalid")
    causes = {cause["field"]: cause["message"] for cause in reply.body["details"]["causes"]}
    assert told in causes[field]


@pytest.mark.parametrize("port", [80, "http"])
async def test_a_port_is_a_number_or_a_name(things: Api, port: object) -> None:
    assert (await things.post(THINGS, thing("a", port=port))).status == 201


async def test_a_custom_resource_without_spec_is_refused(things: Api) -> None:
    document = {key: value for key, value in thing("a").items() if key != "spec"}
    assert (await things.post(THINGS, document)).body["details"]["causes"][0]["field"] == "spec"


async def test_the_generation_counts_what_the_user_asks_for(things: Api) -> None:
    await things.created(THINGS, thing("a"))
    generations = []
    for path, patch in (
        (f"{THINGS}/a", {"metadata": {"labels": {"a": "b"}}}),
        (f"{THINGS}/a/status", {"status": {"phase": "x"}}),
        (f"{THINGS}/a", {"spec": {"mode": "b"}}),
        (f"{THINGS}/a", {"status": {"phase": "y"}}),
    ):
        generations.append((await things.patch(path, patch)).body["metadata"]["generation"])
    assert generations == [1, 1, 2, 2]


async def test_a_status_request_writes_nothing_but_the_status(things: Api) -> None:
    await things.created(THINGS, thing("a"))
    reply = await things.patch(
        f"{THINGS}/a/status",
        {"status": {"phase": "go"}, "spec": {"name": "other"}, "metadata": {"labels": {"a": "b"}}},
    )
    assert reply.body["status"] == {"phase": "go"}
    assert reply.body["spec"]["name"] == "abc"
    assert "labels" not in reply.body["metadata"]


async def test_a_replacement_of_a_custom_resource_names_its_version(things: Api) -> None:
    created = await things.created(THINGS, thing("a"))
    assert (await things.put(f"{THINGS}/a", thing("a"))).refusal == (422, "Invalid")
    assert (await things.put(f"{THINGS}/a", created)).status == 200


async def test_the_scale_is_read_and_written_where_the_kind_keeps_it(things: Api) -> None:
    await things.created(THINGS, thing("a"))
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
async def test_a_definition_that_defines_nothing_sensible_is_refused(api: Api, change: Document, field: str) -> None:
    document = definition()
    document["spec"] |= change
    reply = await api.post(DEFINITIONS, document)
    assert reply.refusal == (422, "Invalid")
    assert field in [cause["field"] for cause in reply.body["details"]["causes"]]


async def test_events_are_the_same_in_both_groups(api: Api) -> None:
    involved = {"kind": "Pod", "name": "p", "namespace": "default"}
    event = {"metadata": {"name": "e"}, "involvedObject": involved, "reason": "Started", "message": "Began"}
    await api.created("/api/v1/namespaces/default/events", event)
    other = (await api.get("/apis/events.k8s.io/v1/namespaces/default/events/e")).body
    assert (other["apiVersion"], other["note"], other["regarding"]["name"]) == ("events.k8s.io/v1", "Began", "p")
    assert await api.names("/api/v1/events?fieldSelector=involvedObject.name%3Dp,reason%3DStarted") == ["e"]
    assert await api.names("/api/v1/events?fieldSelector=involvedObject.name%3Dq") == []


@pytest.mark.parametrize("text", [b"\\ud800", b"\\uDFFF\\ud800x", b"\xff"])
async def test_what_is_no_character_is_replaced(api: Api, text: bytes) -> None:
    body = b'{"metadata": {"name": "a"}, "data": {"k": "whole \\ud83d\\ude00 ' + text + b'"}}'
    assert (await api.send("POST", CONFIG_MAPS, body)).status == 201
    stored = (await api.get(f"{CONFIG_MAPS}/a")).body["data"]["k"]
    assert stored.startswith("whole \N{GRINNING FACE} \N{REPLACEMENT CHARACTER}")
