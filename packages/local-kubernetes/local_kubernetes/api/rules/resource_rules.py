"""Validation of resource requests and limits, with the messages of the API server."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from ..kinds.quantities import is_whole, parse_quantity
from ..kinds.status import Cause
from .rules import (
    NOT_NEGATIVE,
    build_forbidden_cause,
    build_invalid_cause,
    build_not_found_cause,
    build_required_cause,
    find_qualified_name_problems,
)

Resources = Mapping[str, Any]

_OF_CONTAINERS = frozenset({"cpu", "memory", "ephemeral-storage"})
_STANDARD = _OF_CONTAINERS | {
    "storage",
    *("pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"),
    *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers", "limits.cpu", "limits.memory"),
    *("requests.cpu", "requests.memory", "requests.storage", "count"),
}


def find_resources_causes(resources: Resources, place: str, claims: Sequence[str]) -> Iterator[Cause]:
    """Return the errors in requests and limits; a limit without a request is also the request.

    Args:
        resources: Requests, limits and claims.
        place: Their field.
        claims: The claims of the pod.
    """
    limits = resources.get("limits") or {}
    requests = limits | (resources.get("requests") or {})
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            yield from _find_name_causes(name, f"{place}.{part}[{name}]")
            yield from _find_amount_causes(name, amount, f"{place}.{part}[{name}]")
    for name, amount in requests.items():
        yield from _find_limit_causes(name, amount, limits, place)
    if any(map(_is_huge_page, requests)) and not requests.keys() & {"cpu", "memory"}:
        yield build_forbidden_cause(place, "HugePages require cpu or memory")
    for index, claim in enumerate(resources.get("claims") or []):
        if claim.get("name") not in claims:
            detail = "must be one of the names in pod.spec.resourceClaims"
            detail = detail if claims else f"{detail} which is empty"
            yield build_not_found_cause(f"{place}.claims[{index}]", claim.get("name") or "", detail)


def _find_name_causes(name: str, place: str) -> Iterator[Cause]:
    problems = find_qualified_name_problems(name)
    yield from (build_invalid_cause(place, name, why) for why in problems)
    if "/" in name or _is_huge_page(name):
        return
    if name not in _STANDARD and not problems:
        yield build_invalid_cause(place, name, "must be a standard resource type or fully qualified")
    if name not in _OF_CONTAINERS:
        yield build_invalid_cause(place, name, "must be a standard resource for containers")


def _find_amount_causes(name: str, amount: str, place: str) -> Iterator[Cause]:
    if parse_quantity(amount) < 0:
        yield build_invalid_cause(place, amount, NOT_NEGATIVE)
    if _is_extended(name) and not is_whole(amount):
        yield build_invalid_cause(place, amount, "must be an integer")


def _find_limit_causes(name: str, amount: str, limits: Resources, place: str) -> Iterator[Cause]:
    """Return the errors in a request compared with its limit."""
    request, limit = parse_quantity(amount), _parse_number(limits.get(name))
    whole = _is_extended(name) or _is_huge_page(name)
    if limit is None and whole:
        yield build_required_cause(f"{place}.limits", "Limit must be set for non overcommitable resources")
    elif limit is not None and whole and request != limit:
        yield build_invalid_cause(f"{place}.requests", amount, f"must be equal to {name} limit of {limits[name]}")
    elif limit is not None and request > limit:
        yield build_invalid_cause(
            f"{place}.requests", amount, f"must be less than or equal to {name} limit of {limits[name]}"
        )


def _parse_number(amount: str | None) -> Decimal | None:
    return None if amount is None else parse_quantity(amount)


def _is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")


def _is_extended(name: str) -> bool:
    """Whether a resource is an extended resource, which is requested in whole units."""
    return "/" in name and not name.partition("/")[0].endswith("kubernetes.io")
