"""Volcano's group of pods, the one user step that ships with Spark."""

import json
from collections.abc import Mapping
from typing import Any

from airflow_provider_spark_operator.core.driver.configuration import Configuration
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.plain_template import plain
from airflow_provider_spark_operator.core.driver.pod import (
    Changes,
    JsonObject,
    SparkPod,
    Submission,
    check_no_file_is_named,
)

VOLCANO_STEP = "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"
POD_GROUP_TEMPLATE_KEY = "spark.kubernetes.scheduler.volcano.podGroupTemplateFile"
_JSON_KEY = "spark.kubernetes.scheduler.volcano.podGroupTemplateJson"
_STEPS_KEY = "spark.kubernetes.driver.pod.featureSteps"


def uses_volcano(conf: Configuration) -> bool:
    """Whether the configuration asks for Volcano's step."""
    return VOLCANO_STEP in conf.listed(_STEPS_KEY)


def user_steps(submission: Submission, _: SparkPod) -> Changes:
    """Put the driver into a PodGroup of its own, if the configuration asks for Volcano's step.

    Raises:
        DriverBuildError: any other class, which only a JVM can run, or a template that cannot be used.
    """
    steps = submission.conf.listed(_STEPS_KEY)
    for step in steps:
        if step != VOLCANO_STEP:
            raise DriverBuildError(
                _STEPS_KEY,
                f"{step} is a Java class, and no JVM takes part here: use a pod template for what it does",
            )
    if not steps:
        return Changes()
    name = f"{submission.naming.application_id}-podgroup"
    key = _JSON_KEY if submission.inputs.pod_group_template is None else POD_GROUP_TEMPLATE_KEY
    group = _group(key, plain(_template(submission)))
    group["metadata"] |= {"name": name, "namespace": submission.inputs.namespace}
    return Changes(pod={"metadata": {"annotations": {"scheduling.k8s.io/group-name": name}}}, pre_resources=(group,))


def _group(key: str, template: JsonObject) -> JsonObject:
    """The group that a template makes; `key` is where it comes from."""
    for part in ("metadata", "spec"):
        if not isinstance(template.get(part, {}), dict):
            raise DriverBuildError(key, f"must have an object as its {part}")
    spec = dict(template.get("spec", {}))
    if "minMember" in spec:
        try:
            spec["minMember"] = int(spec["minMember"])
        except (TypeError, ValueError):
            raise DriverBuildError(key, "must have a whole number as its spec.minMember") from None
    return {
        **template,
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": dict(template.get("metadata", {})),
        "spec": spec,
    }


def _template(submission: Submission) -> Mapping[str, Any]:
    """The group's template: from the file, else from the configuration itself, else empty."""
    template = submission.inputs.pod_group_template
    if template is not None:
        return template
    check_no_file_is_named(submission, POD_GROUP_TEMPLATE_KEY)
    text = submission.conf.text(_JSON_KEY)
    try:
        template = {} if text is None else json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise DriverBuildError(_JSON_KEY, f"is no JSON: {error}") from error
    if not isinstance(template, dict):
        raise DriverBuildError(_JSON_KEY, "must be a JSON object")
    return template
