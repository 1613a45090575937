"""Validation of kinds other than pods, with the messages of the API server."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..kinds import kinds
from ..kinds.quantities import parse_quantity
from ..kinds.status import Cause
from .rules import (
    build_forbidden_cause,
    build_invalid_cause,
    build_required_cause,
    find_choice_causes,
    find_config_key_problems,
    find_label_problems,
    find_labels_causes,
    find_natural_causes,
)
from .service_rules import find_service_causes

Part = Mapping[str, Any]

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_PERCENT = re.compile(r"[0-9]+%")
_PERCENT_RULE = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
_ROLES_EVERYWHERE = ("ClusterRole",)
_MAX_PRIORITY = 1_000_000_000
_SYSTEM_PREFIX = "system-"
_KEYS_OF_TYPES: Mapping[str, tuple[str, ...]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_EITHER_OF_TYPES: Mapping[str, tuple[str, ...]] = {"kubernetes.io/basic-auth": ("username", "password")}


def find_kind_causes(kind: kinds.Kind, document: Part) -> list[Cause]:
    """Return the errors in a document of a kind; `pod_rules` validates pods."""
    judge = _RULES.get(kind.key)
    return list(judge(document)) if judge is not None else []


def find_stateful_set_causes(spec: Part) -> Iterator[Cause]:
    """Return the errors in a StatefulSet's specification, except for its template and its replicas."""
    template = (spec.get("template") or {}).get("spec") or {}
    if template.get("restartPolicy"):
        yield from find_choice_causes(template["restartPolicy"], ("Always",), "spec.template.spec.restartPolicy")
    if template.get("activeDeadlineSeconds") is not None:
        detail = "activeDeadlineSeconds in StatefulSet is not Supported"
        yield build_forbidden_cause("spec.template.spec.activeDeadlineSeconds", detail)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    yield from find_labels_causes(labels.items(), "spec.template.labels")
    if spec.get("podManagementPolicy") not in (None, "", "OrderedReady", "Parallel"):
        detail = "must be 'OrderedReady' or 'Parallel'"
        yield build_invalid_cause("spec.podManagementPolicy", spec["podManagementPolicy"], detail)
    yield from _find_strategy_causes(spec.get("updateStrategy") or {})
    yield from find_natural_causes(spec.get("minReadySeconds") or 0, "spec.minReadySeconds")
    yield from find_natural_causes((spec.get("ordinals") or {}).get("start") or 0, "spec.ordinals.start")
    if spec.get("serviceName"):
        yield from (
            build_invalid_cause("spec.serviceName", spec["serviceName"], why)
            for why in find_label_problems(spec["serviceName"])
        )
    for field, policy in (spec.get("persistentVolumeClaimRetentionPolicy") or {}).items():
        place = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
        yield from find_choice_causes(policy, ("Retain", "Delete"), place)


def _find_strategy_causes(strategy: Part) -> Iterator[Cause]:
    if strategy.get("type") not in (None, "", "OnDelete", "RollingUpdate"):
        yield build_invalid_cause("spec.updateStrategy", strategy["type"], "must be 'RollingUpdate' or 'OnDelete'")
    partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
    yield from find_natural_causes(partition, "spec.updateStrategy.rollingUpdate.partition")


def _find_secret_causes(secret: Part) -> Iterator[Cause]:
    data = secret.get("data") or {}
    for key in data:
        yield from (build_invalid_cause(f"data[{key}]", key, why) for why in find_config_key_problems(key))
    kind = secret.get("type") or ""
    for key in _KEYS_OF_TYPES.get(kind, ()):
        if key not in data:
            yield build_required_cause(f"data[{key}]")
    either = _EITHER_OF_TYPES.get(kind, ())
    if either and not data.keys() & set(either):
        yield from (build_required_cause(f"data[{key}]") for key in either)
    annotations = (secret.get("metadata") or {}).get("annotations") or {}
    if kind == "kubernetes.io/service-account-token" and not annotations.get("kubernetes.io/service-account.name"):
        yield build_required_cause("metadata.annotations[kubernetes.io/service-account.name]")


def _find_claim_causes(claim: Part) -> Iterator[Cause]:
    spec = claim.get("spec") or {}
    modes = spec.get("accessModes") or []
    if not modes:
        yield build_required_cause("spec.accessModes", "at least 1 access mode is required")
    for mode in modes:
        yield from find_choice_causes(mode, _ACCESS_MODES, "spec.accessModes")
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        yield build_required_cause("spec.resources[storage]")
    elif parse_quantity(storage) <= 0:
        yield build_invalid_cause("spec.resources[storage]", storage, "must be greater than zero")


