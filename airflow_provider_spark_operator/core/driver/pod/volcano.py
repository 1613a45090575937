"""Volcano's PodGroup, the only additional feature step in Spark's distribution."""

import json
from collections.abc import Mapping
from typing import Any

from ...kubernetes.json_object import JsonObject
from ..configuration.configuration import Configuration, DriverBuildError
from .pod import BuildContext, Changes, SparkPod, check_no_file_named
from .template import normalize_template

VOLCANO_STEP = "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"
POD_GROUP_TEMPLATE_KEY = "spark.kubernetes.scheduler.volcano.podGroupTemplateFile"
POD_GROUP_JSON_KEY = "spark.kubernetes.scheduler.volcano.podGroupTemplateJson"
_STEPS_KEY = "spark.kubernetes.driver.pod.featureSteps"


def uses_volcano(conf: Configuration) -> bool:
    """Return whether the configuration contains Volcano's step."""
    return VOLCANO_STEP in conf.get_list(_STEPS_KEY)


def add_pod_group(submission: BuildContext, _: SparkPod) -> Changes:
    """Create a PodGroup for the driver if the configuration contains Volcano's step.

    Raises:
        DriverBuildError: The configuration contains another step, which only a JVM can run, or an invalid template.
    """
    steps = submission.conf.get_list(_STEPS_KEY)
    for step in steps:
        if step != VOLCANO_STEP:
            raise DriverBuildError(
                _STEPS_KEY, f"{step} is a Java class, which cannot run without a JVM: use a pod template instead"
            )
    if not steps:
        return Changes()
    name = f"{submission.naming.application_id}-podgroup"
    key = POD_GROUP_JSON_KEY if submission.inputs.pod_group_template is None else POD_GROUP_TEMPLATE_KEY
    group = _build_group(key, normalize_template(_get_template(submission)))
    group["metadata"] |= {"name": name, "namespace": submission.inputs.namespace}
    return Changes(pod={"metadata": {"annotations": {"scheduling.k8s.io/group-name": name}}}, pre_resources=(group,))


def _build_group(key: str, template: JsonObject) -> JsonObject:
    """Build the PodGroup from a template. `key` is the source of the template."""
    for part in ("metadata", "spec"):
        if not isinstance(template.get(part, {}), dict):
            raise DriverBuildError(key, f"{part} must be an object")
    spec = dict(template.get("spec", {}))
    if "minMember" in spec:
        try:
            spec["minMember"] = int(spec["minMember"])
        except (TypeError, ValueError):
            raise DriverBuildError(key, "spec.minMember must be an integer") from None
    return {
        **template,
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": dict(template.get("metadata", {})),
        "spec": spec,
    }


def _get_template(submission: BuildContext) -> Mapping[str, Any]:
    """Return the template of the group: the file, else the JSON in the configuration, else an empty object."""
    template = submission.inputs.pod_group_template
    if template is not None:
        return template
    check_no_file_named(submission, POD_GROUP_TEMPLATE_KEY)
    text = submission.conf.get_text(POD_GROUP_JSON_KEY)
    try:
        template = {} if text is None else json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise DriverBuildError(POD_GROUP_JSON_KEY, f"is not valid JSON: {error}") from error
    if not isinstance(template, dict):
        raise DriverBuildError(POD_GROUP_JSON_KEY, "must be a JSON object")
    return template
