"""What the API server does to a document before it is stored: defaults, validation, first status."""

import base64
import binascii
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from airflow_provider_spark_operator.local.api import definitions, pods, schema
from airflow_provider_spark_operator.local.api.addresses import allocate_address
from airflow_provider_spark_operator.local.api.documents import JsonObject, text_at
from airflow_provider_spark_operator.local.api.kinds import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    HORIZONTAL_POD_AUTOSCALERS,
    INGRESSES,
    NAMESPACES,
    NETWORK_POLICIES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    STATEFUL_SETS,
    Kind,
)
from airflow_provider_spark_operator.local.api.registry import ServedKind
from airflow_provider_spark_operator.local.api.status import Cause, bad_request, forbidden, invalid
from airflow_provider_spark_operator.local.api.store import Store


def admit(served: ServedKind, document: JsonObject) -> None:
    """Complete a document, in place, and refuse one that its kind does not allow.

    The document is as in a create or update request, in the version of `served`.

    Raises:
        ApiStatusError: 422 with all that is wrong, 400 for what cannot be decoded.
    """
    if served.schema is not None:
        _admit_custom(served, served.schema, document)
        return
    fill = _FILLERS.get(served.kind.key)
    if fill is not None:
        if document.get("spec", ...) is None:
            del document["spec"]
        fill(document)


def admit_new(store: Store, served: ServedKind, namespace: str | None, document: JsonObject) -> None:
    """Complete a document that is about to be created, in place, after `admit`.

    Raises:
        ApiStatusError: 403 where the service account of a pod does not exist.
    """
    kind = served.kind
    if kind.key == PODS.key:
        pods.admit_pod(document)
        _require_account(store, namespace, document)
    elif kind.key == SERVICES.key:
        _allocate(store, document)
        document["status"] = {"loadBalancer": {}}
    elif kind.key == NAMESPACES.key:
        document["status"] = {"phase": "Active"}
        name = text_at(document, ("metadata", "name"))
        labels = document["metadata"].get("labels") or {}
        document["metadata"]["labels"] = labels | {"kubernetes.io/metadata.name": name}
        document["spec"] = {"finalizers": ["kubernetes"]}
    elif kind.key == CUSTOM_RESOURCE_DEFINITIONS.key:
        document["status"] = definitions.established(document, datetime.now(UTC))
    elif kind.key == STATEFUL_SETS.key:
        document["status"] = {"replicas": 0, "availableReplicas": 0}
    elif kind.status and not kind.custom:
        document["status"] = {"phase": "Pending"} if kind.key == PERSISTENT_VOLUME_CLAIMS.key else {}


def after_creation(store: Store, served: ServedKind, document: JsonObject) -> None:
    """Do what a cluster's controllers do for a new object: a namespace gets its service account."""
    if served.kind.key == NAMESPACES.key:
        account: JsonObject = {"metadata": {"name": "default"}}
        store.create(SERVICE_ACCOUNTS, document["metadata"]["name"], account)


def check_update(kind: Kind, current: Mapping[str, Any], document: JsonObject) -> None:
    """Refuse an update that changes what cannot be changed; keep what the server has allocated.

    Raises:
        ApiStatusError: 422.
    """
    name = str(current["metadata"]["name"])
    if kind.key == PODS.key:
        spec = document.get("spec")
        before, after = pods.frozen_part(current["spec"]), pods.frozen_part(spec or {})
        if before != after:
            message = (
                "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
                "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions "
                "to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
                "was previously negative)"
            )
            raise invalid(kind, name, [Cause("spec", message, "FieldValueForbidden")])
    elif kind.key == SERVICES.key:
        for key in ("clusterIP", "clusterIPs"):
            if key in current["spec"]:
                document["spec"].setdefault(key, current["spec"][key])
    elif kind.key in (CONFIG_MAPS.key, SECRETS.key) and current.get("immutable"):
        for key in ("data", "binaryData", "immutable"):
            if current.get(key) != document.get(key):
                message = "Forbidden: field is immutable when `immutable` is set"
                raise invalid(kind, name, [Cause(key, message, "FieldValueForbidden")])


def _admit_custom(served: ServedKind, rules: Mapping[str, Any], document: JsonObject) -> None:
    schema.prune(rules, document)
    schema.apply_defaults(rules, document)
    causes = schema.validate(rules, document)
    if causes:
        raise invalid(served.kind, text_at(document, ("metadata", "name")), causes)


