"""Fields of built-in kinds and their types."""

from typing import Any

from contract.behaviour import behaviour, behaviours_of, ignore_error_messages
from contract.conversation import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Conversation, Document
from contract.documents import build_config_map, build_event, build_lease, build_pod, build_service, build_stateful_set

MAIN = {"name": "main", "image": "i:1"}
STATEFUL_SETS = "apps/v1"
QUANTITIES = (
    *("0.5", "500m", "1000m", "1.5Gi", "0.5Ki", "1000Ki", "1024Ki", "1.1Gi", "100u", "0.0000000001", "1000k", "-0"),
    *(" 1", "12e-1", "1000000", "1n", "1e19", "100Ei", "0Gi", "1.0", "100e2", "1.5k", ".5", "1024Gi", "1e3"),
    *(2, 0.5, 1000.0, 1.25),
)


def _remove_metadata(body: Any) -> Any:
    return {key: value for key, value in body.items() if key != "metadata"}


def _get_spec(body: Any) -> Any:
    return body["spec"]


def _get_resources(body: Any) -> Any:
    return body["spec"]["containers"][0]["resources"]


def _build_odd_set() -> Document:
    document = build_stateful_set("a")
    document["spec"]["template"]["spec"]["wat"] = 1
    document["spec"]["template"]["metadata"]["wat"] = 1
    return document


@behaviours_of(
    [
        ("at the top", "configmaps", "v1", build_config_map("a") | {"wat": 1}),
        ("in metadata", "configmaps", "v1", build_config_map("a", wat=1)),
        ("in the specification", "pods", "v1", build_pod("a", {"wat": 1})),
        ("in a list", "pods", "v1", build_pod("a", {"containers": [MAIN | {"comand": ["x"]}]})),
        ("in another case", "pods", "v1", build_pod("a", {"HostNetwork": True})),
        ("that is null", "pods", "v1", build_pod("a", {"wat": None})),
        ("that is an empty list", "pods", "v1", build_pod("a", {"contaners": []})),
        ("in a template", "statefulsets", STATEFUL_SETS, _build_odd_set()),
        ("in a port", "services", "v1", build_service("a", ports=[{"port": 80, "wat": 1}])),
        ("in a lease", "leases", "coordination.k8s.io/v1", build_lease("a", "me") | {"wat": 1}),
    ]
)
async def unknown_field_is_rejected_only_with_strict_validation(
    api: Conversation, resource: str, group: str, document: Document
) -> None:
    path = api.path(resource, group)
    await api.post(f"{path}?fieldValidation=Strict", document)
    await api.post(f"{path}?fieldValidation=Ignore&dryRun=All", document, show=_remove_metadata)
    await api.post(path, document, show=_remove_metadata)


@behaviour
async def all_unknown_fields_are_reported(api: Conversation) -> None:
    document = build_pod("a", {"a": 1, "b": 2, "containers": [MAIN | {"c": 3, "env": [{"name": "A", "d": 4}]}]})
    await api.post(api.path("pods?fieldValidation=Strict"), document)
    await api.post(api.path("pods"), document, show=_get_spec)


@behaviours_of(
    [
        ("merge", {"wat": 1, "data": {"k": "w"}}, MERGE_PATCH),
        ("strategic", {"wat": 1, "data": {"k": "w"}}, STRATEGIC_PATCH),
        ("json", [{"op": "add", "path": "/wat", "value": 1}], JSON_PATCH),
        ("apply", build_config_map("a", {"k": "w"}) | {"wat": 1}, APPLY_PATCH),
    ]
)
@ignore_error_messages
async def unknown_field_in_patch_is_reported(api: Conversation, patch: Any, content_type: str) -> None:
    await api.create(api.path("configmaps"), build_config_map("a", {"k": "v"}))
    manager = "fieldManager=me"
    await api.patch(api.path(f"configmaps/a?{manager}&fieldValidation=Strict"), patch, content_type)
    await api.patch(api.path(f"configmaps/a?{manager}"), patch, content_type, show=_remove_metadata)


