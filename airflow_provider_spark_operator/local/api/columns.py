"""The columns of each kind, as the API server's printers have them."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from airflow_provider_spark_operator.local.api.documents import text_at
from airflow_provider_spark_operator.local.api.pod_columns import POD_COLUMNS
from airflow_provider_spark_operator.local.api.registry import ServedKind
from airflow_provider_spark_operator.local.api.table import (
    AGE,
    NAME,
    Cell,
    Column,
    Document,
    age,
    defined_column,
)

_NONE = "<none>"


def columns_of(served: ServedKind) -> tuple[Column, ...]:
    """The columns of a kind, the name first."""
    if served.kind.custom:
        return (NAME, *(defined_column(column) for column in served.columns))
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


def _claim_modes(document: Document, _: datetime) -> Cell:
    short = {
        "ReadWriteOnce": "RWO",
        "ReadOnlyMany": "ROX",
        "ReadWriteMany": "RWX",
        "ReadWriteOncePod": "RWOP",
    }
    modes = (document.get("status") or {}).get("accessModes") or []
    return ",".join(short.get(mode, mode) for mode in modes)


def _created(document: Document, _: datetime) -> Cell:
    return str(document["metadata"].get("creationTimestamp", ""))


def _role(document: Document, _: datetime) -> Cell:
    reference = document.get("roleRef") or {}
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


BUILT_IN_COLUMNS: Mapping[tuple[str, str], tuple[Column, ...]] = {
    ("", "pods"): POD_COLUMNS,
    ("", "namespaces"): (Column("Status", _field("status", "phase")), AGE),
    ("", "nodes"): (
        Column("Status", _node_status),
        Column("Roles", _node_roles),
        AGE,
        Column("Version", _field("status", "nodeInfo", "kubeletVersion")),
    ),
    ("", "services"): (
        Column("Type", _field("spec", "type")),
        Column("Cluster-IP", _field("spec", "clusterIP", empty=_NONE)),
        Column("External-IP", _field("spec", "externalName", empty=_NONE)),
        Column("Port(s)", _service_ports),
        AGE,
        Column("Selector", _selector("spec", "selector"), priority=1),
    ),
    ("", "configmaps"): (Column("Data", _count("data"), "integer"), AGE),
    ("", "secrets"): (Column("Type", _field("type")), Column("Data", _count("data"), "integer"), AGE),
    ("", "serviceaccounts"): (Column("Secrets", _count("secrets"), "integer"), AGE),
    ("", "events"): (
        Column("Last Seen", _last_seen),
        Column("Type", _field("type")),
        Column("Reason", _field("reason")),
        Column("Object", _event_object),
        Column("Message", _event_message),
        Column("Source", _field("source", "component"), priority=1),
        Column("Count", _field("count"), priority=1),
        Column("Name", NAME.cell, priority=1),
    ),
    ("", "persistentvolumeclaims"): (
        Column("Status", _field("status", "phase")),
        Column("Volume", _field("spec", "volumeName")),
        Column("Capacity", _claim_capacity),
        Column("Access Modes", _claim_modes),
        Column("StorageClass", _field("spec", "storageClassName")),
        AGE,
    ),
    ("apps", "statefulsets"): (Column("Ready", _stateful_set_ready), AGE),
    ("coordination.k8s.io", "leases"): (Column("Holder", _field("spec", "holderIdentity")), AGE),
    ("networking.k8s.io", "networkpolicies"): (
        Column("Pod-Selector", _selector("spec", "podSelector", "matchLabels")),
        AGE,
    ),
    ("rbac.authorization.k8s.io", "roles"): (Column("Created At", _created),),
    ("rbac.authorization.k8s.io", "clusterroles"): (Column("Created At", _created),),
    ("rbac.authorization.k8s.io", "rolebindings"): (Column("Role", _role), AGE),
    ("rbac.authorization.k8s.io", "clusterrolebindings"): (Column("Role", _role), AGE),
    ("apiextensions.k8s.io", "customresourcedefinitions"): (Column("Created At", _created),),
}
