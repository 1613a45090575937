"""Custom resources: pruning, defaults and validation, and definitions as users write them."""

from copy import deepcopy
from typing import Any

from contract.behaviour import behaviour, behaviours_of, ignore_error_messages
from contract.conversation import Conversation, repeat_until
from contract.documents import DEFINITIONS, EXAMPLE, build_thing, build_thing_definition

Document = dict[str, Any]


@behaviour
async def omitted_fields_get_schema_defaults(api: Conversation) -> None:
    await api.post(api.path("things", EXAMPLE), build_thing("a"))
    await api.post(api.path("things", EXAMPLE), build_thing("b", {"replicas": None, "mode": None}))


@behaviour
async def unknown_fields_are_pruned(api: Conversation) -> None:
    document = build_thing("a", {"nonsense": {"a": 1}, "entries": [{"k": "1", "odd": 2}]}) | {"top": 1}
    await api.post(api.path("things", EXAMPLE), document)


@behaviour
async def unknown_fields_are_kept_if_schema_preserves_them(api: Conversation) -> None:
    await api.post(api.path("things", EXAMPLE), build_thing("a", {"free": {"a": {"b": [1, 2.5, None, True]}}}))


@behaviours_of(
    [
        ("missing", lambda spec: spec.pop("name")),
        ("null", lambda spec: spec.update(name=None)),
        ("too short", lambda spec: spec.update(name="a")),
        ("too long", lambda spec: spec.update(name="abcdef")),
        ("pattern mismatch", lambda spec: spec.update(name="ABC")),
        ("number for text", lambda spec: spec.update(name=1)),
        ("text for number", lambda spec: spec.update(replicas="1")),
        ("fraction for integer", lambda spec: spec.update(replicas=1.5)),
        ("integral float for integer", lambda spec: spec.update(replicas=2.0)),
        ("below the minimum", lambda spec: spec.update(replicas=-1)),
        ("not in enumeration", lambda spec: spec.update(mode="c")),
        ("too many items", lambda spec: spec.update(texts=["a", "b", "c"])),
        ("text for list", lambda spec: spec.update(texts="a")),
        ("list for object", lambda spec: spec.update(labels=[])),
        ("number in map of strings", lambda spec: spec.update(labels={"a": 1})),
        ("item without required field", lambda spec: spec.update(entries=[{"v": "1"}])),
        ("duplicate key", lambda spec: spec.update(entries=[{"k": "1"}, {"k": "1"}])),
        ("null in a list", lambda spec: spec.update(texts=[None])),
        ("string for int-or-string", lambda spec: spec.update(port="http")),
        ("number for int-or-string", lambda spec: spec.update(port=80)),
        ("boolean for int-or-string", lambda spec: spec.update(port=True)),
        ("several errors", lambda spec: spec.update(replicas=-1, mode="c", name="A")),
    ]
)
async def value_is_validated_against_schema(api: Conversation, change: Any) -> None:
    document = build_thing("a")
    change(document["spec"])
    await api.post(api.path("things", EXAMPLE), document)


@behaviours_of(
    [
        ("no spec", lambda document: document.pop("spec")),
        ("a text for spec", lambda document: document.update(spec="x")),
        ("a null for spec", lambda document: document.update(spec=None)),
        ("no kind", lambda document: document.pop("kind")),
        ("no version", lambda document: document.pop("apiVersion")),
        ("another kind", lambda document: document.update(kind="Other")),
        ("another group", lambda document: document.update(apiVersion="other.com/v1")),
        ("no metadata", lambda document: document.pop("metadata")),
        ("a text for metadata", lambda document: document.update(metadata="x")),
        ("a number for a label", lambda document: document["metadata"].update(labels={"a": 1})),
        ("an unknown field in metadata", lambda document: document["metadata"].update(nonsense=1)),
        ("a bad name", lambda document: document["metadata"].update(name="A B")),
    ]
)
@ignore_error_messages
async def document_of_custom_resource_is_validated(api: Conversation, change: Any) -> None:
    document = build_thing("a")
    change(document)
    await api.post(api.path("things", EXAMPLE), document)


@behaviour
async def object_is_served_in_both_versions(api: Conversation) -> None:
    await api.post(api.path("things", EXAMPLE), build_thing("a"))
    await api.get(api.path("things/a", "example.com/v1alpha1"))
    await api.get(api.path("things", "example.com/v1alpha1"))
    document = build_thing("b") | {"apiVersion": "example.com/v1alpha1"}
    await api.post(api.path("things", "example.com/v1alpha1"), document)


def build_own_definition(api: Conversation, **version: Any) -> Document:
    """Return a definition in a group that only this behaviour uses."""
    group = f"{api.namespace}.example.com"
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"boxes.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "boxes", "kind": "Box"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
            ],
        },
    }


