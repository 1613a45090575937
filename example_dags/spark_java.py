"""A Java or Scala application: a class of a jar that is in the image.

The parameters of the operator describe the application completely, so there is no YAML file.
"""

from airflow.sdk import DAG

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("spark_java", schedule=None, catchup=False, tags=["spark", "example"], doc_md=__doc__) as dag:
    SparkApplicationOperator(
        task_id="compute_pi",
        main_class="org.apache.spark.examples.SparkPi",
        jars=["local:///opt/spark/examples/jars/spark-examples.jar"],
        arguments=[10],
        image="{{ var.value.get('spark_image', 'spark:4.3.0') }}",
        spark_version="4.3.0",
        service_account="{{ var.value.get('spark_service_account', 'spark') }}",
        driver_memory="512m",
        executor_memory="512m",
        executor_instances=1,
        deferrable=True,
        retries=1,
    )
