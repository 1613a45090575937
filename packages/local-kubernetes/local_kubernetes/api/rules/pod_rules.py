"""Validation of a pod's specification, with the messages of the API server.

It has rules for what the local node does, such as containers, volumes and variables. Other fields have no rules.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..kinds.status import Cause
from .container_rules import find_containers_causes
from .resource_rules import find_resources_causes
from .rules import (
    build_invalid_cause,
    build_required_cause,
    find_choice_causes,
    find_label_problems,
    find_labels_causes,
    find_range_causes,
    find_subdomain_causes,
)
from .volume_rules import find_volume_causes

Spec = Mapping[str, Any]

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_MAX_SECONDS = 2**31 - 1


def find_pod_spec_causes(spec: object, path: str = "spec") -> list[Cause]:
    """Return all errors in a pod's specification."""
    if not isinstance(spec, dict):
        return [build_required_cause(f"{path}.containers")]
    causes = [] if spec.get("containers") else [build_required_cause(f"{path}.containers")]
    return [
        *causes,
        *_find_own_causes(spec, path),
        *find_volume_causes(spec.get("volumes") or [], f"{path}.volumes"),
        *find_containers_causes(spec, path),
        *find_resources_causes(spec.get("resources") or {}, f"{path}.resources"),
    ]


def _find_own_causes(spec: Spec, path: str) -> Iterator[Cause]:
    if spec.get("restartPolicy"):
        yield from find_choice_causes(spec["restartPolicy"], _RESTART_POLICIES, f"{path}.restartPolicy")
    if spec.get("activeDeadlineSeconds") is not None:
        yield from find_range_causes(spec["activeDeadlineSeconds"], 1, _MAX_SECONDS, f"{path}.activeDeadlineSeconds")
    for field in ("hostname", "subdomain"):
        name = spec.get(field)
        if name:
            yield from (build_invalid_cause(f"{path}.{field}", name, why) for why in find_label_problems(name))
    yield from find_labels_causes((spec.get("nodeSelector") or {}).items(), f"{path}.nodeSelector")
    if spec.get("nodeName"):
        yield from find_subdomain_causes(spec["nodeName"], f"{path}.nodeName")
