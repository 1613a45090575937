"""SQL statements in a file next to the DAG. The rows of the last statement go to the task after it."""

from typing import Any

from airflow.sdk import DAG, task

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("spark_sql", schedule=None, catchup=False, tags=["spark", "example"], doc_md=__doc__) as dag:
    totals = SparkApplicationOperator(
        task_id="read_totals",
        sql="jobs/totals.sql",
        sql_parameters={"day": "{{ params.day }}"},
        sql_result=True,
        params={"day": "2026-01-31"},
        image="{{ var.value.get('spark_image', 'spark:4.3.0') }}",
        spark_version="4.3.0",
        service_account="{{ var.value.get('spark_service_account', 'spark') }}",
        driver_memory="512m",
        executor_memory="512m",
        executor_instances=1,
        deferrable=True,
        retries=1,
    )

    @task
    def print_totals(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            print(row["name"], "has ordered", row["total"])

    print_totals(totals.output)
