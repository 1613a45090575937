"""Invalid requests: bodies, types, tokens, paths."""

from contract.behaviour import behaviour, behaviours_of, ignore_error_messages
from contract.conversation import Conversation
from contract.documents import EXAMPLE, build_config_map, build_pod, build_thing


@behaviours_of(
    [
        ("empty", ""),
        ("null", "null"),
        ("a list", "[]"),
        ("a text", '"x"'),
        ("a number", "7"),
        ("truncated", '{"metadata":'),
        ("two documents", '{"metadata":{"name":"a"}}{}'),
        ("single quotes", "{'a': 1}"),
        ("NaN", '{"metadata":{"name":"a"},"data":{"a":NaN}}'),
        ("invalid UTF-8", b"\xff\xfe\x00"),
        ("a null byte", '{"metadata":{"name":"a\\u0000"}}'),
        ("duplicate key", '{"metadata":{"name":"a"},"metadata":{"name":"b"}}'),
        ("deeply nested", "[" * 20_000),
    ]
)
@ignore_error_messages
async def config_map_body_is_validated(api: Conversation, body: str | bytes) -> None:
    await api.post(api.path("configmaps"), body)


@behaviours_of(
    [
        ("empty", ""),
        ("null", "null"),
        ("a list", "[]"),
        ("truncated", '{"metadata":'),
        ("a text", '"x"'),
        ("deeply nested", '{"apiVersion":"example.com/v1","kind":"Thing","spec":' + '{"a":' * 11_000),
    ]
)
@ignore_error_messages
async def malformed_custom_resource_body_is_rejected(api: Conversation, body: str) -> None:
    await api.post(api.path("things", EXAMPLE), body)


@behaviours_of(
    [
        ("plain text", "text/plain"),
        ("form", "application/x-www-form-urlencoded"),
        ("a patch", "application/merge-patch+json"),
        ("no type", None),
        ("xml", "application/xml"),
        ("with a charset", "application/json; charset=utf-8"),
        ("upper case", "Application/JSON"),
        ("nonsense", "nonsense"),
    ]
)
@ignore_error_messages
async def content_type_is_validated(api: Conversation, content_type: str | None) -> None:
    await api.post(api.path("configmaps"), build_config_map("a"), content_type=content_type)


@behaviour
async def body_over_3_megabytes_is_rejected(api: Conversation) -> None:
    body = build_config_map("a", {"k": "x" * (3 * 1024 * 1024)})
    await api.post(api.path("configmaps"), body)
    await api.get("/readyz")


@behaviour
async def patch_over_3_megabytes_is_rejected(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a"))
    await api.patch(api.path("configmaps/a"), {"data": {"k": "x" * (3 * 1024 * 1024)}})


@behaviour
async def config_map_over_1_megabyte_is_rejected(api: Conversation) -> None:
    await api.post(api.path("configmaps"), build_config_map("a", {"k": "x" * (1024 * 1024 + 1)}))


@behaviour
async def custom_resource_over_1_megabyte_is_rejected(api: Conversation) -> None:
    document = build_thing("a", {"free": {"k": "x" * (1600 * 1024)}})
    await api.post(api.path("things", EXAMPLE), document)


@behaviours_of(
    [
        ("no token", ""),
        ("wrong token", "Bearer wrong"),
        ("empty token", "Bearer "),
        ("another scheme", "Basic dXNlcjpwYXNzd29yZA=="),
        ("invalid header", "nonsense"),
    ]
)
async def request_without_valid_token_is_rejected(api: Conversation, authorization: str) -> None:
    await api.get(api.path("configmaps"), headers={"Authorization": authorization})


@behaviours_of(
    [
        ("two dots", "configmaps/%2e%2e"),
        ("a dot", "configmaps/%2e"),
        ("an encoded slash", "configmaps/a%2Fb"),
        ("an encoded traversal", "configmaps/..%2F..%2Fsecrets"),
        ("a null byte", "configmaps/a%00b"),
        ("a newline", "configmaps/a%0Ab"),
        ("a percent sign", "configmaps/a%25b"),
        ("a long name", "configmaps/" + "a" * 3000),
        ("a trailing slash", "configmaps/"),
        ("unicode", "configmaps/%C3%A4"),
        ("invalid UTF-8", "configmaps/%FF"),
        ("an invalid escape", "configmaps/%zz"),
    ]
)
@ignore_error_messages
async def object_name_in_path_is_validated(api: Conversation, rest: str) -> None:
    await api.get(api.path(rest))


@behaviours_of([("dots", "pods/%2e%2e/log"), ("encoded slashes", "pods/..%2F..%2Fx/log")])
async def log_path_with_traversal_is_rejected(api: Conversation, rest: str) -> None:
    await api.get(api.path(rest))


@behaviours_of(
    [
        ("empty namespace", "/api/v1/namespaces//secrets?labelSelector=nothing"),
        ("empty group", "/apis//v1/things"),
        ("only slashes", "//"),
    ]
)
async def path_with_empty_segment_is_served_or_not_found(api: Conversation, path: str) -> None:
    await api.get(path)


@behaviour
async def unknown_query_parameters_are_ignored(api: Conversation) -> None:
    await api.get(api.path("secrets?nonsense=1&&=&%zz"))


@behaviour
async def path_of_wrong_scope_is_not_found(api: Conversation) -> None:
    await api.get(api.path("nodes"))
    await api.get(api.path("namespaces"))
    await api.get("/api/v1/configmaps/a")


@behaviours_of(
    [
        ("another kind", {"kind": "Pod"}),
        ("another version", {"apiVersion": "v1", "kind": "Eviction", "metadata": {"name": "a"}}),
        ("no name", {}),
        ("another name", {"metadata": {"name": "b"}}),
        ("another namespace", {"metadata": {"name": "a", "namespace": "default"}}),
        ("a text", "x"),
    ]
)
@ignore_error_messages
async def invalid_eviction_is_rejected(api: Conversation, eviction: object) -> None:
    await api.create(api.path("pods"), build_pod("a"))
    await api.post(api.path("pods/a/eviction"), eviction)


@behaviours_of([(method, method) for method in ("OPTIONS", "TRACE", "COPY", "LOCK")])
async def unsupported_method_is_rejected(api: Conversation, method: str) -> None:
    await api.ask_compared(method, api.path("configmaps"))
    await api.ask_compared(method, api.path("configmaps/a"))


@behaviour
async def post_to_version_is_rejected(api: Conversation) -> None:
    await api.post("/version", {})


@behaviours_of(
    [
        ("a long value", "labelSelector=a%3D" + "b" * 64),
        ("a long value in a set", "labelSelector=a+in+(b," + "c" * 64 + ")"),
        ("a trailing escape", "fieldSelector=metadata.name%3Da%5C"),
        ("an unknown escape", "fieldSelector=metadata.name%3Da%5Cb"),
        ("an escape", "fieldSelector=metadata.name%3Da%5C%2Cb"),
    ]
)
async def selector_values_and_escapes_are_validated(api: Conversation, query: str) -> None:
    await api.get(api.path(f"secrets?{query}"))
