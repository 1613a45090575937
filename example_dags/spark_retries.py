"""Retries by the kind of failure: what the cluster did is tried again, what the script did is not.

A driver or executors that run out of memory are tried again with half as much memory again.
"""

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy

with DAG(
    "spark_retries",
    schedule=None,
    catchup=False,
    tags=["spark", "example"],
    doc_md=__doc__,
    default_args={"retries": 3, "retry_delay": timedelta(seconds=30)},
) as dag:
    SparkApplicationOperator(
        task_id="compute_pi",
        application="jobs/pi.yaml",
        params={"partitions": 4},
        retry_policy=SparkRetryPolicy(memory_growth=1.5, memory_limit="4g"),
        execution_timeout=timedelta(hours=1),
        deferrable=True,
    )
