"""The inputs of the driver build for an attempt of a SparkApplication, as the Apache operator assembles them."""

import json

from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import LABEL_APPLICATION_NAME, LABEL_OPERATOR_NAME
from ..models.application import PodSpecOverride, RestartCondition, SparkApplication
from ..spark.spark_conf import replace_version_in_images, uses_dynamic_allocation
from .configuration.errors import DriverBuildError
from .configuration.inputs import DRIVER_TEMPLATE_KEY, SubmissionInputs
from .configuration.resource_names import Naming, check_label_value
from .configuration.text import split_list
from .configuration.uris import check_reachable
from .main_resource import MainResource, find_main_resource
from .named_files import NamedTemplates
from .pod.metadata import LABEL_PREFIX
from .pod.template import EXECUTOR_TEMPLATE_KEY

_USER = "spark"
_API_ADDRESS = "https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT"
_LABEL_PREFIXES = (LABEL_PREFIX, "spark.kubernetes.driver.service.label.", "spark.kubernetes.executor.label.")
_DEPENDENCY_KEYS = ("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles")
_DEFAULTS = {
    "spark.authenticate": "true",
    "spark.io.encryption.enabled": "true",
    "spark.kubernetes.driver.annotateExitException": "true",
    "spark.kubernetes.executor.useDriverPodIP": "true",
}


def build_attempt_inputs(
    application: SparkApplication, naming: Naming, operator_name: str, api_address: str | None, named: NamedTemplates
) -> SubmissionInputs:
    """Build the inputs of the driver of one attempt.

    Args:
        application: The application as read from the API.
        naming: The names of the resources of the attempt.
        operator_name: The value of the label `spark.operator/name`.
        api_address: The URL of the API for `spark.master`. None: the address inside the cluster, as variables that only
            the entry point of Spark's image replaces.
        named: The templates from the files that the configuration names. Templates in the resource take precedence.

    Raises:
        DriverBuildError: The application has nothing to run, names a file on a local disk, or has an invalid template.
    """
    resource = find_main_resource(application.spec)
    conf = _build_configuration(application, naming, resource, operator_name, api_address or _API_ADDRESS)
    _check_dependencies(conf, application.spec.spark_conf)
    driver = _take_template(application.spec.driver_spec, "spec.driverSpec", DRIVER_TEMPLATE_KEY, conf)
    executor = _take_template(application.spec.executor_spec, "spec.executorSpec", EXECUTOR_TEMPLATE_KEY, conf)
    return SubmissionInputs(
        kind=resource.kind,
        namespace=application.namespace,
        conf=conf,
        main_class=resource.main_class,
        main_resource=resource.uri,
        arguments=tuple(application.spec.driver_args),
        proxy_user=application.spec.proxy_user or None,
        user=_USER,
        spark_version=application.spec.runtime_versions.spark_version,
        driver_template=named.driver if driver is None else driver,
        driver_template_field=DRIVER_TEMPLATE_KEY if driver is None else "spec.driverSpec.podTemplateSpec",
        executor_template=named.executor if executor is None else _format_template(executor),
        pod_group_template=named.pod_group,
        mount_namespace=True,
    )


def _build_configuration(
    application: SparkApplication, naming: Naming, resource: MainResource, operator_name: str, address: str
) -> dict[str, str]:
    spec = application.spec
    conf = replace_version_in_images(spec.spark_conf, spec.runtime_versions.spark_version)
    check_label_value("metadata.name", application.name)
    for prefix in _LABEL_PREFIXES:
        conf[f"{prefix}{LABEL_OPERATOR_NAME}"] = operator_name
        conf[f"{prefix}{LABEL_APPLICATION_NAME}"] = application.name
    conf["spark.kubernetes.namespace"] = application.namespace
    if "spark.app.name" in conf:
        conf["spark.app.name"] = application.name
    defaults = {
        **resource.properties,
        "spark.master": f"k8s://{address}",
        "spark.app.id": naming.application_id,
        **_DEFAULTS,
    }
    if _should_keep_executors(application):
        defaults["spark.kubernetes.executor.deleteOnTermination"] = "false"
    return defaults | conf


def _should_keep_executors(application: SparkApplication) -> bool:
    policy = application.spec.application_tolerations.restart_config.restart_policy
    return policy is RestartCondition.NEVER and not uses_dynamic_allocation(application.spec.spark_conf)


def _check_dependencies(conf: dict[str, str], given: dict[str, str]) -> None:
    fields = {"spark.jars": "spec.jars", "spark.files": "spec.files", "spark.submit.pyFiles": "spec.pyFiles"}
    for key in _DEPENDENCY_KEYS:
        field = f"spec.sparkConf[{key!r}]" if key in given else fields.get(key, key)
        for entry in split_list(field, conf.get(key, "")):
            check_reachable(field, entry)


def _take_template(override: PodSpecOverride | None, field: str, key: str, conf: dict[str, str]) -> JsonObject | None:
    """Return the pod template of the resource. It replaces a file that the configuration names: `key` is removed."""
    template = override.pod_template_spec if override else None
    if template is None:
        return None
    conf.pop(key, None)
    if not isinstance(template.get("spec"), dict):
        raise DriverBuildError(f"{field}.podTemplateSpec.spec", "is required: add the specification of the pod")
    return template


def _format_template(template: JsonObject) -> str:
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    return json.dumps(pod, sort_keys=True, ensure_ascii=False)