@behaviour
async def unknown_field_in_update_is_reported(api: Conversation) -> None:
    await api.create(api.path("configmaps"), build_config_map("a", {"k": "v"}))
    document = build_config_map("a", {"k": "w"}) | {"wat": 1}
    await api.put(api.path("configmaps/a?fieldValidation=Strict"), document)
    await api.put(api.path("configmaps/a"), document, show=_remove_metadata)


@behaviour
@ignore_error_messages
async def unknown_field_in_status_is_reported(api: Conversation) -> None:
    await api.create(api.path("pods"), build_pod("a"))
    patch = {"status": {"phase": "Running", "wat": 1}}
    await api.patch(api.path("pods/a/status?fieldValidation=Strict"), patch)
    await api.patch(api.path("pods/a/status"), patch, show=lambda body: body["status"]["phase"])


@behaviours_of(
    [
        ("a string for a number", {"terminationGracePeriodSeconds": "1"}),
        ("a fraction", {"terminationGracePeriodSeconds": 1.5}),
        ("an integral float", {"terminationGracePeriodSeconds": 1.0}),
        ("a number of more than 64 bits", {"terminationGracePeriodSeconds": 2**63}),
        ("a number of more than 32 bits", {"priority": 2**31}),
        ("a boolean for a number", {"terminationGracePeriodSeconds": True}),
        ("a string for a boolean", {"hostNetwork": "true"}),
        ("a number for a boolean", {"hostPID": 1}),
        ("a number for a string", {"hostname": 1}),
        ("a list for an object", {"securityContext": []}),
        ("a string for an object", {"affinity": "x"}),
        ("an object for a list", {"volumes": {}}),
        ("a list for a map", {"nodeSelector": []}),
        ("a number in a map", {"nodeSelector": {"a": 1}}),
        ("an invalid quantity", {"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "lots"}}]}),
        ("a boolean for a quantity", {"containers": [MAIN | {"resources": {"limits": {"cpu": True}}}]}),
        ("a boolean for a port", {"containers": [MAIN | {"livenessProbe": {"tcpSocket": {"port": True}}}]}),
        ("a port of more than 32 bits", {"containers": [MAIN | {"livenessProbe": {"tcpSocket": {"port": 2**31}}}]}),
        ("null in a list of objects", {"volumes": [None]}),
        ("null in a map", {"nodeSelector": {"a": None}}),
        ("null for a list", {"volumes": None}),
        ("null for an object", {"securityContext": None}),
    ]
)
@ignore_error_messages
async def type_of_field_is_validated(api: Conversation, spec: Document) -> None:
    await api.post(api.path("pods"), build_pod("a", spec), show=_get_spec)


@behaviours_of(
    [
        ("an invalid time", "coordination.k8s.io/v1", "leases", {"acquireTime": "yesterday"}),
        ("a time without microseconds", "coordination.k8s.io/v1", "leases", {"renewTime": "2026-01-01T00:00:00Z"}),
        ("a number for a time", "coordination.k8s.io/v1", "leases", {"renewTime": 1}),
    ]
)
@ignore_error_messages
async def invalid_time_in_lease_is_rejected(api: Conversation, group: str, resource: str, spec: Document) -> None:
    document = build_lease("a", "me")
    document["spec"] |= spec
    await api.post(api.path(resource, group), document)


@behaviours_of(
    [
        ("invalid", "yesterday"),
        ("a date", "2026-01-01"),
        ("a number", 1),
        ("another zone", "2026-01-01T02:00:00+02:00"),
        ("fractions", "2026-01-01T00:00:00.75Z"),
    ]
)
@ignore_error_messages
async def time_of_event_is_validated(api: Conversation, time: Any) -> None:
    document = build_event("a", api.namespace, firstTimestamp=time)
    await api.post(api.path("events"), document, show=lambda body: body["firstTimestamp"][-9:])


@behaviour
async def quantities_are_returned_in_canonical_form(api: Conversation) -> None:
    for quantity in QUANTITIES:
        limits = {"example.com/none": "1", "cpu": quantity}
        document = build_pod("a", {"containers": [MAIN | {"resources": {"limits": limits}}]})
        await api.post(api.path("pods?dryRun=All"), document, show=_get_resources)
