"""An application from a YAML file next to the DAG.

The task renders the templates in the file. The parameters of the operator override its fields.
"""

from airflow.sdk import DAG, Param

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG(
    "spark_yaml",
    schedule=None,
    catchup=False,
    tags=["spark", "example"],
    doc_md=__doc__,
    params={"partitions": Param(4, type="integer", minimum=1)},
) as dag:
    SparkApplicationOperator(
        task_id="compute_pi",
        application="jobs/pi.yaml",
        conf={"spark.eventLog.enabled": False},
        executor_cores=1,
        deferrable=True,
        retries=1,
    )
