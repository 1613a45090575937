"""The fields that every driver has: metadata, image, ports, environment and resources of the Spark container."""

from ...kubernetes.json_object import JsonObject
from ...kubernetes.names import DRIVER_CONTAINER
from ...spark.spark_conf import DRIVER_IMAGE_KEY, IMAGE_KEY, VERSION_PLACEHOLDER
from ..configuration.errors import DriverBuildError
from ..configuration.ports import get_connect_port, get_container_block_manager_port, get_driver_port, get_ui_port
from ..configuration.resource_names import POD_NAME_KEY
from .metadata import build_driver_labels, replace_placeholders
from .pod import BuildContext, Changes, SparkPod, build_variable
from .resources import FACTOR_KEY, build_container_resources, format_overhead_factor
from .uploads import plan_dependency_uploads

_MAX_NAME_LENGTH = 253
_ESCALATION = "securityContext.allowPrivilegeEscalation"
_PULL_POLICIES = ("Always", "Never", "IfNotPresent")


def fill_pod(submission: BuildContext, spark_pod: SparkPod) -> Changes:
    """Set the name and labels of the pod, and fill its Spark container.

    Raises:
        DriverBuildError: The image is missing, a label is reserved, or a value is invalid.
    """
    _check_pod_name(submission)
    uploads = plan_dependency_uploads(submission)
    return Changes(
        pod=_build_pod(submission),
        container=_build_container(submission, spark_pod.container.get("name")),
        properties={
            POD_NAME_KEY: submission.naming.pod_name,
            "spark.app.id": submission.naming.application_id,
            "spark.kubernetes.submitInDriver": "true",
            FACTOR_KEY: format_overhead_factor(submission.conf, submission.inputs.kind),
            **uploads.properties,
        },
        uploads=uploads.uploads,
    )


def _check_pod_name(submission: BuildContext) -> None:
    """Raise DriverBuildError for a name that is too long: Spark would send the pod, and the API would reject it."""
    name = submission.naming.pod_name
    if len(name) > _MAX_NAME_LENGTH:
        key = POD_NAME_KEY if POD_NAME_KEY in submission.conf.values else "spark.app.name"
        raise DriverBuildError(
            key, f"results in a driver pod name of {len(name)} characters: use a name of at most {_MAX_NAME_LENGTH}"
        )


def _build_pod(submission: BuildContext) -> JsonObject:
    conf = submission.conf
    metadata: JsonObject = {"name": submission.naming.pod_name, "labels": build_driver_labels(submission)}
    annotations = conf.get_by_prefix("spark.kubernetes.driver.annotation.")
    if annotations:
        metadata["annotations"] = {key: replace_placeholders(submission, value) for key, value in annotations.items()}
    spec: JsonObject = {"restartPolicy": "Never"}
    selector = conf.get_by_prefix("spark.kubernetes.node.selector.") | conf.get_by_prefix(
        "spark.kubernetes.driver.node.selector."
    )
    if selector:
        spec["nodeSelector"] = selector
    pull_secrets = conf.get_list("spark.kubernetes.container.image.pullSecrets")
    if pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in pull_secrets]
    scheduler = conf.get_text("spark.kubernetes.driver.scheduler.name", "spark.kubernetes.scheduler.name")
    if scheduler is not None:
        spec["schedulerName"] = scheduler
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _build_container(submission: BuildContext, name: str | None) -> JsonObject:
    conf = submission.conf
    escalation = conf.get_boolean(f"spark.kubernetes.driver.{_ESCALATION}", f"spark.kubernetes.{_ESCALATION}")
    return {
        "name": name or DRIVER_CONTAINER,
        "image": _get_image(submission),
        "imagePullPolicy": conf.get_choice(
            "spark.kubernetes.container.image.pullPolicy", _PULL_POLICIES, "IfNotPresent"
        ),
        "ports": [
            {"name": port_name, "containerPort": port, "protocol": "TCP"}
            for port_name, port in (
                ("driver-rpc-port", get_driver_port(conf)),
                ("blockmanager", get_container_block_manager_port(conf)),
                ("spark-ui", get_ui_port(conf)),
                ("spark-connect", get_connect_port(conf)),
            )
        ],
        "env": _build_environment(submission),
        "resources": build_container_resources(conf, submission.inputs.kind),
        "securityContext": {"allowPrivilegeEscalation": escalation},
    }


def _get_image(submission: BuildContext) -> str:
    image = submission.conf.get_text(DRIVER_IMAGE_KEY, IMAGE_KEY)
    if submission.conf.get_text(DRIVER_IMAGE_KEY) == "":
        raise DriverBuildError(DRIVER_IMAGE_KEY, "is empty: set an image that contains Spark, or remove the key")
    if not image:
        raise DriverBuildError(IMAGE_KEY, "is required: set an image that contains Spark")
    return image.replace(VERSION_PLACEHOLDER, submission.inputs.spark_version)


def _build_environment(submission: BuildContext) -> list[JsonObject]:
    inputs = submission.inputs
    return [
        build_variable("SPARK_USER", inputs.proxy_user or inputs.user),
        build_variable("SPARK_APPLICATION_ID", submission.naming.application_id),
        *(
            build_variable(name, value)
            for name, value in submission.conf.get_by_prefix("spark.kubernetes.driverEnv.").items()
        ),
        {
            "name": "SPARK_DRIVER_BIND_ADDRESS",
            "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}},
        },
    ]
