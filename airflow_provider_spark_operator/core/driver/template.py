"""The driver's pod template: where building starts."""

from collections.abc import Mapping
from typing import Any

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.inputs import DRIVER_TEMPLATE_KEY
from airflow_provider_spark_operator.core.driver.plain_template import plain
from airflow_provider_spark_operator.core.driver.pod import SparkPod, Submission, check_no_file_is_named

_CONTAINER_KEY = "spark.kubernetes.driver.podTemplateContainerName"
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
"""The shape of what building reads or adds to; all else of a template is passed on unread."""


def initial_pod(submission: Submission) -> tuple[SparkPod, tuple[str, ...]]:
    """The template with its Spark container taken out, or an empty pod; and warnings.

    The Spark container is the one that the configuration names, else the first.

    Raises:
        DriverBuildError: the template is not that of a pod, or the configuration names a file that was
            not there.
    """
    given = submission.inputs.driver_template
    if given is None:
        check_no_file_is_named(submission, DRIVER_TEMPLATE_KEY)
        return SparkPod({}, {}), ()
    template = plain(given)
    spec, containers = _checked(template, submission.inputs.driver_template_field)
    named = submission.conf.text(_CONTAINER_KEY)
    index = next((i for i, each in enumerate(containers) if each.get("name") == named), 0)
    missing = bool(containers) and named is not None and containers[index].get("name") != named
    warnings = (f"{_CONTAINER_KEY}: no container of the template is named {named!r}; the first is used",)
    metadata = dict(template.get("metadata") or {})
    if "namespace" in metadata:
        metadata["namespace"] = submission.inputs.namespace
    pod = {
        **template,
        "metadata": metadata,
        "spec": {**spec, "containers": [*containers[:index], *containers[index + 1 :]]},
    }
    return SparkPod(pod, containers[index] if containers else {}), warnings if missing else ()


def _checked(template: Mapping[str, Any], field: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if template.get("kind", "Pod") != "Pod":
        raise DriverBuildError(field, f"is no pod template, but of the kind {template['kind']}")
    spec = template.get("spec")
    if not isinstance(spec, dict):
        raise DriverBuildError(field, "is no pod template: it has no spec")
    _check_shape(template, _POD, "", field)
    return spec, spec.get("containers") or []


def _check_shape(value: object, shape: object, path: str, field: str) -> None:
    """Raise DriverBuildError where an object or list is expected and something else, not null, is found."""
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
