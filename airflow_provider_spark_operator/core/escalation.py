"""Forbidding privilege escalation where a pod's containers say nothing about it."""

from collections.abc import Mapping
from typing import Any


def without_escalation(pod_spec: Mapping[str, Any]) -> dict[str, Any]:
    """`pod_spec` with `allowPrivilegeEscalation: false` in every container that does not set it.

    A privileged container, or one with the capability SYS_ADMIN, is left alone: the API refuses it otherwise.
    """
    spec = dict(pod_spec)
    for field in ("containers", "initContainers"):
        if spec.get(field):
            spec[field] = [_hardened(container) for container in spec[field]]
    return spec


def _hardened(container: dict[str, Any]) -> dict[str, Any]:
    context = container.get("securityContext") or {}
    added = (context.get("capabilities") or {}).get("add") or []
    if context.get("privileged") or {"SYS_ADMIN", "CAP_SYS_ADMIN"} & set(added):
        return container
    return {**container, "securityContext": {"allowPrivilegeEscalation": False, **context}}
