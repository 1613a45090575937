"""Validation and defaults of kinds other than pods."""

from typing import Any

from contract.behaviour import behaviours_of, ignore_error_messages
from contract.conversation import Conversation, Document
from contract.documents import build_stateful_set

Documents = dict[str, Document]


def _remove_metadata(body: Any) -> Any:
    """Return the compared part: no metadata, and no addresses, which a server chooses freely."""
    spec = {key: item for key, item in (body.get("spec") or {}).items() if not key.startswith("clusterIP")}
    return {key: spec if key == "spec" else item for key, item in body.items() if key != "metadata"}


def wrap_specs(specs: Documents) -> Documents:
    return {name: {"spec": spec} for name, spec in specs.items()}


def build_odd_service(**spec: Any) -> Document:
    return {"selector": {"a": "b"}, "ports": [{"port": 80}], **spec}


def build_claim_spec(**template_spec: Any) -> Document:
    """Return the part of a StatefulSet that makes its pods claim the volume `v`."""
    template = build_stateful_set("a")["spec"]["template"]
    claims = [{"metadata": {"name": "v"}, "spec": CLAIM}]
    return {"volumeClaimTemplates": claims, "template": template | {"spec": template["spec"] | template_spec}}


def build_odd_sets(specs: Documents, template_specs: Documents) -> Documents:
    """Return StatefulSets that differ from a valid one in their specification or in that of their pods."""
    found = {}
    for name, spec in specs.items():
        found[name] = build_stateful_set("a")
        found[name]["spec"] |= spec
    for name, spec in template_specs.items():
        found[name] = build_stateful_set("a")
        found[name]["spec"]["template"]["spec"] |= spec
    return found


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


KINDS: list[tuple[str, str, Documents]] = [
    (
        "services",
        "v1",
        wrap_specs(
            {
                "no number": build_odd_service(ports=[{}]),
                "a number out of range": build_odd_service(ports=[{"port": 70000}]),
                "a target by name": build_odd_service(ports=[{"port": 80, "targetPort": "http"}]),
                "a target by a bad name": build_odd_service(ports=[{"port": 80, "targetPort": "A_B"}]),
                "a target out of range": build_odd_service(ports=[{"port": 80, "targetPort": 70000}]),
                "a bad name": build_odd_service(ports=[{"port": 80, "name": "A_B"}]),
                "a name twice": build_odd_service(ports=[{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]),
                "no names": build_odd_service(ports=[{"port": 80}, {"port": 81}]),
                "an unknown type": build_odd_service(type="Wat"),
                "a bad label": build_odd_service(selector={"a b": "c"}),
                "a bad value": build_odd_service(selector={"a": "b c"}),
                "a bad name elsewhere": build_odd_service(type="ExternalName", externalName="A B"),
                "no name elsewhere": build_odd_service(type="ExternalName"),
                "no ports": build_odd_service(ports=[]),
                "headless": build_odd_service(clusterIP="None", ports=[], publishNotReadyAddresses=True),
                "empty texts": build_odd_service(type="", sessionAffinity="", ports=[{"port": 80, "protocol": ""}]),
                "a whole name elsewhere": build_odd_service(type="ExternalName", externalName="a.example.com."),
            }
        ),
    ),
    (
        "statefulsets",
        "apps/v1",
        build_odd_sets(
            {
                "an unknown policy": {"podManagementPolicy": "Wat"},
                "an unknown strategy": {"updateStrategy": {"type": "Wat"}},
                "a negative partition": {"updateStrategy": {"rollingUpdate": {"partition": -1}}},
                "replaced on deletion": {"updateStrategy": {"type": "OnDelete"}},
                "an empty strategy": {"updateStrategy": {}},
                "a negative start": {"ordinals": {"start": -1}},
                "a negative number": {"replicas": -1},
                "no template": {"template": None},
                "no selector": {"selector": None},
                "claims": {"volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": CLAIM}]},
                "claims instead of volumes": build_claim_spec(volumes=[{"name": "v", "emptyDir": {}}]),
            },
            {
                "pods that end": {"restartPolicy": "Never"},
                "pods with a deadline": {"activeDeadlineSeconds": 5},
                "a bad pod": {"containers": [{"name": "A", "image": "i"}]},
            },
        ),
    ),
    (
        "secrets",
        "v1",
        {
            "a bad key": {"data": {"a b": "YQ=="}},
            "a key that leads out": {"data": {"..": "YQ==", "../x": "YQ=="}},
            "no base64": {"data": {"a": "!"}},
            "other letters": {"data": {"a": "ä"}},
            "lines": {"data": {"a": "YWFh\nYWFh\r\nYQ==\n"}},
            "needless bits": {"data": {"a": "YR=="}},
            "null": {"data": {"a": None}},
        },
    ),
    (
        "persistentvolumeclaims",
        "v1",
        wrap_specs(
            {
                "nothing": {},
                "an unknown mode": CLAIM | {"accessModes": ["Wat"]},
                "nothing asked": CLAIM | {"resources": {}},
                "less than nothing": CLAIM | {"resources": {"requests": {"storage": "-1"}}},
            }
        ),
    ),
]


@behaviours_of([(resource, resource, group, documents) for resource, group, documents in KINDS])
@ignore_error_messages
async def fields_of_kind_are_validated(api: Conversation, resource: str, group: str, documents: Documents) -> None:
    for name, document in documents.items():
        named = document | {"metadata": {"name": name.replace(" ", "-")}}
        await api.post(api.path(resource, group) + "?dryRun=All", named, show=_remove_metadata)
