"""The Spark properties that Kubeflow's operator passes to spark-submit, in the same order: the last one counts."""

import posixpath
from collections.abc import Mapping
from typing import Any, Final

from ..dialects.kubeflow import GROUP
from ..driver.configuration.resource_names import POD_NAME_KEY
from ..parameters.pod_settings import format_value
from ..spark.spark_conf import DYNAMIC_ALLOCATION_KEY, SHUFFLE_TRACKING_KEY
from .conversion import Draft
from .fields import ROLES

ENVIRONMENT: Final = {"driver": "spark.kubernetes.driverEnv.", "executor": "spark.executorEnv."}
_KUEUE: Final = "kueue.x-k8s.io/"
# spark-submit or Kubeflow's operator replaces these properties.
_REPLACED: Final = (
    "spark.app.id",
    "spark.app.name",
    "spark.driver.host",
    "spark.kubernetes.driver.podTemplateContainerName",
    "spark.kubernetes.driver.podTemplateFile",
    "spark.kubernetes.executor.podTemplateContainerName",
    "spark.kubernetes.executor.podTemplateFile",
    "spark.kubernetes.namespace",
    "spark.kubernetes.submission.waitAppCompletion",
    "spark.master",
    "spark.submit.deployMode",
)
_IMAGE_KEY: Final = "spark.kubernetes.container.image"
_FIELDS: Final = {
    "cores": "spark.ROLE.cores",
    "coreRequest": "spark.kubernetes.ROLE.request.cores",
    "coreLimit": "spark.kubernetes.ROLE.limit.cores",
    "memory": "spark.ROLE.memory",
    "memoryOverhead": "spark.ROLE.memoryOverhead",
    "serviceAccount": "spark.kubernetes.authenticate.ROLE.serviceAccountName",
    "javaOptions": "spark.ROLE.extraJavaOptions",
    "kubernetesMaster": "spark.kubernetes.driver.master",
    "podName": POD_NAME_KEY,
    "instances": "spark.executor.instances",
    "deleteOnTermination": "spark.kubernetes.executor.deleteOnTermination",
}
_MAPS: Final = {
    "labels": "spark.kubernetes.ROLE.label.",
    "annotations": "spark.kubernetes.ROLE.annotation.",
    "serviceLabels": "spark.kubernetes.driver.service.label.",
    "serviceAnnotations": "spark.kubernetes.driver.service.annotation.",
    "nodeSelector": "spark.kubernetes.ROLE.node.selector.",
}
_SECRET_VARIABLES: Final = {
    "GCPServiceAccount": ("GOOGLE_APPLICATION_CREDENTIALS", "key.json"),
    "HadoopDelegationToken": ("HADOOP_TOKEN_FILE_LOCATION", "hadoop.token"),
}
_ALLOCATION: Final = {
    "initialExecutors": "spark.dynamicAllocation.initialExecutors",
    "minExecutors": "spark.dynamicAllocation.minExecutors",
    "maxExecutors": "spark.dynamicAllocation.maxExecutors",
    "shuffleTrackingTimeout": "spark.dynamicAllocation.shuffleTracking.timeout",
}
_NOT_ENABLED: Final = "Kubeflow's operator does not enable it, but the operators of spark.apache.org do"
# These keep the behaviour of Kubeflow's operator where the operators of spark.apache.org have another default.
_PRESERVED: Final = {
    "spark.authenticate": ("false", _NOT_ENABLED),
    "spark.io.encryption.enabled": ("false", _NOT_ENABLED),
    "spark.kubernetes.executor.useDriverPodIP": ("false", _NOT_ENABLED),
    "spark.kubernetes.executor.deleteOnTermination": (
        "true",
        "with Kubeflow's operator, Spark deletes executors that have ended",
    ),
}


def write_properties(draft: Draft) -> None:
    """Write the properties of the application and of both roles."""
    source, conf = draft.source, draft.conf
    _write_general(draft)
    for role in ROLES:
        _write_role(draft, role)
    conf |= {f"spark.kubernetes.node.selector.{key}": value for key, value in source.get("nodeSelector", {}).items()}
    _write_allocation(draft)
    if not source.get("dynamicAllocation", {}).get("enabled"):
        draft.add_property("spark.executor.instances", "1", "the default of Kubeflow's operator")
    # The operator replaces the value by the name of the application, which Kubeflow's operator also uses.
    conf["spark.app.name"] = draft.name or "application"
    for key, (value, reason) in _PRESERVED.items():
        draft.add_property(key, value, reason)


