"""Which controller manages a resource, by its managed fields, and whether that controller is running. Pure.

The controllers of this package write under a field manager that names their Lease. So every other controller can
check from the resource whether they are running. The Apache operator writes as `fabric8-kubernetes-client`, which
names no Lease.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow_provider_spark_operator.core.names import ANNOTATION_CLAIM
from airflow_provider_spark_operator.core.pods import get_object, get_text
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.lease import LeaseReference, Tenure, is_held
from airflow_provider_spark_operator.reconcile.patches import build_precondition

_PREFIX = "spark-operator:"
_LONGEST_MANAGER = 128
# Field managers that change resources without managing them: users, and the other parts of this package.
_NO_CONTROLLERS = ("kubectl", "airflow-provider-spark-operator")


@dataclass(frozen=True)
class ControllerIdentity:
    """The identity of a controller, which its replicas and its successors share.

    Attributes:
        operator_name: The value of the label on all objects that the controller creates.
        lease: The Lease that shows whether the controller is running; None if it holds none.
    """

    operator_name: str
    lease: LeaseReference | None = None

    @property
    def field_manager(self) -> str:
        """The field manager under which the controller writes."""
        name = f"{_PREFIX}{self.lease or self.operator_name}"
        if len(name) <= _LONGEST_MANAGER:
            return name
        return f"{_PREFIX}{hashlib.sha256(name.encode()).hexdigest()}"


def find_last_manager(resource: Mapping[str, Any], finalizer: str, own: str) -> str | None:
    """Return the field manager of the controller that managed a resource last; None if none did.

    It is the last writer of the status or of a claim. If there is neither, it is the controller that added the
    controllers' finalizer.

    Args:
        resource: The resource with its managed fields.
        finalizer: The finalizer that controllers add to resources of its kind.
        own: The field manager that wins if several wrote within the same second.
    """
    entries = resource["metadata"].get("managedFields") or ()
    writers = [entry for entry in entries if _is_controller(entry)]
    managers = [entry for entry in writers if entry.get("subresource") == "status" or _has_claimed(entry)]
    return _find_latest(managers, own) or _find_latest(
        (entry for entry in writers if _has_added(entry, finalizer)), own
    )


def build_claim_patch(resource: JsonObject, own: str, now: datetime) -> JsonObject:
    """Build the merge patch that makes the controller `own` the last manager of `resource`.

    The patch fails if the resource has changed. The time makes the value a new one, so that the API server records
    the writer again.
    """
    value = f"{own} at {now.isoformat(timespec='seconds')}"
    return {"metadata": {**build_precondition(resource), "annotations": {ANNOTATION_CLAIM: value}}}


def read_state(resource: Mapping[str, Any]) -> str | None:
    """Return the state in the status of a resource; None if there is none."""
    state = get_text(get_object(get_object(resource.get("status")).get("currentState")).get("currentStateSummary"))
    return state or None


def is_settled(resource: Mapping[str, Any]) -> bool:
    """Whether an application has released all its resources and no controller must delete it."""
    if read_state(resource) != ApplicationState.RESOURCE_RELEASED or resource["metadata"].get("deletionTimestamp"):
        return False
    time_to_live = get_object(get_object(resource.get("spec")).get("applicationTolerations")).get("ttlAfterStopMillis")
    return not isinstance(time_to_live, int) or time_to_live < 0


def find_lease(manager: str, default: LeaseReference | None) -> LeaseReference | None:
    """Return the Lease that shows whether a controller is running.

    Args:
        manager: The field manager of the controller.
        default: The Lease of controllers whose field manager names none.
    """
    namespace, slash, name = manager.removeprefix(_PREFIX).partition("/")
    if manager.startswith(_PREFIX) and slash and namespace and name:
        return LeaseReference(namespace, name)
    return default


def find_objection(manager: str, lease: LeaseReference | None, tenure: Tenure | None, now: datetime) -> str | None:
    """Return why resources of another controller must not be taken over, and what to do; None if they can be.

    Args:
        manager: The field manager of the other controller.
        lease: The Lease that shows whether that controller is running; None if it is not known.
        tenure: The content of the Lease; None if the Lease does not exist.
        now: The time, in UTC.
    """
    if lease is None:
        return (
            f"{manager} managed this resource last, and does not name a Lease that shows whether it is still running. "
            "Stop that controller, then set takeOver: true or start this controller with --take-over"
        )
    if tenure is None and find_lease(manager, None) is None:
        # The controller may never have held this Lease: the name is wrong, or it has no election.
        return (
            f"{manager} managed this resource last, but the Lease {lease}, which the setting "
            "otherControllerLease names, does not exist. Correct the setting. Or stop that controller, then set "
            "takeOver: true or start this controller with --take-over"
        )
    if tenure is None or not is_held(tenure, now):
        return None
    return (
        f"{manager} manages this resource: {tenure.holder} holds the Lease {lease} of that controller. "
        "Stop that controller; this controller then takes over. If the Lease stays held, set takeOver: true or "
        "start this controller with --take-over"
    )


def _is_controller(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("manager")) and not str(entry["manager"]).startswith(_NO_CONTROLLERS)


def _has_claimed(entry: Mapping[str, Any]) -> bool:
    metadata = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
    return f"f:{ANNOTATION_CLAIM}" in (metadata.get("f:annotations") or {})


def _has_added(entry: Mapping[str, Any], finalizer: str) -> bool:
    metadata = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
    return f'v:"{finalizer}"' in (metadata.get("f:finalizers") or {})


def _find_latest(entries: Iterable[Mapping[str, Any]], own: str) -> str | None:
    # The API writes all times in UTC, in whole seconds and in the same format.
    ranked = [(str(entry.get("time", "")), entry["manager"] == own, str(entry["manager"])) for entry in entries]
    return max(ranked)[2] if ranked else None
