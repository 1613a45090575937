"""Validation of a pod's specification, with the messages of the API server."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..kinds.status import Cause
from .container_rules import find_containers_causes
from .resource_rules import find_resources_causes
from .rules import (
    build_forbidden_cause,
    build_invalid_cause,
    build_required_cause,
    find_address_causes,
    find_choice_causes,
    find_label_problems,
    find_range_causes,
    find_subdomain_causes,
)
from .scheduling_rules import find_scheduling_causes
from .security_rules import find_pod_security_causes
from .volume_rules import find_volume_causes

Spec = Mapping[str, Any]

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "dnsPolicy": ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
}
_MAX_SECONDS = 2**31 - 1


def find_pod_spec_causes(spec: object, path: str = "spec") -> list[Cause]:
    """Return all errors in a pod's specification."""
    if not isinstance(spec, dict):
        return [build_required_cause(f"{path}.containers")]
    causes = [] if spec.get("containers") else [build_required_cause(f"{path}.containers")]
    return [
        *causes,
        *_find_own_causes(spec, path),
        *_find_name_causes(spec, path),
        *find_scheduling_causes(spec, path),
        *find_pod_security_causes(spec, path),
        *find_volume_causes(spec.get("volumes") or [], f"{path}.volumes"),
        *find_containers_causes(spec, path),
        *find_resources_causes(spec.get("resources") or {}, f"{path}.resources", ()),
    ]


def _find_own_causes(spec: Spec, path: str) -> Iterator[Cause]:
    for field, choices in _CHOICES.items():
        if spec.get(field):
            yield from find_choice_causes(spec[field], choices, f"{path}.{field}")
    if spec.get("activeDeadlineSeconds") is not None:
        yield from find_range_causes(spec["activeDeadlineSeconds"], 1, _MAX_SECONDS, f"{path}.activeDeadlineSeconds")
    if spec.get("ephemeralContainers"):
        yield build_forbidden_cause(f"{path}.ephemeralContainers", "cannot be set on create")
    system = spec.get("os")
    if system is not None and not system.get("name"):
        yield build_required_cause(f"{path}.os.name")
    elif system is not None:
        yield from find_choice_causes(system["name"], ("linux", "windows"), f"{path}.os")


def _find_name_causes(spec: Spec, path: str) -> Iterator[Cause]:
    """Return the errors in the pod's host name, host aliases and DNS settings."""
    for field in ("hostname", "subdomain"):
        name = spec.get(field)
        if name:
            yield from (build_invalid_cause(f"{path}.{field}", name, why) for why in find_label_problems(name))
    servers = (spec.get("dnsConfig") or {}).get("nameservers") or []
    if spec.get("dnsPolicy") == "None" and spec.get("dnsConfig") is None:
        yield build_required_cause(f"{path}.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None")
    elif spec.get("dnsPolicy") == "None" and not servers:
        yield build_required_cause(f"{path}.dnsConfig.nameservers", "must provide at least one DNS nameserver")
    for index, server in enumerate(servers):
        yield from find_address_causes(server, f"{path}.dnsConfig.nameservers[{index}]")
    for index, alias in enumerate(spec.get("hostAliases") or []):
        here = f"{path}.hostAliases[{index}]"
        yield from find_address_causes(alias.get("ip") or "", f"{here}.ip")
        for number, name in enumerate(alias.get("hostnames") or []):
            yield from find_subdomain_causes(name, f"{here}.hostnames[{number}]")
