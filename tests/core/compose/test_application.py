"""The application that a task submits."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.compose.application import TaskSettings, compose_application
from airflow_provider_spark_operator.core.compose.document import new_application
from airflow_provider_spark_operator.core.compose.files import MountedFiles
from airflow_provider_spark_operator.core.parameters.parameters import Parameters

KUBEFLOW = "sparkoperator.k8s.io/v1beta2"
DRIVER, EXECUTOR = "spark.driver.metrics.pollingInterval", "spark.executor.metrics.pollingInterval"
PARAMETERS = Parameters(py_file="local:///a.py")
FILES = MountedFiles("files", {"a.py": ""}, executors=False)


def compose_tolerations(settings: TaskSettings, **spec: Any) -> dict[str, Any]:
    document = new_application() | {"spec": spec}
    found: dict[str, Any] = compose_application(document, PARAMETERS, settings)["spec"]["applicationTolerations"]
    return found


def test_compose_application_applies_parameters_files_and_settings() -> None:
    made = compose_application(new_application(), PARAMETERS, TaskSettings(), FILES)
    assert made["spec"]["pyFiles"] == "local:///a.py"
    assert made["spec"]["configMapSpecs"][0]["name"] == "files"
    assert made["spec"]["applicationTolerations"] == {"ttlAfterStopMillis": 604_800_000}


PREFIX = "spark.kubernetes.executor.podNamePrefix"


@pytest.mark.parametrize("api_version", [None, KUBEFLOW])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {PREFIX: "pi"}),
        ({"conf": {PREFIX: "mine"}}, {PREFIX: "mine"}),
        ({"restart_policy": "OnFailure"}, {"spark.app.name": "pi"}),
        ({"restart_policy": "OnFailure", "conf": {"spark.app.name": "mine"}}, {"spark.app.name": "mine"}),
    ],
    ids=["one attempt", "given prefix", "restarts", "given name"],
)
def test_executors_of_a_program_are_named_after_the_application(
    given: dict[str, Any], expected: dict[str, str], api_version: str | None
) -> None:
    parameters = replace(PARAMETERS, **given)
    made = compose_application(new_application(api_version), parameters, TaskSettings(), name="pi")
    assert made["spec"]["sparkConf"] == expected


@pytest.mark.parametrize(
    ("spec", "cluster", "name"),
    [({"mainClass": "Pi"}, None, "pi"), ({}, "shared", "pi"), ({}, None, "")],
    ids=["manifest", "SparkCluster", "unknown name"],
)
def test_executors_are_not_named(spec: dict[str, Any], cluster: str | None, name: str) -> None:
    parameters = Parameters(jars=["local:///a.jar"], main_class="Pi", cluster=cluster)
    made = compose_application(new_application() | {"spec": spec}, parameters, TaskSettings(), name=name)
    assert PREFIX not in made["spec"].get("sparkConf", {})


@pytest.mark.parametrize("duration", [timedelta(minutes=5), 300])
def test_durations_can_be_timedelta_or_seconds(duration: timedelta | int) -> None:
    assert compose_tolerations(TaskSettings(ttl=duration, keep_failed_driver=duration)) == {
        "ttlAfterStopMillis": 300_000,
        "resourceRetainPolicy": "OnFailure",
        "resourceRetainDurationMillis": 300_000,
    }


@pytest.mark.parametrize(("restarts", "policy"), [(True, "Always"), (False, "Never")])
def test_restarts_can_be_disabled(restarts: bool, policy: str) -> None:
    given = {"restartConfig": {"restartPolicy": "Always"}}
    found = compose_tolerations(TaskSettings(restarts=restarts), applicationTolerations=given)
    assert found["restartConfig"]["restartPolicy"] == policy


def test_dialect_without_mounted_files_gets_no_files() -> None:
    made = compose_application(new_application(KUBEFLOW), PARAMETERS, TaskSettings(), FILES)
    assert set(made["spec"]) >= {"type", "mainApplicationFile", "timeToLiveSeconds"}
    assert "configMapSpecs" not in made["spec"]


@pytest.mark.parametrize(
    ("metrics", "given", "driver", "executor"),
    [(True, {}, "1s", "1s"), (True, {EXECUTOR: "5s"}, "1s", "5s"), (False, {}, None, None)],
)
def test_pods_measure_their_memory_every_second_for_metrics(
    metrics: bool, given: dict[str, str], driver: str | None, executor: str | None
) -> None:
    document = new_application() | {"spec": {"pyFiles": "local:///opt/job.py", "sparkConf": given}}
    conf = compose_application(document, PARAMETERS, TaskSettings(metrics=metrics))["spec"]["sparkConf"]
    assert (conf.get(DRIVER), conf.get(EXECUTOR)) == (driver, executor)
