"""A streaming job. Each run of the DAG replaces the running version, which stops gracefully before."""

from airflow.sdk import DAG

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.parameters import Streaming

with DAG("spark_streaming", schedule=None, catchup=False, tags=["spark", "example"], doc_md=__doc__) as dag:
    SparkApplicationOperator(
        task_id="start_clicks",
        name="clicks",
        py_file="jobs/clicks.py",
        arguments=[
            "{{ var.value.get('clicks_output', '/tmp/clicks/output') }}",
            "{{ var.value.get('clicks_checkpoint', '/tmp/clicks/checkpoint') }}",
        ],
        image="{{ var.value.get('spark_image', 'spark:4.3.0') }}",
        spark_version="4.3.0",
        service_account="{{ var.value.get('spark_service_account', 'spark') }}",
        driver_memory="512m",
        executor_memory="512m",
        executor_instances=1,
        streaming=Streaming(wait_for="progress"),
        deferrable=True,
    )
