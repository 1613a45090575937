"""The model of the SparkApplication of `spark.apache.org`.

Field names and defaults are the Apache operator's.
Durations are whole milliseconds, named as in the CRD; zero or less switches most of them off.
"""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, WithJsonSchema

from ..kubernetes.json_object import JsonObject
from ..states.states import RESTART_ATTEMPTS, RESTART_BACKOFF_MILLIS
from .base import Boolean, Integer, KubernetesType, Model, PodTemplate, Resource
from .status import ApplicationStatus


class DeploymentMode(StrEnum):
    """Where the driver runs; only cluster mode can be run by an operator."""

    CLUSTER_MODE = "ClusterMode"
    CLIENT_MODE = "ClientMode"


class RestartCondition(StrEnum):
    """Whether an application is restarted after it stopped."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    ON_INFRASTRUCTURE_FAILURE = "OnInfrastructureFailure"
    NEVER = "Never"


class ResourceRetainPolicy(StrEnum):
    """Whether the driver and its resources are retained after the application stopped."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"


class RuntimeVersions(Model):
    """The versions of the software in the application's container image."""

    spark_version: str = Field(
        description=(
            'Spark version of the container image, for example "4.3.0". Replaces {{SPARK_VERSION}} in image names '
            "and becomes the label spark-version."
        )
    )
    scala_version: str | None = Field(
        default=None, description="Scala version of the container image. For information only."
    )
    jdk_version: str | None = Field(
        default=None, description="Java version of the container image. For information only."
    )


class ApplicationTimeoutConfig(Model):
    """Time limits of the states of an application, in milliseconds."""

    driver_start_timeout_millis: Integer = Field(
        default=300_000,
        description=(
            "Time in milliseconds that the driver container may take to start after it was requested. 0 disables "
            "the limit. Default: 300000."
        ),
    )
    driver_ready_timeout_millis: Integer = Field(
        default=300_000,
        description=(
            "Time in milliseconds that a started driver may take to become ready. 0 disables the limit. Default: "
            "300000."
        ),
    )
    executor_start_timeout_millis: Integer = Field(
        default=300_000,
        description=(
            "Time in milliseconds that initExecutors executors may take to become ready. 0 disables the limit. "
            "Default: 300000."
        ),
    )
    force_termination_grace_period_millis: Integer = Field(
        default=300_000,
        description=(
            "Time in milliseconds after which a driver that is being deleted is deleted by force. Default: 300000."
        ),
    )
    termination_requeue_period_millis: Integer = Field(
        default=2_000,
        description="Time in milliseconds between two checks of resources that are being deleted. Default: 2000.",
    )


class InstanceConfig(Model):
    """Numbers of executors that determine the state of the application.

    They do not set how many executors Spark requests.
    """

    init_executors: Integer = Field(
        default=0,
        description=(
            "Number of ready executors at which the application counts as running. 0: it runs as soon as the "
            "driver is ready. Default: 0."
        ),
    )
    min_executors: Integer = Field(
        default=0,
        description=(
            "Number of ready executors below which a running application is shown as "
            "RunningWithBelowThresholdExecutors. Default: 0."
        ),
    )
    max_executors: Integer = Field(
        default=0,
        description=(
            "Number of executors that the application expects in full operation; with fewer it is shown as "
            "RunningWithPartialCapacity. 0: no maximum; the state is not used. Default: 0."
        ),
    )


class RestartConfig(Model):
    """Whether, how often and how soon a stopped application is started again."""

    restart_policy: RestartCondition = Field(
        default=RestartCondition.NEVER,
        description=(
            "After which outcomes the application is started again: Always, OnFailure, OnInfrastructureFailure or "
            "Never. Default: Never."
        ),
    )
    max_restart_attempts: Integer = Field(
        default=RESTART_ATTEMPTS, description="Maximum number of restarts. 3 allows four attempts in all. Default: 3."
    )
    max_restart_on_failure: Integer | None = Field(
        default=None,
        description=(
            "Maximum number of consecutive restarts after failures. By default, only maxRestartAttempts limits them."
        ),
    )
    max_restart_on_scheduling_failure: Integer | None = Field(
        default=None,
        description=(
            "Maximum number of consecutive restarts after scheduling failures. By default, only maxRestartAttempts "
            "limits them."
        ),
    )
    restart_backoff_millis: Integer = Field(
        default=RESTART_BACKOFF_MILLIS, description="Delay before a restart, in milliseconds. Default: 30000."
    )
    restart_backoff_millis_for_failure: Integer | None = Field(
        default=None,
        description="Delay before a restart after a failure, in milliseconds. Default: restartBackoffMillis.",
    )
    restart_backoff_millis_for_scheduling_failure: Integer | None = Field(
        default=None,
        description=(
            "Delay before a restart after a scheduling failure, in milliseconds. Default: "
            "restartBackoffMillisForFailure if set, else restartBackoffMillis."
        ),
    )
    restart_counter_reset_millis: Integer = Field(
        default=-1,
        description=(
            "Duration of an attempt in milliseconds after which the restart counters are reset. -1 never resets "
            "them. Default: -1."
        ),
    )


