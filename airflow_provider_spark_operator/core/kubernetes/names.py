"""Names: those of the contract, which are stable across releases, and the rules for names of Kubernetes."""

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from .problems import Problem

GROUP = "spark.apache.org"
# The versions differ only in their apiVersion. The newest comes first.
VERSIONS = ("v1", "v1beta1", "v1alpha1")
DEFAULT_API_VERSION = f"{GROUP}/{VERSIONS[0]}"
APPLICATION_FINALIZER = "sparkapplications.spark.apache.org/finalizer"
CLUSTER_FINALIZER = "sparkclusters.spark.apache.org/finalizer"

LABEL_OPERATOR_NAME = "spark.operator/name"
LABEL_APPLICATION_NAME = "spark.operator/spark-app-name"
LABEL_CLUSTER_NAME = "spark.operator/spark-cluster-name"
LABEL_ROLE = "spark-role"
LABEL_APPLICATION_SELECTOR = "spark-app-selector"
LABEL_SPARK_VERSION = "spark-version"
LABEL_SPARK_NAME = "spark-app-name"
LABEL_EXECUTOR_ID = "spark-exec-id"
LABEL_RESOURCE_PROFILE = "spark-exec-resourceprofile-id"
# Spark and the operator set these labels on pods, and find pods by them.
RESERVED_LABELS = frozenset(
    {
        LABEL_OPERATOR_NAME,
        LABEL_APPLICATION_NAME,
        LABEL_ROLE,
        LABEL_APPLICATION_SELECTOR,
        LABEL_SPARK_VERSION,
        LABEL_SPARK_NAME,
        LABEL_EXECUTOR_ID,
        LABEL_RESOURCE_PROFILE,
    }
)
ROLE_DRIVER = "driver"
ROLE_EXECUTOR = "executor"
ROLE_MASTER = "master"
ROLE_WORKER = "worker"

# Spark's default names of the containers. A pod template can use other names.
DRIVER_CONTAINER = "spark-kubernetes-driver"
EXECUTOR_CONTAINER = "spark-kubernetes-executor"
# The mount path of the files of a task. A mount hides existing files, but images are unlikely to contain this
# directory.
FILES_DIRECTORY = "/opt/airflow-task"
# Spark's default ports of a standalone master.
MASTER_PORT = 7077
MASTER_WEB_PORT = 8080
MASTER_REST_PORT = 6066
# The suffix of the name of a master's service, after the name of the cluster.
MASTER_SERVICE = "master-svc"

# The controller that claimed a resource, and the time. The managed fields show who wrote the annotation.
ANNOTATION_CLAIM = "spark.operator/claimed-by"

# On a driver pod: the time at which a user asked the program to stop. A downward API volume shows it to the program.
ANNOTATION_STOP = "spark.operator/stop-requested"

# On an application: the restart policy that `spark-operator stop` has replaced by Never.
ANNOTATION_STOPPED_POLICY = "spark.operator/restart-policy-before-stop"

# The manifest that `kubectl apply` has applied last.
ANNOTATION_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

# Kueue: the queue and the priority class of a resource, and what the controller notes on its Workload.
LABEL_QUEUE_NAME = "kueue.x-k8s.io/queue-name"
LABEL_PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
ANNOTATION_POD_SETS_HASH = "spark.operator/kueue-pod-sets-hash"
ANNOTATION_READY_EXECUTORS = "spark.operator/kueue-pods-ready-executors"
ANNOTATION_RESERVE_MAX_EXECUTORS = "spark.operator/kueue-reserve-max-executors"

