"""Restarts by the controller and retries by Airflow."""

import itertools
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.compose.restarts import (
    Retries,
    build_retries,
    describe_restarts,
    find_restarts_problem,
    get_backoff,
)
from airflow_provider_spark_operator.core.dialects.dialect import APACHE
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.lifecycle import policy
from airflow_provider_spark_operator.core.lifecycle.transitions import move_to_next_attempt
from airflow_provider_spark_operator.core.models.application import RestartConfig
from airflow_provider_spark_operator.core.models.status import AttemptInfo
from airflow_provider_spark_operator.core.states.states import ApplicationState
from tests.builders import NOW, build_status_at

ON_FAILURE = {"restartPolicy": "OnFailure", "maxRestartAttempts": 2, "restartBackoffMillis": 5000}


def build_document(**config: Any) -> dict[str, Any]:
    tolerations = {"restartConfig": config, "ttlAfterStopMillis": 5}
    return {"apiVersion": "spark.apache.org/v1", "spec": {"applicationTolerations": tolerations}}


@pytest.mark.parametrize(
    ("config", "kind", "delay"),
    [
        ({"restartBackoffMillis": 5000}, "application", timedelta(seconds=5)),
        ({"restartBackoffMillis": 5000, "restartBackoffMillisForFailure": 1}, "application", timedelta(milliseconds=1)),
        (
            {"restartBackoffMillisForSchedulingFailure": 9, "restartBackoffMillis": 5},
            "scheduling",
            timedelta(0, 0, 9000),
        ),
        ({"restartBackoffMillisForFailure": 9, "restartBackoffMillis": 5}, "scheduling", timedelta(milliseconds=9)),
        ({"restartBackoffMillisForFailure": -1, "restartBackoffMillis": 5}, "infrastructure", timedelta(0)),
        ({"restartBackoffMillis": 2**63}, "application", timedelta(days=36500)),
        ({"restartBackoffMillis": "5s"}, "application", None),
        ({}, "infrastructure", None),
    ],
)
def test_backoff_depends_on_failure_kind(config: dict[str, Any], kind: str, delay: timedelta | None) -> None:
    assert get_backoff(build_document(**config), kind) == delay


@pytest.mark.parametrize(
    ("state", "kind"), [(ApplicationState.SCHEDULING_FAILURE, "scheduling"), (ApplicationState.FAILED, "application")]
)
@pytest.mark.parametrize(
    "config",
    [
        dict(fields)
        for size in range(1, 4)
        for fields in itertools.combinations(
            [
                ("restartBackoffMillis", 1000),
                ("restartBackoffMillisForFailure", 2000),
                ("restartBackoffMillisForSchedulingFailure", -3000),
            ],
            size,
        )
    ],
    ids=len,
)
def test_task_and_controller_choose_same_backoff(state: ApplicationState, kind: str, config: dict[str, Any]) -> None:
    status = move_to_next_attempt(build_status_at(state), AttemptInfo(id=1), NOW, "", trim=True)
    of_controller = policy.get_backoff(RestartConfig.model_validate(config), status)
    default = timedelta(milliseconds=RestartConfig().restart_backoff_millis)
    of_task = get_backoff(build_document(**config), kind)
    assert of_controller == (default if of_task is None else of_task)


@pytest.mark.parametrize(("restarts", "valid"), [("cluster", True), ("airflow", True), ("both", False), (None, True)])
def test_invalid_restarts_parameter_is_reported(restarts: str | None, valid: bool) -> None:
    assert (find_restarts_problem(restarts) is None) is valid


def test_retries_replace_restarts() -> None:
    assert build_retries(build_document(**ON_FAILURE)) == Retries(2, timedelta(seconds=5), application_failures=True)


def test_missing_restart_fields_use_resource_defaults() -> None:
    model = RestartConfig()
    found = build_retries(build_document(restartPolicy="OnInfrastructureFailure", maxRestartAttempts="many"))
    delay = timedelta(milliseconds=model.restart_backoff_millis)
    assert found == Retries(model.max_restart_attempts, delay, application_failures=False)


@pytest.mark.parametrize(
    "document",
    [
        "app.yaml",
        None,
        {},
        build_document(),
        build_document(restartPolicy="Never"),
        build_document(restartPolicy="{{ x }}"),
    ],
)
def test_application_without_restarts_has_no_retries(document: dict[str, Any] | str | None) -> None:
    assert build_retries(document) is None


def test_restart_policy_always_cannot_become_retries() -> None:
    with pytest.raises(InvalidResource, match="restartPolicy Always is not supported"):
        build_retries(build_document(restartPolicy="Always"))


def test_restarts_are_disabled() -> None:
    tolerations = APACHE.disable_restarts(build_document(**ON_FAILURE))["spec"]["applicationTolerations"]
    assert tolerations == {"restartConfig": {**ON_FAILURE, "restartPolicy": "Never"}, "ttlAfterStopMillis": 5}


def test_document_without_restarts_is_unchanged() -> None:
    document: dict[str, Any] = {"spec": {}}
    assert APACHE.disable_restarts(document) is document


def test_restarts_in_each_try_multiply_with_retries() -> None:
    warning = describe_restarts(build_document(**ON_FAILURE), 4, "cluster")
    assert warning
    assert "up to 3 attempts in each of up to 5 tries, together up to 15 attempts" in warning


def test_restarts_in_the_first_try_add_to_retries() -> None:
    notice = describe_restarts(build_document(**ON_FAILURE), 4, None)
    assert notice
    assert "the Spark operator then restarts it up to 2 times" in notice
    assert "the application runs up to 7 times" in notice


@pytest.mark.parametrize(("config", "retries"), [(ON_FAILURE, 0), ({"restartPolicy": "Never"}, 4), ({}, 4)])
def test_restarts_or_retries_alone_return_no_warning(config: dict[str, Any], retries: int) -> None:
    for restarts in (None, "cluster"):
        assert describe_restarts(build_document(**config), retries, restarts) is None
