"""Bodies in Kubernetes' protobuf, which kubectl sends for objects that it builds itself (`kubectl create …`).

Only decoding, and only for the kinds in this module: answers are always JSON, which all clients accept.
"""

import base64
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ..kinds.documents import JsonObject

_MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

# A field is `number name type`. The type is a scalar or another message; `list` and `map` (from texts) stand before it.
# A `?` marks fields that are kept if they are zero; all others are omitted then, as in JSON.
_MESSAGES: Mapping[str, str] = {
    "ClusterRole": "1 metadata ObjectMeta, 2 rules list PolicyRule",
    "ClusterRoleBinding": "1 metadata ObjectMeta, 2 subjects list Subject, 3 roleRef RoleRef",
    "ConfigMap": "1 metadata ObjectMeta, 2 data map text, 3 binaryData map bytes, 4 immutable ?bool",
    "DeleteOptions": "1 gracePeriodSeconds ?int, 2 preconditions Preconditions, 3 orphanDependents ?bool, "
    "4 propagationPolicy text, 5 dryRun list text",
    "Eviction": "1 metadata ObjectMeta, 2 deleteOptions DeleteOptions",
    "LabelSelector": "1 matchLabels map text, 2 matchExpressions list LabelSelectorRequirement",
    "LabelSelectorRequirement": "1 key text, 2 operator text, 3 values list text",
    "LocalObjectReference": "1 name text",
    "Namespace": "1 metadata ObjectMeta",
    "NonResourceAttributes": "1 path text, 2 verb text",
    "ObjectMeta": "1 name text, 2 generateName text, 3 namespace text, 5 uid text, 6 resourceVersion text, "
    "11 labels map text, 12 annotations map text, 13 ownerReferences list OwnerReference, 14 finalizers list text",
    "ObjectReference": "1 kind text, 2 namespace text, 3 name text, 4 uid text, 5 apiVersion text, "
    "6 resourceVersion text, 7 fieldPath text",
    "OwnerReference": "1 kind text, 3 name text, 4 uid text, 5 apiVersion text, 6 controller ?bool, "
    "7 blockOwnerDeletion ?bool",
    "PodDisruptionBudget": "1 metadata ObjectMeta, 2 spec PodDisruptionBudgetSpec",
    "PodDisruptionBudgetSpec": "1 minAvailable ?int_or_text, 2 selector LabelSelector, "
    "3 maxUnavailable ?int_or_text, 4 unhealthyPodEvictionPolicy text",
    "PolicyRule": "1 verbs list text, 2 apiGroups list text, 3 resources list text, 4 resourceNames list text, "
    "5 nonResourceURLs list text",
    "Preconditions": "1 uid text, 2 resourceVersion text",
    "PriorityClass": "1 metadata ObjectMeta, 2 value ?int, 3 globalDefault bool, 4 description text, "
    "5 preemptionPolicy text",
    "ResourceAttributes": "1 namespace text, 2 verb text, 3 group text, 4 version text, 5 resource text, "
    "6 subresource text, 7 name text",
    "ResourceQuota": "1 metadata ObjectMeta, 2 spec ResourceQuotaSpec",
    "ResourceQuotaSpec": "1 hard map quantity, 2 scopes list text",
    "Role": "1 metadata ObjectMeta, 2 rules list PolicyRule",
    "RoleBinding": "1 metadata ObjectMeta, 2 subjects list Subject, 3 roleRef RoleRef",
    "RoleRef": "1 apiGroup text, 2 kind text, 3 name text",
    "Scale": "1 metadata ObjectMeta, 2 spec ScaleSpec",
    "ScaleSpec": "1 replicas int",
    "Secret": "1 metadata ObjectMeta, 2 data map bytes, 3 type text, 4 stringData map text, 5 immutable ?bool",
    "SelfSubjectAccessReview": "1 metadata ObjectMeta, 2 spec SelfSubjectAccessReviewSpec",
    "SelfSubjectAccessReviewSpec": "1 resourceAttributes ResourceAttributes, "
    "2 nonResourceAttributes NonResourceAttributes",
    "SelfSubjectReview": "1 metadata ObjectMeta",
    "SelfSubjectRulesReview": "1 metadata ObjectMeta, 2 spec SelfSubjectRulesReviewSpec",
    "SelfSubjectRulesReviewSpec": "1 namespace text",
    "Service": "1 metadata ObjectMeta, 2 spec ServiceSpec",
    "ServiceAccount": "1 metadata ObjectMeta, 2 secrets list ObjectReference, "
    "3 imagePullSecrets list LocalObjectReference, 4 automountServiceAccountToken ?bool",
    "ServicePort": "1 name text, 2 protocol text, 3 port int, 4 targetPort int_or_text, 5 nodePort int, "
    "6 appProtocol text",
    "ServiceSpec": "1 ports list ServicePort, 2 selector map text, 3 clusterIP text, 4 type text, "
    "5 externalIPs list text, 7 sessionAffinity text, 8 loadBalancerIP text, 10 externalName text, "
    "11 externalTrafficPolicy text, 13 publishNotReadyAddresses bool, 17 ipFamilyPolicy text, "
    "18 clusterIPs list text, 19 ipFamilies list text, 22 internalTrafficPolicy text",
    "Subject": "1 kind text, 2 apiGroup text, 3 name text, 4 namespace text",
    "_Envelope": "1 type _TypeMeta, 2 raw raw",
    "_IntOrText": "1 type int, 2 number ?int, 3 text ?text",
    "_Quantity": "1 text text",
    "_TypeMeta": "1 apiVersion text, 2 kind text",
}
_SCALARS = frozenset({"bool", "bytes", "int", "raw", "text"})


