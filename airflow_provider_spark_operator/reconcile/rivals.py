"""Whose a resource is among controllers: what its managed fields say, and whether that controller lives. Pure.

Each of ours writes under a field manager that names its Lease, so that anybody can see from a resource where to look.
The Apache operator's library writes as `fabric8-kubernetes-client`, which says nothing of the kind.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow_provider_spark_operator.core.names import ANNOTATION_CLAIM
from airflow_provider_spark_operator.core.pods import mapping, text
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.lease import LeaseReference, Tenure, is_held
from airflow_provider_spark_operator.reconcile.status import precondition

_PREFIX = "spark-operator:"
_LONGEST_MANAGER = 128
# People change resources without driving them, and so does this package where it is no controller: its user agent.
_NO_CONTROLLERS = ("kubectl", "airflow-provider-spark-operator")


@dataclass(frozen=True)
class Identity:
    """Who a controller is; its replicas and all who come after it are the same.

    Attributes:
        operator_name: the value of the label on all that it creates.
        lease: by which others see that it lives; None for one that holds none.
    """

    operator_name: str
    lease: LeaseReference | None = None

    @property
    def field_manager(self) -> str:
        """The name under which it writes."""
        name = f"{_PREFIX}{self.lease or self.operator_name}"
        if len(name) <= _LONGEST_MANAGER:
            return name
        return f"{_PREFIX}{hashlib.sha256(name.encode()).hexdigest()}"


def last_driver(resource: Mapping[str, Any], finalizer: str, own: str) -> str | None:
    """The field manager of the controller that has driven a resource last; None if none has.

    That is who wrote its status last, or has claimed it since. Before there is either, it is who has put the
    controllers' finalizer on it.

    Args:
        resource: with its managed fields.
        finalizer: the one that controllers put on resources of its kind.
        own: the field manager that wins where several have written in the same second.
    """
    entries = resource["metadata"].get("managedFields") or ()
    writers = [entry for entry in entries if _is_controller(entry)]
    drivers = [entry for entry in writers if entry.get("subresource") == "status" or _has_claimed(entry)]
    return _latest(drivers, own) or _latest((entry for entry in writers if _has_put(entry, finalizer)), own)


def claim_patch(resource: JsonObject, own: str, now: datetime) -> JsonObject:
    """The merge patch by which the controller `own` becomes the last driver of `resource`; fails where that changed.

    The time makes the value a new one, so that the API server notes the writer again.
    """
    value = f"{own} at {now.isoformat(timespec='seconds')}"
    return {"metadata": {**precondition(resource), "annotations": {ANNOTATION_CLAIM: value}}}


def state_of(resource: Mapping[str, Any]) -> str | None:
    """The state that the status of a resource names; None if it names none."""
    state = text(mapping(mapping(resource.get("status")).get("currentState")).get("currentStateSummary"))
    return state or None


def is_settled(resource: Mapping[str, Any]) -> bool:
    """Whether an application has released all its resources and no controller has to delete it."""
    if state_of(resource) != ApplicationState.RESOURCE_RELEASED or resource["metadata"].get("deletionTimestamp"):
        return False
    time_to_live = mapping(mapping(resource.get("spec")).get("applicationTolerations")).get("ttlAfterStopMillis")
    return not isinstance(time_to_live, int) or time_to_live < 0


def lease_of(driver: str, other: LeaseReference | None) -> LeaseReference | None:
    """The Lease by which a controller is seen to live.

    Args:
        driver: its field manager.
        other: for those that do not name one.
    """
    namespace, slash, name = driver.removeprefix(_PREFIX).partition("/")
    if driver.startswith(_PREFIX) and slash and namespace and name:
        return LeaseReference(namespace, name)
    return other


def objection(driver: str, lease: LeaseReference | None, tenure: Tenure | None, now: datetime) -> str | None:
    """Why what `driver` has driven is not to be driven by another, and what to do; None if it may be.

    Args:
        driver: the field manager of the other controller.
        lease: by which that one is seen to live; None if it is not known.
        tenure: what the Lease says; None if it is not there.
        now: UTC.
    """
    if lease is None:
        return (
            f"{driver} managed it last and names no lease that shows whether it is still running. "
            "Stop that controller, then start this one with --take-over"
        )
    if tenure is None and lease_of(driver, None) is None:
        # It may never have held that one: a wrong name, or no election.
        return (
            f"{driver} managed it last, but its configured lease {lease} does not exist. "
            "Correct otherControllerLease, or stop that controller and start this one with --take-over"
        )
    if tenure is None or not is_held(tenure, now):
        return None
    return (
        f"{driver} manages it: {tenure.holder} holds its lease {lease}. "
        "Stop that controller, or start this one with --take-over"
    )


def _is_controller(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("manager")) and not str(entry["manager"]).startswith(_NO_CONTROLLERS)


def _has_claimed(entry: Mapping[str, Any]) -> bool:
    metadata = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
    return f"f:{ANNOTATION_CLAIM}" in (metadata.get("f:annotations") or {})


def _has_put(entry: Mapping[str, Any], finalizer: str) -> bool:
    metadata = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
    return f'v:"{finalizer}"' in (metadata.get("f:finalizers") or {})


def _latest(entries: Iterable[Mapping[str, Any]], own: str) -> str | None:
    # The API writes whole seconds, all in UTC and in one form.
    ranked = [(str(entry.get("time", "")), entry["manager"] == own, str(entry["manager"])) for entry in entries]
    return max(ranked)[2] if ranked else None
