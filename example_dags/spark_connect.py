"""A Spark Connect server for one DAG run: a setup task starts it, and a teardown task deletes it.

Several tasks share the server. Their functions run on the worker, and send queries to the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import DAG, task

from airflow_provider_spark_operator.operators.spark_connect import DeleteSparkConnectOperator, SparkConnectOperator

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

with DAG(
    "spark_connect",
    schedule=None,
    catchup=False,
    tags=["spark", "example"],
    doc_md=__doc__,
    default_args={"retries": 1},
) as dag:
    server = SparkConnectOperator(
        task_id="start",
        image="{{ var.value.get('spark_image', 'spark:4.3.0') }}",
        spark_version="4.3.0",
        service_account="{{ var.value.get('spark_service_account', 'spark') }}",
        executor_instances=1,
        deferrable=True,
    )
    stop = DeleteSparkConnectOperator(task_id="stop", server=server)

    @task.spark_connect(server=server)
    def count_even_numbers(limit: int, spark: SparkSession) -> int:
        """Count on the server."""
        return int(spark.range(limit).where("id % 2 = 0").count())

    # Mapped tasks need the arrow: Airflow does not add them to `with stop.as_teardown(…)`.
    count_even_numbers.expand(limit=[10, 1_000, 100_000]) >> stop.as_teardown(setups=server)
