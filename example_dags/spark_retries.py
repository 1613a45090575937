"""Retries by the kind of failure: failures of the infrastructure are retried, failures of the script are not.

If the driver or an executor runs out of memory, the next try gets 1.5 times the memory, up to 4 GiB. If the application
requests more than 2 core-hours, it is ended, and the task fails without a retry.
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
        max_core_hours=2,
        on_budget_exceeded="fail",
        deferrable=True,
    )
