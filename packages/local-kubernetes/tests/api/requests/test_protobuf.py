import base64
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_kubernetes.api.requests.protobuf import decode

from api.builders import CONFIG_MAPS, Api

PROTOBUF = "application/vnd.kubernetes.protobuf"

# Bodies that kubectl 1.32 sent.
NAMESPACE = "azhzAAoPCgJ2MRIJTmFtZXNwYWNlEhwKFAoEdGVhbRIAGgAiACoAMgA4AEIAEgAaAgoAGgAiAA=="
CONFIG_MAP = "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEiIKGAoIc2V0dGluZ3MSABoAIgAqADIAOABCABIGCgFhEgFiGgAiAA=="
SECRET = "azhzAAoMCgJ2MRIGU2VjcmV0Eh0KEQoBcRIAGgAiACoAMgA4AEIAEgYKAWESAWIaABoAIgA="
SERVICE = (
    "azhzAAoNCgJ2MRIHU2VydmljZRJmChsKAXMSABoAIgAqADIAOABCAFoICgNhcHASAXMSQwoeCgc4MC1odHRwEgNUQ1AYUCIKCAEQABoEaHR0cCgA"
    "EggKA2FwcBIBcxoAIglDbHVzdGVySVA6AEIAUgBaAGAAaAAaAgoAGgAiAA=="
)
BUDGET = (
    "azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSNgoRCgFwEgAaACIAKgAyADgAQgASFRIICgYKAWESAWIaCQgBEAAaAzUwJRoK"
    "CAAYACAAKAAwABoAIgA="
)
PRIORITY = (
    "azhzAAolChRzY2hlZHVsaW5nLms4cy5pby92MRINUHJpb3JpdHlDbGFzcxIvChEKAXASABoAIgAqADIAOABCABAAGAAiACoUUHJlZW1wdExvd2Vy"
    "UHJpb3JpdHkaACIA"
)
REVIEW = (
    "azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSPwoQCgASABoAIgAqADIAOABCABIhCh8KB2Rl"
    "ZmF1bHQSBmNyZWF0ZRoAIgAqBHBvZHMyADoAGggIABIAGgAgABoAIgA="
)


def build_envelope(kind: str, raw: bytes) -> bytes:
    """Return a body of a kind, as a client would send it."""
    return b"k8s\x00" + build_part(1, build_part(1, b"v1") + build_part(2, kind.encode())) + build_part(2, raw)


def build_part(number: int, content: bytes) -> bytes:
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        (NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}),
        (CONFIG_MAP, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}}),
        (SECRET, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "q"}, "data": {"a": "Yg=="}}),
        (
            SERVICE,
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "s", "labels": {"app": "s"}},
                "spec": {
                    "ports": [{"name": "80-http", "protocol": "TCP", "port": 80, "targetPort": "http"}],
                    "selector": {"app": "s"},
                    "type": "ClusterIP",
                },
            },
        ),
        (
            BUDGET,
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "p"},
                "spec": {"selector": {"matchLabels": {"a": "b"}}, "maxUnavailable": "50%"},
            },
        ),
        (
            PRIORITY,
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "p"},
                "value": 0,
                "preemptionPolicy": "PreemptLowerPriority",
            },
        ),
    ],
)
def test_protobuf_of_kubectl_is_decoded(recorded: str, expected: dict[str, Any]) -> None:
    assert decode(base64.b64decode(recorded)) == expected


async def test_a_body_in_protobuf_creates_an_object(api: Api) -> None:
    reply = await api.send("POST", CONFIG_MAPS, base64.b64decode(CONFIG_MAP), PROTOBUF)
    assert (reply.status, reply.body["data"]) == (201, {"a": "b"})


async def test_a_review_in_protobuf_is_answered(api: Api) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    reply = await api.send("POST", path, base64.b64decode(REVIEW), PROTOBUF)
    assert reply.body["status"]["allowed"] is True
    assert reply.body["spec"]["resourceAttributes"]["resource"] == "pods"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{}", "does not begin"),
        (build_envelope("Pod", b""), "Pod cannot be read from protobuf here: send JSON"),
        (build_envelope("_TypeMeta", b""), "cannot be read"),
        (b"k8s\x00", "without kind"),
        (build_envelope("ConfigMap", b"\x0a\x7f"), "ends too early"),
        (build_envelope("ConfigMap", b"\x08\x01"), "wrong type"),
        (build_envelope("ConfigMap", b"\x0f"), "unknown wire type"),
        (build_envelope("ConfigMap", b"\xff" * 12), "too long"),
        (build_envelope("ConfigMap", build_part(1, build_part(1, b"\xff"))), "utf-8"),
    ],
)
async def test_a_body_that_cannot_be_read_is_refused(api: Api, body: bytes, message: str) -> None:
    reply = await api.send("POST", CONFIG_MAPS, body, PROTOBUF)
    assert reply.refusal == (400, "BadRequest")
    assert message in reply.body["message"]


@given(st.binary(max_size=64), st.sampled_from(["ConfigMap", "Service", "Secret"]))
def test_arbitrary_bytes_raise_only_the_documented_error(data: bytes, kind: str) -> None:
    with suppress(ValueError):
        decode(build_envelope(kind, data))
