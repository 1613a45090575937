"""Two Spark applications: one computes Pi, and the other fails on purpose to show how a failure looks.

The applications run in the cluster of the connection `kubernetes_default`, which can also be a local cluster. Two
Airflow variables configure them:

- `spark_image`: the container image. The default is `spark:4.3.0`.
- `spark_service_account`: the service account of the driver pods, which needs the permission to create executor pods.
  The default is `spark`.
"""

from airflow.sdk import DAG

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

SPARK_CONF = {
    "spark.kubernetes.container.image": "{{ var.value.get('spark_image', 'spark:4.3.0') }}",
    "spark.kubernetes.authenticate.driver.serviceAccountName": (
        "{{ var.value.get('spark_service_account', 'spark') }}"
    ),
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.instances": "2",
}

COMPUTE_PI = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "spec": {
        "pyFiles": "local:///opt/spark/examples/src/main/python/pi.py",
        "driverArgs": ["10"],
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "sparkConf": SPARK_CONF,
        "applicationTolerations": {
            "instanceConfig": {"initExecutors": 2, "minExecutors": 1, "maxExecutors": 2},
        },
    },
}

FAIL = """\
import sys

print("this application fails on purpose")
sys.exit(3)
"""

# The script is in a config map. Each try of each run creates its own config map, which is deleted with the driver.
FAIL_ON_PURPOSE = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "spec": {
        "pyFiles": "local:///opt/job/fail.py",
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "sparkConf": SPARK_CONF,
        # Keep the driver pod of a failed application for a minute, so that its log can be read.
        "applicationTolerations": {"resourceRetainPolicy": "OnFailure", "resourceRetainDurationMillis": 60_000},
        "configMapSpecs": [{"name": "fail-on-purpose-{{ ti.id }}", "data": {"fail.py": FAIL}}],
        "driverSpec": {
            "podTemplateSpec": {
                "spec": {
                    "containers": [
                        {
                            "name": "spark-kubernetes-driver",
                            "volumeMounts": [{"name": "job", "mountPath": "/opt/job", "readOnly": True}],
                        }
                    ],
                    "volumes": [{"name": "job", "configMap": {"name": "fail-on-purpose-{{ ti.id }}"}}],
                }
            }
        },
    },
}

with DAG("spark_pi", schedule=None, catchup=False, tags=["spark", "example"], doc_md=__doc__) as dag:
    SparkApplicationOperator(task_id="compute_pi", application=COMPUTE_PI, deferrable=True, retries=1)
    SparkApplicationOperator(task_id="fail_on_purpose", application=FAIL_ON_PURPOSE, deferrable=True, retries=0)
