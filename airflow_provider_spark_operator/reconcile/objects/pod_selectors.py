"""How the controller finds the pods of an application: by selectors, by keys, and after their deletion."""

from collections.abc import Mapping
from typing import Any, Final

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import LABEL_APPLICATION_NAME, LABEL_OPERATOR_NAME, LABEL_ROLE
from ...core.lifecycle.drivers import find_owner_name, is_driver
from ...core.states.states import ApplicationState
from .cache import ObjectCache, ObjectKey

# Enough for the last drivers of an application, and for a few copies of them that the user deletes.
_MAX_DRIVERS: Final = 4
# The number of deleted drivers of other applications that can be known before they are forgotten.
_MAX_UNNEEDED: Final = 20


class LastDrivers:
    """The last known states of drivers that the pods' watch has shown as deleted.

    The last state of a driver can contain its end, which a busy controller may not have seen before. A driver whose
    labels were changed still exists. A state is kept until the resources of its application are released.

    Args:
        applications: The applications that exist.
    """

    def __init__(self, applications: ObjectCache) -> None:
        self._applications = applications
        self._drivers: dict[ObjectKey, dict[str, JsonObject]] = {}
        self._needed = 0

    def put(self, pod: JsonObject) -> None:
        """Remember the last known state of a pod, if it is a driver of an application."""
        key = get_application_key(pod)
        if key is None or not (is_driver(pod) or find_owner_name(pod)):
            return
        known = self._drivers.setdefault(key, {})
        known.pop(pod["metadata"]["name"], None)
        known[pod["metadata"]["name"]] = pod
        if len(known) > _MAX_DRIVERS:
            del known[next(iter(known))]
        if len(self._drivers) > 2 * self._needed + _MAX_UNNEEDED:
            self._drivers = {key: known for key, known in self._drivers.items() if self._is_needed(key)}
            self._needed = len(self._drivers)

    def list(self, key: ObjectKey) -> list[JsonObject]:
        """Return the last known states of the deleted drivers of an application."""
        return list(self._drivers.get(key, {}).values())

    def _is_needed(self, key: ObjectKey) -> bool:
        application = self._applications.get(key)
        current = ((application or {}).get("status") or {}).get("currentState") or {}
        return application is not None and current.get("currentStateSummary") != ApplicationState.RESOURCE_RELEASED


def get_application_key(pod: Mapping[str, Any]) -> ObjectKey | None:
    """Return the key of the application that owns a pod, or else that its label names; None if there is neither."""
    metadata = pod["metadata"]
    name = find_owner_name(pod) or (metadata.get("labels") or {}).get(LABEL_APPLICATION_NAME)
    return ObjectKey(metadata.get("namespace", ""), name) if name else None


def build_pod_selector(operator_name: str) -> str:
    """Return the label selector of all pods that the operator `operator_name` has created."""
    return f"{LABEL_OPERATOR_NAME}={operator_name}"


def build_role_selector(operator_name: str, application_name: str, *roles: str) -> str:
    """Return the label selector of the pods with one of `roles` of one application, of all attempts."""
    role = f"{LABEL_ROLE}={roles[0]}" if len(roles) == 1 else f"{LABEL_ROLE} in ({','.join(roles)})"
    return f"{LABEL_OPERATOR_NAME}={operator_name},{LABEL_APPLICATION_NAME}={application_name},{role}"
