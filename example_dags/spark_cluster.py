"""A standalone Spark cluster for one DAG run: a setup task creates it, and a teardown task deletes it.

Two Spark applications share the cluster, whose two workers run their executors.
"""

from airflow.sdk import DAG

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.operators.spark_cluster import DeleteSparkClusterOperator, SparkClusterOperator

CLUSTER = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkCluster",
    "spec": {
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "sparkConf": {"spark.kubernetes.container.image": "{{ var.value.get('spark_image', 'spark:4.3.0') }}"},
        "clusterTolerations": {"instanceConfig": {"initWorkers": 2, "minWorkers": 2, "maxWorkers": 2}},
    },
}

with DAG(
    "spark_cluster",
    schedule=None,
    catchup=False,
    tags=["spark", "example"],
    doc_md=__doc__,
    default_args={"deferrable": True},
) as dag:
    create = SparkClusterOperator(task_id="create", cluster=CLUSTER)
    delete = DeleteSparkClusterOperator(task_id="delete", cluster=create)
    with delete.as_teardown(setups=create):
        for task_id in ("compute_pi", "compute_pi_again"):
            SparkApplicationOperator(
                task_id=task_id,
                cluster="{{ ti.xcom_pull(task_ids='create') }}",
                py_file="local:///opt/spark/examples/src/main/python/pi.py",
                arguments=["10"],
                image="{{ var.value.get('spark_image', 'spark:4.3.0') }}",
                spark_version="4.3.0",
                service_account="{{ var.value.get('spark_service_account', 'spark') }}",
                conf={"spark.cores.max": "2"},
            )
