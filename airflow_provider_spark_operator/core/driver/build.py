"""Builds the resources of a driver from its inputs: runs the feature steps in Spark's order."""

from dataclasses import dataclass

from ..kubernetes.json_object import JsonObject
from .configuration.configuration import Configuration
from .configuration.errors import DriverBuildError
from .configuration.inputs import SubmissionInputs
from .configuration.resource_names import Naming
from .credentials.credentials import add_credentials, mount_secrets, set_secret_variables
from .credentials.hadoop import mount_hadoop_configuration
from .credentials.kerberos import mount_kerberos_configuration, mount_kerberos_tokens
from .objects.config_map import mount_configuration
from .objects.service import add_network_policy, add_service
from .pod.basics import fill_pod
from .pod.command import add_command
from .pod.pod import BuildContext, Changes, SparkPod, Step, Upload, apply_changes, merge
from .pod.template import build_initial_pod, mount_executor_template
from .pod.volcano import add_pod_group
from .pod.volumes import add_local_directories, check_executor_volumes, mount_volumes

_EXCLUDED_STEPS_KEY = "spark.kubernetes.driver.pod.excludedFeatureSteps"
_PACKAGE = "org.apache.spark.deploy.k8s.features."

STEPS: tuple[tuple[str, Step], ...] = (
    ("BasicDriverFeatureStep", fill_pod),
    ("DriverKubernetesCredentialsFeatureStep", add_credentials),
    ("DriverServiceFeatureStep", add_service),
    ("NetworkPolicyFeatureStep", add_network_policy),
    ("MountSecretsFeatureStep", mount_secrets),
    ("EnvSecretsFeatureStep", set_secret_variables),
    ("MountVolumesFeatureStep", mount_volumes),
    ("DriverCommandFeatureStep", add_command),
    ("HadoopConfDriverFeatureStep", mount_hadoop_configuration),
    ("KerberosConfDriverFeatureStep", mount_kerberos_configuration),
    ("KerberosConfDriverFeatureStep", mount_kerberos_tokens),
    ("PodTemplateConfigMapStep", mount_executor_template),
    ("LocalDirsFeatureStep", add_local_directories),
    ("VolcanoFeatureStep", add_pod_group),
)
"""The steps in order. The configuration excludes a step by the name of its Spark class."""


@dataclass(frozen=True)
class DriverResources:
    """The documents to create for one driver, without owner references.

    Attributes:
        pre_resources: Documents to create before the pod.
        pod: The driver pod.
        resources: Documents to create after the pod, in this order.
        properties: The configuration of the driver, as written to its ConfigMap.
        uploads: Local files that must be uploaded before the driver starts.
        warnings: Sentences for the user who submits.
    """

    pre_resources: tuple[JsonObject, ...]
    pod: JsonObject
    resources: tuple[JsonObject, ...]
    properties: dict[str, str]
    uploads: tuple[Upload, ...]
    warnings: tuple[str, ...]


def build_driver(inputs: SubmissionInputs, naming: Naming) -> DriverResources:
    """Build the resources that spark-submit of Spark 4.3 would create for these inputs and names.

    Raises:
        DriverBuildError: spark-submit would refuse the inputs, or the build would need a JVM.
    """
    submission = BuildContext(inputs, naming, Configuration(inputs.conf, inputs.environment))
    check_executor_volumes(submission)
    spark_pod, warnings = build_initial_pod(submission)
    excluded = find_excluded_steps(submission.conf)
    if fill_pod in excluded:
        raise DriverBuildError(_EXCLUDED_STEPS_KEY, f"{STEPS[0][0]} cannot be excluded: it sets the name of the pod")
    applied: list[Changes] = []
    for _, step in STEPS:
        if step not in excluded:
            changes = step(submission, spark_pod)
            spark_pod = apply_changes(spark_pod, changes)
            applied.append(changes)
    properties = dict(inputs.conf)
    for changes in applied:
        properties |= changes.properties
    final = mount_configuration(submission, properties)
    spark_pod = apply_changes(spark_pod, final)
    applied.append(final)
    return DriverResources(
        pre_resources=tuple(document for changes in applied for document in changes.pre_resources),
        pod=_join_container(spark_pod),
        resources=tuple(document for changes in applied for document in changes.resources),
        properties=properties,
        uploads=tuple(upload for changes in applied for upload in changes.uploads),
        warnings=(*warnings, *(warning for changes in applied for warning in changes.warnings)),
    )


def find_excluded_steps(conf: Configuration) -> frozenset[Step]:
    """Return the steps that the configuration excludes."""
    classes = conf.get_list(_EXCLUDED_STEPS_KEY)
    return frozenset(step for class_name, step in STEPS if f"{_PACKAGE}{class_name}" in classes)


def _join_container(spark_pod: SparkPod) -> JsonObject:
    """Return the pod with the Spark container as its last container."""
    return merge({"spec": {"containers": []}, **spark_pod.pod}, {"spec": {"containers": [spark_pod.container]}})
