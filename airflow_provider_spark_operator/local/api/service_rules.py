"""What a service's specification must not say, in the words of the API server."""

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_provider_spark_operator.local.api.rules import (
    choice_causes,
    named_port_causes,
    port_causes,
    required,
)
from airflow_provider_spark_operator.local.api.status import Cause

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


def causes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    """All that is wrong with a specification that has its defaults, as far as it is judged here."""
    yield from choice_causes(spec["type"], _TYPES, "spec.type")
    external = spec["type"] == "ExternalName"
    if external and not spec.get("externalName"):
        yield required("spec.externalName")
    ports = spec.get("ports") or []
    if not ports and not external and spec.get("clusterIP") != "None":
        yield required("spec.ports")
    for index, port in enumerate(ports):
        place = f"spec.ports[{index}]"
        if len(ports) > 1 and not port.get("name"):
            yield required(f"{place}.name")
        yield from port_causes(port.get("port") or 0, f"{place}.port")
        yield from named_port_causes(port.get("targetPort") or 0, f"{place}.targetPort")
        yield from choice_causes(port["protocol"], _PROTOCOLS, f"{place}.protocol")
