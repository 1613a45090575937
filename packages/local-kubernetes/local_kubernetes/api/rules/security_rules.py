"""Validation of security contexts, with the messages of the API server. They have no effect on the local node."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..kinds.status import Cause
from .rules import (
    build_forbidden_cause,
    build_invalid_cause,
    build_required_cause,
    find_choice_causes,
    find_range_causes,
)

Context = Mapping[str, Any]

_LARGEST_ID = 2**31 - 1
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_PARAMETER = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
_PARAMETER_RULE = (
    "must have at most 253 characters and match regex "
    "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
)


def find_pod_security_causes(spec: Context, place: str) -> Iterator[Cause]:
    """Return the errors in a pod's security context and its host namespaces."""
    context = spec.get("securityContext") or {}
    here = f"{place}.securityContext"
    yield from _find_id_causes(context, ("runAsUser", "runAsGroup", "fsGroup"), here)
    for index, group in enumerate(context.get("supplementalGroups") or []):
        yield from find_range_causes(group, 0, _LARGEST_ID, f"{here}.supplementalGroups[{index}]")
    if context.get("fsGroupChangePolicy") is not None:
        policy = context["fsGroupChangePolicy"]
        yield from find_choice_causes(policy, ("Always", "OnRootMismatch"), f"{here}.fsGroupChangePolicy")
    yield from _find_profile_causes(context.get("seccompProfile"), f"{here}.seccompProfile")
    for index, parameter in enumerate(context.get("sysctls") or []):
        name = parameter.get("name") or ""
        if not name:
            yield build_required_cause(f"{here}.sysctls[{index}].name")
        elif len(name) > 253 or _PARAMETER.fullmatch(name) is None:
            yield build_invalid_cause(f"{here}.sysctls[{index}].name", name, _PARAMETER_RULE)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield build_invalid_cause(f"{here}.shareProcessNamespace", True, detail)
    if spec.get("hostUsers") is False:
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(field):
                yield build_forbidden_cause(f"{place}.{field}", "when `hostUsers` is false")


def find_container_security_causes(context: Context, place: str) -> Iterator[Cause]:
    """Return the errors in a container's security context."""
    yield from _find_id_causes(context, ("runAsUser", "runAsGroup"), place)
    if context.get("procMount") is not None:
        yield from find_choice_causes(context["procMount"], ("Default", "Unmasked"), f"{place}.procMount")
    yield from _find_profile_causes(context.get("seccompProfile"), f"{place}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is not False:
        return
    if context.get("privileged"):
        detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        yield build_invalid_cause(place, dict(context), detail)
    if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or []):
        detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        yield build_invalid_cause(place, dict(context), detail)


def _find_id_causes(context: Context, fields: tuple[str, ...], place: str) -> Iterator[Cause]:
    for field in fields:
        if context.get(field) is not None:
            yield from find_range_causes(context[field], 0, _LARGEST_ID, f"{place}.{field}")


def _find_profile_causes(profile: Context | None, place: str) -> Iterator[Cause]:
    if profile is None:
        return
    kind, file = profile.get("type"), profile.get("localhostProfile")
    if not kind:
        yield build_required_cause(f"{place}.type", "type is required when seccompProfile is set")
        return
    yield from find_choice_causes(kind, _PROFILES, f"{place}.type")
    if kind == "Localhost" and not file:
        yield build_required_cause(f"{place}.localhostProfile", "must be set when seccomp type is Localhost")
    elif kind != "Localhost" and file:
        yield build_invalid_cause(f"{place}.localhostProfile", file, "can only be set when seccomp type is Localhost")
