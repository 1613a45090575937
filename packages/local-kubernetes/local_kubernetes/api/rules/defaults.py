"""Defaults of simple kinds, as the API server sets them."""

from collections.abc import Callable, Mapping

from ..kinds import kinds
from ..kinds.documents import JsonObject, get_text


def _fill_service(document: JsonObject) -> None:
    spec = document.setdefault("spec", {})
    spec["type"] = spec.get("type") or "ClusterIP"
    spec["sessionAffinity"] = spec.get("sessionAffinity") or "None"
    for port in spec.get("ports") or []:
        port["protocol"] = port.get("protocol") or "TCP"
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port") or 0
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")


def _fill_event(document: JsonObject) -> None:
    for key in ("eventTime", "firstTimestamp", "lastTimestamp"):
        document.setdefault(key, None)
    document.setdefault("source", {})
    for key in ("reportingComponent", "reportingInstance"):
        document.setdefault(key, "")


def _fill_namespace(document: JsonObject) -> None:
    name = get_text(document, ("metadata", "name"))
    if name:
        metadata = document["metadata"]
        metadata["labels"] = (metadata.get("labels") or {}) | {"kubernetes.io/metadata.name": name}


def _fill_priority_class(document: JsonObject) -> None:
    document.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _fill_network_policy(document: JsonObject) -> None:
    spec = document.setdefault("spec", {})
    spec.setdefault("podSelector", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _fill_claim(document: JsonObject) -> None:
    document.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _fill_autoscaler(document: JsonObject) -> None:
    spec = document.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    target = {"type": "Utilization", "averageUtilization": 80}
    if not spec.get("metrics"):
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


def _fill_binding(document: JsonObject) -> None:
    document.setdefault("roleRef", {}).setdefault("apiGroup", kinds.ROLES.group)
    for subject in document.get("subjects") or []:
        if subject.get("kind") in ("Group", "User"):
            subject.setdefault("apiGroup", kinds.ROLES.group)


def _fill_ingress(document: JsonObject) -> None:
    document.setdefault("spec", {})


FILLERS: Mapping[tuple[str, str], Callable[[JsonObject], None]] = {
    kinds.CLUSTER_ROLE_BINDINGS.key: _fill_binding,
    kinds.EVENTS.key: _fill_event,
    kinds.HORIZONTAL_POD_AUTOSCALERS.key: _fill_autoscaler,
    kinds.INGRESSES.key: _fill_ingress,
    kinds.NAMESPACES.key: _fill_namespace,
    kinds.NETWORK_POLICIES.key: _fill_network_policy,
    kinds.PERSISTENT_VOLUME_CLAIMS.key: _fill_claim,
    kinds.PRIORITY_CLASSES.key: _fill_priority_class,
    kinds.ROLE_BINDINGS.key: _fill_binding,
    kinds.SERVICES.key: _fill_service,
}
"""The function that completes a document in place, by kind."""