LABEL_TASK = "airflow.spark-operator/task"
ANNOTATION_DAG_ID = "airflow.spark-operator/dag-id"
ANNOTATION_TASK_ID = "airflow.spark-operator/task-id"
ANNOTATION_RUN_ID = "airflow.spark-operator/run-id"
ANNOTATION_MAP_INDEX = "airflow.spark-operator/map-index"
ANNOTATION_LOOP_INDEX = "airflow.spark-operator/loop-index"
ANNOTATION_TRY_NUMBER = "airflow.spark-operator/try-number"
ANNOTATION_TASK_INSTANCE_ID = "airflow.spark-operator/task-instance-id"
# Airflow's state when the try submitted or adopted the application. A clear changes both annotations, a retry neither.
ANNOTATION_MAX_TRIES = "airflow.spark-operator/max-tries"
ANNOTATION_TRACE_PARENT = "airflow.spark-operator/trace-parent"
# The task instance that recorded a success as its result. If the task is cleared later, it must run again.
ANNOTATION_RESULT_TAKEN_BY = "airflow.spark-operator/result-taken-by"
# The time to live, in seconds, that replaces the default after a task has acknowledged the success of the application.
ANNOTATION_TTL_AFTER_SUCCESS = "airflow.spark-operator/ttl-after-success"
# The task instance, and the position in the driver's log up to which its task log contains it.
ANNOTATION_LOG_POSITION = "airflow.spark-operator/log-position"

# The field of an asset event's payload with the key of the record of delivered applications, and the start of each key.
DELIVERY_KEY = "watcher"
DELIVERY_KEY_PREFIX = "spark-operator-"

LONGEST_LABEL_VALUE = 63

_MAX_APPLICATION_ID_LENGTH = 46
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
OBJECT_RULE = "use lowercase letters, digits, '-' and '.', and begin and end with a letter or digit"
LABEL_RULE = "use at most 63 letters, digits, '-', '_' and '.', and begin and end with a letter or digit"
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_OBJECT = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
# RFC 1035: unlike other names, the name of a service begins with a letter.
_SERVICE = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
NAMESPACE_RULE = "use at most 63 lowercase letters, digits and '-', and begin and end with a letter or digit"
# Possessive quantifiers keep the time of the following patterns linear.
_WORD = r"[A-Za-z0-9]++(?:[-_.]++[A-Za-z0-9]++)*+"
_KEY = rf"(?:[a-z0-9][-a-z0-9.]*+/)?+{_WORD}"
_VALUE = rf"(?:{_WORD})?+"
_SET = rf"(?:in|notin)\s*+\(\s*+{_VALUE}(?:\s*+,\s*+{_VALUE})*+\s*+\)"
_REQUIREMENT = rf"\s*+(?:!\s*+{_KEY}|{_KEY}(?:\s*+(?:==?|!=)\s*+{_VALUE}|\s++{_SET}|\s*+[<>]\s*+[0-9]++)?+)\s*+"
# Few DAG files need these two. `re` compiles them at their first use, and keeps them.
_LABEL_KEY = rf"(?=(.{{1,253}}/)?[^/]{{1,63}}\Z){_KEY}"
_SELECTOR = rf"{_REQUIREMENT}(?:,{_REQUIREMENT})*+"
KEY_RULE = "use at most 63 letters, digits, '-', '_' and '.'; a domain and '/' can precede them"
DATA_KEY_RULE = "use at most 253 letters, digits, '-', '_' and '.'"
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")


def build_application_id(namespace: str, name: str, attempt_id: int) -> str:
    """Build the Spark application ID of one attempt, which is also the prefix of the names of its resources.

    The ID is `<name>-<attempt>`. If this has more than 46 characters, the ID is its first 9 characters, `-`, and 36
    characters of the SHA-256 of `namespace/name/attempt` in base 36. The Apache operator uses the same rule, so that
    each operator can adopt the applications of the other one.
    """
    plain = f"{name}-{attempt_id}"
    if len(plain) <= _MAX_APPLICATION_ID_LENGTH:
        return plain
    digest = hashlib.sha256(f"{namespace}/{name}/{attempt_id}".encode()).digest()
    return f"{plain[:9]}-{_encode_base36(int.from_bytes(digest))[:36]}"


def build_master_url(cluster: str) -> str:
    """Return the URL of the master of a SparkCluster, given as `<name>` or `<namespace>/<name>`."""
    namespace, _, name = cluster.strip().rpartition("/")
    return f"spark://{name}-{MASTER_SERVICE}{f'.{namespace}.svc' if namespace else ''}:{MASTER_PORT}"


def build_master_pod_name(cluster: str) -> str:
    """Return the name of the master pod of a SparkCluster: the only pod of its StatefulSet."""
    return f"{cluster}-{ROLE_MASTER}-0"