def _find_budget_causes(budget: Part) -> Iterator[Cause]:
    spec = budget.get("spec") or {}
    given = [field for field in ("minAvailable", "maxUnavailable") if spec.get(field) is not None]
    if len(given) > 1:
        yield build_invalid_cause("spec", dict(spec), "minAvailable and maxUnavailable cannot be both set")
    for field in given:
        value = spec[field]
        if isinstance(value, int):
            yield from find_natural_causes(value, f"spec.{field}")
        elif _PERCENT.fullmatch(value) is None:
            yield build_invalid_cause(f"spec.{field}", value, _PERCENT_RULE)


def _find_autoscaler_causes(autoscaler: Part) -> Iterator[Cause]:
    spec = autoscaler.get("spec") or {}
    least, most, target = spec.get("minReplicas"), spec.get("maxReplicas") or 0, spec.get("scaleTargetRef") or {}
    if least is not None and least < 1:
        yield build_invalid_cause("spec.minReplicas", least, "must be greater than or equal to 1")
    if most == 0:
        yield build_required_cause("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        yield build_invalid_cause("spec.maxReplicas", most, "must be greater than or equal to 1")
    if most < (1 if least is None else least):
        yield build_invalid_cause("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    for field in ("kind", "name"):
        if not target.get(field):
            yield build_required_cause(f"spec.scaleTargetRef.{field}")
    if "/" not in (target.get("apiVersion") or ""):
        place = "spec.scaleTargetRef.apiVersion"
        yield build_invalid_cause(place, target.get("apiVersion") or "", "apiVersion must specify API group")


def _find_role_causes(role: Part) -> Iterator[Cause]:
    for index, rule in enumerate(role.get("rules") or []):
        place = f"rules[{index}]"
        if not rule.get("verbs"):
            yield build_required_cause(f"{place}.verbs", "verbs must contain at least one value")
        if rule.get("nonResourceURLs"):
            continue
        if not rule.get("apiGroups"):
            yield build_required_cause(f"{place}.apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            yield build_required_cause(f"{place}.resources", "resource rules must supply at least one resource")


def _find_binding_causes(binding: Part, kinds_of_roles: tuple[str, ...]) -> Iterator[Cause]:
    role = binding.get("roleRef") or {}
    yield from find_choice_causes(role.get("kind") or "", kinds_of_roles, "roleRef.kind")
    if not role.get("name"):
        yield build_required_cause("roleRef.name")
    for index, subject in enumerate(binding.get("subjects") or []):
        place, kind = f"subjects[{index}]", subject.get("kind") or ""
        if not subject.get("name"):
            yield build_required_cause(f"{place}.name")
        yield from find_choice_causes(kind, ("ServiceAccount", "User", "Group"), f"{place}.kind")
        if kind == "ServiceAccount" and not subject.get("namespace") and kinds_of_roles == _ROLES_EVERYWHERE:
            yield build_required_cause(f"{place}.namespace")


def _find_priority_class_causes(priority_class: Part) -> Iterator[Cause]:
    name = (priority_class.get("metadata") or {}).get("name") or ""
    if not name.startswith(_SYSTEM_PREFIX) and (priority_class.get("value") or 0) > _MAX_PRIORITY:
        yield build_forbidden_cause("value", f"maximum allowed value of a user defined priority is {_MAX_PRIORITY}")


_RULES: Mapping[tuple[str, str], Callable[[Part], Iterator[Cause]]] = {
    kinds.CLUSTER_ROLES.key: _find_role_causes,
    kinds.CLUSTER_ROLE_BINDINGS.key: lambda binding: _find_binding_causes(binding, _ROLES_EVERYWHERE),
    kinds.HORIZONTAL_POD_AUTOSCALERS.key: _find_autoscaler_causes,
    kinds.PERSISTENT_VOLUME_CLAIMS.key: _find_claim_causes,
    kinds.POD_DISRUPTION_BUDGETS.key: _find_budget_causes,
    kinds.PRIORITY_CLASSES.key: _find_priority_class_causes,
    kinds.ROLES.key: _find_role_causes,
    kinds.ROLE_BINDINGS.key: lambda binding: _find_binding_causes(binding, ("Role", "ClusterRole")),
    kinds.SECRETS.key: _find_secret_causes,
    kinds.SERVICES.key: lambda service: find_service_causes(service["spec"]),
}
