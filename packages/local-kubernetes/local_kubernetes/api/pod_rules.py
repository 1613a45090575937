"""Validation of a pod's specification, with the messages of the API server."""

from collections.abc import Iterator, Mapping
from typing import Any

from local_kubernetes.api.container_rules import containers_causes
from local_kubernetes.api.resource_rules import resources_causes
from local_kubernetes.api.rules import (
    address_causes,
    choice_causes,
    forbidden,
    invalid,
    label_problems,
    range_causes,
    required,
    subdomain_causes,
)
from local_kubernetes.api.scheduling_rules import scheduling_causes
from local_kubernetes.api.security_rules import pod_security_causes
from local_kubernetes.api.status import Cause
from local_kubernetes.api.volume_rules import volume_causes

Spec = Mapping[str, Any]

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "dnsPolicy": ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
}
_MAX_SECONDS = 2**31 - 1


def pod_spec_causes(spec: object, path: str = "spec") -> list[Cause]:
    """Return all errors in a pod's specification."""
    if not isinstance(spec, dict):
        return [required(f"{path}.containers")]
    causes = [] if spec.get("containers") else [required(f"{path}.containers")]
    return [
        *causes,
        *_own_causes(spec, path),
        *_name_causes(spec, path),
        *scheduling_causes(spec, path),
        *pod_security_causes(spec, path),
        *volume_causes(spec.get("volumes") or [], f"{path}.volumes"),
        *containers_causes(spec, path),
        *resources_causes(spec.get("resources") or {}, f"{path}.resources", ()),
    ]


def _own_causes(spec: Spec, path: str) -> Iterator[Cause]:
    for field, choices in _CHOICES.items():
        if spec.get(field):
            yield from choice_causes(spec[field], choices, f"{path}.{field}")
    if spec.get("activeDeadlineSeconds") is not None:
        yield from range_causes(spec["activeDeadlineSeconds"], 1, _MAX_SECONDS, f"{path}.activeDeadlineSeconds")
    if spec.get("ephemeralContainers"):
        yield forbidden(f"{path}.ephemeralContainers", "cannot be set on create")
    system = spec.get("os")
    if system is not None and not system.get("name"):
        yield required(f"{path}.os.name")
    elif system is not None:
        yield from choice_causes(system["name"], ("linux", "windows"), f"{path}.os")


def _name_causes(spec: Spec, path: str) -> Iterator[Cause]:
    """Return the errors in the pod's host name, host aliases and DNS settings."""
    for field in ("hostname", "subdomain"):
        name = spec.get(field)
        if name:
            yield from (invalid(f"{path}.{field}", name, why) for why in label_problems(name))
    servers = (spec.get("dnsConfig") or {}).get("nameservers") or []
    if spec.get("dnsPolicy") == "None" and spec.get("dnsConfig") is None:
        yield required(f"{path}.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None")
    elif spec.get("dnsPolicy") == "None" and not servers:
        yield required(f"{path}.dnsConfig.nameservers", "must provide at least one DNS nameserver")
    for index, server in enumerate(servers):
        yield from address_causes(server, f"{path}.dnsConfig.nameservers[{index}]")
    for index, alias in enumerate(spec.get("hostAliases") or []):
        here = f"{path}.hostAliases[{index}]"
        yield from address_causes(alias.get("ip") or "", f"{here}.ip")
        for number, name in enumerate(alias.get("hostnames") or []):
            yield from subdomain_causes(name, f"{here}.hostnames[{number}]")
