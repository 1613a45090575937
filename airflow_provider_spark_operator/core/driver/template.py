"""The driver's pod template: where building starts."""

from collections.abc import Mapping
from typing import Any

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.pod import SparkPod, Submission, check_no_file_is_named

DRIVER_TEMPLATE_KEY = "spark.kubernetes.driver.podTemplateFile"
_CONTAINER_KEY = "spark.kubernetes.driver.podTemplateContainerName"


def initial_pod(submission: Submission) -> tuple[SparkPod, tuple[str, ...]]:
    """The template with its Spark container taken out, or an empty pod; and warnings.

    The Spark container is the one that the configuration names, else the first.

    Raises:
        DriverBuildError: the template is not that of a pod, or the configuration names a file that was
            not there.
    """
    template = submission.inputs.driver_template
    if template is None:
        check_no_file_is_named(submission, DRIVER_TEMPLATE_KEY)
        return SparkPod({}, {}), ()
    spec, containers = _checked(template)
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


def _checked(template: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    spec = template.get("spec")
    if not isinstance(spec, dict):
        raise DriverBuildError(DRIVER_TEMPLATE_KEY, "the driver's template is no pod: it has no spec")
    metadata = template.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise DriverBuildError(DRIVER_TEMPLATE_KEY, "the metadata of the driver's template is no object")
    containers = spec.get("containers") or []
    if not isinstance(containers, list) or not all(isinstance(each, dict) for each in containers):
        raise DriverBuildError(DRIVER_TEMPLATE_KEY, "the containers of the driver's template are no list of objects")
    return spec, containers