class ApplicationTolerations(Model):
    """Timeouts, executor thresholds, restarts, and how long resources are kept."""

    application_timeout_config: ApplicationTimeoutConfig = Field(
        default_factory=ApplicationTimeoutConfig,
        description="Time limits of the states of an application, in milliseconds.",
    )
    instance_config: InstanceConfig = Field(
        default_factory=InstanceConfig, description="Numbers of executors that determine the state of the application."
    )
    restart_config: RestartConfig = Field(
        default_factory=RestartConfig,
        description="Whether, how often and how soon a stopped application is started again.",
    )
    resource_retain_policy: ResourceRetainPolicy = Field(
        default=ResourceRetainPolicy.NEVER,
        description=(
            "After which outcomes the driver pod and its resources are kept: Always, OnFailure or Never. Applies "
            "if the application is not restarted. Default: Never."
        ),
    )
    resource_retain_duration_millis: Integer = Field(
        default=-1,
        description=(
            "How long retained resources are kept, in milliseconds. -1 keeps them until the SparkApplication is "
            "deleted. Default: -1."
        ),
    )
    ttl_after_stop_millis: Integer = Field(
        default=-1,
        description=(
            "Time in milliseconds after the end at which the SparkApplication is deleted. -1 never deletes it. "
            "Default: -1."
        ),
    )


class PodSpecOverride(Model):
    """The pod template of the driver or of the executors."""

    pod_template_spec: PodTemplate | None = Field(
        default=None,
        description=(
            "Pod template (core/v1 PodTemplateSpec) to which Spark adds its own container settings. Name the "
            "Spark container in spark.kubernetes.driver.podTemplateContainerName or "
            "spark.kubernetes.executor.podTemplateContainerName; otherwise Spark uses the first container."
        ),
    )


class ConfigMapSpec(Model):
    """A ConfigMap that is created before the driver and deleted with it."""

    name: str = Field(description="Name of the ConfigMap. Must be unique in the namespace.")
    data: dict[str, str] = Field(
        default_factory=dict, description="Content of the ConfigMap: file names and their text."
    )
    labels: dict[str, str] = Field(default_factory=dict, description="Labels of the ConfigMap.")
    annotations: dict[str, str] = Field(default_factory=dict, description="Annotations of the ConfigMap.")


_OPEN_OBJECT: Final = {"type": "object", "additionalProperties": True}
_METADATA: Final = "meta.v1.ObjectMeta"
_EXPOSURE_DESCRIPTIONS: Final = {
    "serviceMetadata": "Metadata of the Service (meta/v1 ObjectMeta). The name is required.",
    "serviceSpec": "Specification of the Service (core/v1 ServiceSpec). Its ports are required.",
    "ingressMetadata": "Metadata of the Ingress (meta/v1 ObjectMeta). The name is required.",
    "ingressSpec": "Specification of the Ingress (networking.k8s.io/v1 IngressSpec). By default, it serves all paths.",
    "httpRouteMetadata": "Metadata of the HTTPRoute (meta/v1 ObjectMeta). The name is required.",
    "httpRouteSpec": "Specification of the HTTPRoute (gateway.networking.k8s.io/v1). parentRefs is required.",
    "grpcRouteMetadata": "Metadata of the GRPCRoute (meta/v1 ObjectMeta). The name is required.",
    "grpcRouteSpec": "Specification of the GRPCRoute (gateway.networking.k8s.io/v1). parentRefs is required.",
}


def _build_exposure_schema(metadata: str, spec: str) -> WithJsonSchema:
    """Return the schema of a Service with an Ingress or route."""
    required = ["serviceMetadata", "serviceSpec", metadata]
    properties = {name: {**_OPEN_OBJECT, "description": _EXPOSURE_DESCRIPTIONS[name]} for name in [*required, spec]}
    return WithJsonSchema({"type": "object", "properties": properties, "required": required})


