"""The rules of the API server for values in pods, a table by Kubernetes type."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from ipaddress import ip_address
from typing import Any, Final

from ..kubernetes import names
from ..kubernetes.json_object import is_integer
from ..kubernetes.pods import get_object
from ..kubernetes.problems import Problem
from ..kubernetes.quantities import is_quantity, parse_quantity
from .kubernetes_fields import KUBERNETES_FIELDS
from .rules import (
    Location,
    Rule,
    bound,
    check,
    check_labels,
    choose,
    choose_field,
    forbid,
    limit,
    list_values,
    repeat_none,
    report,
    require,
    when,
    within,
)

_LARGEST_PORT: Final = 65535
_LARGEST_MODE: Final = 0o777
_LARGEST_NUMBER: Final = 2**31 - 1
_DEFAULT_GRACE_SECONDS: Final = 30
_PORT: Final = re.compile(r"(?=[-0-9]*[a-z])(?!.*--)[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?")
_PORT_RULE: Final = "use at most 15 lowercase letters, digits and '-', with a letter and without '--'"
_PORT_NUMBER_RULE: Final = f"use a number from 1 to {_LARGEST_PORT}"
_NUMBER_RULE: Final = "use a number that is not negative"
_PATH_RULE: Final = "use a relative path without '..'"
_DOTS_RULE: Final = "use a path without '..'"
_PROBES: Final = "livenessProbe readinessProbe startupProbe"
_VARIABLE_RULE: Final = "use printable ASCII characters without '='"
_RESOURCES: Final = ("cpu", "ephemeral-storage", "memory")
_MAP_FIELD: Final = r"metadata\.(annotations|labels)\['([-.\w]+/)?[-.\w]+'\]"
_VARIABLE_FIELD: Final = re.compile(
    rf"metadata\.(name|namespace|uid)|spec\.(host|nodeName|serviceAccountName)|status\.(host|pod)IPs?|{_MAP_FIELD}"
)
_VOLUME_FIELD: Final = re.compile(rf"metadata\.(annotations|labels|name|namespace|uid)|{_MAP_FIELD}")
_FIELD_RULE: Final = "use a field that pods offer here, such as metadata.name"
_RESOURCE_FIELD: Final = re.compile(rf"(limits|requests)\.({'|'.join(_RESOURCES)}|hugepages-.+)")
_SYSCTL_PART: Final = "[a-z0-9]++(?:[-_]++[a-z0-9]++)*+"
_SYSCTL: Final = re.compile(rf"(?=.{{1,253}}\Z){_SYSCTL_PART}(?:[./]{_SYSCTL_PART})*+")


def _is_device(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name


def _find_wrong_resources(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
    for field in ("requests", "limits"):
        for name, given in get_object(value.get(field)).items():
            place, amount = (*location, field, name), parse_quantity(given)
            if not (names.is_label_key(name) if "/" in name else name.startswith("hugepages-") or name in _RESOURCES):
                yield report(place, f"is unknown: use {', '.join(_RESOURCES)} or the name of a device with its domain")
            elif amount < 0 or (_is_device(name) and amount != amount.to_integral_value()):
                yield report(place, f"{given!r} is not valid: {_NUMBER_RULE}, and an integer for devices")


def _find_small_limits(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
    limits = get_object(value.get("limits"))
    for name, given in get_object(value.get("requests")).items():
        request, limit = parse_quantity(given), parse_quantity(limits.get(name))
        if (_is_device(name) or name.startswith("hugepages-")) and request != limit:
            yield report((*location, "limits", name), f"must be the request, {given}: devices cannot be shared")
        elif is_quantity(limits.get(name)) and request > limit:
            message = f"is {given}, more than the limit {limits[name]}: reduce the request, or raise the limit"
            yield report((*location, "requests", name), message)


def _find_different_host_ports(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
    for place, port in list_values(value, "containers.ports", location):
        given = get_object(port)
        if given.get("hostPort") and given["hostPort"] != given.get("containerPort"):
            yield report((*place, "hostPort"), "must be the containerPort")


def _find_long_sleeps(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
    given = value.get("terminationGracePeriodSeconds")
    most = given if is_integer(given) else _DEFAULT_GRACE_SECONDS
    for field in ("initContainers", "containers"):
        paths = f"{field}.lifecycle.preStop.sleep.seconds {field}.lifecycle.postStart.sleep.seconds"
        yield from bound(paths, 0, most, "use {} to {}, the grace period")(value, location)


def _is_not_negative(quantity: object) -> bool:
    return parse_quantity(quantity) >= 0


def _is_port(port: object) -> bool:
    return 1 <= port <= _LARGEST_PORT if is_integer(port) else _PORT.fullmatch(str(port)) is not None


def _is_inner_path(path: str) -> bool:
    return not path.startswith("/") and _has_no_dots(path)


def _is_part(divisor: object) -> bool:
    return parse_quantity(divisor) in (0, Decimal("0.001"), 1)


def _is_unit(divisor: object) -> bool:
    return parse_quantity(divisor) in (0, *(base**power for base in (1000, 1024) for power in range(7)))


def _has_no_dots(path: str) -> bool:
    return ".." not in path.split("/")


def _is_file(path: str) -> bool:
    return _is_inner_path(path) and not path.startswith("..")


def _is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def _is_variable_name(name: str) -> bool:
    return name.isascii() and name.isprintable() and "=" not in name


_NAME: Final = check("name", names.is_namespace, names.NAMESPACE_RULE)
_OBJECT_NAME: Final = check("name", names.is_object_name, names.OBJECT_RULE)
_HANDLER_PORT: Final = (require("port"), check("port", _is_port, _PORT_NUMBER_RULE, (int, str)))
_SELECTION: Final = (
    require("key operator"),
    check("key", names.is_label_key, names.KEY_RULE),
    when("operator=In|NotIn", require("values")),
    when("operator=Exists|DoesNotExist", forbid("values")),
)
_TOPOLOGY: Final = (require("topologyKey"), check("topologyKey", names.is_label_key, names.KEY_RULE))
_DATA_KEY: Final = (require("name key"), _OBJECT_NAME, check("key", names.is_data_key, names.DATA_KEY_RULE))
_MODE: Final = bound("mode defaultMode", 0, _LARGEST_MODE, "use a number from 0 to 0777 (octal)")
_FILE: Final = (require("path"), check("path", _is_file, _PATH_RULE), _MODE)
_WEIGHT: Final = (require("weight"), bound("weight", 1, 100))
_USER: Final = bound("runAsUser runAsGroup fsGroup supplementalGroups", 0, _LARGEST_NUMBER)
_PROFILE: Final = (
    require("type"),
    choose("type", "Localhost RuntimeDefault Unconfined"),
    when("type=Localhost", require("localhostProfile")),
    when("type=RuntimeDefault|Unconfined", forbid("localhostProfile")),
)
_HOST_PORTS: Final = ("hostPort", "protocol", "hostIP")


def _list_fields(type_name: str, *others: str) -> str:
    return " ".join(name for name in KUBERNETES_FIELDS[type_name] if name not in others)


RULES: Final[Mapping[str, tuple[Rule, ...]]] = {
    "core.v1.AppArmorProfile": _PROFILE,
    "core.v1.ConfigMapEnvSource": (require("name"), _OBJECT_NAME),
    "core.v1.ConfigMapKeySelector": _DATA_KEY,
    "core.v1.ConfigMapVolumeSource": (require("name"), _MODE),
    "core.v1.Container": (
        _NAME,
        repeat_none("ports", "name"),
        repeat_none("volumeMounts", "mountPath"),
        repeat_none("resizePolicy", "resourceName"),
        check("image", lambda image: image == image.strip(), "remove the white space"),
        choose("imagePullPolicy", "Always IfNotPresent Never"),
        choose("restartPolicy", "Always Never OnFailure"),
        choose("terminationMessagePolicy", "File FallbackToLogsOnError"),
        when("restartPolicy=", forbid("restartPolicyRules")),
        limit("restartPolicyRules", 20),
        when("securityContext.privileged=|False", choose("volumeMounts.mountPropagation", "HostToContainer None")),
        bound("livenessProbe.successThreshold startupProbe.successThreshold", 1, 1, "use 1"),
        within("readinessProbe", forbid("terminationGracePeriodSeconds")),
    ),
    "core.v1.ContainerPort": (
        require("containerPort"),
        bound("containerPort hostPort", 1, _LARGEST_PORT),
        check("name", _is_port, _PORT_RULE),
        choose("protocol", "SCTP TCP UDP"),
    ),
    "core.v1.ContainerResizePolicy": (
        require("resourceName restartPolicy"),
        choose("resourceName", "cpu memory"),
        choose("restartPolicy", "NotRequired RestartContainer"),
    ),
    "core.v1.ContainerRestartRule": (require("action exitCodes"), choose("action", "Restart RestartAllContainers")),
    "core.v1.ContainerRestartRuleOnExitCodes": (
        require("operator"),
        choose("operator", "In NotIn"),
        limit("values", 255),
    ),
    "core.v1.DownwardAPIVolumeFile": (
        *_FILE,
        choose_field("fieldRef resourceFieldRef"),
        check("fieldRef.fieldPath", _VOLUME_FIELD.fullmatch, _FIELD_RULE),
        within("resourceFieldRef", require("containerName")),
    ),
    "core.v1.EmptyDirVolumeSource": (check("sizeLimit", _is_not_negative, _NUMBER_RULE, (int, float, str)),),
    "core.v1.EnvFromSource": (
        choose_field("configMapRef secretRef"),
        check("prefix", _is_variable_name, _VARIABLE_RULE),
    ),
    "core.v1.EnvVar": (
        require("name"),
        check("name", _is_variable_name, _VARIABLE_RULE),
        choose_field("value valueFrom", least=0),
    ),
    "core.v1.EnvVarSource": (
        choose_field(_list_fields("core.v1.EnvVarSource")),
        check("fieldRef.fieldPath", _VARIABLE_FIELD.fullmatch, _FIELD_RULE),
    ),
    "core.v1.ExecAction": (require("command"),),
    "core.v1.FileKeySelector": (
        require("volumeName path key"),
        check("volumeName", names.is_namespace, names.NAMESPACE_RULE),
        check("path", _has_no_dots, _DOTS_RULE),
        check("key", _is_variable_name, _VARIABLE_RULE),
    ),
    "core.v1.GRPCAction": _HANDLER_PORT,
    "core.v1.HTTPGetAction": (*_HANDLER_PORT, choose("scheme", "HTTP HTTPS")),
    "core.v1.HostAlias": (
        require("ip"),
        check("ip", _is_address, "use an IP address"),
        check("hostnames", names.is_object_name, names.OBJECT_RULE),
    ),
    "core.v1.HostPathVolumeSource": (
        require("path"),
        check("path", _has_no_dots, _DOTS_RULE),
        choose("type", "BlockDevice CharDevice Directory DirectoryOrCreate File FileOrCreate Socket"),
    ),
    "core.v1.KeyToPath": (require("key"), *_FILE),
    "core.v1.LifecycleHandler": (choose_field(_list_fields("core.v1.LifecycleHandler")),),
    "core.v1.NodeSelector": (require("nodeSelectorTerms"),),
    "core.v1.NodeSelectorRequirement": (
        *_SELECTION,
        choose("operator", "In NotIn Exists DoesNotExist Gt Lt"),
        when("operator=Gt|Lt", require("values"), limit("values", 1)),
    ),
    "core.v1.ObjectFieldSelector": (require("fieldPath"), choose("apiVersion", "v1")),
    "core.v1.PersistentVolumeClaimVolumeSource": (require("claimName"),),
    "core.v1.PodAffinityTerm": _TOPOLOGY,
    "core.v1.PodDNSConfig": (check("nameservers", _is_address, "use an IP address"),),
    "core.v1.PodOS": (require("name"), choose("name", "linux windows")),
    "core.v1.PodReadinessGate": (require("conditionType"), check("conditionType", names.is_label_key, names.KEY_RULE)),
    "core.v1.PodSchedulingGate": (require("name"), check("name", names.is_label_key, names.KEY_RULE)),
    "core.v1.PodSecurityContext": (_USER, choose("fsGroupChangePolicy", "Always OnRootMismatch")),
    "core.v1.PodSpec": (
        forbid("ephemeralContainers"),
        repeat_none("volumes", "name"),
        repeat_none("initContainers containers", "name"),
        repeat_none("containers.ports", *_HOST_PORTS),
        repeat_none("schedulingGates", "name"),
        repeat_none("topologySpreadConstraints", "topologyKey", "whenUnsatisfiable"),
        choose_field("schedulingGates nodeName", least=0),
        check_labels("nodeSelector"),
        check("hostname subdomain", names.is_namespace, names.NAMESPACE_RULE),
        check("nodeName runtimeClassName", names.is_object_name, names.OBJECT_RULE),
        bound("activeDeadlineSeconds", 1, _LARGEST_NUMBER),
        choose("dnsPolicy", "ClusterFirst ClusterFirstWithHostNet Default None"),
        choose("preemptionPolicy", "Never PreemptLowerPriority"),
        choose("restartPolicy", "Always OnFailure Never"),
        when("dnsPolicy=None", require("dnsConfig"), within("dnsConfig", require("nameservers"))),
        when(
            "restartPolicy=Never",
            choose("initContainers.resizePolicy.restartPolicy containers.resizePolicy.restartPolicy", "NotRequired"),
        ),
        when("hostNetwork=True", _find_different_host_ports),
        when("hostPID=True", forbid("shareProcessNamespace")),
        when("hostUsers=False", forbid("hostNetwork hostPID hostIPC")),
        within(
            "initContainers",
            when("restartPolicy=|Never|OnFailure", forbid(f"lifecycle {_PROBES}")),
            repeat_none("ports", *_HOST_PORTS),
        ),
        _find_long_sleeps,
    ),
    "core.v1.PreferredSchedulingTerm": _WEIGHT,
    "core.v1.Probe": (
        choose_field("exec grpc httpGet tcpSocket"),
        bound("initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold", 0, _LARGEST_NUMBER),
    ),
    "core.v1.ProjectedVolumeSource": (
        _MODE,
        repeat_none("sources.secret.items sources.configMap.items sources.downwardAPI.items", "path"),
    ),
    "core.v1.ResourceFieldSelector": (
        require("resource"),
        check("resource", _RESOURCE_FIELD.fullmatch, "use limits or requests, such as limits.cpu"),
        when("resource=limits.cpu|requests.cpu", check("divisor", _is_part, "use 1m or 1", (int, float, str))),
        when(
            "resource=limits.memory|requests.memory|limits.ephemeral-storage|requests.ephemeral-storage",
            check("divisor", _is_unit, "use a unit, such as 1Mi", (int, float, str)),
        ),
    ),
    "core.v1.ResourceRequirements": (_find_wrong_resources, _find_small_limits),
    "core.v1.SeccompProfile": _PROFILE,
    "core.v1.SecretEnvSource": (require("name"), _OBJECT_NAME),
    "core.v1.SecretKeySelector": _DATA_KEY,
    "core.v1.SecretVolumeSource": (require("secretName"), _MODE),
    "core.v1.SecurityContext": (
        _USER,
        choose("procMount", "Default Unmasked"),
        when("allowPrivilegeEscalation=False", forbid("privileged")),
    ),
    "core.v1.ServiceAccountTokenProjection": (*_FILE, bound("expirationSeconds", 600, 2**32)),
    "core.v1.Sysctl": (require("name"), check("name", _SYSCTL.fullmatch, "use the name of a kernel parameter")),
    "core.v1.TCPSocketAction": _HANDLER_PORT,
    "core.v1.Toleration": (
        check("key", names.is_label_key, names.KEY_RULE),
        choose("operator", "Equal Exists Gt Lt"),
        choose("effect", "NoSchedule PreferNoSchedule NoExecute"),
        when("operator=|Equal", require("key"), check("value", names.is_label_value, names.LABEL_RULE)),
        when("operator=Exists", forbid("value")),
        when("effect=|NoSchedule|PreferNoSchedule", forbid("tolerationSeconds")),
    ),
    "core.v1.TopologySpreadConstraint": (
        *_TOPOLOGY,
        require("maxSkew whenUnsatisfiable"),
        bound("maxSkew", 1, _LARGEST_NUMBER),
        choose("whenUnsatisfiable", "DoNotSchedule ScheduleAnyway"),
    ),
    "core.v1.Volume": (require("name"), _NAME, choose_field(_list_fields("core.v1.Volume", "name"), least=0)),
    "core.v1.VolumeMount": (
        require("name mountPath"),
        check("subPath subPathExpr", _is_inner_path, _PATH_RULE),
        choose_field("subPath subPathExpr", least=0),
        choose("mountPropagation", "Bidirectional HostToContainer None"),
    ),
    "core.v1.VolumeProjection": (choose_field(_list_fields("core.v1.VolumeProjection"), least=0),),
    "core.v1.WeightedPodAffinityTerm": _WEIGHT,
    "meta.v1.LabelSelector": (check_labels("matchLabels"),),
    "meta.v1.LabelSelectorRequirement": (*_SELECTION, choose("operator", "In NotIn Exists DoesNotExist")),
}
