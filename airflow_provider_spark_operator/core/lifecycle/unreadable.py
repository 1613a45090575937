"""Refuse resources whose spec cannot be read: the status that ends the wait of their clients."""

from collections.abc import Mapping
from datetime import datetime

from ..kubernetes.problems import InvalidResource
from ..models.base import Resource
from ..models.cluster import ClusterState, ClusterStatus
from ..models.parse import parse_model
from ..models.status import ApplicationStatus
from ..states import reasons
from ..states.states import INITIALIZING, ApplicationState
from .cluster_decision import create_cluster_status, describe_cluster_failure, move_cluster
from .transitions import create_status, move


class _Frame(Resource):
    """An application whose spec is not read."""

    status: ApplicationStatus | None = None


def refuse_application(document: Mapping[str, object], sentence: str, now: datetime) -> ApplicationStatus | None:
    """Return the final status of an application whose spec cannot be read, or None to leave it unchanged.

    The application fails like one whose driver cannot be built, without a restart, because the restart policy is
    unknown. Three kinds of applications are left unchanged. Those with a driver may be running, and an edit can fix
    them. The others are being deleted, or their status cannot be read either.

    Args:
        document: The application, which has no driver.
        sentence: The problem with its spec.
        now: The time, with an offset.
    """
    try:
        frame = parse_model(_Frame, document)
    except InvalidResource:
        return None
    status = frame.status or create_status(frame.creation_timestamp or now)
    if frame.deletion_timestamp or status.current_state.current_state_summary not in INITIALIZING:
        return None
    refused = move(status, ApplicationState.SCHEDULING_FAILURE, now, sentence, reason=reasons.SPEC_UNBUILDABLE)
    released = "No resources had to be released: no driver was created."
    return move(refused, ApplicationState.RESOURCE_RELEASED, now, released, reason=reasons.RESOURCES_RELEASED)


class _ClusterFrame(Resource):
    """A cluster whose spec is not read."""

    status: ClusterStatus | None = None


def refuse_cluster(document: Mapping[str, object], sentence: str, now: datetime) -> ClusterStatus | None:
    """Return the final status of a cluster whose spec cannot be read, or None to leave it unchanged.

    A cluster without objects fails like one whose objects cannot be built.

    Args:
        document: The cluster.
        sentence: The problem with its spec.
        now: The time, with an offset.
    """
    try:
        frame = parse_model(_ClusterFrame, document)
    except InvalidResource:
        return None
    status = frame.status or create_cluster_status(frame.creation_timestamp or now)
    if frame.deletion_timestamp or status.current_state.current_state_summary is not ClusterState.SUBMITTED:
        return None
    refused = move_cluster(status, ClusterState.SCHEDULING_FAILURE, now, sentence, reasons.SPEC_UNBUILDABLE)
    message = describe_cluster_failure(sentence)
    return move_cluster(refused, ClusterState.RESOURCE_RELEASED, now, message, reasons.CLUSTER_RELEASED)
