"""A task that waits for up to six hours if the cluster is full. It keeps its retries for other failures."""

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy

with DAG("spark_capacity", schedule=None, catchup=False, tags=["spark", "example"], doc_md=__doc__) as dag:
    SparkApplicationOperator(
        task_id="compute_pi",
        application="jobs/pi.yaml",
        params={"partitions": 4},
        retry_policy=SparkRetryPolicy(capacity_wait=timedelta(hours=6)),
        retries=2,
        retry_delay=timedelta(seconds=30),
        deferrable=True,
    )
