"""Validation of kinds other than pods, with the messages of the API server."""

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
    find_labels_causes,
    find_natural_causes,
)
from .service_rules import find_service_causes

Part = Mapping[str, Any]

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")


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
    yield from find_natural_causes((spec.get("ordinals") or {}).get("start") or 0, "spec.ordinals.start")


def _find_strategy_causes(strategy: Part) -> Iterator[Cause]:
    if strategy.get("type") not in (None, "", "OnDelete", "RollingUpdate"):
        yield build_invalid_cause("spec.updateStrategy", strategy["type"], "must be 'RollingUpdate' or 'OnDelete'")
    partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
    yield from find_natural_causes(partition, "spec.updateStrategy.rollingUpdate.partition")


def _find_secret_causes(secret: Part) -> Iterator[Cause]:
    for key in secret.get("data") or {}:
        yield from (build_invalid_cause(f"data[{key}]", key, why) for why in find_config_key_problems(key))


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


_RULES: Mapping[tuple[str, str], Callable[[Part], Iterator[Cause]]] = {
    kinds.PERSISTENT_VOLUME_CLAIMS.key: _find_claim_causes,
    kinds.SECRETS.key: _find_secret_causes,
    kinds.SERVICES.key: lambda service: find_service_causes(service["spec"]),
}
