"""The pod templates: the driver's, which the first step starts from, and the executors', which the driver reads."""

from collections.abc import Mapping
from typing import Any

from ...kubernetes.names import ROLE_DRIVER
from ...spark.spark_conf import TEMPLATE_CONTAINER_KEYS
from ..configuration.errors import DriverBuildError
from ..configuration.inputs import DRIVER_TEMPLATE_KEY
from .plain_template import normalize_template
from .pod import BuildContext, Changes, SparkPod, build_config_map, build_volume_with_mount, check_no_file_named

_CONTAINER_KEY = TEMPLATE_CONTAINER_KEYS[ROLE_DRIVER]
_OBJECT: Mapping[str, object] = {}
_STRING = ""
_CONTAINER = {
    "name": _STRING,
    "args": [_STRING],
    "env": [_OBJECT],
    "ports": [_OBJECT],
    "volumeMounts": [_OBJECT],
    "resources": {"requests": _OBJECT, "limits": _OBJECT},
    "securityContext": {"capabilities": {"add": [_STRING]}},
}
_POD = {
    "metadata": {"labels": _OBJECT, "annotations": _OBJECT},
    "spec": {
        "containers": [_CONTAINER],
        "initContainers": [_CONTAINER],
        "imagePullSecrets": [_OBJECT],
        "nodeSelector": _OBJECT,
        "volumes": [_OBJECT],
    },
}
"""The shape of the fields that the build reads or extends. Other fields are not checked."""


def build_initial_pod(submission: BuildContext) -> tuple[SparkPod, tuple[str, ...]]:
    """Return the driver pod before the build, and warnings.

    The pod is the template with its Spark container set apart. The pod is empty if there is no template.

    The Spark container is the container that the configuration names, or else the first container of the template.

    Raises:
        DriverBuildError: The template is not a pod template, or the configuration names a file that does not exist.
    """
    given = submission.inputs.driver_template
    if given is None:
        check_no_file_named(submission, DRIVER_TEMPLATE_KEY)
        return SparkPod({}, {}), ()
    named = submission.conf.get_text(_CONTAINER_KEY)
    pod = split_template(given, submission.inputs.driver_template_field, named)
    metadata = dict(pod.pod["metadata"])
    if "namespace" in metadata:
        metadata["namespace"] = submission.inputs.namespace
    missing = bool(pod.container) and named is not None and pod.container.get("name") != named
    warnings = (f"{_CONTAINER_KEY}: no container of the template is named {named!r}; the first container is used",)
    return SparkPod({**pod.pod, "metadata": metadata}, pod.container), warnings if missing else ()


def split_template(given: Mapping[str, Any], field: str, named: str | None) -> SparkPod:
    """Return a normalized pod template with its Spark container set apart.

    Args:
        given: The pod template.
        field: The source of the template, for messages.
        named: The name of the Spark container. If no container has it, the first container is the Spark container.

    Raises:
        DriverBuildError: `given` is not a pod template.
    """
    template = normalize_template(given)
    spec, containers = _check_template(template, field)
    index = next((i for i, each in enumerate(containers) if each.get("name") == named), 0)
    pod = {
        **template,
        "metadata": dict(template.get("metadata") or {}),
        "spec": {**spec, "containers": [*containers[:index], *containers[index + 1 :]]},
    }
    return SparkPod(pod, containers[index] if containers else {})


def _check_template(template: Mapping[str, Any], field: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if template.get("kind", "Pod") != "Pod":
        raise DriverBuildError(field, f"must be a pod template, but its kind is {template['kind']}")
    spec = template.get("spec")
    if not isinstance(spec, dict):
        raise DriverBuildError(field, "is not a pod template: it has no spec")
    _check_shape(template, _POD, "", field)
    return spec, spec.get("containers") or []


def _check_shape(value: object, shape: object, path: str, field: str) -> None:
    """Raise DriverBuildError for a value that is neither null nor of the type in `shape`."""
    if isinstance(shape, Mapping):
        if not isinstance(value, Mapping):
            raise DriverBuildError(field, f"{path} must be an object")
        for name, inner in shape.items():
            if value.get(name) is not None:
                _check_shape(value[name], inner, f"{path}.{name}" if path else name, field)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise DriverBuildError(field, f"{path} must be a list")
        for index, each in enumerate(value):
            _check_shape(each, shape[0], f"{path}[{index}]", field)
    elif not isinstance(value, str):
        raise DriverBuildError(field, f"{path} must be a string")


_DIRECTORY = "/opt/spark/pod-template"
_FILE = "pod-spec-template.yml"
_ENTRY = "podspec-configmap-key"
_VOLUME = "pod-template-volume"
EXECUTOR_TEMPLATE_KEY = "spark.kubernetes.executor.podTemplateFile"


def mount_executor_template(submission: BuildContext, _: SparkPod) -> Changes:
    """Mount the unchanged text of the template in the driver.

    Raises:
        DriverBuildError: The configuration names a file that does not exist.
    """
    text = submission.inputs.executor_template
    if text is None:
        check_no_file_named(submission, EXECUTOR_TEMPLATE_KEY)
        return Changes()
    name = f"{submission.naming.prefix}-driver-podspec-conf-map"
    added = build_volume_with_mount(
        {"name": _VOLUME, "configMap": {"name": name, "items": [{"key": _ENTRY, "path": _FILE}]}},
        {"name": _VOLUME, "mountPath": _DIRECTORY},
    )
    return Changes(
        pod=added.pod,
        container=added.container,
        properties={EXECUTOR_TEMPLATE_KEY: f"{_DIRECTORY}/{_FILE}"},
        resources=(build_config_map(name, {_ENTRY: text}),),
    )
