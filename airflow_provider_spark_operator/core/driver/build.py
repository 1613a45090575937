"""A driver's resources from its inputs: the steps in Spark's order."""

from dataclasses import dataclass

from airflow_provider_spark_operator.core.driver.basic import basic
from airflow_provider_spark_operator.core.driver.command import command
from airflow_provider_spark_operator.core.driver.config_map import configuration
from airflow_provider_spark_operator.core.driver.configuration import Configuration
from airflow_provider_spark_operator.core.driver.credentials import credentials
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.executor_template import executor_template
from airflow_provider_spark_operator.core.driver.hadoop import hadoop
from airflow_provider_spark_operator.core.driver.inputs import SubmissionInputs
from airflow_provider_spark_operator.core.driver.kerberos import kerberos_configuration, kerberos_tokens
from airflow_provider_spark_operator.core.driver.local_dirs import local_directories
from airflow_provider_spark_operator.core.driver.naming import Naming
from airflow_provider_spark_operator.core.driver.network_policy import network_policy
from airflow_provider_spark_operator.core.driver.pod import (
    Changes,
    JsonObject,
    SparkPod,
    Step,
    Submission,
    Upload,
    apply_changes,
    merge,
)
from airflow_provider_spark_operator.core.driver.secrets import secret_environment, secret_mounts
from airflow_provider_spark_operator.core.driver.service import service
from airflow_provider_spark_operator.core.driver.template import initial_pod
from airflow_provider_spark_operator.core.driver.volcano import user_steps
from airflow_provider_spark_operator.core.driver.volumes import check_executor_volumes, volumes

_EXCLUDED_STEPS_KEY = "spark.kubernetes.driver.pod.excludedFeatureSteps"
_PACKAGE = "org.apache.spark.deploy.k8s.features."

STEPS: tuple[tuple[str, Step], ...] = (
    ("BasicDriverFeatureStep", basic),
    ("DriverKubernetesCredentialsFeatureStep", credentials),
    ("DriverServiceFeatureStep", service),
    ("NetworkPolicyFeatureStep", network_policy),
    ("MountSecretsFeatureStep", secret_mounts),
    ("EnvSecretsFeatureStep", secret_environment),
    ("MountVolumesFeatureStep", volumes),
    ("DriverCommandFeatureStep", command),
    ("HadoopConfDriverFeatureStep", hadoop),
    ("KerberosConfDriverFeatureStep", kerberos_configuration),
    ("KerberosConfDriverFeatureStep", kerberos_tokens),
    ("PodTemplateConfigMapStep", executor_template),
    ("LocalDirsFeatureStep", local_directories),
    ("VolcanoFeatureStep", user_steps),
)
"""The steps in order, each with the class of Spark's by which the configuration can exclude it."""


@dataclass(frozen=True)
class DriverResources:
    """All that is sent to the API for one driver, without owner references.

    Attributes:
        pre_resources: needed before the pod.
        pod: the driver pod.
        resources: to be created after the pod, in this order.
        properties: the driver's configuration, as written into its config map.
        uploads: files of the submitter's disk that must be copied before the driver starts.
        warnings: sentences for the submitter.
    """

    pre_resources: tuple[JsonObject, ...]
    pod: JsonObject
    resources: tuple[JsonObject, ...]
    properties: dict[str, str]
    uploads: tuple[Upload, ...]
    warnings: tuple[str, ...]


def build_driver(inputs: SubmissionInputs, naming: Naming) -> DriverResources:
    """What Spark 4.3's spark-submit would create for these inputs, with these names.

    Raises:
        DriverBuildError: where spark-submit would refuse, or only a JVM could go on.
    """
    submission = Submission(inputs, naming, Configuration(inputs.conf, inputs.environment))
    check_executor_volumes(submission)
    spark_pod, warnings = initial_pod(submission)
    excluded = excluded_steps(submission.conf)
    if basic in excluded:
        raise DriverBuildError(_EXCLUDED_STEPS_KEY, f"{STEPS[0][0]} cannot be left out: it names the pod")
    applied: list[Changes] = []
    for _, step in STEPS:
        if step not in excluded:
            changes = step(submission, spark_pod)
            spark_pod = apply_changes(spark_pod, changes)
            applied.append(changes)
    properties = dict(inputs.conf)
    for changes in applied:
        properties |= changes.properties
    final = configuration(submission, properties)
    spark_pod = apply_changes(spark_pod, final)
    applied.append(final)
    return DriverResources(
        pre_resources=tuple(document for changes in applied for document in changes.pre_resources),
        pod=_whole(spark_pod),
        resources=tuple(document for changes in applied for document in changes.resources),
        properties=properties,
        uploads=tuple(upload for changes in applied for upload in changes.uploads),
        warnings=(*warnings, *(warning for changes in applied for warning in changes.warnings)),
    )


def excluded_steps(conf: Configuration) -> frozenset[Step]:
    """The steps that the configuration leaves out."""
    classes = conf.listed(_EXCLUDED_STEPS_KEY)
    return frozenset(step for class_name, step in STEPS if f"{_PACKAGE}{class_name}" in classes)


def _whole(spark_pod: SparkPod) -> JsonObject:
    """The pod with the Spark container put back, last."""
    return merge({"spec": {"containers": []}, **spark_pod.pod}, {"spec": {"containers": [spark_pod.container]}})
