"""An asset event that names the Spark application that updated the asset.

The first DAG runs a Spark application and updates the asset. Airflow then starts the second DAG, which reads the name
of the application from the asset event.
"""

from airflow.sdk import DAG, Asset, task

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

REPORT = Asset("spark_report", uri="s3://reports/weekdays")

with DAG("spark_assets", schedule=None, catchup=False, tags=["spark", "example"], doc_md=__doc__) as dag:
    SparkApplicationOperator(
        task_id="report",
        py_file="jobs/report.py",
        arguments=["orders"],
        image="{{ var.value.get('spark_image', 'spark:4.3.0') }}",
        spark_version="4.3.0",
        service_account="{{ var.value.get('spark_service_account', 'spark') }}",
        driver_memory="512m",
        executor_memory="512m",
        executor_instances=1,
        outlets=[REPORT],
        deferrable=True,
        retries=1,
    )

with DAG("spark_assets_reader", schedule=[REPORT], catchup=False, tags=["spark", "example"], doc_md=__doc__):

    @task(inlets=[REPORT])
    def print_application(*, inlet_events):
        print("updated by", inlet_events[REPORT][-1].extra["spark_application"])

    print_application()
