"""Defaults, validation and the first status of a document, before it is stored."""

import json
from collections.abc import Callable, Container, Iterator, Mapping
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import Any

from ..kinds.documents import JsonObject, get_text
from ..kinds.kinds import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    LEASES,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    PRIORITY_CLASSES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    STATEFUL_SETS,
    Kind,
)
from ..kinds.status import Cause, build_forbidden, build_invalid
from ..rules import data_rules, defaults, definitions, kind_rules, pod_rules, schema
from ..rules.rules import find_natural_causes
from ..store.registry import ServedKind
from ..store.store import Store
from . import pods

_STATEFUL_SET_CHANGES = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}

_GO_TYPES = {str: "string", float: "float64", bool: "bool", list: "[]interface {}", dict: "map[string]interface {}"}


def admit(served: ServedKind, document: JsonObject) -> None:
    """Fill in the defaults of a document, in place, and reject it if it is not valid.

    The document is that of a create or update request, in the version of `served`.

    Raises:
        ApiStatusError: 422 with all errors; 400 for a document that cannot be decoded.
    """
    if served.schema is not None:
        _admit_custom(served, served.schema, document)
        return
    fill = _FILLERS.get(served.kind.key)
    if fill is not None:
        if document.get("spec", ...) is None:
            del document["spec"]
        fill(document)
    causes = kind_rules.find_kind_causes(served.kind, document)
    if causes:
        raise build_invalid(served.kind, get_text(document, ("metadata", "name")), causes)


def admit_new(store: Store, served: ServedKind, namespace: str | None, document: JsonObject) -> None:
    """Complete a document that is to be created, in place, after `admit`.

    Raises:
        ApiStatusError: 403 if the service account of a pod does not exist.
    """
    kind = served.kind
    if kind.key == PODS.key:
        _give_priority(store, document)
        pods.admit_pod(document)
        _require_account(store, namespace, document)
    elif kind.key == EVENTS.key:
        _check_event(namespace, document)
    elif kind.key == SERVICES.key:
        _allocate_address(store, document)
        document["status"] = {"loadBalancer": {}}
    elif kind.key == NAMESPACES.key:
        document["status"] = {"phase": "Active"}
        document["spec"] = {"finalizers": ["kubernetes"]}
    elif kind.key == CUSTOM_RESOURCE_DEFINITIONS.key:
        document["status"] = definitions.build_established_status(document, datetime.now(UTC))
    elif kind.key == STATEFUL_SETS.key:
        document["status"] = {"replicas": 0, "availableReplicas": 0}
    elif kind.status and not kind.custom:
        document["status"] = {"phase": "Pending"} if kind.key == PERSISTENT_VOLUME_CLAIMS.key else {}


def complete_creation(store: Store, served: ServedKind, document: JsonObject) -> None:
    """Create what controllers create for a new object: a namespace gets its service account."""
    if served.kind.key == NAMESPACES.key:
        create_default_account(store, document["metadata"]["name"])


def create_default_account(store: Store, namespace: str) -> None:
    """Create the service account of a namespace unless it exists; pods cannot be created without it."""
    if not store.objects.exists(SERVICE_ACCOUNTS, namespace, "default"):
        store.create(SERVICE_ACCOUNTS, namespace, {"metadata": {"name": "default"}})


def complete_status(kind: Kind, document: JsonObject) -> None:
    """Fill in the fields that every status has, in place: the times of a pod's conditions, its list of addresses."""
    status = document.get("status")
    if kind.key == PODS.key and isinstance(status, dict):
        for condition in status.get("conditions") or []:
            for key in ("lastProbeTime", "lastTransitionTime"):
                condition.setdefault(key, None)
        if status.get("podIP"):
            status.setdefault("podIPs", [{"ip": status["podIP"]}])


def check_update(kind: Kind, current: Mapping[str, Any], document: JsonObject) -> None:
    """Reject changes of immutable fields, and keep fields that the server has allocated.

    Raises:
        ApiStatusError: 422.
    """
    name = str(current["metadata"]["name"])
    if kind.key == PODS.key:
        spec = document.get("spec")
        before, after = pods.copy_frozen_part(current["spec"]), pods.copy_frozen_part(spec or {})
        if before != after:
            message = (
                "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
                "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions "
                "to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
                "was previously negative)"
            )
            raise build_invalid(kind, name, [Cause("spec", message, "FieldValueForbidden")])
        pods.add_tolerations(document["spec"])
    elif kind.key == SERVICES.key:
        _keep_address(current, document)
    elif kind.key == STATEFUL_SETS.key:
        _check_stateful_set(current, document)
    elif kind.key in (CONFIG_MAPS.key, SECRETS.key) and current.get("immutable"):
        for key in ("data", "binaryData", "immutable"):
            if current.get(key) != document.get(key):
                message = "Forbidden: field is immutable when `immutable` is set"
                raise build_invalid(kind, name, [Cause(key, message, "FieldValueForbidden")])
    if kind.key == SECRETS.key and current.get("type") != document.get("type"):
        detail = f'Invalid value: "{document.get("type")}": field is immutable'
        raise build_invalid(kind, name, [Cause("type", detail)])


