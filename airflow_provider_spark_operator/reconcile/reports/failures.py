"""The reasons of the Events about failed requests: what the controller was doing with the resource."""

from ...core.models.application import SparkApplication
from ...core.models.cluster import SparkCluster
from ...core.models.cluster_status import ClusterState
from ...core.states import reasons
from ...core.states.states import INITIALIZING, ApplicationState
from ...kube.errors import KubeError, ServerError, is_refusal

# The Apache operator also reports errors of these requests from which the API server may recover.
_ALSO_PASSING = frozenset({reasons.CLUSTER_REQUEST_FAILED, reasons.STATUS_UPDATE_FAILED})


def name_failure(model: SparkApplication | SparkCluster) -> str:
    """Return the reason of the Event if an action on the resource fails."""
    if model.deletion_timestamp is not None:
        return reasons.CLEANUP_ERROR
    return _name_application_failure(model) if isinstance(model, SparkApplication) else _name_cluster_failure(model)


def is_reported(reason: str, error: KubeError) -> bool:
    """Whether an Event reports the error. Lost connections, throttling and conflicts end without the user's help.

    Args:
        reason: The reason of the Event.
        error: The error of the request.
    """
    return is_refusal(error) or (isinstance(error, ServerError) and reason in _ALSO_PASSING)


def _name_application_failure(application: SparkApplication) -> str:
    status = application.status
    state = status.current_state.current_state_summary if status else ApplicationState.SUBMITTED
    if state is ApplicationState.SUSPENDED:
        return reasons.SUSPEND_RELEASE_FAILED
    if state in INITIALIZING and application.spec.suspend:
        return reasons.SUSPEND_CHECK_FAILED
    return reasons.RECONCILE_ERROR


def _name_cluster_failure(cluster: SparkCluster) -> str:
    status = cluster.status
    match status.current_state.current_state_summary if status else ClusterState.SUBMITTED:
        case ClusterState.SUSPENDED:
            return reasons.SUSPEND_RELEASE_FAILED
        case ClusterState.SCHEDULING_FAILURE:
            return reasons.CLUSTER_RELEASE_FAILED
        case ClusterState.SUBMITTED:
            return reasons.SUSPEND_CHECK_FAILED if cluster.spec.suspend else reasons.CLUSTER_REQUEST_FAILED
    return reasons.RECONCILE_ERROR
