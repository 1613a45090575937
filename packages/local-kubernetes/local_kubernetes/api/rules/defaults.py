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


def _fill_claim(document: JsonObject) -> None:
    document.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


FILLERS: Mapping[tuple[str, str], Callable[[JsonObject], None]] = {
    kinds.EVENTS.key: _fill_event,
    kinds.NAMESPACES.key: _fill_namespace,
    kinds.PERSISTENT_VOLUME_CLAIMS.key: _fill_claim,
    kinds.PRIORITY_CLASSES.key: _fill_priority_class,
    kinds.SERVICES.key: _fill_service,
}
"""The function that completes a document in place, by kind."""
