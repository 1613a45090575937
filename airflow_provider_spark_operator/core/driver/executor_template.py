"""The executors' pod template: the driver reads it from a config map."""

from airflow_provider_spark_operator.core.driver.pod import (
    Changes,
    SparkPod,
    Submission,
    check_no_file_is_named,
    config_map,
    mounted_volume,
)

_DIRECTORY = "/opt/spark/pod-template"
_FILE = "pod-spec-template.yml"
_ENTRY = "podspec-configmap-key"
_VOLUME = "pod-template-volume"
EXECUTOR_TEMPLATE_KEY = "spark.kubernetes.executor.podTemplateFile"


def executor_template(submission: Submission, _: SparkPod) -> Changes:
    """Hand the template's text to the driver as it is.

    Raises:
        DriverBuildError: the configuration names a file that was not there.
    """
    text = submission.inputs.executor_template
    if text is None:
        check_no_file_is_named(submission, EXECUTOR_TEMPLATE_KEY)
        return Changes()
    name = f"{submission.naming.prefix}-driver-podspec-conf-map"
    added = mounted_volume(
        {"name": _VOLUME, "configMap": {"name": name, "items": [{"key": _ENTRY, "path": _FILE}]}},
        {"name": _VOLUME, "mountPath": _DIRECTORY},
    )
    return Changes(
        pod=added.pod,
        container=added.container,
        properties={EXECUTOR_TEMPLATE_KEY: f"{_DIRECTORY}/{_FILE}"},
        resources=(config_map(name, {_ENTRY: text}),),
    )
