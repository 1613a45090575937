"""Builds the resources of a driver from its inputs: runs the feature steps in Spark's order."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import LABEL_ROLE, ROLE_EXECUTOR
from ..spark.properties import format_properties
from . import credentials
from .configuration import configuration
from .configuration.configuration import Configuration, DriverBuildError
from .configuration.inputs import SubmissionInputs
from .configuration.resource_names import Naming
from .pod.basics import CONFIGURATION_DIRECTORY, add_command, build_driver_labels, build_selector_label, fill_pod
from .pod.pod import (
    BuildContext,
    Changes,
    SparkPod,
    Step,
    Upload,
    apply_changes,
    build_config_map,
    build_variable,
    merge,
)
from .pod.template import build_initial_pod, mount_executor_template
from .pod.volcano import add_pod_group
from .pod.volumes import add_local_directories, check_executor_volumes, mount_volumes

_EXCLUDED_STEPS_KEY = "spark.kubernetes.driver.pod.excludedFeatureSteps"
_PACKAGE = "org.apache.spark.deploy.k8s.features."

_NAMESPACE_ENTRY = "spark.kubernetes.namespace"
_PROPERTIES_ENTRY = "spark.properties"
_VOLUME = "spark-conf-volume-driver"
_LIMIT_KEY = "spark.kubernetes.configMap.maxSize"
_LARGEST = 1048576
_READ_BY_OWNER_WRITABLE = 0o644
_EXCLUDED = re.compile(r".*\.(gz|zip|jar|tar|template)|spark.*(conf|properties)", re.DOTALL)
_SERVICE_PREFIX = "spark.kubernetes.driver.service."
_ADDRESSES = {
    "spark.driver.bindAddress": "the IP address of the driver pod",
    "spark.driver.host": "the name of the driver's service",
}
_FAMILY_POLICIES = ("SingleStack", "PreferDualStack", "RequireDualStack")
_FAMILIES = ("IPv4", "IPv6", "IPv4,IPv6", "IPv6,IPv4")


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


def mount_configuration(submission: BuildContext, properties: Mapping[str, str]) -> Changes:
    """Create the ConfigMap from the final properties and the accepted configuration files, and mount it.

    Raises:
        DriverBuildError: The configured size limit is larger than a ConfigMap can be.
    """
    naming, inputs = submission.naming, submission.inputs
    files, warnings = _select_files(submission)
    comment = f"Java properties built from Kubernetes config map with name: {naming.config_map_name}"
    data = {**files, _PROPERTIES_ENTRY: format_properties(properties, comment)}
    mounted = {*data, _NAMESPACE_ENTRY} if inputs.mount_namespace else set(data)
    document = build_config_map(naming.config_map_name, {**data, _NAMESPACE_ENTRY: inputs.namespace})
    document["metadata"]["namespace"] = inputs.namespace
    items: list[dict[str, object]] = [
        {"key": name, "path": name, "mode": _READ_BY_OWNER_WRITABLE} for name in sorted(mounted)
    ]
    return Changes(
        pod={"spec": {"volumes": [{"name": _VOLUME, "configMap": {"name": naming.config_map_name, "items": items}}]}},
        container={
            "env": [build_variable("SPARK_CONF_DIR", CONFIGURATION_DIRECTORY)],
            "volumeMounts": [{"name": _VOLUME, "mountPath": CONFIGURATION_DIRECTORY}],
        },
        resources=(document,),
        warnings=warnings,
    )


def _select_files(submission: BuildContext) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the accepted files, and warnings about skipped ones. Smaller files come first, up to the size limit."""
    limit = submission.conf.get_integer(_LIMIT_KEY, default=_LARGEST)
    if limit > _LARGEST:
        raise DriverBuildError(_LIMIT_KEY, f"must be at most {_LARGEST} bytes, but is {limit}")
    candidates = {
        name: content
        for name, content in submission.inputs.conf_files.items()
        if not _EXCLUDED.fullmatch(name) and len(content) + len(name) <= limit
    }
    accepted: dict[str, str] = {}
    skipped: list[str] = []
    warnings: list[str] = []
    total = 0
    for name in sorted(candidates, key=lambda each: (len(candidates[each]) + len(each), each)):
        try:
            text = candidates[name].decode()
        except UnicodeDecodeError:
            warnings.append(f"configuration file {name} is skipped: it is not UTF-8 text")
            continue
        if total + len(name) + len(text) < limit:
            accepted[name] = text
            total += len(name) + len(text)
        else:
            skipped.append(name)
    if skipped:
        warnings.append(
            f"configuration files {', '.join(skipped)} are skipped: the total size would exceed {_LIMIT_KEY}={limit}"
        )
    return accepted, tuple(warnings)