async def _define(api: Conversation, definition: Document) -> str:
    """Define a kind and wait until it is served; return the path of its collection."""
    await api.create(DEFINITIONS, definition)
    group = definition["spec"]["group"]
    root = f"/apis/{group}/{definition['spec']['versions'][0]['name']}"
    if definition["spec"]["scope"] == "Namespaced":
        root += f"/namespaces/{api.namespace}"
    path = f"{root}/{definition['spec']['names']['plural']}"
    await api.until(path, lambda reply: reply.status == 200)
    return path


async def _undefine(api: Conversation, definition: Document) -> None:
    await api.ask("DELETE", f"{DEFINITIONS}/{definition['metadata']['name']}")


@behaviour
async def definition_gets_defaults(api: Conversation) -> None:
    definition = build_own_definition(api)

    def show(body: Document) -> Document:
        return {"spec": body["spec"], "generation": body["metadata"]["generation"]}

    await api.post(DEFINITIONS, definition, show=show)
    await _undefine(api, definition)


@behaviour
async def definition_becomes_established(api: Conversation) -> None:
    definition = build_own_definition(api)
    await _define(api, definition)

    def is_established(reply: Any) -> bool:
        conditions = (reply.body.get("status") or {}).get("conditions") or ()
        return any(item["type"] == "Established" and item["status"] == "True" for item in conditions)

    path = f"{DEFINITIONS}/{definition['metadata']['name']}"
    await api.until(path, is_established)
    await api.get(path, show=lambda body: body["status"])
    await _undefine(api, definition)


@behaviour
async def defined_kind_is_served(api: Conversation) -> None:
    definition = build_own_definition(api)
    path = await _define(api, definition)
    group = definition["spec"]["group"]
    box = {"apiVersion": f"{group}/v1", "kind": "Box", "metadata": {"name": "a"}, "spec": {"a": "b"}}
    await api.post(path, box)
    await api.get(path)
    await _undefine(api, definition)


@behaviour
async def kind_is_removed_with_its_definition(api: Conversation) -> None:
    definition = build_own_definition(api)
    path = await _define(api, definition)
    group = definition["spec"]["group"]
    box = {"apiVersion": f"{group}/v1", "kind": "Box", "metadata": {"name": "a"}}
    await api.create(path, box)
    await _undefine(api, definition)
    await api.wait_until_deleted(f"{DEFINITIONS}/{definition['metadata']['name']}")
    await api.wait_until_deleted(path)
    await api.get(path)


@behaviour
async def cluster_scoped_kind_is_served_without_namespace(api: Conversation) -> None:
    definition = build_own_definition(api)
    definition["spec"]["scope"] = "Cluster"
    path = await _define(api, definition)
    group = definition["spec"]["group"]
    box = {"apiVersion": f"{group}/v1", "kind": "Box", "metadata": {"name": "a"}}
    await api.post(path, box)
    await api.get(f"{path}/a")
    await api.get(f"/apis/{group}/v1/namespaces/{api.namespace}/boxes")
    await api.delete(f"{path}/a")
    await _undefine(api, definition)