def _list_exposure_parts(metadata: str, spec: str, spec_type: str = "") -> KubernetesType:
    """Return the types of the fields. The fields of Gateway API types are not known here."""
    services = (("serviceMetadata", _METADATA), ("serviceSpec", "core.v1.ServiceSpec"))
    return KubernetesType(parts=(*services, (metadata, _METADATA), (spec, spec_type)))


DriverServiceIngress = Annotated[
    JsonObject,
    _build_exposure_schema("ingressMetadata", "ingressSpec"),
    _list_exposure_parts("ingressMetadata", "ingressSpec", "networking.v1.IngressSpec"),
]
DriverHttpRoute = Annotated[
    JsonObject,
    _build_exposure_schema("httpRouteMetadata", "httpRouteSpec"),
    _list_exposure_parts("httpRouteMetadata", "httpRouteSpec"),
]
DriverGrpcRoute = Annotated[
    JsonObject,
    _build_exposure_schema("grpcRouteMetadata", "grpcRouteSpec"),
    _list_exposure_parts("grpcRouteMetadata", "grpcRouteSpec"),
]


class SparkApplicationSpec(Model):
    """What to run, and how."""

    runtime_versions: RuntimeVersions = Field(description="The versions of the software in the container image.")
    main_class: str | None = Field(
        default=None,
        description="Class to run. Required with jars. For several pyFiles, set org.apache.spark.deploy.PythonRunner.",
    )
    jars: str | None = Field(
        default=None,
        description="URI of the jar with the main class. local:///opt/spark/app.jar is a file in the image.",
    )
    py_files: str | None = Field(
        default=None,
        description=(
            "URI of the Python script to run, for example local:///opt/spark/app.py. With mainClass "
            "org.apache.spark.deploy.PythonRunner, further Python files follow after commas."
        ),
    )
    spark_r_files: str | None = Field(default=None, description="URI of the R script to run.")
    files: str | None = Field(
        default=None,
        description=(
            "URIs of files for the working directories of driver and executors, separated by commas. The Apache "
            "operator ignores this field; spark.files in sparkConf works with both."
        ),
    )
    proxy_user: str | None = Field(
        default=None, description="User that Spark impersonates (spark-submit --proxy-user)."
    )
    deployment_mode: DeploymentMode = Field(
        default=DeploymentMode.CLUSTER_MODE,
        description="Must be ClusterMode: an operator cannot run ClientMode. Default: ClusterMode.",
    )
    driver_args: list[str] = Field(default_factory=list, description="Arguments of the application, one string each.")
    spark_conf: dict[str, str] = Field(
        default_factory=dict,
        description='Spark properties. All values are strings, for example spark.executor.instances: "2".',
    )
    driver_spec: PodSpecOverride | None = Field(default=None, description="The pod template of the driver.")
    executor_spec: PodSpecOverride | None = Field(default=None, description="The pod template of the executors.")
    config_map_specs: list[ConfigMapSpec] = Field(
        default_factory=list, description="ConfigMaps that are created before the driver and deleted with it."
    )
    driver_service_ingress_list: list[DriverServiceIngress] = Field(
        default_factory=list, description="Services and Ingresses that expose ports of the driver."
    )
    driver_http_route_list: list[DriverHttpRoute] = Field(
        default_factory=list, description="Services and HTTPRoutes (Gateway API) that expose ports of the driver."
    )
    driver_grpc_route_list: list[DriverGrpcRoute] = Field(
        default_factory=list, description="Services and GRPCRoutes (Gateway API) that expose ports of the driver."
    )
    application_tolerations: ApplicationTolerations = Field(
        default_factory=ApplicationTolerations,
        description="Timeouts, executor thresholds, restarts, and how long resources are kept.",
    )
    suspend: Boolean = Field(
        default=False,
        description=(
            "Whether the application must not run. If true, the operator does not start the driver, or deletes a "
            "running one. When the value becomes false, the driver starts in a new attempt. Default: false."
        ),
    )


class SparkApplication(Resource):
    """An Apache Spark application that runs on Kubernetes."""

    kind: str = "SparkApplication"
    spec: SparkApplicationSpec = Field(description="What to run, and how.")
    status: ApplicationStatus | None = Field(
        default=None, description="State and history of the application, written by the operator."
    )