def add_service(submission: BuildContext, _: SparkPod) -> Changes:
    """Add the service, and set the address of the driver in its configuration.

    Raises:
        DriverBuildError: The user sets the address of the driver, or a value is invalid.
    """
    conf = submission.conf
    for key, address in _ADDRESSES.items():
        if conf.get_text(key) is not None:
            raise DriverBuildError(key, f"is always set to {address}. Remove the key")
    host = f"{submission.naming.service_name}.{submission.inputs.namespace}.svc"
    return Changes(
        properties={
            "spark.driver.host": host,
            configuration.DRIVER_PORT_KEY: str(configuration.get_driver_port(conf)),
            configuration.DRIVER_BLOCK_MANAGER_PORT_KEY: str(configuration.get_service_block_manager_port(conf)),
        },
        resources=(_build_document(submission),),
    )


def _build_document(submission: BuildContext) -> JsonObject:
    conf = submission.conf
    metadata: JsonObject = {
        "name": submission.naming.service_name,
        "labels": build_selector_label(submission) | conf.get_by_prefix(f"{_SERVICE_PREFIX}label."),
    }
    annotations = conf.get_by_prefix(f"{_SERVICE_PREFIX}annotation.")
    if annotations:
        metadata["annotations"] = annotations
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "clusterIP": "None",
            "ipFamilyPolicy": conf.get_choice(f"{_SERVICE_PREFIX}ipFamilyPolicy", _FAMILY_POLICIES, "SingleStack"),
            "ipFamilies": conf.get_choice(f"{_SERVICE_PREFIX}ipFamilies", _FAMILIES, "IPv4").split(","),
            "publishNotReadyAddresses": conf.get_boolean(f"{_SERVICE_PREFIX}publishNotReadyAddresses"),
            "selector": build_driver_labels(submission),
            "ports": [
                _build_port("driver-rpc-port", configuration.get_driver_port(conf)),
                _build_port("blockmanager", configuration.get_service_block_manager_port(conf)),
                _build_port("spark-ui", configuration.get_ui_port(conf)),
                {**_build_port("spark-connect", configuration.get_connect_port(conf)), "appProtocol": "grpc"},
            ],
        },
    }


def _build_port(name: str, number: int) -> JsonObject:
    return {"name": name, "port": number, "targetPort": number}


def add_network_policy(submission: BuildContext, _: SparkPod) -> Changes:
    """Add the network policy."""
    label = build_selector_label(submission)
    document = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": submission.naming.policy_name, "namespace": submission.inputs.namespace, "labels": label},
        "spec": {
            "podSelector": {"matchLabels": {LABEL_ROLE: ROLE_EXECUTOR, **label}},
            "ingress": [{"from": [{"podSelector": {"matchLabels": label}}]}],
        },
    }
    return Changes(resources=(document,))


STEPS: tuple[tuple[str, Step], ...] = (
    ("BasicDriverFeatureStep", fill_pod),
    ("DriverKubernetesCredentialsFeatureStep", credentials.add_credentials),
    ("DriverServiceFeatureStep", add_service),
    ("NetworkPolicyFeatureStep", add_network_policy),
    ("MountSecretsFeatureStep", credentials.mount_secrets),
    ("EnvSecretsFeatureStep", credentials.set_secret_variables),
    ("MountVolumesFeatureStep", mount_volumes),
    ("DriverCommandFeatureStep", add_command),
    ("HadoopConfDriverFeatureStep", credentials.mount_hadoop_configuration),
    ("KerberosConfDriverFeatureStep", credentials.mount_kerberos_configuration),
    ("KerberosConfDriverFeatureStep", credentials.mount_kerberos_tokens),
    ("PodTemplateConfigMapStep", mount_executor_template),
    ("LocalDirsFeatureStep", add_local_directories),
    ("VolcanoFeatureStep", add_pod_group),
)
"""The steps in order. The configuration excludes a step by the name of its Spark class."""
