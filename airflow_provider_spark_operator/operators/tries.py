"""The application as one try runs it: with what earlier tries have taught, and with what names the try."""

import logging
from typing import TYPE_CHECKING

from airflow_provider_spark_operator.core.compose import restarts
from airflow_provider_spark_operator.core.dialects.dialect import dialect_of
from airflow_provider_spark_operator.core.json_object import JsonObject
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy

if TYPE_CHECKING:
    from airflow.sdk import Context
    from airflow.sdk.definitions.retry_policy import RetryPolicy

logger = logging.getLogger(__name__)


def restarted_by_one(document: JsonObject, who: str, retries: int) -> JsonObject:
    """`document` with its own restarts off where Airflow stands for them; a warning where both try again.

    Args:
        document: The application.
        who: `restarts.CLUSTER` or `restarts.AIRFLOW`.
        retries: The task's.
    """
    if who == restarts.AIRFLOW:
        return restarts.disable_restarts(document)
    warning = restarts.product_warning(document, retries)
    if warning:
        logger.warning("%s", warning)
    return document


def with_grown_memory(document: JsonObject, policy: "RetryPolicy | None", context: "Context") -> JsonObject:
    """`document` with the memory that earlier tries of the same task turned out to need."""
    if not isinstance(policy, SparkRetryPolicy):
        return document
    dialect = dialect_of(document.get("apiVersion"))
    grown = policy.grown(dialect.read_memory(document), context)
    if grown:
        shown = ", ".join(f"{key}={value}" for key, value in sorted(grown.items()))
        logger.info("an earlier try ran out of memory; this one has %s", shown)
    return dialect.write_memory(document, grown)


def with_lineage(document: JsonObject, context: "Context", *, parent: bool, transport: bool) -> JsonObject:
    """`document` with OpenLineage's properties of the task, as Airflow's OpenLineage provider makes them.

    Args:
        document: The application.
        context: Of the task.
        parent: Name the task as the parent of the job.
        transport: Tell the job where Airflow sends its events. This puts the transport's key into the
            application in clear.
    """
    if not parent and not transport:
        return document
    from airflow.providers.common.compat.openlineage.utils import spark

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
