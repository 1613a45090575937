"""Existing secrets as files and environment variables of the driver."""

from ...kubernetes.json_object import JsonObject
from ..configuration.errors import DriverBuildError
from ..configuration.text import split
from ..pod.pod import BuildContext, Changes, SparkPod

_MOUNT_PREFIX = "spark.kubernetes.driver.secrets."
_REFERENCE_PREFIX = "spark.kubernetes.driver.secretKeyRef."
_REFERENCE_PARTS = 2


def mount_secrets(submission: BuildContext, _: SparkPod) -> Changes:
    """Mount the secret of each `spark.kubernetes.driver.secrets.<name>=<path>`."""
    mounts = submission.conf.get_by_prefix(_MOUNT_PREFIX)
    if not mounts:
        return Changes()
    return Changes(
        pod={"spec": {"volumes": [{"name": f"{name}-volume", "secret": {"secretName": name}} for name in mounts]}},
        container={"volumeMounts": [{"name": f"{name}-volume", "mountPath": path} for name, path in mounts.items()]},
    )


def set_secret_variables(submission: BuildContext, _: SparkPod) -> Changes:
    """Set the variable of each `spark.kubernetes.driver.secretKeyRef.<variable>=<secret>:<key>`.

    Raises:
        DriverBuildError: A value is not a name and a key.
    """
    references = submission.conf.get_by_prefix(_REFERENCE_PREFIX)
    variables = [_build_variable(name, value) for name, value in references.items()]
    return Changes(container={"env": variables}) if variables else Changes()


def _build_variable(name: str, value: str) -> JsonObject:
    parts = split(value, ":")
    if len(parts) != _REFERENCE_PARTS or not all(parts):
        raise DriverBuildError(
            f"{_REFERENCE_PREFIX}{name}", "must have the form name:key: the name of a secret and a key in it"
        )
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": parts[0], "key": parts[1]}}}
