from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.problems import Severity
from airflow_provider_spark_operator.core.validation.application import validate_application
from airflow_provider_spark_operator.core.validation.cluster import validate_cluster
from airflow_provider_spark_operator.core.validation.numbers import MAX_EXECUTORS
from tests.builders import build_application_document
from tests.core.cluster_resources.clusters import build_cluster_document

TOLERATIONS = "spec.applicationTolerations"
TIMEOUTS = ("driverStartTimeoutMillis", "driverReadyTimeoutMillis", "executorStartTimeoutMillis")
PERIODS = ("forceTerminationGracePeriodMillis", "terminationRequeuePeriodMillis")
RESTARTS = (
    "maxRestartAttempts",
    "maxRestartOnFailure",
    "maxRestartOnSchedulingFailure",
    "restartBackoffMillis",
    "restartBackoffMillisForFailure",
    "restartBackoffMillisForSchedulingFailure",
)


def find_problems(**modifiers: Any) -> list[Any]:
    return validate_application(build_application_document(**modifiers))


@pytest.mark.parametrize("name", [*TIMEOUTS, *PERIODS])
def test_negative_timeout_is_an_admissible_error(name: str) -> None:
    (problem,) = find_problems(timeouts={name: -5})
    assert problem.path == f"{TOLERATIONS}.applicationTimeoutConfig.{name}"
    assert problem.message.startswith("must not be negative, but is -5")
    assert problem.is_error
    assert not problem.is_refused


@pytest.mark.parametrize("name", RESTARTS)
def test_negative_restart_setting_is_an_error(name: str) -> None:
    (problem,) = find_problems(restart={name: -3})
    assert str(problem) == f"{TOLERATIONS}.restartConfig.{name}: must not be negative, but is -3"
    assert problem.is_error


@pytest.mark.parametrize("name", TIMEOUTS)
def test_timeout_of_minus_one_is_disabled_with_a_warning(name: str) -> None:
    (problem,) = find_problems(timeouts={name: -1})
    assert problem.severity is Severity.WARNING
    assert "use 0" in problem.message


@pytest.mark.parametrize("name", ["ttlAfterStopMillis", "resourceRetainDurationMillis"])
def test_retention_of_minus_one_never_expires(name: str) -> None:
    assert find_problems(tolerations={name: -1}) == []
    (problem,) = find_problems(tolerations={name: -7})
    assert problem.severity is Severity.WARNING
    assert "use -1" in problem.message


def test_counter_reset_of_minus_one_never_resets() -> None:
    assert find_problems(restart={"restartCounterResetMillis": -1}) == []


@pytest.mark.parametrize(
    ("instances", "name"),
    [
        ({"minExecutors": 3, "maxExecutors": 2}, "minExecutors"),
        ({"initExecutors": 3, "maxExecutors": 2}, "initExecutors"),
        ({"maxExecutors": -1}, "maxExecutors"),
        ({"maxExecutors": MAX_EXECUTORS + 1}, "maxExecutors"),
    ],
)
def test_invalid_executor_numbers_are_admissible_errors(instances: dict[str, Any], name: str) -> None:
    (problem,) = find_problems(instances=instances)
    assert problem.path == f"{TOLERATIONS}.instanceConfig.{name}"
    assert problem.is_error
    assert not problem.is_refused


@pytest.mark.parametrize(
    ("instances", "name", "refused"),
    [
        ({"init": -1}, "initWorkers", True),
        ({"init": 2_000_000_000, "minimum": 1, "maximum": 1}, "initWorkers", True),
        ({"init": 1, "minimum": 0, "maximum": 2}, "minWorkers", True),
        ({"init": 1, "minimum": -3, "maximum": 2}, "minWorkers", True),
        ({"init": 1, "minimum": 0, "maximum": -1}, "maxWorkers", False),
        ({"init": 5, "minimum": 1, "maximum": 3}, "initWorkers", False),
        ({"init": 1, "minimum": 5, "maximum": 3}, "minWorkers", False),
        ({"init": 0, "minimum": 1, "maximum": 3}, "initWorkers", False),
    ],
)
def test_worker_numbers_that_kubernetes_refuses_are_refused_by_the_webhook(
    instances: dict[str, Any], name: str, refused: bool
) -> None:
    (problem,) = validate_cluster(build_cluster_document(**instances))
    assert problem.path == f"spec.clusterTolerations.instanceConfig.{name}"
    assert problem.is_error
    assert problem.is_refused is refused


@pytest.mark.parametrize("metric", ["Object", "External"])
def test_minimum_of_zero_workers_is_a_warning_if_the_autoscaler_has_a_metric_for_it(metric: str) -> None:
    worker = {"horizontalPodAutoscalerSpec": {"metrics": [{"type": "Resource"}, {"type": metric}]}}
    (problem,) = validate_cluster(build_cluster_document(minimum=0, maximum=2, worker=worker))
    assert problem.path == "spec.clusterTolerations.instanceConfig.minWorkers"
    assert problem.severity is Severity.WARNING


@pytest.mark.parametrize("metrics", [None, [], "External", [{"type": "Resource"}], [{"type": ["External"]}, "Object"]])
def test_minimum_of_zero_workers_is_refused_without_such_a_metric(metrics: list[dict[str, Any]] | str | None) -> None:
    worker = {"horizontalPodAutoscalerSpec": {"metrics": metrics}}
    found = validate_cluster(build_cluster_document(minimum=0, maximum=2, worker=worker))
    (problem,) = (each for each in found if each.path.endswith("minWorkers"))
    assert problem.is_refused
