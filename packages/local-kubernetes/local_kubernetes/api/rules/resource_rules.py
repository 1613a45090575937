"""Validation of resource requests and limits, with the messages of the API server."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..kinds.quantities import is_whole, parse_quantity
from ..kinds.status import Cause
from .rules import NOT_NEGATIVE, build_invalid_cause, build_required_cause, find_qualified_name_problems

Resources = Mapping[str, Any]

_OF_CONTAINERS = frozenset({"cpu", "memory", "ephemeral-storage"})


def find_resources_causes(resources: Resources, place: str) -> Iterator[Cause]:
    """Return the errors in requests and limits; a limit without a request is also the request."""
    limits = resources.get("limits") or {}
    requests = limits | (resources.get("requests") or {})
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            yield from _find_name_causes(name, f"{place}.{part}[{name}]")
            yield from _find_amount_causes(name, amount, f"{place}.{part}[{name}]")
    for name, amount in requests.items():
        yield from _find_limit_causes(name, amount, limits, place)


def _find_name_causes(name: str, place: str) -> Iterator[Cause]:
    problems = find_qualified_name_problems(name)
    yield from (build_invalid_cause(place, name, why) for why in problems)
    if "/" not in name and name not in _OF_CONTAINERS and not name.startswith("hugepages-"):
        if not problems:
            yield build_invalid_cause(place, name, "must be a standard resource type or fully qualified")
        yield build_invalid_cause(place, name, "must be a standard resource for containers")


def _find_amount_causes(name: str, amount: str, place: str) -> Iterator[Cause]:
    if parse_quantity(amount) < 0:
        yield build_invalid_cause(place, amount, NOT_NEGATIVE)
    if _is_extended(name) and not is_whole(amount):
        yield build_invalid_cause(place, amount, "must be an integer")


def _find_limit_causes(name: str, amount: str, limits: Resources, place: str) -> Iterator[Cause]:
    """Return the errors in a request compared with its limit."""
    request, limit = parse_quantity(amount), parse_quantity(limits[name]) if name in limits else None
    whole = _is_extended(name)
    if limit is None and whole:
        yield build_required_cause(f"{place}.limits", "Limit must be set for non overcommitable resources")
    elif limit is not None and whole and request != limit:
        yield build_invalid_cause(f"{place}.requests", amount, f"must be equal to {name} limit of {limits[name]}")
    elif limit is not None and request > limit:
        yield build_invalid_cause(
            f"{place}.requests", amount, f"must be less than or equal to {name} limit of {limits[name]}"
        )


def _is_extended(name: str) -> bool:
    """Whether a resource is an extended resource, which is requested in whole units."""
    return "/" in name and not name.partition("/")[0].endswith("kubernetes.io")