def _keep_address(current: Mapping[str, Any], document: JsonObject) -> None:
    """Keep the fields that the server allocated to a service; they are immutable."""
    for key in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if key in current["spec"]:
            document["spec"].setdefault(key, current["spec"][key])
    address = document["spec"].get("clusterIP")
    if current["spec"].get("clusterIP") not in (None, address):
        cause = Cause("spec.clusterIPs[0]", f'Invalid value: ["{address}"]: may not change once set')
        raise build_invalid(SERVICES, current["metadata"]["name"], [cause])


def _check_stateful_set(current: Mapping[str, Any], document: JsonObject) -> None:
    def select_fixed(item: Mapping[str, Any]) -> JsonObject:
        return {key: value for key, value in (item.get("spec") or {}).items() if key not in _STATEFUL_SET_CHANGES}

    if select_fixed(current) != select_fixed(document):
        changeable = ", ".join(f"'{key}'" for key in _STATEFUL_SET_CHANGES[:-1])
        message = (
            f"Forbidden: updates to statefulset spec for fields other than {changeable} and "
            f"'{_STATEFUL_SET_CHANGES[-1]}' are forbidden"
        )
        cause = Cause("spec", message, "FieldValueForbidden")
        raise build_invalid(STATEFUL_SETS, current["metadata"]["name"], [cause])


def _give_priority(store: Store, pod: JsonObject) -> None:
    """Set the priority of a pod from its priority class, which must exist."""
    spec, pod_name = pod["spec"], get_text(pod, ("metadata", "name"))
    name = spec.get("priorityClassName")
    priority, policy = _SYSTEM_PRIORITIES.get(name, 0), "PreemptLowerPriority"
    if name and name not in _SYSTEM_PRIORITIES:
        if not store.objects.exists(PRIORITY_CLASSES, None, name):
            raise build_forbidden(PODS, pod_name, f"no PriorityClass with name {name} was found")
        found = store.objects.get_shared(PRIORITY_CLASSES, None, name)
        priority, policy = found.get("value", 0), found.get("preemptionPolicy", policy)
    spec["priority"], spec["preemptionPolicy"] = priority, policy


def _admit_custom(served: ServedKind, rules: Mapping[str, Any], document: JsonObject) -> None:
    schema.prune(rules, document)
    schema.apply_defaults(rules, document)
    causes = [*schema.validate(rules, document), *_find_scale_causes(served, document)]
    if causes:
        raise build_invalid(served.kind, get_text(document, ("metadata", "name")), causes)


def _find_scale_causes(served: ServedKind, document: JsonObject) -> Iterator[Cause]:
    """Return the errors in the number of replicas, for kinds with a `scale` subresource."""
    if served.scale is None:
        return
    path = served.scale.replicas
    parent: Any = document
    *parents, last = path.strip(".").split(".")
    for key in parents:
        parent = parent.get(key)
        if not isinstance(parent, dict):
            yield from _find_wrong_type(path, parent, "map[string]interface{}")
            return
    value = parent.get(last)
    if not isinstance(value, int) or isinstance(value, bool):
        yield from _find_wrong_type(path, value, "int64")
    elif value < 0:
        yield Cause(path, f"Invalid value: {value}: should be a non-negative integer")


def _find_wrong_type(path: str, value: object, expected: str) -> Iterator[Cause]:
    """Return an error if a value on the path to a number has another type; missing values are no error."""
    if value is None:
        return
    shown = f"{value:g}" if isinstance(value, float) else value
    found = _GO_TYPES.get(type(value), type(value).__name__)
    detail = f"{path} accessor error: {shown} is of the type {found}, expected {expected}"
    yield Cause(path, f"Invalid value: 0: {detail}")


def _fill_pod(document: JsonObject) -> None:
    causes = pod_rules.find_pod_spec_causes(document.get("spec"))
    if causes:
        raise build_invalid(PODS, get_text(document, ("metadata", "name")), causes)
    document["spec"].setdefault("enableServiceLinks", True)
    pods.fill_pod_spec(document["spec"])


