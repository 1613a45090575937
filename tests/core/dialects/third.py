"""A dialect that exists only in the tests."""

from collections.abc import Mapping
from typing import Any

from airflow_provider_spark_operator.core.dialects.kubeflow import Kubeflow
from airflow_provider_spark_operator.core.dialects.progress import Phase, Progress
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject, KubernetesObject
from airflow_provider_spark_operator.core.kubernetes.problems import Problem
from airflow_provider_spark_operator.core.parameters.parameters import Parameters

API_VERSION = "spark.example.com/v2"


class Third(Kubeflow):
    group = "spark.example.com"
    versions = ("v2", "v1")
    operator = "the example operator"
    installation = "install the example operator"
    states = ("BUSY", "DONE")
    running = "BUSY"
    success = "DONE"

    def find_problems(self, document: KubernetesObject) -> list[Problem]:
        return [] if document.get("spec") else [Problem("spec", "is required")]

    def read_progress(self, resource: KubernetesObject) -> Progress:
        done = resource.get("done") is True
        return Progress(state="DONE" if done else "BUSY", phase=Phase.ENDED if done else Phase.RUNNING)

    def is_suspended(self, document: KubernetesObject) -> bool:
        return document.get("suspended") is True

    def read_restart_config(self, document: KubernetesObject) -> Mapping[str, object]:
        return {"restartPolicy": "OnFailure", "maxRestartAttempts": 7, "restartBackoffMillis": 9000}

    def read_ttl(self, document: KubernetesObject) -> float:
        return 42.0

    def write_parameters(self, document: JsonObject, parameters: Parameters) -> JsonObject:
        return document | {"spec": {"program": parameters.py_file}}

    def write_ttl(self, document: JsonObject, seconds: float | None) -> dict[str, Any]:
        return document | {"spec": document["spec"] | {"ttl": seconds}}


THIRD = Third()
