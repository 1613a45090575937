"""Validation of scheduling fields, with the messages of the API server."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..kinds.status import Cause
from .rules import (
    build_duplicate_cause,
    build_forbidden_cause,
    build_invalid_cause,
    build_required_cause,
    find_choice_causes,
    find_label_value_problems,
    find_labels_causes,
    find_qualified_causes,
    find_subdomain_causes,
)

Spec = Mapping[str, Any]

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MANY, _NONE, _ONE = ("In", "NotIn"), ("Exists", "DoesNotExist"), ("Gt", "Lt")


def find_scheduling_causes(spec: Spec, place: str) -> Iterator[Cause]:
    """Return the errors in a pod's requirements on its node."""
    yield from find_labels_causes((spec.get("nodeSelector") or {}).items(), f"{place}.nodeSelector")
    gates = spec.get("schedulingGates") or []
    if spec.get("nodeName"):
        yield from find_subdomain_causes(spec["nodeName"], f"{place}.nodeName")
        if gates:
            yield build_forbidden_cause(
                f"{place}.nodeName", "cannot be set until all schedulingGates have been cleared"
            )
    names: list[str] = []
    for index, gate in enumerate(gates):
        name = gate.get("name") or ""
        yield from find_qualified_causes(name, f"{place}.schedulingGates[{index}]")
        if name in names:
            yield build_duplicate_cause(f"{place}.schedulingGates[{index}]", name)
        names.append(name)
    for index, toleration in enumerate(spec.get("tolerations") or []):
        yield from _find_toleration_causes(toleration, f"{place}.tolerations[{index}]")
    for index, gate in enumerate(spec.get("readinessGates") or []):
        yield from find_qualified_causes(
            gate.get("conditionType") or "", f"{place}.readinessGates[{index}].conditionType"
        )
    yield from _find_affinity_causes(spec.get("affinity") or {}, f"{place}.affinity")
    yield from _find_spread_causes(spec.get("topologySpreadConstraints") or [], f"{place}.topologySpreadConstraints")


def _find_toleration_causes(toleration: Spec, place: str) -> Iterator[Cause]:
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    value, effect = toleration.get("value") or "", toleration.get("effect") or ""
    if key:
        yield from find_qualified_causes(key, f"{place}.key")
    elif operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield build_invalid_cause(f"{place}.operator", operator, detail)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield build_invalid_cause(
            f"{place}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"
        )
    if operator in ("", "Equal"):
        yield from (build_invalid_cause(f"{place}.operator", value, why) for why in find_label_value_problems(value))
    elif operator != "Exists":
        yield from find_choice_causes(operator, ("Equal", "Exists"), f"{place}.operator")
    elif value:
        yield build_invalid_cause(f"{place}.operator", value, "value must be empty when `operator` is 'Exists'")
    if effect:
        yield from find_choice_causes(effect, _EFFECTS, f"{place}.effect")


def _find_affinity_causes(affinity: Spec, place: str) -> Iterator[Cause]:
    nodes = affinity.get("nodeAffinity") or {}
    if nodes.get(_REQUIRED) is not None:
        here = f"{place}.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
        terms = nodes[_REQUIRED].get("nodeSelectorTerms") or []
        if not terms:
            yield build_required_cause(here, "must have at least one node selector term")
        for index, term in enumerate(terms):
            yield from _find_term_causes(term, f"{here}[{index}]")
    for index, preferred in enumerate(nodes.get(_PREFERRED) or []):
        here = f"{place}.nodeAffinity.{_PREFERRED}[{index}]"
        yield from _find_weight_causes(preferred, here)
        yield from _find_term_causes(preferred.get("preference") or {}, f"{here}.preference")
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(kind) or {}
        for index, term in enumerate(pods.get(_REQUIRED) or []):
            yield from _find_topology_causes(term, f"{place}.{kind}.{_REQUIRED}[{index}]")
        for index, preferred in enumerate(pods.get(_PREFERRED) or []):
            here = f"{place}.{kind}.{_PREFERRED}[{index}]"
            yield from _find_weight_causes(preferred, here)
            yield from _find_topology_causes(preferred.get("podAffinityTerm") or {}, f"{here}.podAffinityTerm")


def _find_weight_causes(preferred: Spec, place: str) -> Iterator[Cause]:
    weight = preferred.get("weight") or 0
    if not 1 <= weight <= 100:
        yield build_invalid_cause(f"{place}.weight", weight, "must be in the range 1-100")


def _find_term_causes(term: Spec, place: str) -> Iterator[Cause]:
    for index, expression in enumerate(term.get("matchExpressions") or []):
        here, operator = f"{place}.matchExpressions[{index}]", expression.get("operator") or ""
        values = expression.get("values") or []
        if operator in _MANY and not values:
            yield build_required_cause(f"{here}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in _NONE and values:
            yield build_forbidden_cause(
                f"{here}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            )
        elif operator in _ONE and len(values) != 1:
            yield build_required_cause(
                f"{here}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'"
            )
        elif operator not in (*_MANY, *_NONE, *_ONE):
            yield build_invalid_cause(f"{here}.operator", operator, "not a valid selector operator")
        yield from find_qualified_causes(expression.get("key") or "", f"{here}.key")


def _find_topology_causes(term: Spec, place: str) -> Iterator[Cause]:
    key = term.get("topologyKey") or ""
    if not key:
        yield build_required_cause(f"{place}.topologyKey", "can not be empty")
    yield from find_qualified_causes(key, f"{place}.topologyKey")


def _find_spread_causes(constraints: list[Spec], place: str) -> Iterator[Cause]:
    seen: list[tuple[str, str]] = []
    for index, constraint in enumerate(constraints):
        here, key = f"{place}[{index}]", constraint.get("topologyKey") or ""
        skew, otherwise = constraint.get("maxSkew") or 0, constraint.get("whenUnsatisfiable") or ""
        if skew <= 0:
            yield build_invalid_cause(f"{here}.maxSkew", skew, "must be greater than zero")
        if not key:
            yield build_required_cause(f"{here}.topologyKey", "can not be empty")
        yield from find_choice_causes(otherwise, ("DoNotSchedule", "ScheduleAnyway"), f"{here}.whenUnsatisfiable")
        if (key, otherwise) in seen:
            yield build_duplicate_cause(f"{here}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {otherwise}}}")
        seen.append((key, otherwise))