def _write_general(draft: Draft) -> None:
    source, conf = draft.source, draft.conf
    pull_secrets = ",".join(source.get("imagePullSecrets", ()))
    given = {
        _IMAGE_KEY: source.get("image"),
        f"{_IMAGE_KEY}.pullPolicy": source.get("imagePullPolicy"),
        f"{_IMAGE_KEY}.pullSecrets": pull_secrets,
        "spark.kubernetes.memoryOverheadFactor": source.get("memoryOverheadFactor"),
    }
    conf |= {key: value for key, value in given.items() if value}
    removed = []
    for key, value in source.get("sparkConf", {}).items():
        if key in _REPLACED or not key.startswith("spark."):
            removed.append(key)
        else:
            conf[key] = value
    if removed:
        reason = f"{', '.join(removed)} was removed: spark-submit of Kubeflow's operator replaces or ignores it"
        draft.change("spec.sparkConf", reason)
    conf |= {f"spark.hadoop.{key}": value for key, value in source.get("hadoopConf", {}).items()}


def _write_role(draft: Draft, role: str) -> None:
    pod, conf = draft.get_pod(role), draft.conf
    image = pod.get("image") or draft.source.get("image")
    image_key = f"spark.kubernetes.{role}.container.image"
    if image and (image != conf.get(_IMAGE_KEY) or image_key in conf):
        conf[image_key] = image
    for field, key in _FIELDS.items():
        if field in pod:
            conf[key.replace("ROLE", role)] = format_value(pod[field])
    if pod.get("podName") == "":
        del conf[POD_NAME_KEY]
    for key, value in _select_labels(draft).items():
        conf[f"spark.kubernetes.{role}.label.{key}"] = value
    for field, prefix in _MAPS.items():
        conf |= {f"{prefix.replace('ROLE', role)}{key}": value for key, value in pod.get(field, {}).items()}
    _write_environment(pod, conf, role)


def _write_environment(pod: Mapping[str, Any], conf: dict[str, str], role: str) -> None:
    for name, reference in pod.get("envSecretKeyRefs", {}).items():
        conf[f"spark.kubernetes.{role}.secretKeyRef.{name}"] = f"{reference['name']}:{reference['key']}"
    prefix = ENVIRONMENT[role]
    variables = {f"{prefix}{name}": value for name, value in pod.get("envVars", {}).items()}
    secrets: dict[str, str] = {}
    for secret in pod.get("secrets", ()):
        conf[f"spark.kubernetes.{role}.secrets.{secret['name']}"] = secret["path"]
        if secret.get("secretType") in _SECRET_VARIABLES:
            variable, file = _SECRET_VARIABLES[secret["secretType"]]
            secrets[f"{prefix}{variable}"] = posixpath.normpath(posixpath.join(secret["path"], file))
    # Kubeflow's operator passes the variables of the driver before its secrets, and those of executors as well.
    conf |= variables | secrets


def _select_labels(draft: Draft) -> dict[str, str]:
    """Return the labels of the application that its pods get."""
    return {key: value for key, value in draft.labels.items() if not key.startswith((_KUEUE, f"{GROUP}/"))}


def _write_allocation(draft: Draft) -> None:
    allocation = draft.source.get("dynamicAllocation", {})
    if not allocation.get("enabled"):
        for field in allocation:
            if field != "enabled":
                draft.drop(f"spec.dynamicAllocation.{field}", "dynamic allocation is not enabled")
        return
    draft.conf[DYNAMIC_ALLOCATION_KEY] = "true"
    draft.conf[SHUFFLE_TRACKING_KEY] = format_value(allocation.get("shuffleTrackingEnabled", True))
    for field, key in _ALLOCATION.items():
        if field in allocation:
            draft.conf[key] = str(allocation[field])
