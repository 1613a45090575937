"""The model of the SparkCluster of `spark.apache.org`: a standalone master and its workers.

Field names, required fields and defaults are the Apache operator's.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, TypeAlias

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from ..kubernetes.json_object import JsonObject
from . import base
from .application import RuntimeVersions
from .parse import parse_model
from .status import ForeignRecord, OptionalSuspendReason, Time


class WorkerInstanceConfig(base.Model):
    """Numbers of workers."""

    init_workers: base.Integer = Field(description="Number of workers at the start.")
    min_workers: base.Integer = Field(
        description=(
            "Minimum number of workers. If it is less than maxWorkers, a HorizontalPodAutoscaler scales the "
            "workers; 0 is then possible only with an Object or External metric."
        )
    )
    max_workers: base.Integer = Field(description="Maximum number of workers.")


class ClusterTolerations(base.Model):
    """How many workers the cluster has."""

    instance_config: WorkerInstanceConfig = Field(description="Numbers of workers.")


class MasterSpec(base.Model):
    """Templates of the objects of the master."""

    service_metadata: base.ObjectMetadata | None = Field(
        default=None, description="Metadata of the Service of the master (meta/v1 ObjectMeta)."
    )
    service_spec: base.ServiceSpec | None = Field(
        default=None, description="Template of the Service of the master (core/v1 ServiceSpec)."
    )
    stateful_set_metadata: base.ObjectMetadata | None = Field(
        default=None, description="Metadata of the StatefulSet of the master (meta/v1 ObjectMeta)."
    )
    stateful_set_spec: base.StatefulSetSpec | None = Field(
        default=None, description="Template of the StatefulSet of the master (apps/v1 StatefulSetSpec)."
    )


class WorkerNetworkPolicySpec(base.Model):
    """Additional access to the workers, for example of Prometheus."""

    metrics_port: base.Integer = Field(description="TCP port of the metrics of a worker, from 1 to 65535.")
    metrics_ingress: list[base.NetworkPolicyPeer] = Field(
        description=(
            "Peers that can connect to metricsPort (networking/v1 NetworkPolicyPeer). With an empty list, no peer can "
            "connect to it."
        )
    )


class WorkerSpec(base.Model):
    """Templates of the objects of the workers."""

    service_metadata: base.ObjectMetadata | None = Field(
        default=None, description="Metadata of the Service of the workers (meta/v1 ObjectMeta)."
    )
    service_spec: base.ServiceSpec | None = Field(
        default=None, description="Template of the Service of the workers (core/v1 ServiceSpec)."
    )
    stateful_set_metadata: base.ObjectMetadata | None = Field(
        default=None, description="Metadata of the StatefulSet of the workers (meta/v1 ObjectMeta)."
    )
    stateful_set_spec: base.StatefulSetSpec | None = Field(
        default=None, description="Template of the StatefulSet of the workers (apps/v1 StatefulSetSpec)."
    )
    horizontal_pod_autoscaler_spec: base.HorizontalPodAutoscalerSpec | None = Field(
        default=None,
        description=(
            "Template of the HorizontalPodAutoscaler of the workers (autoscaling/v2 HorizontalPodAutoscalerSpec). "
            "Used if minWorkers is less than maxWorkers."
        ),
    )
    network_policy: WorkerNetworkPolicySpec | None = Field(
        default=None,
        description="Additional rule of the NetworkPolicy of the workers. By default, it has no additional rule.",
    )


class SparkClusterSpec(base.Model):
    """Size and configuration of the cluster."""

    runtime_versions: RuntimeVersions = Field(description="The versions of the software in the container image.")
    cluster_tolerations: ClusterTolerations = Field(description="How many workers the cluster has.")
    master_spec: MasterSpec = Field(default_factory=MasterSpec, description="Templates of the objects of the master.")
    worker_spec: WorkerSpec = Field(default_factory=WorkerSpec, description="Templates of the objects of the workers.")
    spark_conf: dict[str, str] = Field(
        default_factory=dict, description="Spark properties of master and workers. All values are strings."
    )
    suspend: base.Boolean = Field(
        default=False,
        description=(
            "If true, the controller does not start a new cluster, and deletes the master and the workers of a running "
            "one. If false, it starts them. "
            "Default: false."
        ),
    )


class ClusterState(StrEnum):
    """A word of a SparkCluster's `status.currentState.currentStateSummary`."""

    SUBMITTED = "Submitted"
    SCHEDULING_FAILURE = "SchedulingFailure"
    RUNNING_HEALTHY = "RunningHealthy"
    FAILED = "Failed"
    RESOURCE_RELEASED = "ResourceReleased"
    SUSPENDED = "Suspended"