def decode(body: bytes) -> JsonObject:
    """Return the document in a body.

    Raises:
        ValueError: The body is not such a message, or its kind is not supported.
    """
    if not body.startswith(_MAGIC):
        raise ValueError("the body does not begin as Kubernetes' protobuf does")
    envelope = _decode_message("_Envelope", body[len(_MAGIC) :])
    kind = envelope.get("type", {}).get("kind", "")
    if kind not in _MESSAGES or kind.startswith("_"):
        raise ValueError(f"{kind or 'a document without kind'} cannot be read from protobuf here: send JSON")
    header: JsonObject = envelope["type"]
    return header | _decode_message(kind, envelope.get("raw", b""))


@cache
def _parse_fields(message: str) -> dict[int, tuple[str, str, str, bool]]:
    """Return the fields of a message by number: name, `list`, `map` or nothing, type, and whether zeros are kept."""
    fields = {}
    for field in _MESSAGES[message].split(", "):
        number, name, *form, kind = field.split()
        fields[int(number)] = (name, "".join(form), kind.lstrip("?"), kind.startswith("?"))
    return fields


def _decode_message(name: str, data: bytes) -> JsonObject:
    document: JsonObject = {}
    fields = _parse_fields(name)
    for number, wire_type, content in _read_wire(data):
        if number not in fields:
            continue
        key, form, kind, counts = fields[number]
        if wire_type != (_VARINT if kind in ("bool", "int") else _BYTES):
            raise ValueError(f"field {number} of {name} is of the wrong type")
        if form == "map":
            entry = _decode_entry(kind, content)
            document.setdefault(key, {})[entry[0]] = entry[1]
            continue
        value = _decode_value(kind, content)
        if form == "list":
            document.setdefault(key, []).append(value)
        elif counts or value or kind == "raw":
            document[key] = value
    return document


def _decode_entry(kind: str, data: Any) -> tuple[str, Any]:
    parts = {number: content for number, _, content in _read_wire(data)}
    return _decode_value("text", parts.get(1, b"")), _decode_value(kind, parts.get(2, b""))


def _decode_value(kind: str, content: Any) -> Any:
    if kind in _SCALARS:
        return _decode_scalar(kind, content)
    if kind == "quantity":
        return _decode_message("_Quantity", content).get("text", "0")
    if kind == "int_or_text":
        choice = _decode_message("_IntOrText", content)
        return choice.get("text", "") if choice.get("type") == 1 else choice.get("number", 0)
    return _decode_message(kind, content)


def _decode_scalar(kind: str, content: Any) -> Any:
    if kind == "bool":
        return bool(content)
    if kind == "int":
        return content - 2**64 if content >= 2**63 else content
    if kind == "bytes":
        return base64.b64encode(content).decode()
    return content.decode() if kind == "text" else content


def _read_wire(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Yield the fields of an encoded message: number, wire type, and an integer or bytes."""
    position = 0
    while position < len(data):
        tag, position = _read_varint(data, position)
        wire_type = tag & 7
        if wire_type == _VARINT:
            content, position = _read_varint(data, position)
            yield tag >> 3, wire_type, content
            continue
        if wire_type == _BYTES:
            length, position = _read_varint(data, position)
        elif wire_type in (_FIXED64, _FIXED32):
            length = 8 if wire_type == _FIXED64 else 4
        else:
            raise ValueError(f"unknown wire type {wire_type}")
        if position + length > len(data):
            raise ValueError("the message ends too early")
        yield tag >> 3, wire_type, data[position : position + length]
        position += length


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    result = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise ValueError("the message ends too early")
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & (2**64 - 1), position
    raise ValueError("a number is too long")
