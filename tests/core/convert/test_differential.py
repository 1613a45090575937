"""The converted application gives the pods that Kubeflow's operator creates with spark-submit and its webhook."""

import json
import re
from typing import Any

from hypothesis import HealthCheck, given, settings

from airflow_provider_spark_operator.core.convert.document import convert_document
from airflow_provider_spark_operator.core.driver.attempt import build_attempt
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.models.parse import parse_application
from tests.core.convert.documents import draw_document
from tests.core.convert.kubeflow import CONTAINERS, Submission, submit
from tests.core.driver.attempts import read_properties

# Each operator has labels of its own, and each submission has its own names.
OPERATOR_LABEL = re.compile(r"(sparkoperator\.k8s\.io/|spark\.operator/).*|spark-app-selector")
OWN_PROPERTIES = re.compile(
    r"spark\.(app\.(id|submitTime)|master|submit\.deployMode|authenticate|io\.encryption\.enabled)"
    r"|spark\.driver\.(host|bindAddress)"
    r"|spark\.kubernetes\.(namespace|resource\.type|driver\.pod\.name|executor\.podNamePrefix|submission\..*)"
    r"|spark\.kubernetes\.(driver|executor)\.(podTemplate.*|secretKeyRef\..*)"
    r"|spark\.kubernetes\.driverEnv\..*|spark\.executorEnv\..*"
    r"|spark\.kubernetes\.(driver(\.service)?|executor)\.label\.(sparkoperator\.k8s\.io/|spark\.operator/).*"
    r"|spark\.kubernetes\.(driver\.annotateExitException|executor\.useDriverPodIP|pyspark\.pythonVersion)"
    r"|spark\.kubernetes(\.(driver|executor))?\.(scheduler\.name|container\.image)"
    r"|spark\.kubernetes\.executor\.deleteOnTermination|.*NoVersion"
)
RANDOM_VARIABLES = ("SPARK_APPLICATION_ID", "SPARK_LOCAL_DIRS")
# Both operators mount Spark's own files. Kubeflow's operator always passes a template of the executors.
SPARK_VOLUMES = ("spark-conf-volume-driver", "pod-template-volume")
# Spark's defaults, which the webhook of Kubeflow's operator and spark-submit write.
DEFAULTS = {
    "spark.driver.cores": "1",
    "spark.driver.memory": "1g",
    "spark.executor.cores": "1",
    "spark.executor.memory": "1g",
    "spark.submit.pyFiles": "",
}


@settings(suppress_health_check=list(HealthCheck))
@given(draw_document())
def test_converted_application_gives_pods_of_kubeflow(document: JsonObject) -> None:
    theirs = submit(document)
    ours = build_converted(document)
    assert read_pod(ours.driver, "driver") == read_pod(theirs.driver, "driver")
    assert read_executor(ours) == read_executor(theirs)
    assert select_properties(ours.properties) == select_properties(theirs.properties)


def build_converted(document: JsonObject) -> Submission:
    (conversion,) = convert_document(document)
    assert conversion.problems == ()
    assert conversion.document is not None
    converted = json.loads(json.dumps(conversion.document))
    converted["metadata"]["uid"] = "application-uid"
    application = parse_application(converted)
    attempt = build_attempt(application, 0, "spark-kubernetes-operator", api_address="https://10.0.0.1:443")
    template = converted["spec"].get("executorSpec", {}).get("podTemplateSpec")
    default = {"spec": {"containers": [{"name": CONTAINERS["executor"]}]}}
    return Submission(attempt.pod, template or default, template or default, read_properties(attempt))


