"""Adapt an application to one try: restarts, the memory that earlier tries needed, and OpenLineage."""

import logging

from airflow.sdk import Context
from airflow.sdk.definitions.retry_policy import RetryPolicy

from airflow_provider_spark_operator.core.dialects.dialect import dialect_of
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy

logger = logging.getLogger(__name__)


def increase_memory(document: JsonObject, policy: RetryPolicy | None, context: Context) -> JsonObject:
    """Return `document` with more memory if earlier tries of the same task ran out of it."""
    if not isinstance(policy, SparkRetryPolicy):
        return document
    dialect = dialect_of(document.get("apiVersion"))
    grown = policy.grown(dialect.read_memory(document), context)
    if grown:
        shown = ", ".join(f"{key}={value}" for key, value in sorted(grown.items()))
        logger.info("an earlier try ran out of memory; this one has %s", shown)
    return dialect.write_memory(document, grown)


def add_lineage(document: JsonObject, context: Context, *, parent: bool, transport: bool) -> JsonObject:
    """Return `document` with the OpenLineage properties of the task, as Airflow's OpenLineage provider creates them.

    Args:
        document: The application.
        context: The context of the task.
        parent: Add the task as the parent of the job.
        transport: Add the transport to which Airflow sends its events. The application then contains the key of the
            transport in plain text.
    """
    if not parent and not transport:
        return document
    # An optional package.
    from airflow.providers.common.compat.openlineage.utils import spark  # noqa: PLC0415

    conf = dict(document["spec"].get("sparkConf") or {})
    if parent:
        conf = spark.inject_parent_job_information_into_spark_properties(conf, context)
    if transport:
        conf = spark.inject_transport_information_into_spark_properties(conf, context)
    return _with_conf(document, conf)


def _with_conf(document: JsonObject, properties: dict[str, str]) -> JsonObject:
    if not properties:
        return document
    spec = document["spec"]
    return document | {"spec": spec | {"sparkConf": {**(spec.get("sparkConf") or {}), **properties}}}
