"""The columns of each kind, as the API server prints them."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from ..kinds.documents import get_text
from ..kinds.kinds import EVENTS
from ..store.registry import ServedKind
from .pod_columns import POD_COLUMNS
from .table import AGE, NAME, Cell, Column, Document, build_column, format_age

_NONE = "<none>"


def list_columns(served: ServedKind) -> tuple[Column, ...]:
    """Return the columns of a kind, the name first."""
    if served.kind.custom:
        return (NAME, *(build_column(column) for column in served.columns))
    if served.kind.key == EVENTS.key:
        return EVENT_COLUMNS
    return (NAME, *BUILT_IN_COLUMNS.get(served.kind.key, (AGE,)))


def _build_field(*path: str, empty: str = "") -> Callable[[Document, datetime], Cell]:
    return lambda document, _: get_text(document, path) or empty


def _build_count(key: str) -> Callable[[Document, datetime], Cell]:
    return lambda document, _: len(document.get(key) or ())


def _format_labels(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or _NONE


def _build_selector(*path: str) -> Callable[[Document, datetime], Cell]:
    def format_cell(document: Document, _: datetime) -> Cell:
        value: Any = document
        for key in path:
            value = (value or {}).get(key)
        return _format_labels(value)

    return format_cell


def _format_service_ports(document: Document, _: datetime) -> Cell:
    ports = document["spec"].get("ports") or []
    return ",".join(f"{port.get('port')}/{port.get('protocol', 'TCP')}" for port in ports) or _NONE


def _format_ready_replicas(document: Document, _: datetime) -> Cell:
    ready = (document.get("status") or {}).get("readyReplicas", 0)
    return f"{ready}/{document['spec'].get('replicas', 1)}"


def _format_node_status(document: Document, _: datetime) -> Cell:
    conditions = (document.get("status") or {}).get("conditions") or []
    ready = next((item["status"] for item in conditions if item.get("type") == "Ready"), "Unknown")
    state = {"True": "Ready", "False": "NotReady"}.get(ready, "Unknown")
    return f"{state},SchedulingDisabled" if (document.get("spec") or {}).get("unschedulable") else state


def _format_node_roles(document: Document, _: datetime) -> Cell:
    prefix = "node-role.kubernetes.io/"
    labels = document["metadata"].get("labels") or {}
    return ",".join(sorted(key.removeprefix(prefix) for key in labels if key.startswith(prefix))) or _NONE


def _format_last_seen(document: Document, now: datetime) -> Cell:
    series = (document.get("series") or {}).get("lastObservedTime")
    return format_age(series or document.get("lastTimestamp") or document.get("eventTime"), now)


def _format_event_object(document: Document, _: datetime) -> Cell:
    involved = document.get("involvedObject") or document.get("regarding") or {}
    return f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}"


def _format_event_message(document: Document, _: datetime) -> Cell:
    return str(document.get("message") or document.get("note") or "").strip()


def _format_claim_capacity(document: Document, _: datetime) -> Cell:
    return str(((document.get("status") or {}).get("capacity") or {}).get("storage", ""))


def _build_modes(part: str) -> Callable[[Document, datetime], Cell]:
    short = {
        "ReadWriteOnce": "RWO",
        "ReadOnlyMany": "ROX",
        "ReadWriteMany": "RWX",
        "ReadWriteOncePod": "RWOP",
    }

    def format_cell(document: Document, _: datetime) -> Cell:
        modes = (document.get(part) or {}).get("accessModes") or []
        return ",".join(short.get(mode, mode) for mode in modes)

    return format_cell


def _build_number(*path: str) -> Callable[[Document, datetime], Cell]:
    return lambda document, _: int(get_text(document, path) or 0)


def _build_node_address(kind: str) -> Callable[[Document, datetime], Cell]:
    def format_cell(document: Document, _: datetime) -> Cell:
        addresses = (document.get("status") or {}).get("addresses") or []
        return next((str(item.get("address")) for item in addresses if item.get("type") == kind), _NONE)

    return format_cell


def _build_containers(key: str) -> Callable[[Document, datetime], Cell]:
    def format_cell(document: Document, _: datetime) -> Cell:
        return ",".join(str(item.get(key, "")) for item in document["spec"]["template"]["spec"].get("containers") or [])

    return format_cell


def _build_quota(prefix: str) -> Callable[[Document, datetime], Cell]:
    """Return the limits of a quota: its `limits.…`, or everything else."""

    def format_cell(document: Document, _: datetime) -> Cell:
        status = document.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        names = [name for name in sorted(hard) if name.startswith("limits.") == (prefix == "limits")]
        return ", ".join(f"{name}: {used.get(name, 0)}/{hard[name]}" for name in names)

    return format_cell


def _format_endpoints(document: Document, _: datetime) -> Cell:
    found = [
        f"{address.get('ip')}:{port.get('port')}"
        for subset in document.get("subsets") or []
        for address in subset.get("addresses") or []
        for port in subset.get("ports") or []
    ]
    return ",".join(found) or _NONE


def _format_claim_of_volume(document: Document, _: datetime) -> Cell:
    claim = (document.get("spec") or {}).get("claimRef")
    return f"{claim.get('namespace')}/{claim.get('name')}" if claim else ""


def _format_scale_target(document: Document, _: datetime) -> Cell:
    target = (document.get("spec") or {}).get("scaleTargetRef") or {}
    return f"{target.get('kind')}/{target.get('name')}"


def _format_hosts(document: Document, _: datetime) -> Cell:
    hosts = [rule.get("host") for rule in document["spec"].get("rules") or []]
    return ",".join(host for host in hosts if host) or "*"


def _build_subjects(kind: str) -> Callable[[Document, datetime], Cell]:
    def format_cell(document: Document, _: datetime) -> Cell:
        found = [item for item in document.get("subjects") or [] if item.get("kind") == kind]
        accounts = kind == "ServiceAccount"
        return ", ".join(f"{item.get('namespace')}/{item.get('name')}" if accounts else item["name"] for item in found)

    return format_cell


def _format_first_seen(document: Document, now: datetime) -> Cell:
    return format_age(
        document.get("firstTimestamp") or document.get("deprecatedFirstTimestamp") or _get_event_time(document), now
    )


def _get_event_time(document: Document) -> str | None:
    moment = document.get("eventTime")
    return str(moment) if moment else None


def _get_creation_time(document: Document, _: datetime) -> Cell:
    return str(document["metadata"].get("creationTimestamp", ""))


def _format_role(document: Document, _: datetime) -> Cell:
    reference = document.get("roleRef") or {}
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


_BINDING_COLUMNS = (
    Column("Role", _format_role),
    AGE,
    Column("Users", _build_subjects("User"), priority=1),
    Column("Groups", _build_subjects("Group"), priority=1),
    Column("ServiceAccounts", _build_subjects("ServiceAccount"), priority=1),
)
EVENT_COLUMNS: tuple[Column, ...] = (
    Column("Last Seen", _format_last_seen),
    Column("Type", _build_field("type")),
    Column("Reason", _build_field("reason")),
    Column("Object", _format_event_object),
    Column("Subobject", _build_field("involvedObject", "fieldPath"), priority=1),
    Column("Source", _build_field("source", "component"), priority=1),
    Column("Message", _format_event_message),
    Column("First Seen", _format_first_seen, priority=1),
    Column("Count", _build_field("count"), priority=1),
    Column("Name", NAME.cell, priority=1, format="name"),
)
BUILT_IN_COLUMNS: Mapping[tuple[str, str], tuple[Column, ...]] = {
    ("", "pods"): POD_COLUMNS,
    ("", "namespaces"): (Column("Status", _build_field("status", "phase")), AGE),
    ("", "nodes"): (
        Column("Status", _format_node_status),
        Column("Roles", _format_node_roles),
        AGE,
        Column("Version", _build_field("status", "nodeInfo", "kubeletVersion")),
        Column("Internal-IP", _build_node_address("InternalIP"), priority=1),
        Column("External-IP", _build_node_address("ExternalIP"), priority=1),
        Column("OS-Image", _build_field("status", "nodeInfo", "osImage", empty="<unknown>"), priority=1),
        Column("Kernel-Version", _build_field("status", "nodeInfo", "kernelVersion", empty="<unknown>"), priority=1),
        Column(
            "Container-Runtime",
            _build_field("status", "nodeInfo", "containerRuntimeVersion", empty="<unknown>"),
            priority=1,
        ),
    ),
    ("", "services"): (
        Column("Type", _build_field("spec", "type")),
        Column("Cluster-IP", _build_field("spec", "clusterIP", empty=_NONE)),
        Column("External-IP", _build_field("spec", "externalName", empty=_NONE)),
        Column("Port(s)", _format_service_ports),
        AGE,
        Column("Selector", _build_selector("spec", "selector"), priority=1),
    ),
    ("", "configmaps"): (Column("Data", _build_count("data")), AGE),
    ("", "secrets"): (Column("Type", _build_field("type")), Column("Data", _build_count("data")), AGE),
    ("", "serviceaccounts"): (AGE,),
    ("", "endpoints"): (Column("Endpoints", _format_endpoints), AGE),
    ("", "persistentvolumes"): (
        Column("Capacity", _build_field("spec", "capacity", "storage")),
        Column("Access Modes", _build_modes("spec")),
        Column("Reclaim Policy", _build_field("spec", "persistentVolumeReclaimPolicy")),
        Column("Status", _build_field("status", "phase")),
        Column("Claim", _format_claim_of_volume),
        Column("StorageClass", _build_field("spec", "storageClassName")),
        Column("VolumeAttributesClass", _build_field("spec", "volumeAttributesClassName", empty="<unset>")),
        Column("Reason", _build_field("status", "reason")),
        AGE,
        Column("VolumeMode", _build_field("spec", "volumeMode"), priority=1),
    ),
    ("", "limitranges"): (Column("Created At", _get_creation_time, "date"),),
    ("", "resourcequotas"): (Column("Request", _build_quota("requests")), Column("Limit", _build_quota("limits")), AGE),
    ("", "persistentvolumeclaims"): (
        Column("Status", _build_field("status", "phase")),
        Column("Volume", _build_field("spec", "volumeName")),
        Column("Capacity", _format_claim_capacity),
        Column("Access Modes", _build_modes("status")),
        Column("StorageClass", _build_field("spec", "storageClassName")),
        Column("VolumeAttributesClass", _build_field("spec", "volumeAttributesClassName", empty="<unset>")),
        AGE,
        Column("VolumeMode", _build_field("spec", "volumeMode"), priority=1),
    ),
    ("apps", "statefulsets"): (
        Column("Ready", _format_ready_replicas),
        AGE,
        Column("Containers", _build_containers("name"), priority=1),
        Column("Images", _build_containers("image"), priority=1),
    ),
    ("autoscaling", "horizontalpodautoscalers"): (
        Column("Reference", _format_scale_target),
        Column("Targets", lambda *_: _NONE),
        Column("MinPods", _build_field("spec", "minReplicas", empty="<unset>")),
        Column("MaxPods", _build_field("spec", "maxReplicas")),
        Column("Replicas", _build_field("status", "currentReplicas", empty="0")),
        AGE,
    ),
    ("coordination.k8s.io", "leases"): (Column("Holder", _build_field("spec", "holderIdentity")), AGE),
    ("networking.k8s.io", "networkpolicies"): (
        Column("Pod-Selector", _build_selector("spec", "podSelector", "matchLabels")),
        AGE,
    ),
    ("rbac.authorization.k8s.io", "roles"): (Column("Created At", _get_creation_time, "date"),),
    ("rbac.authorization.k8s.io", "clusterroles"): (Column("Created At", _get_creation_time, "date"),),
    ("networking.k8s.io", "ingresses"): (
        Column("Class", _build_field("spec", "ingressClassName", empty=_NONE)),
        Column("Hosts", _format_hosts),
        Column("Address", lambda *_: ""),
        Column("Ports", lambda document, _: "80, 443" if document["spec"].get("tls") else "80"),
        AGE,
    ),
    ("policy", "poddisruptionbudgets"): (
        Column("Min Available", _build_field("spec", "minAvailable", empty="N/A")),
        Column("Max Unavailable", _build_field("spec", "maxUnavailable", empty="N/A")),
        Column("Allowed Disruptions", _build_number("status", "disruptionsAllowed"), "integer"),
        AGE,
    ),
    ("rbac.authorization.k8s.io", "rolebindings"): _BINDING_COLUMNS,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _BINDING_COLUMNS,
    ("scheduling.k8s.io", "priorityclasses"): (
        Column("Value", _build_number("value"), "integer"),
        Column("Global-Default", lambda document, _: bool(document.get("globalDefault")), "boolean"),
        AGE,
        Column("PreemptionPolicy", _build_field("preemptionPolicy")),
    ),
    ("storage.k8s.io", "storageclasses"): (
        Column("Provisioner", _build_field("provisioner")),
        Column("ReclaimPolicy", _build_field("reclaimPolicy", empty="Delete")),
        Column("VolumeBindingMode", _build_field("volumeBindingMode", empty="Immediate")),
        Column("AllowVolumeExpansion", _build_field("allowVolumeExpansion", empty="false")),
        AGE,
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"): (Column("Created At", _get_creation_time, "date"),),
}
