"""A dialect that exists only in the tests."""

from collections.abc import Mapping
from dataclasses import replace

from airflow_provider_spark_operator.core.dialects import dialect as dialects
from airflow_provider_spark_operator.core.dialects.progress import Phase, Progress
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.problems import Problem
from airflow_provider_spark_operator.core.parameters.parameters import Parameters

API_VERSION = "spark.example.com/v2"


def read_progress(resource: Mapping[str, object]) -> Progress:
    done = resource.get("done") is True
    return Progress(state="DONE" if done else "BUSY", phase=Phase.ENDED if done else Phase.RUNNING)


def write_parameters(document: JsonObject, parameters: Parameters) -> JsonObject:
    return document | {"spec": {"program": parameters.py_file}}


def write_ttl(document: JsonObject, seconds: float | None) -> JsonObject:
    return document | {"spec": document["spec"] | {"ttl": seconds}}


def find_problems(document: Mapping[str, object]) -> list[Problem]:
    return [] if document.get("spec") else [Problem("spec", "is required")]


THIRD = replace(
    dialects.KUBEFLOW,
    group="spark.example.com",
    versions=("v2", "v1"),
    operator="the example operator",
    installation="install the example operator",
    states=("BUSY", "DONE"),
    running="BUSY",
    success="DONE",
    default_restart_attempts=7,
    find_problems=find_problems,
    read_progress=read_progress,
    is_suspended=lambda document: document.get("suspended") is True,
    read_restart_config=lambda document: {"restartPolicy": "OnFailure", "restartBackoffMillis": 9000},
    read_ttl=lambda document: 42.0,
    write_parameters=write_parameters,
    write_ttl=write_ttl,
)
