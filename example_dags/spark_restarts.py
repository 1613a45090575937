"""The restartConfig of the application becomes the retries of the task: each attempt is a try that Airflow shows."""

from airflow.sdk import DAG

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

APPLICATION = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "spec": {
        "pyFiles": "local:///opt/spark/examples/src/main/python/pi.py",
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "applicationTolerations": {
            "restartConfig": {
                "restartPolicy": "OnInfrastructureFailure",
                "maxRestartAttempts": 2,
                "restartBackoffMillis": 10_000,
            }
        },
    },
}

with DAG("spark_restarts", schedule=None, catchup=False, tags=["spark", "example"], doc_md=__doc__) as dag:
    SparkApplicationOperator(
        task_id="compute_pi",
        application=APPLICATION,
        restarts="airflow",
        image="{{ var.value.get('spark_image', 'spark:4.3.0') }}",
        service_account="{{ var.value.get('spark_service_account', 'spark') }}",
        driver_memory="512m",
        executor_memory="512m",
        executor_instances=1,
        deferrable=True,
    )
