"""What every driver has: metadata, image, ports, environment and resources of the Spark container."""

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.metadata import driver_labels, with_ids
from airflow_provider_spark_operator.core.driver.naming import POD_NAME_KEY
from airflow_provider_spark_operator.core.driver.pod import (
    Changes,
    JsonObject,
    SparkPod,
    Submission,
    variable,
)
from airflow_provider_spark_operator.core.driver.ports import (
    connect_port,
    container_block_manager_port,
    driver_port,
    ui_port,
)
from airflow_provider_spark_operator.core.driver.resources import (
    FACTOR_KEY,
    container_resources,
    written_overhead_factor,
)
from airflow_provider_spark_operator.core.driver.uploads import upload_dependencies
from airflow_provider_spark_operator.core.names import DRIVER_CONTAINER

_MAX_NAME_LENGTH = 253
_ESCALATION = "securityContext.allowPrivilegeEscalation"
_DRIVER_IMAGE_KEY = "spark.kubernetes.driver.container.image"
_PULL_POLICIES = ("Always", "Never", "IfNotPresent")


def basic(submission: Submission, spark_pod: SparkPod) -> Changes:
    """Name and label the pod, and fill its Spark container.

    Raises:
        DriverBuildError: no image, a reserved label, or a value that does not parse.
    """
    _check_pod_name(submission)
    uploads = upload_dependencies(submission)
    return Changes(
        pod=_pod(submission),
        container=_container(submission, spark_pod.container.get("name")),
        properties={
            POD_NAME_KEY: submission.naming.pod_name,
            "spark.app.id": submission.naming.application_id,
            "spark.kubernetes.submitInDriver": "true",
            FACTOR_KEY: written_overhead_factor(submission.conf, submission.inputs.kind),
            **uploads.properties,
        },
        uploads=uploads.uploads,
    )


def _check_pod_name(submission: Submission) -> None:
    """Raise DriverBuildError for a name over what the API takes: Spark sends it, and the API refuses the pod."""
    name = submission.naming.pod_name
    if len(name) > _MAX_NAME_LENGTH:
        key = POD_NAME_KEY if POD_NAME_KEY in submission.conf.values else "spark.app.name"
        raise DriverBuildError(
            key, f"makes a driver pod's name of {len(name)} characters: the API takes at most {_MAX_NAME_LENGTH}"
        )


def _pod(submission: Submission) -> JsonObject:
    conf = submission.conf
    metadata: JsonObject = {"name": submission.naming.pod_name, "labels": driver_labels(submission)}
    annotations = conf.with_prefix("spark.kubernetes.driver.annotation.")
    if annotations:
        metadata["annotations"] = {key: with_ids(submission, value) for key, value in annotations.items()}
    spec: JsonObject = {"restartPolicy": "Never"}
    selector = conf.with_prefix("spark.kubernetes.node.selector.") | conf.with_prefix(
        "spark.kubernetes.driver.node.selector."
    )
    if selector:
        spec["nodeSelector"] = selector
    pull_secrets = conf.listed("spark.kubernetes.container.image.pullSecrets")
    if pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in pull_secrets]
    scheduler = conf.text("spark.kubernetes.driver.scheduler.name", "spark.kubernetes.scheduler.name")
    if scheduler is not None:
        spec["schedulerName"] = scheduler
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _container(submission: Submission, name: str | None) -> JsonObject:
    conf = submission.conf
    escalation = conf.boolean(f"spark.kubernetes.driver.{_ESCALATION}", f"spark.kubernetes.{_ESCALATION}")
    return {
        "name": name or DRIVER_CONTAINER,
        "image": _image(submission),
        "imagePullPolicy": conf.choice("spark.kubernetes.container.image.pullPolicy", _PULL_POLICIES, "IfNotPresent"),
        "ports": [
            {"name": port_name, "containerPort": port, "protocol": "TCP"}
            for port_name, port in (
                ("driver-rpc-port", driver_port(conf)),
                ("blockmanager", container_block_manager_port(conf)),
                ("spark-ui", ui_port(conf)),
                ("spark-connect", connect_port(conf)),
            )
        ],
        "env": _environment(submission),
        "resources": container_resources(conf, submission.inputs.kind),
        "securityContext": {"allowPrivilegeEscalation": escalation},
    }


def _image(submission: Submission) -> str:
    image = submission.conf.text(_DRIVER_IMAGE_KEY, "spark.kubernetes.container.image")
    if submission.conf.text(_DRIVER_IMAGE_KEY) == "":
        raise DriverBuildError(_DRIVER_IMAGE_KEY, "is empty: name the image that holds Spark, or remove it")
    if not image:
        raise DriverBuildError("spark.kubernetes.container.image", "is required: name the image that holds Spark")
    return image.replace("{{SPARK_VERSION}}", submission.inputs.spark_version)


def _environment(submission: Submission) -> list[JsonObject]:
    inputs = submission.inputs
    return [
        variable("SPARK_USER", inputs.proxy_user or inputs.user),
        variable("SPARK_APPLICATION_ID", submission.naming.application_id),
        *(variable(name, value) for name, value in submission.conf.with_prefix("spark.kubernetes.driverEnv.").items()),
        {
            "name": "SPARK_DRIVER_BIND_ADDRESS",
            "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}},
        },
    ]
