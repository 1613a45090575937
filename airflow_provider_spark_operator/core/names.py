"""Names, labels and annotations that others can see: part of the contract, stable across releases."""

import hashlib

GROUP = "spark.apache.org"
# Their documents differ in nothing but the apiVersion; the newest first.
VERSIONS = ("v1", "v1beta1", "v1alpha1")
APPLICATION_FINALIZER = "sparkapplications.spark.apache.org/finalizer"
CLUSTER_FINALIZER = "sparkclusters.spark.apache.org/finalizer"

LABEL_OPERATOR_NAME = "spark.operator/name"
LABEL_APPLICATION_NAME = "spark.operator/spark-app-name"
LABEL_CLUSTER_NAME = "spark.operator/spark-cluster-name"
LABEL_ROLE = "spark-role"
LABEL_APPLICATION_SELECTOR = "spark-app-selector"
LABEL_SPARK_VERSION = "spark-version"
ROLE_DRIVER = "driver"
ROLE_EXECUTOR = "executor"
ROLE_MASTER = "master"
ROLE_WORKER = "worker"

# Spark's own names of the containers; a pod template may choose others.
DRIVER_CONTAINER = "spark-kubernetes-driver"
EXECUTOR_CONTAINER = "spark-kubernetes-executor"
# Where files of a task are mounted. A mount hides what it covers: images are unlikely to have this directory.
FILES_DIRECTORY = "/opt/airflow-task"
# Spark's own port of a standalone master.
MASTER_PORT = 7077
# The service of a master is named after its cluster and this.
MASTER_SERVICE = "master-svc"

# Which controller has taken a resource over, and when; who wrote it shows in the managed fields.
ANNOTATION_CLAIM = "spark.operator/claimed-by"

LABEL_TASK = "airflow.spark-operator/task"
ANNOTATION_DAG_ID = "airflow.spark-operator/dag-id"
ANNOTATION_TASK_ID = "airflow.spark-operator/task-id"
ANNOTATION_RUN_ID = "airflow.spark-operator/run-id"
ANNOTATION_MAP_INDEX = "airflow.spark-operator/map-index"
ANNOTATION_TRY_NUMBER = "airflow.spark-operator/try-number"
ANNOTATION_TASK_INSTANCE_ID = "airflow.spark-operator/task-instance-id"
# What Airflow had recorded when the try submitted or adopted the application. A clear changes both, a retry neither.
ANNOTATION_MAX_TRIES = "airflow.spark-operator/max-tries"
ANNOTATION_TRACE_PARENT = "airflow.spark-operator/trace-parent"
# The task instance that has taken a success as its own: a task that is cleared later must run again.
ANNOTATION_RESULT_TAKEN_BY = "airflow.spark-operator/result-taken-by"
# The time to live, in seconds, that replaces the default one when a task has seen the success of the application.
ANNOTATION_TTL_AFTER_SUCCESS = "airflow.spark-operator/ttl-after-success"
# How much of the driver's log the task's log has: the task instance, and the position in the log.
ANNOTATION_LOG_POSITION = "airflow.spark-operator/log-position"

LONGEST_LABEL_VALUE = 63

_MAX_APPLICATION_ID_LENGTH = 46
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


def application_id(namespace: str, name: str, attempt_id: int) -> str:
    """The Spark application id of one attempt, and the prefix of its resources' names.

    `<name>-<attempt>`; over 46 characters its first 9 characters, `-`, and 36 characters of the base-36
    SHA-256 of `namespace/name/attempt`, as the Apache operator has it, so that either can take over.
    """
    plain = f"{name}-{attempt_id}"
    if len(plain) <= _MAX_APPLICATION_ID_LENGTH:
        return plain
    digest = hashlib.sha256(f"{namespace}/{name}/{attempt_id}".encode()).digest()
    return f"{plain[:9]}-{_base36(int.from_bytes(digest))[:36]}"


def master_url(cluster: str) -> str:
    """Return the URL of the master of a SparkCluster, given as `<name>` or `<namespace>/<name>`."""
    namespace, _, name = cluster.strip().rpartition("/")
    return f"spark://{name}-{MASTER_SERVICE}{f'.{namespace}.svc' if namespace else ''}:{MASTER_PORT}"


def can_label(name: str) -> bool:
    """Whether the name of a resource, of at most 253 characters, can be the value of a label of its children."""
    return len(name) <= LONGEST_LABEL_VALUE


def task_identity(dag_id: str, task_id: str, run_id: str, map_index: int) -> str:
    """The value of the label that ties an application to a task instance of Airflow: 40 hex digits.

    A hash, since a run id (`scheduled__2026-01-01T00:00:00+00:00`) is no valid label value.
    """
    parts = (dag_id, task_id, run_id, str(map_index))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, remainder = divmod(number, 36)
        digits = _BASE36[remainder] + digits
    return digits or "0"
