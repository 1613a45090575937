"""The operator as these tests use it."""

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

DOCUMENT = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "spec": {
        "pyFiles": "local:///opt/job.py",
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "sparkConf": {"spark.executor.instances": "2"},
    },
}


def operator(deferrable=True, application=DOCUMENT, **parameters):
    parameters = {"name": "pi", "kubernetes_conn_id": "spark", **parameters}
    return SparkApplicationOperator(task_id="run", application=application, deferrable=deferrable, **parameters)
