"""The SparkApplication of `spark.apache.org`: what people write, typed.

Field names and defaults are the Apache operator's; `suspend` is this package's addition.
Durations are whole milliseconds, named as in the CRD; zero or less switches most of them off.
"""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, WithJsonSchema

from airflow_provider_spark_operator.core.models.base import Boolean, Integer, JsonObject, Model
from airflow_provider_spark_operator.core.models.resource import Resource
from airflow_provider_spark_operator.core.models.status import ApplicationStatus


class DeploymentMode(StrEnum):
    """Where the driver runs; only cluster mode can be run by an operator."""

    CLUSTER_MODE = "ClusterMode"
    CLIENT_MODE = "ClientMode"


class RestartPolicy(StrEnum):
    """After which endings an application is tried again."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    ON_INFRASTRUCTURE_FAILURE = "OnInfrastructureFailure"
    NEVER = "Never"


class ResourceRetainPolicy(StrEnum):
    """After which endings the driver and what belongs to it are kept."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"


class RuntimeVersions(Model):
    """The versions in the application's image; only Spark's is used: for a label and a placeholder."""

    spark_version: str
    scala_version: str | None = None
    jdk_version: str | None = None


class ApplicationTimeoutConfig(Model):
    """How long a state may last, and how long a deleted driver may take to end."""

    driver_start_timeout_millis: Integer = 300_000
    driver_ready_timeout_millis: Integer = 300_000
    executor_start_timeout_millis: Integer = 300_000
    force_termination_grace_period_millis: Integer = 300_000
    termination_requeue_period_millis: Integer = 2_000


class InstanceConfig(Model):
    """How many ready executors an application expects; 0 expects none."""

    init_executors: Integer = 0
    min_executors: Integer = 0
    max_executors: Integer = 0


class RestartConfig(Model):
    """Whether, how often and how soon an ended application is tried again."""

    restart_policy: RestartPolicy = RestartPolicy.NEVER
    max_restart_attempts: Integer = 3
    max_restart_on_failure: Integer | None = None
    max_restart_on_scheduling_failure: Integer | None = None
    restart_backoff_millis: Integer = 30_000
    restart_backoff_millis_for_failure: Integer | None = None
    restart_backoff_millis_for_scheduling_failure: Integer | None = None
    restart_counter_reset_millis: Integer = -1


class ApplicationTolerations(Model):
    """What an application may take in its life: timeouts, executors, restarts, and what stays of it."""

    application_timeout_config: ApplicationTimeoutConfig = Field(default_factory=ApplicationTimeoutConfig)
    instance_config: InstanceConfig = Field(default_factory=InstanceConfig)
    restart_config: RestartConfig = Field(default_factory=RestartConfig)
    resource_retain_policy: ResourceRetainPolicy = ResourceRetainPolicy.NEVER
    resource_retain_duration_millis: Integer = -1
    ttl_after_stop_millis: Integer = -1


class PodSpecOverride(Model):
    """A pod template (`core/v1` PodTemplateSpec) for drivers or executors."""

    pod_template_spec: JsonObject | None = None


class ConfigMapSpec(Model):
    """A ConfigMap that is created before the driver and belongs to it."""

    name: str
    data: dict[str, str] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)


_OPEN_OBJECT: Final = {"type": "object", "additionalProperties": True}


def _exposure(metadata: str, spec: str) -> WithJsonSchema:
    """The schema of a service with an ingress or route before it: Kubernetes' own types, under our names."""
    required = ["serviceMetadata", "serviceSpec", metadata]
    properties = dict.fromkeys([*required, spec], _OPEN_OBJECT)
    return WithJsonSchema({"type": "object", "properties": properties, "required": required})


DriverServiceIngress = Annotated[JsonObject, _exposure("ingressMetadata", "ingressSpec")]
DriverHttpRoute = Annotated[JsonObject, _exposure("httpRouteMetadata", "httpRouteSpec")]
DriverGrpcRoute = Annotated[JsonObject, _exposure("grpcRouteMetadata", "grpcRouteSpec")]


class SparkApplicationSpec(Model):
    """`spec` of a SparkApplication."""

    runtime_versions: RuntimeVersions
    main_class: str | None = None
    jars: str | None = None
    py_files: str | None = None
    spark_r_files: str | None = None
    files: str | None = None
    proxy_user: str | None = None
    deployment_mode: DeploymentMode = DeploymentMode.CLUSTER_MODE
    driver_args: list[str] = Field(default_factory=list)
    spark_conf: dict[str, str] = Field(default_factory=dict)
    driver_spec: PodSpecOverride | None = None
    executor_spec: PodSpecOverride | None = None
    config_map_specs: list[ConfigMapSpec] = Field(default_factory=list)
    driver_service_ingress_list: list[DriverServiceIngress] = Field(default_factory=list)
    driver_http_route_list: list[DriverHttpRoute] = Field(default_factory=list)
    driver_grpc_route_list: list[DriverGrpcRoute] = Field(default_factory=list)
    application_tolerations: ApplicationTolerations = Field(default_factory=ApplicationTolerations)
    suspend: Boolean = False


class SparkApplication(Resource):
    """A whole SparkApplication; `metadata` is Kubernetes' and stays a dict."""

    kind: str = "SparkApplication"
    spec: SparkApplicationSpec
    status: ApplicationStatus | None = None
