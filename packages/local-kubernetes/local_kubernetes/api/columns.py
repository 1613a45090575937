"""The columns of each kind, as the API server prints them."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from local_kubernetes.api.documents import text_at
from local_kubernetes.api.kinds import EVENTS
from local_kubernetes.api.pod_columns import POD_COLUMNS
from local_kubernetes.api.registry import ServedKind
from local_kubernetes.api.table import (
    AGE,
    NAME,
    Cell,
    Column,
    Document,
    age,
    build_column,
)

_NONE = "<none>"


def columns_of(served: ServedKind) -> tuple[Column, ...]:
    """Return the columns of a kind, the name first."""
    if served.kind.custom:
        return (NAME, *(build_column(column) for column in served.columns))
    if served.kind.key == EVENTS.key:
        return EVENT_COLUMNS
    return (NAME, *BUILT_IN_COLUMNS.get(served.kind.key, (AGE,)))


def _field(*path: str, empty: str = "") -> Callable[[Document, datetime], Cell]:
    return lambda document, _: text_at(document, path) or empty


def _count(key: str) -> Callable[[Document, datetime], Cell]:
    return lambda document, _: len(document.get(key) or ())


def _labels(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or _NONE


def _selector(*path: str) -> Callable[[Document, datetime], Cell]:
    def cell(document: Document, _: datetime) -> Cell:
        value: Any = document
        for key in path:
            value = (value or {}).get(key)
        return _labels(value)

    return cell


def _service_ports(document: Document, _: datetime) -> Cell:
    ports = document["spec"].get("ports") or []
    return ",".join(f"{port.get('port')}/{port.get('protocol', 'TCP')}" for port in ports) or _NONE


def _stateful_set_ready(document: Document, _: datetime) -> Cell:
    ready = (document.get("status") or {}).get("readyReplicas", 0)
    return f"{ready}/{document['spec'].get('replicas', 1)}"


def _node_status(document: Document, _: datetime) -> Cell:
    conditions = (document.get("status") or {}).get("conditions") or []
    ready = next((item["status"] for item in conditions if item.get("type") == "Ready"), "Unknown")
    state = {"True": "Ready", "False": "NotReady"}.get(ready, "Unknown")
    return f"{state},SchedulingDisabled" if (document.get("spec") or {}).get("unschedulable") else state


def _node_roles(document: Document, _: datetime) -> Cell:
    prefix = "node-role.kubernetes.io/"
    labels = document["metadata"].get("labels") or {}
    return ",".join(sorted(key.removeprefix(prefix) for key in labels if key.startswith(prefix))) or _NONE


def _last_seen(document: Document, now: datetime) -> Cell:
    series = (document.get("series") or {}).get("lastObservedTime")
    return age(series or document.get("lastTimestamp") or document.get("eventTime"), now)


def _event_object(document: Document, _: datetime) -> Cell:
    involved = document.get("involvedObject") or document.get("regarding") or {}
    return f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}"


def _event_message(document: Document, _: datetime) -> Cell:
    return str(document.get("message") or document.get("note") or "").strip()


def _claim_capacity(document: Document, _: datetime) -> Cell:
    return str(((document.get("status") or {}).get("capacity") or {}).get("storage", ""))


def _modes(part: str) -> Callable[[Document, datetime], Cell]:
    short = {
        "ReadWriteOnce": "RWO",
        "ReadOnlyMany": "ROX",
        "ReadWriteMany": "RWX",
        "ReadWriteOncePod": "RWOP",
    }

    def cell(document: Document, _: datetime) -> Cell:
        modes = (document.get(part) or {}).get("accessModes") or []
        return ",".join(short.get(mode, mode) for mode in modes)

    return cell


def _number(*path: str) -> Callable[[Document, datetime], Cell]:
    return lambda document, _: int(text_at(document, path) or 0)


def _node_address(kind: str) -> Callable[[Document, datetime], Cell]:
    def cell(document: Document, _: datetime) -> Cell:
        addresses = (document.get("status") or {}).get("addresses") or []
        return next((str(item.get("address")) for item in addresses if item.get("type") == kind), _NONE)

    return cell


def _containers(key: str) -> Callable[[Document, datetime], Cell]:
    def cell(document: Document, _: datetime) -> Cell:
        return ",".join(str(item.get(key, "")) for item in document["spec"]["template"]["spec"].get("containers") or [])

    return cell


def _quota(prefix: str) -> Callable[[Document, datetime], Cell]:
    """Return the limits of a quota: its `limits.…`, or everything else."""

    def cell(document: Document, _: datetime) -> Cell:
        status = document.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        names = [name for name in sorted(hard) if name.startswith("limits.") == (prefix == "limits")]
        return ", ".join(f"{name}: {used.get(name, 0)}/{hard[name]}" for name in names)

    return cell


def _endpoints(document: Document, _: datetime) -> Cell:
    found = [
        f"{address.get('ip')}:{port.get('port')}"
        for subset in document.get("subsets") or []
        for address in subset.get("addresses") or []
        for port in subset.get("ports") or []
    ]
    return ",".join(found) or _NONE


def _claim_of_volume(document: Document, _: datetime) -> Cell:
    claim = (document.get("spec") or {}).get("claimRef")
    return f"{claim.get('namespace')}/{claim.get('name')}" if claim else ""


def _scale_target(document: Document, _: datetime) -> Cell:
    target = (document.get("spec") or {}).get("scaleTargetRef") or {}
    return f"{target.get('kind')}/{target.get('name')}"


def _hosts(document: Document, _: datetime) -> Cell:
    hosts = [rule.get("host") for rule in document["spec"].get("rules") or []]
    return ",".join(host for host in hosts if host) or "*"


def _subjects(kind: str) -> Callable[[Document, datetime], Cell]:
    def cell(document: Document, _: datetime) -> Cell:
        found = [item for item in document.get("subjects") or [] if item.get("kind") == kind]
        accounts = kind == "ServiceAccount"
        return ", ".join(f"{item.get('namespace')}/{item.get('name')}" if accounts else item["name"] for item in found)

    return cell


def _first_seen(document: Document, now: datetime) -> Cell:
    return age(document.get("firstTimestamp") or document.get("deprecatedFirstTimestamp") or _event_time(document), now)


def _event_time(document: Document) -> str | None:
    moment = document.get("eventTime")
    return str(moment) if moment else None


def _creation_time(document: Document, _: datetime) -> Cell:
    return str(document["metadata"].get("creationTimestamp", ""))


def _role(document: Document, _: datetime) -> Cell:
    reference = document.get("roleRef") or {}
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


_BINDING_COLUMNS = (
    Column("Role", _role),
    AGE,
    Column("Users", _subjects("User"), priority=1),
    Column("Groups", _subjects("Group"), priority=1),
    Column("ServiceAccounts", _subjects("ServiceAccount"), priority=1),
)
EVENT_COLUMNS: tuple[Column, ...] = (
    Column("Last Seen", _last_seen),
    Column("Type", _field("type")),
    Column("Reason", _field("reason")),
    Column("Object", _event_object),
    Column("Subobject", _field("involvedObject", "fieldPath"), priority=1),
    Column("Source", _field("source", "component"), priority=1),
    Column("Message", _event_message),
    Column("First Seen", _first_seen, priority=1),
    Column("Count", _field("count"), priority=1),
    Column("Name", NAME.cell, priority=1, format="name"),
)
BUILT_IN_COLUMNS: Mapping[tuple[str, str], tuple[Column, ...]] = {
    ("", "pods"): POD_COLUMNS,
    ("", "namespaces"): (Column("Status", _field("status", "phase")), AGE),
    ("", "nodes"): (
        Column("Status", _node_status),
        Column("Roles", _node_roles),
        AGE,
        Column("Version", _field("status", "nodeInfo", "kubeletVersion")),
        Column("Internal-IP", _node_address("InternalIP"), priority=1),
        Column("External-IP", _node_address("ExternalIP"), priority=1),
        Column("OS-Image", _field("status", "nodeInfo", "osImage", empty="<unknown>"), priority=1),
        Column("Kernel-Version", _field("status", "nodeInfo", "kernelVersion", empty="<unknown>"), priority=1),
        Column(
            "Container-Runtime",
            _field("status", "nodeInfo", "containerRuntimeVersion", empty="<unknown>"),
            priority=1,
        ),
    ),
    ("", "services"): (
        Column("Type", _field("spec", "type")),
        Column("Cluster-IP", _field("spec", "clusterIP", empty=_NONE)),
        Column("External-IP", _field("spec", "externalName", empty=_NONE)),
        Column("Port(s)", _service_ports),
        AGE,
        Column("Selector", _selector("spec", "selector"), priority=1),
    ),
    ("", "configmaps"): (Column("Data", _count("data")), AGE),
    ("", "secrets"): (Column("Type", _field("type")), Column("Data", _count("data")), AGE),
    ("", "serviceaccounts"): (AGE,),
    ("", "endpoints"): (Column("Endpoints", _endpoints), AGE),
    ("", "persistentvolumes"): (
        Column("Capacity", _field("spec", "capacity", "storage")),
        Column("Access Modes", _modes("spec")),
        Column("Reclaim Policy", _field("spec", "persistentVolumeReclaimPolicy")),
        Column("Status", _field("status", "phase")),
        Column("Claim", _claim_of_volume),
        Column("StorageClass", _field("spec", "storageClassName")),
        Column("VolumeAttributesClass", _field("spec", "volumeAttributesClassName", empty="<unset>")),
        Column("Reason", _field("status", "reason")),
        AGE,
        Column("VolumeMode", _field("spec", "volumeMode"), priority=1),
    ),
    ("", "limitranges"): (Column("Created At", _creation_time, "date"),),
    ("", "resourcequotas"): (Column("Request", _quota("requests")), Column("Limit", _quota("limits")), AGE),
    ("", "persistentvolumeclaims"): (
        Column("Status", _field("status", "phase")),
        Column("Volume", _field("spec", "volumeName")),
        Column("Capacity", _claim_capacity),
        Column("Access Modes", _modes("status")),
        Column("StorageClass", _field("spec", "storageClassName")),
        Column("VolumeAttributesClass", _field("spec", "volumeAttributesClassName", empty="<unset>")),
        AGE,
        Column("VolumeMode", _field("spec", "volumeMode"), priority=1),
    ),
    ("apps", "statefulsets"): (
        Column("Ready", _stateful_set_ready),
        AGE,
        Column("Containers", _containers("name"), priority=1),
        Column("Images", _containers("image"), priority=1),
    ),
    ("autoscaling", "horizontalpodautoscalers"): (
        Column("Reference", _scale_target),
        Column("Targets", lambda *_: _NONE),
        Column("MinPods", _field("spec", "minReplicas", empty="<unset>")),
        Column("MaxPods", _field("spec", "maxReplicas")),
        Column("Replicas", _field("status", "currentReplicas", empty="0")),
        AGE,
    ),
    ("coordination.k8s.io", "leases"): (Column("Holder", _field("spec", "holderIdentity")), AGE),
    ("networking.k8s.io", "networkpolicies"): (
        Column("Pod-Selector", _selector("spec", "podSelector", "matchLabels")),
        AGE,
    ),
    ("rbac.authorization.k8s.io", "roles"): (Column("Created At", _creation_time, "date"),),
    ("rbac.authorization.k8s.io", "clusterroles"): (Column("Created At", _creation_time, "date"),),
    ("networking.k8s.io", "ingresses"): (
        Column("Class", _field("spec", "ingressClassName", empty=_NONE)),
        Column("Hosts", _hosts),
        Column("Address", lambda *_: ""),
        Column("Ports", lambda document, _: "80, 443" if document["spec"].get("tls") else "80"),
        AGE,
    ),
    ("policy", "poddisruptionbudgets"): (
        Column("Min Available", _field("spec", "minAvailable", empty="N/A")),
        Column("Max Unavailable", _field("spec", "maxUnavailable", empty="N/A")),
        Column("Allowed Disruptions", _number("status", "disruptionsAllowed"), "integer"),
        AGE,
    ),
    ("rbac.authorization.k8s.io", "rolebindings"): _BINDING_COLUMNS,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _BINDING_COLUMNS,
    ("scheduling.k8s.io", "priorityclasses"): (
        Column("Value", _number("value"), "integer"),
        Column("Global-Default", lambda document, _: bool(document.get("globalDefault")), "boolean"),
        AGE,
        Column("PreemptionPolicy", _field("preemptionPolicy")),
    ),
    ("storage.k8s.io", "storageclasses"): (
        Column("Provisioner", _field("provisioner")),
        Column("ReclaimPolicy", _field("reclaimPolicy", empty="Delete")),
        Column("VolumeBindingMode", _field("volumeBindingMode", empty="Immediate")),
        Column("AllowVolumeExpansion", _field("allowVolumeExpansion", empty="false")),
        AGE,
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"): (Column("Created At", _creation_time, "date"),),
}
