"""The starter manifests and DAGs of `init`. NAME and DAG_ID stand for the names."""

import json
from typing import Final

APACHE: Final = """\
# A SparkApplication of spark.apache.org.
#   spark-operator validate FILE    checks it without a cluster
#   spark-operator submit FILE      runs it
#   spark-operator explain sparkapp.spec    explains all fields
apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata:
  name: NAME
spec:
  # The program, a Python script. For a JVM program, set jars and mainClass instead. local:// is a file in the image.
  pyFiles: local:///opt/spark/examples/src/main/python/pi.py
  driverArgs: ["10"]

  # The version of Spark in the image.
  runtimeVersions:
    sparkVersion: "4.3.0"

  # Properties of Spark. All values are strings.
  sparkConf:
    spark.kubernetes.container.image: "apache/spark:4.3.0"
    # The service account of the driver. It needs the permission to create pods.
    spark.kubernetes.authenticate.driver.serviceAccountName: "spark"
    spark.driver.memory: "1g"
    spark.executor.instances: "2"
    spark.executor.cores: "1"
    spark.executor.memory: "1g"

  applicationTolerations:
    # Never, OnFailure, OnInfrastructureFailure or Always. In Airflow, leave restarts to the retries of the task.
    restartConfig:
      restartPolicy: Never
    # Keep the driver pod of a failed application for 10 minutes, so that its log can be read.
    resourceRetainPolicy: OnFailure
    resourceRetainDurationMillis: 600000
    # Delete the application 7 days after its end.
    ttlAfterStopMillis: 604800000
"""

KUBEFLOW: Final = """\
# A SparkApplication of Kubeflow's operator.
#   spark-operator validate FILE    checks it without a cluster
#   spark-operator submit FILE      runs it
#   spark-operator explain sparkapp.spec --kubeflow    lists all fields
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata:
  name: NAME
spec:
  # Python, Java, Scala or R. For Java and Scala, also set mainClass.
  type: Python
  # The program. local:// is a file in the image.
  mainApplicationFile: local:///opt/spark/examples/src/main/python/pi.py
  arguments: ["10"]
  mode: cluster

  image: apache/spark:4.3.0
  sparkVersion: "4.3.0"

  driver:
    cores: 1
    memory: 1g
    # It needs the permission to create pods.
    serviceAccount: spark
  executor:
    instances: 2
    cores: 1
    memory: 1g

  # Never, OnFailure or Always. In Airflow, leave restarts to the retries of the task.
  restartPolicy:
    type: Never
  # Delete the application 7 days after its end.
  timeToLiveSeconds: 604800
"""

_EXAMPLE: Final = """\
        # The program. local:// is a file in the image; a file next to this DAG is shipped: py_file="pi.py".
        py_file="local:///opt/spark/examples/src/main/python/pi.py",
        arguments=["10"],
"""

DAG: Final = f'''\
"""Run a Spark application each day.

`pip install airflow-provider-spark-operator` installs the operator. The connection `kubernetes_default` selects the
cluster.
"""

from datetime import datetime, timedelta

from airflow.sdk import DAG

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("DAG_ID", schedule="@daily", start_date=datetime(2026, 1, 1), catchup=False) as dag:
    SparkApplicationOperator(
        task_id="pi",
{_EXAMPLE}        image="apache/spark:4.3.0",
        # It needs the permission to create pods.
        service_account="spark",
        executor_instances=2,
        executor_cores=1,
        executor_memory="1g",
        driver_memory="1g",
        # Wait in the triggerer, without a worker.
        deferrable=True,
        # A retry runs a new application.
        retries=2,
        retry_delay=timedelta(minutes=5),
    )
'''

_API_VERSION: Final = """\
        # Kubeflow's operator runs the application.
        api_version="sparkoperator.k8s.io/v1beta2",
"""

KUBEFLOW_DAG: Final = DAG.replace("        image=", f"{_API_VERSION}        image=")


def set_program(dag: str, program: str, *, is_shipped: bool) -> str:
    """Return a starter DAG with another program.

    Args:
        dag: The starter DAG.
        program: The path or the URI of a Python script.
        is_shipped: Whether the operator ships the script to the driver.
    """
    comment = "        # The program: the operator ships this file to the driver.\n" if is_shipped else ""
    return dag.replace(_EXAMPLE, f"{comment}        py_file={json.dumps(program, ensure_ascii=False)},\n")
