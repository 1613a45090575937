"""Executors that run one task at a time (Spark 4.2), so that a task with much data has the memory of all of them.

If an executor still runs out of memory, the next try gets 1.5 times the memory.
"""

from airflow.sdk import DAG

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy

with DAG("spark_recovery", schedule=None, catchup=False, tags=["spark", "example"], doc_md=__doc__) as dag:
    SparkApplicationOperator(
        task_id="compute_pi",
        application="jobs/pi.yaml",
        params={"partitions": 4},
        executor_recovery=True,
        retries=2,
        retry_policy=SparkRetryPolicy(memory_growth=1.5, memory_limit="4g"),
        deferrable=True,
    )
