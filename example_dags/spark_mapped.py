"""Dynamic task mapping: one Spark application for each table that another task finds, at most three at a time."""

from airflow.sdk import DAG, task

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("spark_mapped", schedule=None, catchup=False, tags=["spark", "example"], doc_md=__doc__) as dag:

    @task
    def list_tables() -> list[list[str]]:
        return [["customers"], ["orders"]]

    SparkApplicationOperator.partial(
        task_id="report",
        py_file="jobs/report.py",
        image="{{ var.value.get('spark_image', 'spark:4.3.0') }}",
        spark_version="4.3.0",
        service_account="{{ var.value.get('spark_service_account', 'spark') }}",
        driver_memory="512m",
        executor_memory="512m",
        executor_instances=1,
        deferrable=True,
        retries=1,
        max_active_tis_per_dagrun=3,
    ).expand(arguments=list_tables())
