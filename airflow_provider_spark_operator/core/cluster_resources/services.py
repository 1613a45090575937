"""The headless services through which pods and users reach the master and the workers."""

from collections.abc import Mapping

from ..driver.pod.pod import merge
from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import MASTER_SERVICE, ROLE_MASTER, ROLE_WORKER
from .daemon import with_ports
from .frame import Frame
from .stateful_sets import MASTER_PORTS, WORKER_PORTS, WORKER_SERVICE


def build_master_service(frame: Frame) -> JsonObject:
    """Build the service of the master, for its web interface, applications and the REST interface."""
    part = frame.cluster.spec.master_spec
    spec = _build_spec(frame, ROLE_MASTER, MASTER_PORTS, part.service_spec or {})
    return frame.build_document("v1", "Service", MASTER_SERVICE, spec, role=ROLE_MASTER, metadata=part.service_metadata)


def build_worker_service(frame: Frame) -> JsonObject:
    """Build the service of the workers, for their web interfaces and DNS names."""
    part = frame.cluster.spec.worker_spec
    spec = _build_spec(frame, ROLE_WORKER, WORKER_PORTS, part.service_spec or {})
    return frame.build_document("v1", "Service", WORKER_SERVICE, spec, role=ROLE_WORKER, metadata=part.service_metadata)


def _build_spec(frame: Frame, role: str, ports: Mapping[str, int], given: JsonObject) -> JsonObject:
    needed = [{"name": name, "port": port, "targetPort": name} for name, port in ports.items()]
    spec = merge(given, {"clusterIP": "None", "selector": frame.build_selector(role)})
    spec["ports"] = with_ports(given.get("ports") or [], needed, number="port")
    return spec
