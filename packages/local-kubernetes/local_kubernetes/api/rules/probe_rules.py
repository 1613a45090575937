"""Validation of probes and lifecycle hooks, with the messages of the API server."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..kinds.status import Cause
from .rules import (
    build_forbidden_cause,
    build_invalid_cause,
    build_required_cause,
    find_choice_causes,
    find_named_port_causes,
    find_natural_causes,
    find_port_causes,
)

Probe = Mapping[str, Any]

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def find_probe_causes(probe: Probe, place: str, name: str) -> Iterator[Cause]:
    """Return the errors in a probe; `name` is its field."""
    yield from _find_handler_causes(probe, place, 0)
    for field in _NUMBERS:
        yield from find_natural_causes(probe.get(field) or 0, f"{place}.{field}")
    if name != "readinessProbe" and (probe.get("successThreshold") or 1) != 1:
        yield build_invalid_cause(f"{place}.successThreshold", probe["successThreshold"], "must be 1")
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and name == "readinessProbe":
        yield build_invalid_cause(
            f"{place}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes"
        )
    elif grace is not None and grace <= 0:
        yield build_invalid_cause(f"{place}.terminationGracePeriodSeconds", grace, "must be greater than 0")


def find_lifecycle_causes(lifecycle: Probe, place: str, grace_seconds: int) -> Iterator[Cause]:
    """Return the errors in the lifecycle hooks of a container."""
    for hook in ("postStart", "preStop"):
        if lifecycle.get(hook) is not None:
            yield from _find_handler_causes(lifecycle[hook], f"{place}.{hook}", grace_seconds)


def _find_handler_causes(handlers: Probe, place: str, grace_seconds: int) -> Iterator[Cause]:
    given = [handler for handler in _HANDLERS if handlers.get(handler) is not None]
    if not given:
        yield build_required_cause(place, "must specify a handler type")
    for handler in given[:1]:
        yield from _find_one_causes(handler, handlers[handler], f"{place}.{handler}", grace_seconds)
    for handler in given[1:]:
        yield build_forbidden_cause(f"{place}.{handler}", "may not specify more than 1 handler type")


def _find_one_causes(handler: str, detail: Probe, place: str, grace_seconds: int) -> Iterator[Cause]:
    if handler == "exec" and not detail.get("command"):
        yield build_required_cause(f"{place}.command")
    elif handler in ("httpGet", "tcpSocket"):
        yield from find_named_port_causes(detail.get("port") or 0, f"{place}.port")
    elif handler == "grpc":
        yield from find_port_causes(detail.get("port") or 0, f"{place}.port")
    elif handler == "sleep":
        seconds = detail.get("seconds") or 0
        if not 0 <= seconds <= grace_seconds:
            rule = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_seconds})"
            yield build_invalid_cause(place, seconds, rule)
    if handler == "httpGet" and detail.get("scheme"):
        yield from find_choice_causes(detail["scheme"], ("HTTP", "HTTPS"), f"{place}.scheme")
