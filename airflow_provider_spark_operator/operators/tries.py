"""Additions of one try to its application: the memory that earlier tries needed, and OpenLineage properties."""

import logging
from collections.abc import Mapping
from typing import Any

from airflow.sdk import Context

from ..airflow_compat import RetryPolicy
from ..core.compose.memory import MemoryGrowth, find_limits
from ..retry_policy import find_spark_policy

logger = logging.getLogger(__name__)


def read_growth(policy: RetryPolicy | None, context: Context) -> MemoryGrowth:
    """Return how much more memory this try gets, because earlier tries of the task ran out of memory.

    Args:
        policy: The retry policy of the task.
        context: The context of the task.
    """
    spark_policy = find_spark_policy(policy)
    return MemoryGrowth() if spark_policy is None else spark_policy.read_growth(context)


def record_growth(
    memory: Mapping[str, str], growth: MemoryGrowth, policy: RetryPolicy | None, context: Context
) -> None:
    """Log the memory of an application that grew, and record which roles have reached the limit.

    Args:
        memory: The memory after the increase, by Spark property.
        growth: The growth.
        policy: The retry policy of the task.
        context: The context of the task.
    """
    limits, spark_policy = find_limits(memory, growth), find_spark_policy(policy)
    if not limits or spark_policy is None:
        return
    shown = ", ".join(f"{key}={memory[key]}" for key in sorted(memory) if key.split(".")[1] in limits)
    logger.info("an earlier try ran out of memory; this try has %s", shown)
    spark_policy.record_limits(limits, context)


def create_lineage(
    properties: Mapping[str, object], context: Context, *, parent: bool, transport: bool
) -> dict[str, str]:
    """Return the OpenLineage properties of the task, as Airflow's OpenLineage provider creates them.

    Args:
        properties: The Spark properties of the application. The provider keeps the OpenLineage properties in them.
        context: The context of the task.
        parent: Create the properties that make the task the parent of the job.
        transport: Create the properties of the transport to which Airflow sends its events. They contain the key of
            the transport in plain text.
    """
    if not parent and not transport:
        return {}
    # An optional package.
    from airflow.providers.common.compat.openlineage.utils import spark  # noqa: PLC0415

    extended: dict[str, Any] = dict(properties)
    if parent:
        extended = spark.inject_parent_job_information_into_spark_properties(extended, context)
    if transport:
        extended = spark.inject_transport_information_into_spark_properties(extended, context)
    return {key: value for key, value in extended.items() if key not in properties or properties[key] != value}
