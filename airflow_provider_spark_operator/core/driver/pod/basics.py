"""The fields that every driver has: metadata, image, ports, environment and resources of the Spark container."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...kubernetes import names
from ...kubernetes.json_object import JsonObject
from ...kubernetes.names import DRIVER_CONTAINER
from ...spark.spark_conf import DRIVER_IMAGE_KEY, IMAGE_KEY, VERSION_PLACEHOLDER
from ..configuration.configuration import (
    DriverBuildError,
    get_connect_port,
    get_container_block_manager_port,
    get_driver_port,
    get_ui_port,
)
from ..configuration.inputs import NO_RESOURCE, ApplicationKind
from ..configuration.resource_names import POD_NAME_KEY, build_application_name_label
from ..configuration.uris import get_file_path, is_local, split_alias
from .pod import BuildContext, Changes, SparkPod, Upload, build_variable
from .resources import FACTOR_KEY, build_container_resources, format_overhead_factor

_MAX_NAME_LENGTH = 253
_ESCALATION = "securityContext.allowPrivilegeEscalation"
_PULL_POLICIES = ("Always", "Never", "IfNotPresent")
CONFIGURATION_DIRECTORY = "/opt/spark/conf"
_MAIN_RESOURCE_FIELD = "main resource"
UPLOAD_PATH_KEY = "spark.kubernetes.file.upload.path"
_ARCHIVES_KEY = "spark.archives"
_DEPENDENCY_KEYS = ("spark.jars", "spark.files", _ARCHIVES_KEY, "spark.submit.pyFiles")
LABEL_PREFIX = "spark.kubernetes.driver.label."
_DEFAULT_NAME = "spark"


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


def add_command(submission: BuildContext, _: SparkPod) -> Changes:
    """Append the arguments for the entry point of the image. For Python, also set the interpreters.

    Raises:
        DriverBuildError: The Python script is a local file, and no upload path is configured.
    """
    inputs = submission.inputs
    resource, uploads = _resolve_resource(submission)
    proxy_user = ["--proxy-user", inputs.proxy_user] if inputs.proxy_user else []
    container: JsonObject = {
        "args": [
            "driver",
            *proxy_user,
            "--properties-file",
            f"{CONFIGURATION_DIRECTORY}/spark.properties",
            "--class",
            inputs.main_class,
            resource,
            *inputs.arguments,
        ]
    }
    variables = _build_python_variables(submission) if inputs.kind is ApplicationKind.PYTHON else []
    if variables:
        container["env"] = variables
    return Changes(
        container=container, properties={"spark.kubernetes.resource.type": inputs.kind.value}, uploads=uploads
    )


def _resolve_resource(submission: BuildContext) -> tuple[str, tuple[Upload, ...]]:
    """Return the main resource for the command line: `spark.jars` contains a local jar; an R script is not changed."""
    inputs = submission.inputs
    resource = inputs.main_resource or NO_RESOURCE
    if inputs.kind is ApplicationKind.R or not is_local(resource):
        return resource, ()
    if inputs.kind is ApplicationKind.JAVA:
        return NO_RESOURCE, ()
    moved = plan_upload(submission, _MAIN_RESOURCE_FIELD, resource)
    return moved.target, (moved,)


def _build_python_variables(submission: BuildContext) -> list[JsonObject]:
    conf, environment = submission.conf, submission.inputs.environment
    common = environment.get("PYSPARK_PYTHON")
    interpreters = {
        "PYSPARK_PYTHON": _find_first(conf.get_text("spark.pyspark.python"), common),
        "PYSPARK_DRIVER_PYTHON": _find_first(
            conf.get_text("spark.pyspark.driver.python", "spark.pyspark.python"),
            environment.get("PYSPARK_DRIVER_PYTHON"),
            common,
        ),
    }
    return [build_variable(name, value) for name, value in interpreters.items() if value is not None]


def _find_first(*values: str | None) -> str | None:
    """Return the first value that is set. For Spark, an empty value is set."""
    return next((value for value in values if value is not None), None)


@dataclass(frozen=True)
class Uploads:
    """The files to upload, and the properties that refer to them afterwards."""

    uploads: tuple[Upload, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


def plan_dependency_uploads(submission: BuildContext) -> Uploads:
    """Plan the upload of local dependencies. The uploaded entries of a key come before its other entries.

    Raises:
        DriverBuildError: There are local dependencies, and no upload path is configured.
    """
    uploads: list[Upload] = []
    properties: dict[str, str] = {}
    for key in _DEPENDENCY_KEYS:
        entries = submission.conf.get_list(key)
        local = [entry for entry in entries if is_local(entry)]
        moved = [plan_upload(submission, key, entry) for entry in local]
        if moved:
            archives = key == _ARCHIVES_KEY
            uploads += [Upload(each.source, split_alias(each.target)[0]) if archives else each for each in moved]
            rest = [entry for entry in entries if not is_local(entry)]
            properties[key] = ",".join([*(each.target for each in moved), *rest])
    return Uploads(tuple(uploads), properties)


def plan_upload(submission: BuildContext, key: str, uri: str) -> Upload:
    """Return the target of one local file, in its own directory. The target of an archive keeps its `#alias`.

    Raises:
        DriverBuildError: No upload path is configured. `key` names the file.
    """
    base = submission.conf.get_text(UPLOAD_PATH_KEY)
    source = get_file_path(uri)
    if not base or source is None:
        raise DriverBuildError(
            key,
            f"{uri} is a file on a local disk, which the driver cannot read. Add the file to the image "
            f"and refer to it by local://, refer to a URL that the driver can read, or set {UPLOAD_PATH_KEY}",
        )
    directory = submission.naming.get_upload_directory(f"{key}\0{uri}")
    target = f"{base.rstrip('/')}/{directory}/{source.rsplit('/', 1)[-1]}"
    if key == _ARCHIVES_KEY:
        _, alias = split_alias(uri)
        target = f"{_collapse_slashes(target)}#{alias}" if alias else _collapse_slashes(target)
    return Upload(source, target)


def _collapse_slashes(uri: str) -> str:
    return "file:/" + uri.removeprefix("file:").lstrip("/") if uri.startswith("file:") else uri


def build_selector_label(submission: BuildContext) -> dict[str, str]:
    """Return the label that all resources of the application share."""
    return {names.LABEL_APPLICATION_SELECTOR: submission.naming.application_id}


def build_driver_labels(submission: BuildContext) -> dict[str, str]:
    """Return the labels of the user and of Spark. The service selects the driver by all of them.

    Raises:
        DriverBuildError: The user sets a label that is reserved for Spark.
    """
    name = submission.conf.get_text("spark.app.name")
    reserved = {
        names.LABEL_SPARK_VERSION: _build_version_label(submission.inputs.spark_version),
        **build_selector_label(submission),
        names.LABEL_SPARK_NAME: build_application_name_label(_DEFAULT_NAME if name is None else name),
        names.LABEL_ROLE: names.ROLE_DRIVER,
    }
    labels = submission.conf.get_by_prefix(LABEL_PREFIX)
    for name in reserved.keys() & labels.keys():
        raise DriverBuildError(f"{LABEL_PREFIX}{name}", "is reserved for Spark: choose another label")
    return {name: replace_placeholders(submission, value) for name, value in labels.items()} | reserved


def _build_version_label(version: str) -> str:
    """Return a version such as `4.3.0+build` as a valid label value."""
    return re.sub(r"[^-A-Za-z0-9_.]", "_", version)[: names.LONGEST_LABEL_VALUE].strip("-_.")


def replace_placeholders(submission: BuildContext, value: str) -> str:
    """Return the value with `{{APP_ID}}` replaced, and `{{EXECUTOR_ID}}` removed because a driver has none."""
    return value.replace("{{APP_ID}}", submission.naming.application_id).replace("{{EXECUTOR_ID}}", "")