def can_label(name: str) -> bool:
    """Return whether the name of a resource is short enough for a label of its children.

    The name can have up to 253 characters.
    """
    return len(name) <= LONGEST_LABEL_VALUE


def compute_task_identity(dag_id: str, task_id: str, run_id: str, map_index: int, loop_index: int | None = None) -> str:
    """Compute the label value that connects an application to a task instance of Airflow: 40 hexadecimal digits.

    The value is a hash because a run ID (`scheduled__2026-01-01T00:00:00+00:00`) is not a valid label value. Outside of
    loops, the value is that of earlier releases.
    """
    parts = (dag_id, task_id, run_id, str(map_index), *(() if loop_index is None else (str(loop_index),)))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def _encode_base36(number: int) -> str:
    digits = ""
    while number:
        number, remainder = divmod(number, 36)
        digits = _BASE36[remainder] + digits
    return digits or "0"


def is_namespace(name: str) -> bool:
    """Return whether the text is a valid name of a namespace."""
    return _NAMESPACE.fullmatch(name) is not None


def is_service_name(name: str) -> bool:
    """Return whether the text is a valid name of a service."""
    return _SERVICE.fullmatch(name) is not None


def is_label_selector(text: str) -> bool:
    """Return whether the text is a label selector, as for `kubectl -l`.

    The result for an empty text, which would select everything, is False.
    """
    return re.fullmatch(_SELECTOR, text) is not None


def is_data_key(name: str) -> bool:
    """Return whether the text is a valid key of a ConfigMap or Secret."""
    return _DATA_KEY.fullmatch(name) is not None


def is_object_name(name: str) -> bool:
    """Return whether the text is a valid name of a Lease or a webhook configuration."""
    return _OBJECT.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Return whether the text is a valid label value and is not empty."""
    return _LABEL.fullmatch(text) is not None


def is_label_key(text: str) -> bool:
    """Return whether the text is a valid key of a label or an annotation."""
    return re.fullmatch(_LABEL_KEY, text) is not None


@dataclass(frozen=True)
class NameRules:
    """The rules for the names of one kind of resource.

    Attributes:
        kind: The `kind` of the resource.
        noun: The resource in messages, for example "application".
        longest_name: The maximum length of the name.
        because: The reason for that length, for messages.
        names: The resource and the objects that are named after it, for messages.
    """

    kind: str
    noun: str
    longest_name: int
    because: str
    names: str


APPLICATION_IDENTITY: Final = NameRules(
    kind="SparkApplication",
    noun="application",
    longest_name=LONGEST_LABEL_VALUE,
    because="it becomes a label",
    names="the application and its driver service",
)
CLUSTER_IDENTITY: Final = NameRules(
    kind="SparkCluster",
    noun="cluster",
    # Kubernetes labels the pods of a StatefulSet with its name and a hash of up to ten characters: 63 in total.
    longest_name=45,
    because="its name is a part of a label on its pods, and a label has at most 63 characters",
    names="the cluster and its services",
)


def find_name_problem(name: object, identity: NameRules) -> Problem | None:
    """Return the problem with the name of a resource; None if the name is missing or valid."""
    if name is None:
        return None
    if not isinstance(name, str):
        return Problem("metadata.name", f"must be a string, not {name!r}")
    if len(name) > identity.longest_name:
        message = f"has {len(name)} characters: use at most {identity.longest_name}, because {identity.because}"
        return Problem("metadata.name", message)
    # Services are named after the resource.
    if not is_service_name(name):
        return Problem(
            "metadata.name",
            f"{name!r} is not a valid name for {identity.names}. Begin with a lowercase letter, "
            "use only lowercase letters, digits and '-', and end with a letter or digit",
        )
    return None


def find_namespace_problem(namespace: object) -> Problem | None:
    """Return the problem with the namespace of a resource; None if it is missing or valid."""
    if namespace is None or (isinstance(namespace, str) and is_namespace(namespace)):
        return None
    return Problem("metadata.namespace", f"{namespace!r} is not a valid namespace: {NAMESPACE_RULE}")
