"""The objects that a pod refers to: ConfigMaps, secrets, and its own fields and resources."""

import math
import re
from base64 import b64decode
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ...api.kinds.documents import JsonObject
from ...api.kinds.kinds import CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, SECRETS, Kind
from ...api.kinds.quantities import parse_quantity
from ...api.kinds.status import ApiStatusError
from ...api.store.store import Store

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]")
_FIELDS = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
    "metadata.uid": ("metadata", "uid"),
    "spec.nodeName": ("spec", "nodeName"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
    "status.hostIP": ("status", "hostIP"),
    "status.hostIPs": ("status", "hostIP"),
    "status.podIP": ("status", "podIP"),
    "status.podIPs": ("status", "podIP"),
}
# A container without a limit can use the resources of the node.
_UNLIMITED = {"cpu": "64", "memory": "64Gi", "ephemeral-storage": "1Ti"}


class MissingReference(Exception):
    """An object that a pod refers to does not exist (yet); the message is that of the kubelet."""


class References:
    """Looks up the objects that pods of one namespace refer to.

    Args:
        store: The cluster's objects.
        namespace: Namespace of the pods.
    """

    def __init__(self, store: Store, namespace: str) -> None:
        self._store = store
        self._namespace = namespace

    def get_config_map(self, name: str, *, optional: bool = False) -> dict[str, bytes]:
        """Return the values of a ConfigMap; raises MissingReference if it does not exist and is not optional."""
        document = self._get_document(CONFIG_MAPS, "configmap", name, optional=optional)
        values = {key: str(value).encode() for key, value in (document.get("data") or {}).items()}
        return values | {key: b64decode(value) for key, value in (document.get("binaryData") or {}).items()}

    def get_secret(self, name: str, *, optional: bool = False) -> dict[str, bytes]:
        """Return the values of a secret; raises MissingReference if it does not exist and is not optional."""
        document = self._get_document(SECRETS, "secret", name, optional=optional)
        return {key: b64decode(value) for key, value in (document.get("data") or {}).items()}

    def claim_uid(self, name: str) -> str:
        """Return the UID of a persistent volume claim; raises MissingReference if it does not exist."""
        document = self._get_document(PERSISTENT_VOLUME_CLAIMS, "persistentvolumeclaim", name, optional=False)
        return str(document["metadata"]["uid"])

    def resolve_variable(self, source: Mapping[str, Any], pod: JsonObject, container: JsonObject) -> str | None:
        """Return the value of an environment variable's `valueFrom`; None for a missing optional value.

        Raises:
            MissingReference: The ConfigMap, the secret, its key or the field does not exist.
        """
        if "fieldRef" in source:
            return read_pod_field(pod, str(source["fieldRef"].get("fieldPath")))
        if "resourceFieldRef" in source:
            return read_container_resource(pod, container, source["resourceFieldRef"])
        if "configMapKeyRef" in source:
            return self._read_key("ConfigMap", source["configMapKeyRef"])
        if "secretKeyRef" in source:
            return self._read_key("Secret", source["secretKeyRef"])
        raise MissingReference(f"{', '.join(source) or 'an empty valueFrom'} isn't known to the local cluster")

    def _read_key(self, kind: str, reference: Mapping[str, Any]) -> str | None:
        name, key = str(reference.get("name")), str(reference.get("key"))
        optional = bool(reference.get("optional"))
        read = self.get_config_map if kind == "ConfigMap" else self.get_secret
        value = read(name, optional=optional).get(key)
        if value is None and not optional:
            raise MissingReference(f"couldn't find key {key} in {kind} {self._namespace}/{name}")
        return None if value is None else value.decode(errors="surrogateescape")

    def _get_document(self, kind: Kind, word: str, name: str, *, optional: bool) -> JsonObject:
        try:
            return self._store.objects.get_shared(kind, self._namespace, name)
        except ApiStatusError as error:
            if optional:
                return {}
            raise MissingReference(f'{word} "{name}" not found') from error


def read_pod_field(pod: JsonObject, path: str) -> str:
    """Return a field of a pod as text; raises MissingReference if pods cannot refer to that field."""
    subscript = _SUBSCRIPT.fullmatch(path)
    if subscript:
        return str((pod["metadata"].get(subscript[1]) or {}).get(subscript[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        entries = pod["metadata"].get(path.partition(".")[2]) or {}
        return "\n".join(f'{key}="{_quote(value)}"' for key, value in sorted(entries.items()))
    if path not in _FIELDS:
        raise MissingReference(f"field path {path} isn't supported")
    part, key = _FIELDS[path]
    return str((pod.get(part) or {}).get(key, ""))


def read_container_resource(pod: JsonObject, container: JsonObject, reference: Mapping[str, Any]) -> str:
    """Return a container's request or limit in units of the divisor; raises MissingReference for unknown resources."""
    wanted = reference.get("containerName") or container["name"]
    containers = [*pod["spec"].get("containers", ()), *pod["spec"].get("initContainers", ())]
    named = [item for item in containers if item["name"] == wanted]
    part, _, resource = str(reference.get("resource")).partition(".")
    if not named or part not in ("limits", "requests"):
        raise MissingReference(f"container {wanted} has no resource {reference.get('resource')}")
    resources = named[0].get("resources") or {}
    missing = _UNLIMITED.get(resource, "0") if part == "limits" else "0"
    quantity = (resources.get(part) or {}).get(resource, missing)
    try:
        return divide_quantity(quantity, reference.get("divisor"))
    except ValueError as error:
        raise MissingReference(f"{reference.get('resource')} of container {wanted}: {error}") from error


def divide_quantity(quantity: str | float, divisor: str | float | None) -> str:
    """Return a quantity in units of a divisor (1 if it is 0 or missing), rounded up."""
    unit = parse_quantity(divisor or 1) or Decimal(1)
    return str(math.ceil(parse_quantity(quantity) / unit))


def _quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
