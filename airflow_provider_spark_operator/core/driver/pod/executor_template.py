"""The pod template of the executors, which the driver reads from a ConfigMap."""

from .pod import BuildContext, Changes, SparkPod, build_config_map, build_volume_with_mount, check_no_file_named

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
