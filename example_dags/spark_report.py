"""A job that reports facts, a check and its progress. A failed check fails the task."""

from airflow.sdk import DAG

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("spark_report", schedule=None, catchup=False, tags=["spark", "example"], doc_md=__doc__) as dag:
    SparkApplicationOperator(
        task_id="check_orders",
        py_file="jobs/quality.py",
        arguments=["{{ dag_run.conf.get('rows', 1000) }}"],
        image="{{ var.value.get('spark_image', 'spark:4.3.0') }}",
        spark_version="4.3.0",
        service_account="{{ var.value.get('spark_service_account', 'spark') }}",
        driver_memory="512m",
        executor_memory="512m",
        executor_instances=1,
        on_failed_check="fail",
        deferrable=True,
    )
