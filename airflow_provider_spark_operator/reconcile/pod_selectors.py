"""The selectors and keys with which the controller finds the pods of an application."""

from collections.abc import Mapping
from typing import Any

from airflow_provider_spark_operator.core.names import (
    LABEL_APPLICATION_NAME,
    LABEL_OPERATOR_NAME,
    LABEL_ROLE,
)
from airflow_provider_spark_operator.reconcile.cache import ObjectKey


def get_application_key(pod: Mapping[str, Any]) -> ObjectKey | None:
    """Return the key of the application that the labels of a pod name; None without such a label."""
    metadata = pod["metadata"]
    name = (metadata.get("labels") or {}).get(LABEL_APPLICATION_NAME)
    return ObjectKey(metadata.get("namespace", ""), name) if name else None


def build_pod_selector(operator_name: str) -> str:
    """Return the label selector of all pods that the operator `operator_name` has created."""
    return f"{LABEL_OPERATOR_NAME}={operator_name}"


def build_role_selector(operator_name: str, application_name: str, *roles: str) -> str:
    """Return the label selector of the pods with one of `roles` of one application, of all attempts."""
    role = f"{LABEL_ROLE}={roles[0]}" if len(roles) == 1 else f"{LABEL_ROLE} in ({','.join(roles)})"
    return f"{LABEL_OPERATOR_NAME}={operator_name},{LABEL_APPLICATION_NAME}={application_name},{role}"
