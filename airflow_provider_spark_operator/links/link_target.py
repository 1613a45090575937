"""Compute the target of the links of an application from its resource."""

from collections.abc import Mapping
from typing import Any

from ..core.dialects.dialect import dialect_of
from ..core.kubernetes.times import read_time
from ..follow.access.reference import ApplicationReference
from .target import LinkTarget


def build_link_target(
    document: Mapping[str, Any],
    reference: ApplicationReference,
    *,
    conn_id: str | None = None,
    spark_id: str | None = None,
    created: str | None = None,
) -> LinkTarget:
    """Return the target of the links of a task.

    Args:
        document: The application. It need not contain its namespace and name.
        reference: The reference of the application.
        conn_id: Id of the connection of the task. If None, the default cluster is used.
        spark_id: Spark's id of the latest attempt. If None, the id of the first attempt is used, if the name determines
            it.
        created: When the application was created, in RFC 3339; None if unknown.
    """
    dialect = dialect_of(document.get("apiVersion"))
    metadata = document.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    document = {**document, "metadata": {**known, "namespace": reference.namespace, "name": reference.name}}
    identifier = spark_id or dialect.read_application_id(document, 0)
    return LinkTarget(
        namespace=reference.namespace,
        name=reference.name,
        uid=reference.uid,
        application_id=identifier or "",
        driver_pod=dialect.read_driver_pod_name(document, identifier) or "",
        own_ui=dialect.read_ui_url(document),
        conn_id=conn_id or "",
        start=read_time(created),
    )
