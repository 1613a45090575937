"""The SparkCluster of `spark.apache.org`: a standalone master with its workers, as people write it, typed.

Field names, what is required, and defaults are the Apache operator's.
"""

from pydantic import Field

from airflow_provider_spark_operator.core.models.application import RuntimeVersions
from airflow_provider_spark_operator.core.models.base import Integer, JsonObject, Model
from airflow_provider_spark_operator.core.models.cluster_status import ClusterStatus
from airflow_provider_spark_operator.core.models.resource import Resource


class WorkerInstanceConfig(Model):
    """How many workers there are: at first, and between which bounds an autoscaler may move (min below max)."""

    init_workers: Integer
    min_workers: Integer
    max_workers: Integer


class ClusterTolerations(Model):
    """What a cluster may take in its life: how many workers it has."""

    instance_config: WorkerInstanceConfig


class MasterSpec(Model):
    """What the master's objects are built upon (`core/v1` and `apps/v1` types)."""

    service_metadata: JsonObject | None = None
    service_spec: JsonObject | None = None
    stateful_set_metadata: JsonObject | None = None
    stateful_set_spec: JsonObject | None = None


class WorkerSpec(Model):
    """What the workers' objects are built upon (`core/v1`, `apps/v1` and `autoscaling/v2` types)."""

    service_metadata: JsonObject | None = None
    service_spec: JsonObject | None = None
    stateful_set_metadata: JsonObject | None = None
    stateful_set_spec: JsonObject | None = None
    horizontal_pod_autoscaler_spec: JsonObject | None = None


class SparkClusterSpec(Model):
    """`spec` of a SparkCluster."""

    runtime_versions: RuntimeVersions
    cluster_tolerations: ClusterTolerations
    master_spec: MasterSpec = Field(default_factory=MasterSpec)
    worker_spec: WorkerSpec = Field(default_factory=WorkerSpec)
    spark_conf: dict[str, str] = Field(default_factory=dict)


class SparkCluster(Resource):
    """A whole SparkCluster; `metadata` is Kubernetes' and stays a dict."""

    kind: str = "SparkCluster"
    spec: SparkClusterSpec
    status: ClusterStatus | None = None
