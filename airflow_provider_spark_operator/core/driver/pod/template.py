"""The pod templates: the driver's, which the first step starts from, and the executors', which the driver reads."""

import re
from collections.abc import Mapping
from typing import Any

from ...kubernetes.json_object import JsonObject
from ...kubernetes.names import ROLE_DRIVER
from ...spark.spark_conf import TEMPLATE_CONTAINER_KEYS
from ..configuration.configuration import DriverBuildError, format_double
from ..configuration.inputs import DRIVER_TEMPLATE_KEY
from .pod import BuildContext, Changes, SparkPod, build_config_map, build_volume_with_mount, check_no_file_named

_CONTAINER_KEY = TEMPLATE_CONTAINER_KEYS[ROLE_DRIVER]
_OBJECT: Mapping[str, object] = {}
_STRING = ""
_CONTAINER = {
    "name": _STRING,
    "args": [_STRING],
    "env": [_OBJECT],
    "ports": [_OBJECT],
    "volumeMounts": [_OBJECT],
    "resources": {"requests": _OBJECT, "limits": _OBJECT},
    "securityContext": {"capabilities": {"add": [_STRING]}},
}
_POD = {
    "metadata": {"labels": _OBJECT, "annotations": _OBJECT},
    "spec": {
        "containers": [_CONTAINER],
        "initContainers": [_CONTAINER],
        "imagePullSecrets": [_OBJECT],
        "nodeSelector": _OBJECT,
        "volumes": [_OBJECT],
    },
}
"""The shape of the fields that the build reads or extends. Other fields are not checked."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_OCTAL_INTEGER = re.compile(r"0o?([0-7]{1,9})", re.ASCII)
_BOOLEAN_WORDS = {
    word: value for value, words in ((True, "true True TRUE"), (False, "false False FALSE")) for word in words.split()
}


def build_initial_pod(submission: BuildContext) -> tuple[SparkPod, tuple[str, ...]]:
    """Return the driver pod before the build, and warnings.

    The pod is the template with its Spark container set apart. The pod is empty if there is no template.

    The Spark container is the container that the configuration names, or else the first container of the template.

    Raises:
        DriverBuildError: The template is not a pod template, or the configuration names a file that does not exist.
    """
    given = submission.inputs.driver_template
    if given is None:
        check_no_file_named(submission, DRIVER_TEMPLATE_KEY)
        return SparkPod({}, {}), ()
    named = submission.conf.get_text(_CONTAINER_KEY)
    pod = split_template(given, submission.inputs.driver_template_field, named)
    metadata = dict(pod.pod["metadata"])
    if "namespace" in metadata:
        metadata["namespace"] = submission.inputs.namespace
    missing = bool(pod.container) and named is not None and pod.container.get("name") != named
    warnings = (f"{_CONTAINER_KEY}: no container of the template is named {named!r}; the first container is used",)
    return SparkPod({**pod.pod, "metadata": metadata}, pod.container), warnings if missing else ()


def split_template(given: Mapping[str, Any], field: str, named: str | None) -> SparkPod:
    """Return a normalized pod template with its Spark container set apart.

    Args:
        given: The pod template.
        field: The source of the template, for messages.
        named: The name of the Spark container. If no container has it, the first container is the Spark container.

    Raises:
        DriverBuildError: `given` is not a pod template.
    """
    template = normalize_template(given)
    spec, containers = _check_template(template, field)
    index = next((i for i, each in enumerate(containers) if each.get("name") == named), 0)
    pod = {
        **template,
        "metadata": dict(template.get("metadata") or {}),
        "spec": {**spec, "containers": [*containers[:index], *containers[index + 1 :]]},
    }
    return SparkPod(pod, containers[index] if containers else {})


def _check_template(template: Mapping[str, Any], field: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if template.get("kind", "Pod") != "Pod":
        raise DriverBuildError(field, f"must be a pod template, but its kind is {template['kind']}")
    spec = template.get("spec")
    if not isinstance(spec, dict):
        raise DriverBuildError(field, "is not a pod template: it has no spec")
    _check_shape(template, _POD, "", field)
    return spec, spec.get("containers") or []


def _check_shape(value: object, shape: object, path: str, field: str) -> None:
    """Raise DriverBuildError for a value that is neither null nor of the type in `shape`."""
    if isinstance(shape, Mapping):
        if not isinstance(value, Mapping):
            raise DriverBuildError(field, f"{path} must be an object")
        for name, inner in shape.items():
            if value.get(name) is not None:
                _check_shape(value[name], inner, f"{path}.{name}" if path else name, field)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise DriverBuildError(field, f"{path} must be a list")
        for index, each in enumerate(value):
            _check_shape(each, shape[0], f"{path}[{index}]", field)
    elif not isinstance(value, str):
        raise DriverBuildError(field, f"{path} must be a string")


_DIRECTORY = "/opt/spark/pod-template"
_FILE = "pod-spec-template.yml"
_ENTRY = "podspec-configmap-key"
_VOLUME = "pod-template-volume"
EXECUTOR_TEMPLATE_KEY = "spark.kubernetes.executor.podTemplateFile"


def mount_executor_template(submission: BuildContext, _: SparkPod) -> Changes:
    """Mount the unchanged text of the template in the driver.

    Raises:
        DriverBuildError: The configuration names a file that does not exist.
    """
    text = submission.inputs.executor_template
    if text is None:
        check_no_file_named(submission, EXECUTOR_TEMPLATE_KEY)
        return Changes()
    name = f"{submission.naming.prefix}-driver-podspec-conf-map"
    added = build_volume_with_mount(
        {"name": _VOLUME, "configMap": {"name": name, "items": [{"key": _ENTRY, "path": _FILE}]}},
        {"name": _VOLUME, "mountPath": _DIRECTORY},
    )
    return Changes(
        pod=added.pod,
        container=added.container,
        properties={EXECUTOR_TEMPLATE_KEY: f"{_DIRECTORY}/{_FILE}"},
        resources=(build_config_map(name, {_ENTRY: text}),),
    )


def normalize_template(template: Mapping[str, object]) -> JsonObject:
    """Return the template without nulls, empty lists and empty string maps, and with each field in its type.

    Spark's client library parses a template into typed objects and serializes them. This removes empty values, converts
    numbers and booleans to strings where the API expects strings, and strings to numbers and booleans where it expects
    those. Fields that are not in `pod_fields` are not changed. The API rejects values of a wrong type.
    """
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
