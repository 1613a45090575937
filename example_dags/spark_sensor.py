"""One task submits an application and another task waits for it.

The sensor can also wait for an application that another DAG or another program submits.
"""

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor

with DAG("spark_sensor", schedule=None, catchup=False, tags=["spark", "example"], doc_md=__doc__) as dag:
    submit = SparkApplicationOperator(
        task_id="submit",
        application="jobs/pi.yaml",
        params={"partitions": 4},
        wait_for_completion=False,
    )
    SparkApplicationSensor(
        task_id="wait",
        name=submit.output,
        namespace="{{ ti.xcom_pull('submit', key='namespace') }}",
        timeout=timedelta(hours=1),
        deferrable=True,
        retries=1,
    )