def _with_claims(pod_spec: object, spec: JsonObject) -> object:
    """Return the specification of a template with the volumes that a StatefulSet creates for its claims."""
    names = [get_text(claim, ("metadata", "name")) for claim in spec.get("volumeClaimTemplates") or []]
    if not names or not isinstance(pod_spec, dict):
        return pod_spec
    claimed = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    others = [volume for volume in pod_spec.get("volumes") or [] if volume.get("name") not in names]
    return pod_spec | {"volumes": [*others, *claimed]}


def _fill_stateful_set(document: JsonObject) -> None:
    spec = document.setdefault("spec", {})
    template = spec.get("template")
    causes = pod_rules.find_pod_spec_causes(_with_claims((template or {}).get("spec"), spec), "spec.template.spec")
    labels = ((template or {}).get("metadata") or {}).get("labels")
    wanted = (spec.get("selector") or {}).get("matchLabels") or {}
    if not spec.get("selector"):
        causes.append(Cause("spec.selector", "Required value", "FieldValueRequired"))
    if not spec.get("selector") or any((labels or {}).get(key) != value for key, value in wanted.items()):
        shown = json.dumps(labels, separators=(",", ":"), sort_keys=True)
        message = f"Invalid value: {shown}: `selector` does not match template `labels`"
        causes.append(Cause("spec.template.metadata.labels", message))
    causes += find_natural_causes(spec.get("replicas", 0), "spec.replicas")
    causes += kind_rules.find_stateful_set_causes(spec)
    if causes:
        raise build_invalid(STATEFUL_SETS, get_text(document, ("metadata", "name")), causes)
    pods.fill_pod_spec(template["spec"])
    spec.setdefault("replicas", 1)
    spec.setdefault("serviceName", "")
    spec.setdefault("podManagementPolicy", "OrderedReady")
    spec.setdefault("revisionHistoryLimit", 10)
    retention = {"whenDeleted": "Retain", "whenScaled": "Retain"}
    spec.setdefault("persistentVolumeClaimRetentionPolicy", retention)
    for claim in spec.get("volumeClaimTemplates") or []:
        claim |= {"apiVersion": PERSISTENT_VOLUME_CLAIMS.api_version, "kind": PERSISTENT_VOLUME_CLAIMS.kind}
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        claim["status"] = {"phase": "Pending"}
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)


def _check_event(namespace: str | None, document: JsonObject) -> None:
    """Reject an event in another namespace than its object; events of cluster-scoped objects are in `default`."""
    found = get_text(document, ("involvedObject", "namespace"))
    if found != namespace and (found or namespace != "default"):
        cause = Cause("involvedObject.namespace", f'Invalid value: "{found}": does not match event.namespace')
        raise build_invalid(EVENTS, get_text(document, ("metadata", "name")), [cause])


_FILLERS: dict[tuple[str, str], Callable[[JsonObject], None]] = {
    **defaults.FILLERS,
    CONFIG_MAPS.key: data_rules.fill_config_map,
    CUSTOM_RESOURCE_DEFINITIONS.key: definitions.complete,
    LEASES.key: data_rules.fill_lease,
    PODS.key: _fill_pod,
    SECRETS.key: data_rules.fill_secret,
    STATEFUL_SETS.key: _fill_stateful_set,
}


def _require_account(store: Store, namespace: str | None, pod: JsonObject) -> None:
    account = pod["spec"]["serviceAccountName"]
    if not store.objects.exists(SERVICE_ACCOUNTS, namespace, account):
        why = f'error looking up service account {namespace}/{account}: serviceaccount "{account}" not found'
        raise build_forbidden(PODS, get_text(pod, ("metadata", "name")), why)


def _allocate_address(store: Store, service: JsonObject) -> None:
    spec = service["spec"]
    if spec["type"] != "ExternalName":
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
    if spec["type"] != "ExternalName" and not spec.get("clusterIP"):
        taken = {get_text(item, ("spec", "clusterIP")) for item in store.objects.list_shared(SERVICES, None)}
        spec["clusterIP"] = allocate_address(taken)
    if spec.get("clusterIP"):
        spec["clusterIPs"] = [spec["clusterIP"]]


SERVICE_NETWORK = ip_network("10.96.0.0/16")


def allocate_address(taken: Container[str]) -> str:
    """Return the first free address of the service network.

    Raises:
        RuntimeError: No address is free.
    """
    for address in SERVICE_NETWORK.hosts():
        if str(address) not in taken:
            return str(address)
    raise RuntimeError(f"all addresses of {SERVICE_NETWORK} are in use: delete services")