@behaviour
async def status_is_plain_field_without_status_subresource(api: Conversation) -> None:
    schema = {"type": "object", "properties": {"status": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    definition = build_own_definition(api, schema={"openAPIV3Schema": schema})
    path = await _define(api, definition)
    group = definition["spec"]["group"]
    box = {"apiVersion": f"{group}/v1", "kind": "Box", "metadata": {"name": "a"}, "status": {"a": "b"}}
    await api.post(path, box)
    await api.get(f"{path}/a/status")
    await _undefine(api, definition)


@behaviour
async def only_selectable_fields_can_be_selected(api: Conversation) -> None:
    definition = build_own_definition(api, selectableFields=[{"jsonPath": ".spec.a"}])
    path = await _define(api, definition)
    group = definition["spec"]["group"]
    for name, value in (("one", "x"), ("two", "y")):
        box = {"apiVersion": f"{group}/v1", "kind": "Box", "metadata": {"name": name}, "spec": {"a": value}}
        await api.create(path, box)
    show = lambda body: [item["metadata"]["name"] for item in body["items"]]  # noqa: E731
    await api.get(f"{path}?fieldSelector=spec.a%3Dx", show=show)
    await api.get(f"{path}?fieldSelector=spec.b%3Dx", show=show)
    await _undefine(api, definition)


KEYWORDS: tuple[tuple[str, Document, Any], ...] = (
    ("maximum", {"type": "number", "maximum": 3}, 4),
    ("minimum properties", {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1}, {}),
    ("unique items", {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}, ["a", "a"]),
    ("minimum items", {"type": "array", "items": {"type": "string"}, "minItems": 2}, ["a"]),
    ("date-time", {"type": "string", "format": "date-time"}, "yesterday"),
    ("int32", {"type": "integer", "format": "int32"}, 2**40),
    ("int32 below", {"type": "integer", "format": "int32"}, -(2**31) - 1),
    ("uint32", {"type": "integer", "format": "uint32"}, -1),
    ("uint64", {"type": "integer", "format": "uint64"}, 2**64),
    ("integer above 64 bits", {"type": "integer"}, 2**63),
    ("int64 above 64 bits", {"type": "integer", "format": "int64"}, 2**63),
    ("integral float for int32", {"type": "integer", "format": "int32"}, 3.0),
    ("a fraction below the minimum", {"type": "integer", "minimum": 3}, 1.5),
    ("fraction for int32", {"type": "integer", "format": "int32"}, 1.5),
    ("boolean for int32", {"type": "integer", "format": "int32"}, True),
    ("object for int32", {"type": "integer", "format": "int32"}, {}),
    ("text for int32", {"type": "integer", "format": "int32"}, "1"),
    ("large integral float", {"type": "integer"}, 1e16),
    ("float", {"type": "number", "format": "float"}, 1e300),
    ("float32", {"type": "number", "format": "float32"}, 1e300),
    ("double", {"type": "number", "format": "double"}, 1e300),
    ("number for text", {"type": "string", "format": "int32"}, 2**40),
    ("number for int-or-string", {"x-kubernetes-int-or-string": True, "format": "int32"}, 2**40),
    ("nullable", {"type": "string", "nullable": True}, None),
    ("rule", {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 3", "message": "too many"}]}, 3),
    (
        "embedded",
        {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        {"kind": "A"},
    ),
    ("enumeration of numbers", {"type": "integer", "enum": [1, 2]}, 3),
    ("large number", {"type": "integer"}, 2**62),
    ("exponent", {"type": "number"}, 1e21),
)


@behaviours_of(KEYWORDS)
async def schema_keyword_is_evaluated(api: Conversation, schema: Document, value: Any) -> None:
    whole = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": schema}}}}
    definition = build_own_definition(api, schema={"openAPIV3Schema": whole})
    path = await _define(api, definition)
    group = definition["spec"]["group"]
    box = {"apiVersion": f"{group}/v1", "kind": "Box", "metadata": {"name": "a"}, "spec": {"a": value}}
    await api.post(path, box, show=lambda body: body["spec"])
    await _undefine(api, definition)


@behaviours_of(
    [
        ("another name", lambda document: document["metadata"].update(name="other.example.com")),
        ("no group", lambda document: document["spec"].pop("group")),
        ("no versions", lambda document: document["spec"].update(versions=[])),
        ("no kind", lambda document: document["spec"]["names"].pop("kind")),
        ("an unknown scope", lambda document: document["spec"].update(scope="Odd")),
        ("no stored version", lambda document: document["spec"]["versions"][0].update(storage=False)),
        ("no schema", lambda document: document["spec"]["versions"][0].pop("schema")),
        (
            "a schema without a type",
            lambda document: document["spec"]["versions"][0].update(
                schema={"openAPIV3Schema": {"properties": {"a": {}}}}
            ),
        ),
        (
            "an unknown type",
            lambda document: document["spec"]["versions"][0].update(schema={"openAPIV3Schema": {"type": "odd"}}),
        ),
        ("no spec", lambda document: document.pop("spec")),
    ]
)
async def definition_is_validated(api: Conversation, change: Any) -> None:
    definition = build_own_definition(api)
    change(definition)
    reply = await api.ask("POST", DEFINITIONS, definition)
    api.note("refusal", [reply.status, reply.body.get("reason")])


@behaviour
async def changed_definition_takes_effect(api: Conversation) -> None:
    definition = build_own_definition(api)
    path = await _define(api, definition)
    changed = deepcopy(definition)
    properties = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["b"] = {"type": "integer", "default": 7}
    stored = f"{DEFINITIONS}/{definition['metadata']['name']}"

    async def replace() -> Any:
        present = (await api.ask("GET", stored)).body
        present["spec"]["versions"] = changed["spec"]["versions"]
        return await api.ask("PUT", stored, present)

    # The controllers of a real server write the status of a new definition, so a replacement can be outdated.
    reply = await repeat_until(replace, lambda answer: answer.status != 409)
    api.note("status and generation", [reply.status, reply.body.get("metadata", {}).get("generation")])
    group = definition["spec"]["group"]
    box = {"apiVersion": f"{group}/v1", "kind": "Box", "metadata": {"name": "probe"}, "spec": {}}

    async def ask_for_default() -> Any:
        return await api.ask("POST", f"{path}?dryRun=All", box)

    reply = await repeat_until(ask_for_default, lambda answer: answer.body.get("spec") == {"b": 7})
    api.note("default", reply.body["spec"])
    await _undefine(api, definition)


@behaviour
async def definition_status_lists_stored_versions(api: Conversation) -> None:
    name = build_thing_definition()["metadata"]["name"]
    show = lambda body: body["status"]["storedVersions"]  # noqa: E731
    await api.get(f"{DEFINITIONS}/{name}", show=show)