CLUSTER_FAILURE = frozenset({ClusterState.SCHEDULING_FAILURE, ClusterState.FAILED})


class ClusterAttemptInfo(base.Model):
    """Number of an attempt. A cluster has one attempt."""

    id: base.Integer = Field(default=0, description="Number of the attempt; the first is 0.")
    restart_counter: base.Integer = Field(default=0, description="Number of restarts so far.")


class ClusterStateRecord(base.Model):
    """A state and the time of its transition.

    Attributes:
        reason: A constant of `core.states.reasons`. The Apache operator neither writes nor keeps it.
    """

    current_state_summary: ClusterState = Field(description="Name of the state.")
    last_transition_time: Time = Field(description="Time at which the state was entered, in RFC 3339 (UTC).")
    message: str | None = Field(default=None, description="Human-readable explanation of the state.")
    suspend_reason: OptionalSuspendReason = None
    reason: str | None = Field(
        default=None, description="Machine-readable reason for the state. Not written by the Apache operator."
    )


PastClusterRecord: TypeAlias = Annotated[
    ClusterStateRecord | SkipJsonSchema[ForeignRecord], Field(union_mode="left_to_right")
]


class ClusterAttemptSummary(base.Model):
    """Number and history of an attempt."""

    attempt_info: ClusterAttemptInfo = Field(default_factory=ClusterAttemptInfo, description="Number of the attempt.")
    state_transition_history: dict[str, PastClusterRecord] | None = Field(
        default=None, description="States of an earlier attempt. Each key is the number of a state."
    )


class ClusterStatus(base.Model):
    """State and history of the cluster.

    Attributes:
        observed_generation: None if another controller wrote the status. The Apache operator neither writes nor keeps
            it.
    """

    current_state: ClusterStateRecord = Field(description="The current state.")
    state_transition_history: dict[str, PastClusterRecord] = Field(
        default_factory=dict,
        description="States of the cluster. Each key is the number of a state; the highest number is the latest state.",
    )
    current_attempt_summary: ClusterAttemptSummary = Field(
        default_factory=ClusterAttemptSummary, description="The current attempt."
    )
    previous_attempt_summary: ClusterAttemptSummary | None = Field(
        default=None, description="The attempt before the current one."
    )
    observed_generation: base.Integer | None = Field(
        default=None,
        description=(
            "metadata.generation of the specification that was applied last, or that could not be applied. Not written "
            "by the Apache operator."
        ),
    )

    def to_document(self) -> JsonObject:
        """Return the status as JSON values: camelCase, nulls omitted, times in RFC 3339 UTC (`…Z`)."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class SparkCluster(base.Resource):
    """A standalone Apache Spark cluster: one master and its workers."""

    kind: str = "SparkCluster"
    spec: SparkClusterSpec = Field(description="Size and configuration of the cluster.")
    status: ClusterStatus | None = Field(
        default=None, description="State and history of the cluster, written by the operator."
    )


def parse_cluster(document: Mapping[str, object]) -> SparkCluster:
    """Parse a SparkCluster.

    Args:
        document: The resource, as JSON values with field names in camelCase.

    Raises:
        InvalidResource: A field is missing, has the wrong type, or an unsupported value.
    """
    return parse_model(SparkCluster, document)
