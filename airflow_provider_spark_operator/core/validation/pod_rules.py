"""Find values in pods that break the rules of the API server, which are a table by Kubernetes type."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from ipaddress import ip_address
from typing import Any, Final, TypeAlias

from airflow_provider_spark_operator.core.json_object import is_integer
from airflow_provider_spark_operator.core.kubernetes_names import (
    DATA_KEY_RULE,
    KEY_RULE,
    NAMESPACE_RULE,
    OBJECT_RULE,
    is_data_key,
    is_label_key,
    is_namespace,
    is_object_name,
)
from airflow_provider_spark_operator.core.models.parse import format_path, name_type
from airflow_provider_spark_operator.core.pods import get_object
from airflow_provider_spark_operator.core.problems import Problem
from airflow_provider_spark_operator.core.quantities import is_quantity, parse_quantity
from airflow_provider_spark_operator.core.validation.kubernetes_fields import KUBERNETES_FIELDS
from airflow_provider_spark_operator.core.validation.metadata import find_map_problems, find_metadata_problems

Location: TypeAlias = tuple[str | int, ...]
_Rule: TypeAlias = Callable[[Mapping[str, Any], Location], Iterator[Problem]]

_LARGEST_PORT: Final = 65535
_LARGEST_MODE: Final = 0o777
_PORT: Final = re.compile(r"(?=[-0-9]*[a-z])(?!.*--)[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?")
_PORT_RULE: Final = "use at most 15 lowercase letters, digits and '-', with a letter and without '--'"
_PORT_NUMBER_RULE: Final = f"use a number from 1 to {_LARGEST_PORT}"
_MODE_RULE: Final = "use a number from 0 to 0777 (octal)"
_NUMBER_RULE: Final = "use a number that is not negative"
_PATH_RULE: Final = "use a relative path without '..'"
_VARIABLE_RULE: Final = "use printable ASCII characters without '='"
# The classes of JSON values of each type, and the type in words. A type that is not listed is an object.
_SHAPES: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "[": ((list, tuple), "a list"),
    "{": ((Mapping,), "an object"),
    "string": ((str,), "a string"),
    "boolean": ((bool,), "true or false"),
    "int32": ((int,), "an integer"),
    "int64": ((int,), "an integer"),
    "int-or-string": ((int, str), "an integer or a string"),
    "quantity": ((int, float, str), "a quantity"),
}


def find_value_problems(value: object, type_name: str, location: Location) -> Iterator[Problem]:
    """Find what the API server rejects in a value of a Kubernetes type. Unknown fields are left out.

    The errors are admissible, because an admission policy of the cluster can change the pod.

    Args:
        value: The value. Null counts as missing.
        type_name: The type, for example `core.v1.PodTemplateSpec`, or `[core.v1.Container]` for a list.
        location: The position of the value in the document.
    """
    if value is None:
        return
    name = type_name.strip("[]{}")
    shape = name if name == type_name else type_name[0]
    classes, words = _SHAPES.get(shape, _SHAPES["{"])
    if not isinstance(value, classes) or (isinstance(value, bool) and shape != "boolean"):
        advice = ": put it in quotes" if shape == "string" else ""
        yield _report(location, f"must be {words}, not {name_type(value)}{advice}")
    elif shape == "quantity" and not is_quantity(value):
        yield _report(location, f"{value!r} is not a quantity, such as 500m, 2 or 1.5Gi")
    elif isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            yield from find_value_problems(entry, name, (*location, index))
    elif isinstance(value, Mapping) and shape == "{":
        for key, entry in value.items():
            yield from find_value_problems(entry, name, (*location, key))
    elif isinstance(value, Mapping):
        yield from _find_object_problems(value, name, location)


def _find_object_problems(value: Mapping[str, Any], name: str, location: Location) -> Iterator[Problem]:
    if name == "meta.v1.ObjectMeta":
        yield from find_metadata_problems(value, location, admissible=True)
        return
    for rule in _RULES.get(name, ()):
        yield from rule(value, location)
    fields = KUBERNETES_FIELDS[name]
    for key, inner in value.items():
        if key in fields:
            yield from find_value_problems(inner, fields[key], (*location, key))


def _report(location: Location, message: str) -> Problem:
    return Problem(format_path(location), message, admissible=True)


def _require(names: str) -> _Rule:
    """Return the rule that an object has these fields, and that they are neither empty nor 0."""

    def find(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
        for name in names.split():
            if not value.get(name):
                yield _report((*location, name), "must not be 0" if value.get(name) == 0 else "is required")

    return find


def _check(name: str, is_valid: Callable[[Any], bool], rule: str, kinds: type | tuple[type, ...] = str) -> _Rule:
    """Return the rule that a field, or each entry of a list or an object in it, is missing, empty, 0 or valid.

    Values of other classes than `kinds` are left out: `find_value_problems` reports them.
    """

    def find(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
        for place, each in _list_values(value.get(name)):
            if each and isinstance(each, kinds) and not isinstance(each, bool) and not is_valid(each):
                yield _report((*location, name, *place), f"{each!r} is not valid: {rule}")

    return find


def _list_values(given: object) -> list[tuple[Location, Any]]:
    """Return a value, or each entry of a list or an object, with its position in the value."""
    if isinstance(given, Mapping):
        return [((key,), entry) for key, entry in given.items()]
    if isinstance(given, list):
        return [((index,), entry) for index, entry in enumerate(given)]
    return [((), given)]


def _choose(name: str, words: str) -> _Rule:
    """Return the rule that a field has one of these values."""
    return _check(name, words.split().__contains__, f"use {', '.join(words.split()[:-1])} or {words.split()[-1]}")


def _choose_field(names: str, least: int = 1) -> _Rule:
    """Return the rule that an object has one of these fields, or none if `least` is 0."""

    def find(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
        found = [name for name in names.split() if value.get(name) not in (None, "")]
        if len(found) < least:
            yield _report(location, f"is incomplete: set one of the fields {', '.join(names.split())}")
        for name in found[1:]:
            yield _report((*location, name), f"cannot be set in addition to {found[0]}: remove one of them")

    return find


def _repeat_none(lists: str, name: str) -> _Rule:
    """Return the rule that the entries of these lists have different values in a field."""

    def find(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
        known: dict[str, Location] = {}
        for field in lists.split():
            entries = value.get(field)
            for index, entry in enumerate(entries if isinstance(entries, list | tuple) else ()):
                text, place = get_object(entry).get(name), (*location, field, index, name)
                if isinstance(text, str) and text in known:
                    yield _report(place, f"repeats {format_path(known[text])}, {text!r}: remove or change one of them")
                elif isinstance(text, str):
                    known[text] = place

    return find


def _label(name: str) -> _Rule:
    """Return the rule that an object in a field consists of labels."""

    def find(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
        texts = {key: text for key, text in get_object(value.get(name)).items() if isinstance(text, str)}
        yield from (replace(each, admissible=True) for each in find_map_problems(name, texts, location))

    return find


def _find_small_limits(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
    limits = get_object(value.get("limits"))
    for name, given in get_object(value.get("requests")).items():
        request, limit = parse_quantity(given), parse_quantity(limits.get(name))
        if "/" in name and request != limit:
            yield _report((*location, "limits", name), f"must be the request, {given}: devices cannot be shared")
        elif is_quantity(limits.get(name)) and request > limit:
            message = f"is {given}, more than the limit {limits[name]}: reduce the request, or raise the limit"
            yield _report((*location, "requests", name), message)


def _find_missing_values(value: Mapping[str, Any], location: Location) -> Iterator[Problem]:
    if value.get("operator") in ("In", "NotIn") and not value.get("values"):
        yield _report((*location, "values"), f"is required with the operator {value['operator']}")


def _is_not_negative(quantity: object) -> bool:
    return parse_quantity(quantity) >= 0


def _is_port(port: object) -> bool:
    return 1 <= port <= _LARGEST_PORT if is_integer(port) else _PORT.fullmatch(str(port)) is not None


def _is_mode(mode: int) -> bool:
    return 0 <= mode <= _LARGEST_MODE


def _is_inner_path(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def _is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def _is_variable_name(name: str) -> bool:
    return name.isascii() and name.isprintable() and "=" not in name


_NAME: Final = _check("name", is_namespace, NAMESPACE_RULE)
_OBJECT_NAME: Final = _check("name", is_object_name, OBJECT_RULE)
_HANDLER_PORT: Final = (_require("port"), _check("port", _is_port, _PORT_NUMBER_RULE, (int, str)))
_SELECTION: Final = (_require("key operator"), _find_missing_values)
_TOPOLOGY: Final = (_require("topologyKey"), _check("topologyKey", is_label_key, KEY_RULE))
_DATA_KEY: Final = (_require("name key"), _OBJECT_NAME, _check("key", is_data_key, DATA_KEY_RULE))
_FILE: Final = (
    _require("path"),
    _check("path", _is_inner_path, _PATH_RULE),
    _check("mode", _is_mode, _MODE_RULE, int),
)
_DEFAULT_MODE: Final = _check("defaultMode", _is_mode, _MODE_RULE, int)
_WEIGHT: Final = (
    _require("weight"),
    _check("weight", lambda weight: 1 <= weight <= 100, "use a number from 1 to 100", int),
)
_SECCOMP: Final = _choose("type", "Localhost RuntimeDefault Unconfined")


def _list_fields(type_name: str, *others: str) -> str:
    return " ".join(name for name in KUBERNETES_FIELDS[type_name] if name not in others)


_RULES: Final[Mapping[str, tuple[_Rule, ...]]] = {
    "core.v1.ConfigMapEnvSource": (_require("name"), _OBJECT_NAME),
    "core.v1.ConfigMapKeySelector": _DATA_KEY,
    "core.v1.ConfigMapVolumeSource": (_require("name"), _DEFAULT_MODE),
    "core.v1.Container": (
        _NAME,
        _repeat_none("ports", "name"),
        _repeat_none("volumeMounts", "mountPath"),
        _check("image", lambda image: image == image.strip(), "remove the white space"),
        _choose("imagePullPolicy", "Always IfNotPresent Never"),
        _choose("restartPolicy", "Always Never OnFailure"),
        _choose("terminationMessagePolicy", "File FallbackToLogsOnError"),
    ),
    "core.v1.ContainerPort": (
        _require("containerPort"),
        _check("containerPort", _is_port, _PORT_NUMBER_RULE, int),
        _check("hostPort", _is_port, _PORT_NUMBER_RULE, int),
        _check("name", _is_port, _PORT_RULE),
        _choose("protocol", "SCTP TCP UDP"),
    ),
    "core.v1.DownwardAPIVolumeFile": (*_FILE, _choose_field("fieldRef resourceFieldRef")),
    "core.v1.EnvFromSource": (
        _choose_field("configMapRef secretRef"),
        _check("prefix", _is_variable_name, _VARIABLE_RULE),
    ),
    "core.v1.EnvVar": (
        _require("name"),
        _check("name", _is_variable_name, _VARIABLE_RULE),
        _choose_field("value valueFrom", least=0),
    ),
    "core.v1.EnvVarSource": (_choose_field(_list_fields("core.v1.EnvVarSource")),),
    "core.v1.ExecAction": (_require("command"),),
    "core.v1.GRPCAction": _HANDLER_PORT,
    "core.v1.HTTPGetAction": (*_HANDLER_PORT, _choose("scheme", "HTTP HTTPS")),
    "core.v1.HostAlias": (
        _require("ip"),
        _check("ip", _is_address, "use an IP address"),
        _check("hostnames", is_object_name, OBJECT_RULE),
    ),
    "core.v1.HostPathVolumeSource": (_require("path"),),
    "core.v1.KeyToPath": (_require("key"), *_FILE),
    "core.v1.LifecycleHandler": (_choose_field(_list_fields("core.v1.LifecycleHandler")),),
    "core.v1.NodeSelector": (_require("nodeSelectorTerms"),),
    "core.v1.NodeSelectorRequirement": (*_SELECTION, _choose("operator", "In NotIn Exists DoesNotExist Gt Lt")),
    "core.v1.ObjectFieldSelector": (_require("fieldPath"),),
    "core.v1.PersistentVolumeClaimVolumeSource": (_require("claimName"),),
    "core.v1.PodAffinityTerm": _TOPOLOGY,
    "core.v1.PodDNSConfig": (_check("nameservers", _is_address, "use an IP address"),),
    "core.v1.PodSecurityContext": (
        _check("fsGroup", _is_not_negative, _NUMBER_RULE, int),
        _check("runAsUser", _is_not_negative, _NUMBER_RULE, int),
        _check("runAsGroup", _is_not_negative, _NUMBER_RULE, int),
        _choose("fsGroupChangePolicy", "Always OnRootMismatch"),
    ),
    "core.v1.PodSpec": (
        _repeat_none("volumes", "name"),
        _repeat_none("initContainers containers", "name"),
        _label("nodeSelector"),
        _check("hostname", is_namespace, NAMESPACE_RULE),
        _check("subdomain", is_namespace, NAMESPACE_RULE),
        _check("nodeName", is_object_name, OBJECT_RULE),
        _choose("dnsPolicy", "ClusterFirst ClusterFirstWithHostNet Default None"),
        _choose("restartPolicy", "Always OnFailure Never"),
    ),
    "core.v1.PreferredSchedulingTerm": _WEIGHT,
    "core.v1.Probe": (_choose_field("exec grpc httpGet tcpSocket"),),
    "core.v1.ResourceFieldSelector": (_require("resource"),),
    "core.v1.ResourceRequirements": (
        _find_small_limits,
        _check("requests", _is_not_negative, _NUMBER_RULE, (int, float, str)),
        _check("limits", _is_not_negative, _NUMBER_RULE, (int, float, str)),
    ),
    "core.v1.SeccompProfile": (_require("type"), _SECCOMP),
    "core.v1.SecretEnvSource": (_require("name"), _OBJECT_NAME),
    "core.v1.SecretKeySelector": _DATA_KEY,
    "core.v1.SecretVolumeSource": (_require("secretName"), _DEFAULT_MODE),
    "core.v1.SecurityContext": (
        _check("runAsUser", _is_not_negative, _NUMBER_RULE, int),
        _check("runAsGroup", _is_not_negative, _NUMBER_RULE, int),
    ),
    "core.v1.ServiceAccountTokenProjection": _FILE,
    "core.v1.TCPSocketAction": _HANDLER_PORT,
    "core.v1.Toleration": (
        _check("key", is_label_key, KEY_RULE),
        _choose("operator", "Equal Exists Gt Lt"),
        _choose("effect", "NoSchedule PreferNoSchedule NoExecute"),
    ),
    "core.v1.TopologySpreadConstraint": (
        *_TOPOLOGY,
        _require("maxSkew whenUnsatisfiable"),
        _choose("whenUnsatisfiable", "DoNotSchedule ScheduleAnyway"),
    ),
    "core.v1.Volume": (_require("name"), _NAME, _choose_field(_list_fields("core.v1.Volume", "name"), least=0)),
    "core.v1.VolumeMount": (
        _require("name mountPath"),
        _check("subPath", _is_inner_path, _PATH_RULE),
        _check("subPathExpr", _is_inner_path, _PATH_RULE),
        _choose_field("subPath subPathExpr", least=0),
        _choose("mountPropagation", "Bidirectional HostToContainer None"),
    ),
    "core.v1.VolumeProjection": (_choose_field(_list_fields("core.v1.VolumeProjection"), least=0),),
    "core.v1.WeightedPodAffinityTerm": _WEIGHT,
    "meta.v1.LabelSelector": (_label("matchLabels"),),
    "meta.v1.LabelSelectorRequirement": (*_SELECTION, _choose("operator", "In NotIn Exists DoesNotExist")),
}
