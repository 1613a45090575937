"""The input and the result of `decide()` for a SparkCluster: what was observed, and what to do next."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from airflow_provider_spark_operator.core.decision import AddFinalizer, RemoveFinalizer
from airflow_provider_spark_operator.core.kueue.actions import QueueAction
from airflow_provider_spark_operator.core.kueue.observation import QueueObservation
from airflow_provider_spark_operator.core.models.cluster_status import ClusterStatus
from airflow_provider_spark_operator.core.observation import CreateOutcome

KubernetesObject: TypeAlias = Mapping[str, object]


@dataclass(frozen=True)
class ApplyCluster:
    """Build and apply all objects of the cluster, then decide again with the outcome."""


@dataclass(frozen=True)
class FindMaster:
    """Look for the StatefulSet of the master with a live read, then decide again."""


@dataclass(frozen=True)
class StopCluster:
    """Delete the StatefulSets by name, list the pods of the cluster with a live read, then decide again."""


@dataclass(frozen=True)
class DeleteScaling:
    """Delete the autoscaler and the disruption budget of the workers by name."""


@dataclass(frozen=True)
class DeleteNetwork:
    """Delete the Services and the NetworkPolicy by name."""


ClusterAction: TypeAlias = (
    AddFinalizer
    | RemoveFinalizer
    | ApplyCluster
    | FindMaster
    | StopCluster
    | DeleteScaling
    | DeleteNetwork
    | QueueAction
)


@dataclass(frozen=True)
class ClusterObserved:
    """Everything that `decide()` reads in addition to the cluster.

    Attributes:
        outcome: The outcome of `ApplyCluster` in this pass, None before it.
        has_master: Whether the StatefulSet of the master exists, None before `FindMaster`.
        pods: The pods of the master and the workers, None before `StopCluster`.
        queue: The Workload of Kueue; None if the controller runs without Kueue.
    """

    outcome: CreateOutcome | None = None
    has_master: bool | None = None
    pods: tuple[KubernetesObject, ...] | None = None
    queue: QueueObservation | None = None


@dataclass(frozen=True)
class ClusterDecision:
    """What to do next: carry out `actions`, then write `status`.

    Attributes:
        reason: A constant of `core.reasons`.
        message: A sentence for the user.
        actions: What to do, in this order.
        status: The status to write, None to leave the status unchanged.
        requeue_after: When to reconcile again; None waits for an event.
    """

    reason: str
    message: str = ""
    actions: tuple[ClusterAction, ...] = ()
    status: ClusterStatus | None = None
    requeue_after: timedelta | None = None
