"""Normalization of a pod template, as Spark's client library does it.

The library parses a template into typed objects and serializes them. This removes empty values, converts numbers and
booleans to strings where the API expects strings, and strings to numbers and booleans where it expects those. Fields
that are not in `pod_fields` are not changed. The API rejects values of a wrong type.
"""

import re
from collections.abc import Mapping

from ...kubernetes.json_object import JsonObject
from ..configuration.text import format_double

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_OCTAL_INTEGER = re.compile(r"0o?([0-7]{1,9})", re.ASCII)
_BOOLEAN_WORDS = {
    word: value for value, words in ((True, "true True TRUE"), (False, "false False FALSE")) for word in words.split()
}


def normalize_template(template: Mapping[str, object]) -> JsonObject:
    """Return the template without nulls, empty lists and empty string maps, and with each field in its type."""
    return {
        name: _normalize_value(name, value, template) for name, value in template.items() if not _is_empty(name, value)
    }


def _normalize_value(name: str, value: object, owner: Mapping[str, object]) -> object:
    """Return the normalized value of the field `name` of the object `owner`."""
    if isinstance(value, Mapping):
        return (
            {key: _format_scalar(each) for key, each in value.items()}
            if name in TEXT_MAPS
            else normalize_template(value)
        )
    if isinstance(value, list):
        return [_normalize_value(name, each, owner) for each in value]
    # The values of a selector requirement, which has a key, are strings.
    if name in TEXTS or (name == "values" and "key" in owner):
        return _format_scalar(value)
    return _parse_scalar(name, value) if isinstance(value, str) else value


def _is_empty(name: str, value: object) -> bool:
    return value is None or value == [] or (value == {} and name in TEXT_MAPS)


def _parse_scalar(name: str, text: str) -> object:
    """Return the text as the type of the field, or unchanged if it cannot be converted."""
    octal = _OCTAL_INTEGER.fullmatch(text) if name in OCTAL_INTEGERS else None
    if octal:
        return int(octal[1], 8)
    if name in INTEGERS and _INTEGER.fullmatch(text):
        return int(text)
    return _BOOLEAN_WORDS.get(text, text) if name in BOOLEANS else text


def _format_scalar(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return format_double(value) if isinstance(value, float) else value


def _split_names(text: str) -> frozenset[str]:
    return frozenset(text.split())


TEXTS = _split_names(
    """
    accessModes action add apiGroup apiVersion args audience cachingMode certificateChainPath claimName command
    conditionType containerName credentialBundlePath datasetName datasetUUID devicePath directory diskName diskURI
    divisor dnsPolicy driver drop effect endpoints fieldPath fieldsType finalizers fsGroupChangePolicy fsType
    gateway generateName gmsaCredentialSpec gmsaCredentialSpecName group host hostIP hostname hostnameOverride
    hostnames image imagePullPolicy initiatorName ip iqn iscsiInterface key keyPath keyType keyring kind level
    localhostProfile manager matchLabelKeys medium mismatchLabelKeys monitors mountPath mountPropagation name
    nameservers namespace namespaces nodeAffinityPolicy nodeName nodeTaintsPolicy operation operator path pdID
    pdName podGroupName pool portals preemptionPolicy prefix priorityClassName procMount protectionDomain protocol
    pullPolicy queue recursiveReadOnly reference registry repository request resource resourceClaimName
    resourceClaimTemplateName resourceName resourceVersion restartPolicy revision role runAsUserName
    runtimeClassName schedulerName scheme seLinuxChangePolicy searches secretFile secretName selfLink server service
    serviceAccount serviceAccountName shareName signerName sizeLimit stopSignal storageClassName storageMode
    storagePolicyID storagePolicyName storagePool subPath subPathExpr subdomain subresource supplementalGroupsPolicy
    system targetContainerName targetPortal targetWWNs tenant terminationMessagePath terminationMessagePolicy
    topologyKey type uid user value volume volumeAttributesClassName volumeID volumeMode volumeName volumeNamespace
    volumePath whenUnsatisfiable workingDir wwids
    """
)
INTEGERS = _split_names(
    """
    activeDeadlineSeconds containerPort defaultMode deletionGracePeriodSeconds expirationSeconds failureThreshold
    fsGroup generation hostPort initialDelaySeconds lun maxExpirationSeconds maxSkew minDomains mode partition
    periodSeconds priority runAsGroup runAsUser seconds successThreshold supplementalGroups
    terminationGracePeriodSeconds timeoutSeconds tolerationSeconds weight
    """
)
BOOLEANS = _split_names(
    """
    allowPrivilegeEscalation automountServiceAccountToken blockOwnerDeletion chapAuthDiscovery chapAuthSession
    controller enableServiceLinks hostIPC hostNetwork hostPID hostProcess hostUsers optional privileged readOnly
    readOnlyRootFilesystem runAsNonRoot setHostnameAsFQDN shareProcessNamespace sslEnabled stdin stdinOnce tty
    """
)

TEXT_MAPS = _split_names(
    """
    annotations labels limits matchLabels minResources nodeSelector options overhead requests userAnnotations
    volumeAttributes
    """
)
"""Maps with string values. One exception: in the DNS settings of a pod, `options` is a list."""

OCTAL_INTEGERS = frozenset({"defaultMode", "mode"})
"""File permissions: integers that are octal if they start with a zero."""
