"""Existing secrets as files and as environment variables of the driver."""

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.pod import Changes, JsonObject, SparkPod, Submission
from airflow_provider_spark_operator.core.driver.text import split

_MOUNT_PREFIX = "spark.kubernetes.driver.secrets."
_REFERENCE_PREFIX = "spark.kubernetes.driver.secretKeyRef."
_REFERENCE_PARTS = 2


def secret_mounts(submission: Submission, _: SparkPod) -> Changes:
    """Mount each `spark.kubernetes.driver.secrets.<name>=<path>`."""
    mounts = submission.conf.with_prefix(_MOUNT_PREFIX)
    if not mounts:
        return Changes()
    return Changes(
        pod={"spec": {"volumes": [{"name": f"{name}-volume", "secret": {"secretName": name}} for name in mounts]}},
        container={"volumeMounts": [{"name": f"{name}-volume", "mountPath": path} for name, path in mounts.items()]},
    )


def secret_environment(submission: Submission, _: SparkPod) -> Changes:
    """Set each `spark.kubernetes.driver.secretKeyRef.<variable>=<secret>:<key>`.

    Raises:
        DriverBuildError: a value that is not one name and one key.
    """
    references = submission.conf.with_prefix(_REFERENCE_PREFIX)
    variables = [_variable(name, value) for name, value in references.items()]
    return Changes(container={"env": variables}) if variables else Changes()


def _variable(name: str, value: str) -> JsonObject:
    parts = split(value, ":")
    if len(parts) != _REFERENCE_PARTS or not all(parts):
        raise DriverBuildError(f"{_REFERENCE_PREFIX}{name}", "must be a secret's name and a key in it, as in name:key")
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": parts[0], "key": parts[1]}}}
