"""Services without a network: names of services in the text of a container become the addresses of their pods."""

import re
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...api.kinds.documents import JsonObject
from ...api.kinds.kinds import PODS, SERVICES
from ...api.store.store import Store
from .pod_status import ADDRESS

_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_NAMED = re.compile(rf"(?<![\w.-])({_LABEL})(?:\.({_LABEL})(?:\.svc(?:\.cluster\.local)?)?)?:(\d{{1,5}})(?![\w.])")

_SPARE_ENTRIES = 100


class ServiceAddresses:
    """Maps the ports of services to ports of this machine.

    A process listens on the port that it chooses, so the port of a service is the port of its pods. Some runtimes let
    programs listen on ports that this class assigns, because many pods may use the same port.

    Args:
        store: The cluster's objects.
        uses_assigned_ports: Returns whether a container listens on assigned ports, from its entry in the pod's spec.
    """

    def __init__(self, store: Store, uses_assigned_ports: Callable[[JsonObject], bool]) -> None:
        self._store = store
        self._uses_assigned_ports = uses_assigned_ports
        self._assigned: dict[tuple[str, str, int], int] = {}

    def resolve(self, text: str, namespace: str) -> str:
        """Replace each `SERVICE:PORT`, `SERVICE.NAMESPACE:PORT` and `SERVICE.NAMESPACE.svc…:PORT` in a text.

        Args:
            text: Any text.
            namespace: Namespace of the pod that uses the text.
        """

        def replace_match(match: re.Match[str]) -> str:
            port = self._find_port(match[2] or namespace, match[1], int(match[3]))
            return match.group() if port is None else f"{ADDRESS}:{port}"

        return _NAMED.sub(replace_match, text)

    def assign_port(self, namespace: str, pod: str, port: int) -> int:
        """Return the free port for a port of a pod; a later pod of the same name gets the same port."""
        key = (namespace, pod, port)
        if key not in self._assigned:
            self._forget_deleted()
            self._assigned[key] = _find_free_port()
        return self._assigned[key]

    def find_assigned(self, namespace: str, pod: str, port: int) -> int:
        """Return the port that was assigned for a port of a pod; the port itself if none was."""
        return self._assigned.get((namespace, pod, port), port)

    def _find_port(self, namespace: str, name: str, number: int) -> int | None:
        """Return the address of a service's port; None if the service or port does not exist."""
        if not self._store.objects.exists(SERVICES, namespace, name):
            return None
        spec = self._store.objects.get_shared(SERVICES, namespace, name).get("spec") or {}
        entry = next((item for item in spec.get("ports") or () if item.get("port") == number), None)
        if entry is None:
            return None
        target = entry.get("targetPort") or number
        for pod in self._list_selected(namespace, spec.get("selector")):
            for container in pod["spec"].get("containers") or ():
                port = _find_container_port(container, target)
                if port is not None:
                    if self._uses_assigned_ports(container):
                        return self.assign_port(namespace, str(pod["metadata"]["name"]), port)
                    return self.find_assigned(namespace, str(pod["metadata"]["name"]), port)
        return target if isinstance(target, int) else number

    def _list_selected(self, namespace: str, selector: Mapping[str, str] | None) -> Iterator[JsonObject]:
        if not selector:
            return
        for pod in self._store.objects.list_shared(PODS, namespace):
            if selector.items() <= (pod["metadata"].get("labels") or {}).items():
                yield pod

    def _forget_deleted(self) -> None:
        """Forget ports of deleted pods once there are many, because a controller may soon replace a pod."""
        known = {
            (item["metadata"]["namespace"], item["metadata"]["name"])
            for item in self._store.objects.list_shared(PODS, None)
        }
        if len(self._assigned) > 2 * len(known) + _SPARE_ENTRIES:
            self._assigned = {key: port for key, port in self._assigned.items() if key[:2] in known}


def _find_container_port(container: Mapping[str, Any], target: int | str) -> int | None:
    """Return the number of a container's port, given by name or number; None if it does not exist."""
    for port in container.get("ports") or ():
        if target in (port.get("name"), port.get("containerPort")):
            return int(port["containerPort"])
    return None


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        number: int = probe.getsockname()[1]
        return number
