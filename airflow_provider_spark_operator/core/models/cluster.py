"""The model of the SparkCluster of `spark.apache.org`: a standalone master and its workers.

Field names, required fields and defaults are the Apache operator's.
"""

from collections.abc import Mapping

from pydantic import Field

from . import base
from .application import RuntimeVersions
from .cluster_status import ClusterStatus
from .parse import parse_model
from .resource import Resource


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


class SparkCluster(Resource):
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
