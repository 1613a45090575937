"""The columns of each kind, as the API server prints them."""

from collections.abc import Callable, Mapping
from datetime import datetime

from ..kinds.kinds import EVENTS
from ..store.registry import ServedKind
from .pod_columns import POD_COLUMNS
from .table import AGE, NAME, NONE, Cell, Column, Document, build_column, build_field, format_age

_SHORT_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def list_columns(served: ServedKind) -> tuple[Column, ...]:
    """Return the columns of a kind, the name first."""
    if served.kind.custom:
        return (NAME, *(build_column(column) for column in served.columns))
    if served.kind.key == EVENTS.key:
        return EVENT_COLUMNS
    return (NAME, *BUILT_IN_COLUMNS.get(served.kind.key, (AGE,)))


def _build_count(key: str) -> Callable[[Document, datetime], Cell]:
    return lambda document, _: len(document.get(key) or ())


def _format_selector(service: Document, _: datetime) -> Cell:
    labels = service["spec"].get("selector") or {}
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or NONE


def _format_service_ports(document: Document, _: datetime) -> Cell:
    ports = document["spec"].get("ports") or []
    return ",".join(f"{port.get('port')}/{port.get('protocol', 'TCP')}" for port in ports) or NONE


def _format_ready_replicas(document: Document, _: datetime) -> Cell:
    ready = (document.get("status") or {}).get("readyReplicas", 0)
    return f"{ready}/{document['spec'].get('replicas', 1)}"


def _format_node_status(document: Document, _: datetime) -> Cell:
    conditions = (document.get("status") or {}).get("conditions") or []
    ready = next((item["status"] for item in conditions if item.get("type") == "Ready"), "Unknown")
    return {"True": "Ready", "False": "NotReady"}.get(ready, "Unknown")


def _format_node_address(node: Document, _: datetime) -> Cell:
    addresses = (node.get("status") or {}).get("addresses") or []
    return next((str(item.get("address")) for item in addresses if item.get("type") == "InternalIP"), NONE)


def _format_last_seen(document: Document, now: datetime) -> Cell:
    series = (document.get("series") or {}).get("lastObservedTime")
    return format_age(series or document.get("lastTimestamp") or document.get("eventTime"), now)


def _format_event_object(document: Document, _: datetime) -> Cell:
    involved = document.get("involvedObject") or {}
    return f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}"


def _format_event_message(document: Document, _: datetime) -> Cell:
    return str(document.get("message") or "").strip()


def _format_modes(claim: Document, _: datetime) -> Cell:
    return ",".join(_SHORT_MODES.get(mode, mode) for mode in (claim.get("status") or {}).get("accessModes") or [])


def _build_containers(key: str) -> Callable[[Document, datetime], Cell]:
    def format_cell(document: Document, _: datetime) -> Cell:
        return ",".join(str(item.get(key, "")) for item in document["spec"]["template"]["spec"].get("containers") or [])

    return format_cell


def _format_scale_target(document: Document, _: datetime) -> Cell:
    target = (document.get("spec") or {}).get("scaleTargetRef") or {}
    return f"{target.get('kind')}/{target.get('name')}"


def _format_first_seen(document: Document, now: datetime) -> Cell:
    return format_age(document.get("firstTimestamp") or document.get("eventTime"), now)


EVENT_COLUMNS: tuple[Column, ...] = (
    Column("Last Seen", _format_last_seen),
    Column("Type", build_field("type")),
    Column("Reason", build_field("reason")),
    Column("Object", _format_event_object),
    Column("Subobject", build_field("involvedObject", "fieldPath"), priority=1),
    Column("Source", build_field("source", "component"), priority=1),
    Column("Message", _format_event_message),
    Column("First Seen", _format_first_seen, priority=1),
    Column("Count", build_field("count"), priority=1),
    Column("Name", NAME.cell, priority=1, format="name"),
)
BUILT_IN_COLUMNS: Mapping[tuple[str, str], tuple[Column, ...]] = {
    ("", "pods"): POD_COLUMNS,
    ("", "namespaces"): (Column("Status", build_field("status", "phase")), AGE),
    ("", "nodes"): (
        Column("Status", _format_node_status),
        Column("Roles", lambda *_: NONE),
        AGE,
        Column("Version", build_field("status", "nodeInfo", "kubeletVersion")),
        Column("Internal-IP", _format_node_address, priority=1),
        Column("External-IP", lambda *_: NONE, priority=1),
        Column("OS-Image", build_field("status", "nodeInfo", "osImage", empty="<unknown>"), priority=1),
        Column("Kernel-Version", build_field("status", "nodeInfo", "kernelVersion", empty="<unknown>"), priority=1),
        Column(
            "Container-Runtime",
            build_field("status", "nodeInfo", "containerRuntimeVersion", empty="<unknown>"),
            priority=1,
        ),
    ),
    ("", "services"): (
        Column("Type", build_field("spec", "type")),
        Column("Cluster-IP", build_field("spec", "clusterIP", empty=NONE)),
        Column("External-IP", build_field("spec", "externalName", empty=NONE)),
        Column("Port(s)", _format_service_ports),
        AGE,
        Column("Selector", _format_selector, priority=1),
    ),
    ("", "configmaps"): (Column("Data", _build_count("data")), AGE),
    ("", "secrets"): (Column("Type", build_field("type")), Column("Data", _build_count("data")), AGE),
    ("", "persistentvolumeclaims"): (
        Column("Status", build_field("status", "phase")),
        Column("Volume", build_field("spec", "volumeName")),
        Column("Capacity", build_field("status", "capacity", "storage")),
        Column("Access Modes", _format_modes),
        Column("StorageClass", build_field("spec", "storageClassName")),
        Column("VolumeAttributesClass", build_field("spec", "volumeAttributesClassName", empty="<unset>")),
        AGE,
        Column("VolumeMode", build_field("spec", "volumeMode"), priority=1),
    ),
    ("apps", "statefulsets"): (
        Column("Ready", _format_ready_replicas),
        AGE,
        Column("Containers", _build_containers("name"), priority=1),
        Column("Images", _build_containers("image"), priority=1),
    ),
    ("autoscaling", "horizontalpodautoscalers"): (
        Column("Reference", _format_scale_target),
        Column("Targets", lambda *_: NONE),
        Column("MinPods", build_field("spec", "minReplicas", empty="<unset>")),
        Column("MaxPods", build_field("spec", "maxReplicas")),
        Column("Replicas", build_field("status", "currentReplicas", empty="0")),
        AGE,
    ),
    ("coordination.k8s.io", "leases"): (Column("Holder", build_field("spec", "holderIdentity")), AGE),
    ("scheduling.k8s.io", "priorityclasses"): (
        Column("Value", lambda document, _: document.get("value") or 0, "integer"),
        Column("Global-Default", lambda document, _: bool(document.get("globalDefault")), "boolean"),
        AGE,
        Column("PreemptionPolicy", build_field("preemptionPolicy")),
    ),
}
