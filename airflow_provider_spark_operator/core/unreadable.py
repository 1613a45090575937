"""Resources that cannot be read: what their status can still say to those who wait for them."""

from collections.abc import Mapping
from datetime import datetime

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.cluster_transitions import given_up, initial_cluster_status, move_cluster
from airflow_provider_spark_operator.core.models.cluster_status import ClusterState, ClusterStatus
from airflow_provider_spark_operator.core.models.reading import read
from airflow_provider_spark_operator.core.models.resource import Resource
from airflow_provider_spark_operator.core.models.status import ApplicationStatus
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.core.states import INITIALIZING, ApplicationState
from airflow_provider_spark_operator.core.transitions import initial_status, move


class _Frame(Resource):
    """An application without a look at its spec."""

    status: ApplicationStatus | None = None


def refusal(document: Mapping[str, object], sentence: str, now: datetime) -> ApplicationStatus | None:
    """The status with which an application ends whose spec cannot be read; None where it is to be left as it is.

    It ends like one whose driver cannot be built, and at once: without its spec nothing says that it may be
    tried again. Left alone are an application that has had its driver created, since that may be running
    well and an edit brings it back; one that is being deleted; and one whose status cannot be read either,
    since that is somebody's.

    Args:
        document: the application, of which no driver exists.
        sentence: what is wrong with it.
        now: the time, with an offset.
    """
    try:
        frame = read(_Frame, document)
    except InvalidResource:
        return None
    status = frame.status or initial_status(frame.creation_timestamp or now)
    if frame.deletion_timestamp or status.current_state.current_state_summary not in INITIALIZING:
        return None
    refused = move(status, ApplicationState.SCHEDULING_FAILURE, now, sentence, reason=reasons.SPEC_UNBUILDABLE)
    released = "There is nothing to release: no driver was created."
    return move(refused, ApplicationState.RESOURCE_RELEASED, now, released, reason=reasons.RESOURCES_RELEASED)


class _ClusterFrame(Resource):
    """A cluster without a look at its spec."""

    status: ClusterStatus | None = None


def cluster_refusal(document: Mapping[str, object], sentence: str, now: datetime) -> ClusterStatus | None:
    """The same for a cluster, of which nothing exists yet: it fails as one whose objects cannot be built."""
    try:
        frame = read(_ClusterFrame, document)
    except InvalidResource:
        return None
    status = frame.status or initial_cluster_status(frame.creation_timestamp or now)
    if frame.deletion_timestamp or status.current_state.current_state_summary is not ClusterState.SUBMITTED:
        return None
    refused = move_cluster(status, ClusterState.SCHEDULING_FAILURE, now, sentence, reasons.SPEC_UNBUILDABLE)
    return move_cluster(refused, ClusterState.FAILED, now, given_up(sentence), reasons.CLUSTER_FAILED)
