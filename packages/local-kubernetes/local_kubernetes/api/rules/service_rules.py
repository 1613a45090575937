"""Validation of a service's specification, with the messages of the API server."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..kinds.status import Cause
from .rules import (
    build_required_cause,
    find_choice_causes,
    find_labels_causes,
    find_name_causes,
    find_named_port_causes,
    find_port_causes,
    find_subdomain_causes,
)

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


def find_service_causes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    """Return all errors in a specification that has its defaults."""
    yield from find_choice_causes(spec["type"], _TYPES, "spec.type")
    external = spec["type"] == "ExternalName"
    if external and not spec.get("externalName"):
        yield build_required_cause("spec.externalName")
    elif external:
        yield from find_subdomain_causes(spec["externalName"].removesuffix("."), "spec.externalName")
    yield from find_labels_causes((spec.get("selector") or {}).items(), "spec.selector")
    yield from _find_ports_causes(spec, external=external)


def _find_ports_causes(spec: Mapping[str, Any], *, external: bool) -> Iterator[Cause]:
    ports = spec.get("ports") or []
    names: list[str] = []
    if not ports and not external and spec.get("clusterIP") != "None":
        yield build_required_cause("spec.ports")
    for index, port in enumerate(ports):
        place = f"spec.ports[{index}]"
        name = port.get("name") or ""
        if name or len(ports) > 1:
            yield from find_name_causes(name, f"{place}.name", names)
        names.append(name)
        yield from find_port_causes(port.get("port") or 0, f"{place}.port")
        yield from find_named_port_causes(port.get("targetPort") or 0, f"{place}.targetPort")
        yield from find_choice_causes(port["protocol"], _PROTOCOLS, f"{place}.protocol")