def _fill_pod(document: JsonObject) -> None:
    causes = pods.pod_spec_causes(document.get("spec"))
    if causes:
        raise invalid(PODS, text_at(document, ("metadata", "name")), causes)
    pods.fill_pod_spec(document["spec"])


def _fill_stateful_set(document: JsonObject) -> None:
    spec = document.setdefault("spec", {})
    template = spec.get("template")
    causes = pods.pod_spec_causes((template or {}).get("spec"), "spec.template.spec")
    labels = ((template or {}).get("metadata") or {}).get("labels") or {}
    wanted = (spec.get("selector") or {}).get("matchLabels") or {}
    if not spec.get("selector"):
        causes.append(Cause("spec.selector", "Required value", "FieldValueRequired"))
    elif any(labels.get(key) != value for key, value in wanted.items()):
        message = "Invalid value: `selector` does not match template `labels`"
        causes.append(Cause("spec.template.metadata.labels", message))
    if causes:
        raise invalid(STATEFUL_SETS, text_at(document, ("metadata", "name")), causes)
    pods.fill_pod_spec(template["spec"])
    spec.setdefault("replicas", 1)
    spec.setdefault("serviceName", "")
    spec.setdefault("podManagementPolicy", "OrderedReady")
    spec.setdefault("revisionHistoryLimit", 10)
    retention = {"whenDeleted": "Retain", "whenScaled": "Retain"}
    spec.setdefault("persistentVolumeClaimRetentionPolicy", retention)
    spec.setdefault("updateStrategy", {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})


def _fill_service(document: JsonObject) -> None:
    spec = document.setdefault("spec", {})
    headless = spec.get("clusterIP") == "None"
    defaults = {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"}
    for key, value in defaults.items():
        spec.setdefault(key, value)
    if spec["type"] == "ExternalName":
        return
    ports = spec.get("ports") or []
    if not ports and not headless:
        cause = Cause("spec.ports", "Required value", "FieldValueRequired")
        raise invalid(SERVICES, text_at(document, ("metadata", "name")), [cause])
    for port in ports:
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")


def _fill_secret(document: JsonObject) -> None:
    document.setdefault("type", "Opaque")
    plain = document.pop("stringData", None) or {}
    if plain:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
        document["data"] = (document.get("data") or {}) | encoded
    for key, value in (document.get("data") or {}).items():
        try:
            base64.b64decode(value, validate=True)
        except binascii.Error as error:
            raise bad_request(f"Secret: data.{key} is not base64: use stringData for plain text") from error


def _fill_network_policy(document: JsonObject) -> None:
    spec = document.setdefault("spec", {})
    spec.setdefault("podSelector", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _fill_claim(document: JsonObject) -> None:
    document.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _fill_autoscaler(document: JsonObject) -> None:
    document.setdefault("spec", {}).setdefault("minReplicas", 1)


def _fill_ingress(document: JsonObject) -> None:
    document.setdefault("spec", {})


_FILLERS: dict[tuple[str, str], Callable[[JsonObject], None]] = {
    CUSTOM_RESOURCE_DEFINITIONS.key: definitions.complete,
    HORIZONTAL_POD_AUTOSCALERS.key: _fill_autoscaler,
    INGRESSES.key: _fill_ingress,
    NETWORK_POLICIES.key: _fill_network_policy,
    PERSISTENT_VOLUME_CLAIMS.key: _fill_claim,
    PODS.key: _fill_pod,
    SECRETS.key: _fill_secret,
    SERVICES.key: _fill_service,
    STATEFUL_SETS.key: _fill_stateful_set,
}


def _require_account(store: Store, namespace: str | None, pod: JsonObject) -> None:
    account = pod["spec"]["serviceAccountName"]
    if not store.exists(SERVICE_ACCOUNTS, namespace, account):
        why = f'error looking up service account {namespace}/{account}: serviceaccount "{account}" not found'
        raise forbidden(PODS, text_at(pod, ("metadata", "name")), why)


def _allocate(store: Store, service: JsonObject) -> None:
    spec = service["spec"]
    if spec["type"] != "ExternalName" and not spec.get("clusterIP"):
        taken = {text_at(item, ("spec", "clusterIP")) for item in store.views(SERVICES, None)}
        spec["clusterIP"] = allocate_address(taken)
    if spec.get("clusterIP"):
        spec["clusterIPs"] = [spec["clusterIP"]]
