"""Who tries an application again: the operator in the cluster, by its restartConfig, or Airflow, by the task's retries.

Nothing here raises on a malformed document: whether it is an application at all is judged where it is submitted.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from airflow_provider_spark_operator.operators import kubeflow
from airflow_provider_spark_operator.operators.document import JsonObject
from airflow_provider_spark_operator.operators.parameters import is_template

CLUSTER = "cluster"
AIRFLOW = "airflow"
_NEVER = "Never"
_DEFAULT_ATTEMPTS = 3
_DEFAULT_BACKOFF = 30_000


def restart_config(document: object) -> Mapping[str, Any]:
    """The application's restartConfig, or what stands for it; empty where it has none, or is not known yet."""
    if isinstance(document, Mapping) and kubeflow.is_kubeflow(document):
        return kubeflow.restart_config(document)
    found = document
    for key in ("spec", "applicationTolerations", "restartConfig"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def mapped_arguments(config: Mapping[str, Any]) -> dict[str, Any]:
    """A restartConfig as arguments of a task: `retries`, `retry_delay` and `retry_policy`; none where it is Never.

    Raises:
        ValueError: The policy restarts what has succeeded, which no retry does.
    """
    policy = config.get("restartPolicy", _NEVER)
    if policy == _NEVER or is_template(policy):
        return {}
    if policy == "Always":
        raise ValueError('restarts="airflow" cannot stand for restartPolicy Always: Airflow retries no success')
    from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy

    attempts = _number(config.get("maxRestartAttempts"), _DEFAULT_ATTEMPTS)
    delay = _number(config.get("restartBackoffMillis"), _DEFAULT_BACKOFF)
    return {
        "retries": max(0, attempts),
        "retry_delay": timedelta(milliseconds=max(0, delay)),
        "retry_policy": SparkRetryPolicy(application_failures=policy == "OnFailure"),
    }


def without_restarts(document: JsonObject) -> JsonObject:
    """`document` with its own restarts switched off."""
    config = restart_config(document)
    if not config:
        return document
    if kubeflow.is_kubeflow(document):
        return kubeflow.without_restarts(document)
    spec = document["spec"]
    tolerations = spec["applicationTolerations"] | {"restartConfig": {**config, "restartPolicy": _NEVER}}
    return document | {"spec": spec | {"applicationTolerations": tolerations}}


def product_warning(document: JsonObject, retries: int) -> str | None:
    """What to say where the cluster restarts and Airflow retries; None where only one of them does."""
    config = restart_config(document)
    if retries < 1 or config.get("restartPolicy", _NEVER) == _NEVER:
        return None
    attempts = _number(config.get("maxRestartAttempts"), _DEFAULT_ATTEMPTS) + 1
    return (
        f"the application restarts itself (up to {attempts} attempts), and the task is retried (up to {retries + 1} "
        f"tries): together up to {attempts * (retries + 1)} attempts. Leave one of them out, or set "
        'restarts="airflow" to have the task\'s retries stand for the restarts'
    )


def backoff(document: object, failure_kind: str | None) -> timedelta | None:
    """How long the application asks to wait after a failure of that kind; None where it does not say.

    Args:
        document: The application.
        failure_kind: A word of `core.verdict.FailureKind`.
    """
    config = restart_config(document)
    special = (
        "restartBackoffMillisForSchedulingFailure" if failure_kind == "scheduling" else "restartBackoffMillisForFailure"
    )
    for key in (special, "restartBackoffMillis"):
        millis = config.get(key)
        if isinstance(millis, int) and not isinstance(millis, bool) and millis >= 0:
            return timedelta(milliseconds=millis)
    return None


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default
