"""The kinds of resources that the controller manages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ...core.kubernetes.names import APPLICATION_FINALIZER, CLUSTER_FINALIZER
from ...core.models.cluster import CLUSTER_FAILURE
from ...core.states.states import FAILURE, ApplicationState
from ...kube.resources import SPARK_APPLICATIONS, SPARK_CLUSTERS, ResourceType


@dataclass(frozen=True)
class Kind:
    """One kind of resource.

    Attributes:
        type: The kind in the Kubernetes API.
        noun: The word for one resource in messages, and the name of its field in structured logs.
        finalizer: The finalizer that controllers put on resources of this kind.
        warning_states: The states that are reported as warnings.
    """

    type: ResourceType
    noun: str
    finalizer: str
    warning_states: frozenset[str]


_APPLICATION_WARNINGS: Final = FAILURE | {
    ApplicationState.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS,
    ApplicationState.TERMINATED_WITHOUT_RELEASE_RESOURCES,
}
APPLICATION: Final = Kind(SPARK_APPLICATIONS, "application", APPLICATION_FINALIZER, frozenset(_APPLICATION_WARNINGS))
CLUSTER: Final = Kind(SPARK_CLUSTERS, "cluster", CLUSTER_FINALIZER, frozenset(CLUSTER_FAILURE))
KINDS: Final[Mapping[str, Kind]] = {kind.type.kind: kind for kind in (APPLICATION, CLUSTER)}
"""The kinds by their name in documents."""
