"""Validation of a service's specification, with the messages of the API server."""

from collections.abc import Iterator, Mapping
from typing import Any

from local_kubernetes.api.rules import (
    address_causes,
    choice_causes,
    forbidden,
    labels_causes,
    name_causes,
    named_port_causes,
    port_causes,
    required,
    subdomain_causes,
)
from local_kubernetes.api.status import Cause

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_OPEN_TYPES = ("LoadBalancer", "NodePort")


def service_causes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    """Return all errors in a specification that has its defaults."""
    yield from choice_causes(spec["type"], _TYPES, "spec.type")
    external = spec["type"] == "ExternalName"
    if external and not spec.get("externalName"):
        yield required("spec.externalName")
    elif external:
        yield from subdomain_causes(spec["externalName"].removesuffix("."), "spec.externalName")
    yield from labels_causes((spec.get("selector") or {}).items(), "spec.selector")
    yield from choice_causes(spec["sessionAffinity"], ("ClientIP", "None"), "spec.sessionAffinity")
    if not external and spec.get("clusterIP") not in (None, "", "None"):
        yield from address_causes(spec["clusterIP"], "spec.clusterIPs[0]")
    for index, address in enumerate(spec.get("externalIPs") or []):
        yield from address_causes(address, f"spec.externalIPs[{index}]")
    yield from _ports_causes(spec, external=external)


def _ports_causes(spec: Mapping[str, Any], *, external: bool) -> Iterator[Cause]:
    ports = spec.get("ports") or []
    names: list[str] = []
    if not ports and not external and spec.get("clusterIP") != "None":
        yield required("spec.ports")
    for index, port in enumerate(ports):
        place = f"spec.ports[{index}]"
        name = port.get("name") or ""
        if name or len(ports) > 1:
            yield from name_causes(name, f"{place}.name", names)
        names.append(name)
        if port.get("nodePort") and spec["type"] not in _OPEN_TYPES:
            yield forbidden(f"{place}.nodePort", f"may not be used when `type` is '{spec['type']}'")
        yield from port_causes(port.get("port") or 0, f"{place}.port")
        yield from named_port_causes(port.get("targetPort") or 0, f"{place}.targetPort")
        yield from choice_causes(port["protocol"], _PROTOCOLS, f"{place}.protocol")