def read_pod(pod: JsonObject, role: str) -> JsonObject:
    """Return the parts of a pod to compare: lists by name, variables with the last value, no submission names."""
    pod = json.loads(re.sub(r"spark-[0-9a-f]{8}-[0-9a-f-]{27}", "spark-id", json.dumps(pod)))
    metadata, spec = pod.get("metadata", {}), pod["spec"]
    containers = {container["name"]: container for container in spec["containers"]}
    main = containers.pop(CONTAINERS[role])
    security = {"allowPrivilegeEscalation": False} if role == "driver" else {}
    rest = {
        key: value
        for key, value in spec.items()
        if key not in ("containers", "volumes", "initContainers", "nodeSelector", "tolerations")
    }
    return {
        "labels": {k: v for k, v in metadata.get("labels", {}).items() if not OPERATOR_LABEL.fullmatch(k)},
        "annotations": metadata.get("annotations", {}),
        "container": {
            **main,
            "env": read_variables(main),
            "ports": by_name(main.get("ports", [])),
            "volumeMounts": by_path(main.get("volumeMounts", [])),
            "securityContext": main.get("securityContext", {}) | security,
        },
        "others": {
            name: {**other, "securityContext": other.get("securityContext", {}) | security}
            for name, other in containers.items()
        },
        "volumes": by_name(spec.get("volumes", [])),
        "nodeSelector": spec.get("nodeSelector", {}),
        "tolerations": spec.get("tolerations", []),
        "initContainers": [
            {**other, "securityContext": other.get("securityContext", {}) | security}
            for other in spec.get("initContainers", [])
        ],
        **rest,
    }


def read_executor(submission: Submission) -> JsonObject:
    """Return the template of the executors with the properties that Spark writes into the pods."""
    properties = submission.properties
    pod = read_pod(submission.executor, "executor")
    selectors: dict[str, str] = {}
    for prefix in ("spark.kubernetes.node.selector.", "spark.kubernetes.executor.node.selector."):
        selectors |= {k.removeprefix(prefix): v for k, v in properties.items() if k.startswith(prefix)}
    keys = ("spark.kubernetes.executor.scheduler.name", "spark.kubernetes.scheduler.name")
    scheduler = pod.get("schedulerName") or next((properties[key] for key in keys if key in properties), None)
    keys = ("spark.kubernetes.executor.container.image", "spark.kubernetes.container.image")
    image = next(properties[key] for key in keys if key in properties)
    return pod | {
        "nodeSelector": pod["nodeSelector"] | selectors,
        "schedulerName": scheduler,
        "image": image,
        "env": read_executor_variables(submission),
        "container": {key: value for key, value in pod["container"].items() if key != "env"},
    }


def read_executor_variables(submission: Submission) -> JsonObject:
    """Return the variables of the executors: those of Spark's template, of Spark, and of the webhook, in this order."""
    properties: JsonObject = {}
    secrets = "spark.kubernetes.executor.secretKeyRef."
    for key, value in submission.properties.items():
        if key.startswith("spark.executorEnv."):
            properties.setdefault(key.removeprefix("spark.executorEnv."), {"value": value})
        elif key.startswith(secrets):  # Spark adds these after the others
            name, _, entry = value.partition(":")
            properties[key.removeprefix(secrets)] = {"valueFrom": {"secretKeyRef": {"name": name, "key": entry}}}
    template, final = (find_executor(each) for each in (submission.template, submission.executor))
    added = final.get("env", [])[len(template.get("env", [])) :]
    return read_variables(template) | properties | read_variables({"env": added})


def find_executor(template: JsonObject) -> JsonObject:
    containers: list[JsonObject] = template["spec"]["containers"]
    return next(container for container in containers if container["name"] == CONTAINERS["executor"])


def select_properties(properties: dict[str, str]) -> dict[str, str]:
    node = "spark.kubernetes.executor.node.selector.", "spark.kubernetes.driver.node.selector."
    complete = DEFAULTS | properties
    return {k: v for k, v in complete.items() if not OWN_PROPERTIES.fullmatch(k) and not k.startswith(node)}


def read_variables(container: JsonObject) -> JsonObject:
    """Return the variables by name. As in Kubernetes, the last one of a name counts."""
    return {
        variable["name"]: {key: value for key, value in variable.items() if key != "name"}
        for variable in container.get("env", [])
        if variable["name"] not in RANDOM_VARIABLES
    }


def by_name(entries: list[Any]) -> JsonObject:
    return {entry["name"]: entry for entry in entries if entry["name"] not in SPARK_VOLUMES}


def by_path(entries: list[Any]) -> JsonObject:
    return {entry["mountPath"]: entry for entry in entries if entry["name"] not in SPARK_VOLUMES}
