"""The budget of a task: the warning, the end of the application, and the failure, deferred and on a worker."""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from airflow_provider_spark_operator.airflow_compat import AirflowFailException, RetryAction
from airflow_provider_spark_operator.exceptions import SparkApplicationError, SparkBudgetExceeded
from airflow_provider_spark_operator.follow.recording import budget
from airflow_provider_spark_operator.follow.submission.cancel import CancelOutcome, cancel
from airflow_provider_spark_operator.follow.watching import wait
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.triggers.run_record import XCOM_KEY
from tests.cluster import Cluster, run_on, stay_submitted
from tests.core.report.record_schema import VALIDATOR
from tests.operators.tasks import arguments_of, operator
from tests.task import TaskInstance, call_when_logged, defer, fire, reload, run

PRICES = json.dumps({"currency": "EUR", "prices": [{"coreHour": 1, "gibHour": 0}]})
TINY = 1e-9
LARGE = 1e6


@pytest.fixture(params=[True, False], ids=["deferred", "on the worker"])
def deferrable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(autouse=True)
def frequent_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "FIRST_SECONDS", 0.05)


def list_warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if " of at most " in each.getMessage()]


@pytest.mark.parametrize("recorded", [True, False], ids=["with XComs", "without XComs"])
def test_exceeded_budget_ends_the_application_and_fails_without_a_retry(
    cluster: Cluster, deferrable: bool, recorded: bool, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.script, task_instance = run_on, TaskInstance()
    task = operator(deferrable, max_core_hours=TINY, on_budget_exceeded="fail", do_xcom_push=recorded)
    with pytest.raises(SparkBudgetExceeded) as caught:
        run(task, task_instance)
    error = caught.value
    message = str(error)
    assert message.startswith("SparkApplication jobs/pi exceeded its budget: it has used ")
    assert "of at most 1e-09 core-hours" in message
    assert message.endswith(
        "; it is being deleted. Raise max_core_hours, or request fewer executors, cores or less memory"
    )
    assert (error.reason, error.retry_worthy, isinstance(error, AirflowFailException)) == (
        "BudgetExceeded",
        False,
        True,
    )
    assert cluster.applications() == []
    assert len(list_warnings(caplog)) == 1
    record = task_instance.xcoms.get(XCOM_KEY)
    assert (record is not None) is recorded
    if record is not None:
        VALIDATOR.validate(record)
        verdict = {key: record["verdict"][key] for key in ("outcome", "failureKind", "reason", "retryWorthy")}
        assert verdict == {
            "outcome": "Failed",
            "failureKind": "budget",
            "reason": "BudgetExceeded",
            "retryWorthy": False,
        }


def test_retry_policy_judges_the_failure(cluster: Cluster) -> None:
    cluster.script, policy = run_on, SparkRetryPolicy()
    task = operator(max_core_hours=TINY, on_budget_exceeded="fail", retry_policy=policy)
    with pytest.raises(SparkBudgetExceeded) as caught:
        run(task, TaskInstance())
    decision = policy.evaluate(caught.value, 1, 3)
    assert decision.action is RetryAction.FAIL
    assert decision.reason == "a retry would fail in the same way (BudgetExceeded)"


async def succeed_now(application: Application) -> None:
    application.enter("Succeeded", driver=application.end_driver(0))
    application.enter("ResourceReleased")


def test_application_above_its_budget_costs_a_warning_and_continues(
    cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.script = run_on
    with call_when_logged("has used", lambda: cluster.play(succeed_now)):
        assert run(operator(deferrable, max_core_hours=TINY), TaskInstance()) == "pi"
    (warning,) = list_warnings(caplog)
    assert warning.startswith("SparkApplication jobs/pi has used ")
    assert [each.levelno for each in caplog.records if each.getMessage() == warning] == [logging.WARNING]


def test_application_that_has_ended_is_not_failed_by_its_budget(
    cluster: Cluster, deferrable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "FIRST_SECONDS", 600.0)
    assert run(operator(deferrable, max_core_hours=TINY, on_budget_exceeded="fail"), TaskInstance()) == "pi"


def test_use_within_the_budget_is_silent(cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture) -> None:
    run(operator(deferrable, max_core_hours=LARGE, on_budget_exceeded="fail"), TaskInstance())
    assert list_warnings(caplog) == []


def test_budget_without_xcoms_stores_nothing(cluster: Cluster) -> None:
    task_instance = TaskInstance()
    trigger = defer(operator(max_core_hours=LARGE, do_xcom_push=False), task_instance).trigger
    assert fire(reload(trigger))["record"] is None


def test_cost_is_limited_in_the_currency_of_the_prices(
    cluster: Cluster, deferrable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__PRICES", PRICES)
    cluster.script = run_on
    task = operator(deferrable, max_cost=TINY, on_budget_exceeded="fail")
    with pytest.raises(SparkBudgetExceeded, match=r"of at most 1e-09 EUR.*Raise max_cost, or"):
        run(task, TaskInstance())


@pytest.mark.parametrize(("prices", "problem"), [("", "it is not set"), ("0.04", "must be a JSON object")])
def test_limit_of_the_cost_without_prices_fails_before_the_submission(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, prices: str, problem: str
) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__PRICES", prices)
    with pytest.raises(AirflowFailException, match=rf"max_cost: \[spark_operator\] prices: {problem}"):
        run(operator(max_cost=1), TaskInstance())
    assert cluster.applications() == []


def test_triggerer_without_prices_warns_that_it_does_not_check_the_cost(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__PRICES", PRICES)
    trigger = reload(defer(operator(max_cost=TINY, on_budget_exceeded="fail"), TaskInstance()).trigger)
    monkeypatch.delenv("AIRFLOW__SPARK_OPERATOR__PRICES")
    assert fire(trigger)["outcome"] == "Succeeded"
    assert caplog.messages.count("max_cost is not checked: the configuration of this process contains no valid prices")


@pytest.fixture
def act_before_deletion(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Return a function that lets something happen between the last read of an application and its deletion."""

    def prepare(act: Callable[[], object]) -> None:
        async def cancel_late(*arguments: Any) -> CancelOutcome:
            await asyncio.to_thread(act)
            return await cancel(*arguments)

        monkeypatch.setattr(wait, "cancel", cancel_late)

    return prepare


def test_application_that_succeeds_before_its_deletion_is_a_success(
    cluster: Cluster, deferrable: bool, act_before_deletion: Callable[[Callable[[], object]], None]
) -> None:
    cluster.script, task_instance = run_on, TaskInstance()
    act_before_deletion(lambda: cluster.play(succeed_now))
    task = operator(deferrable, max_core_hours=TINY, on_budget_exceeded="fail")
    assert run(task, task_instance) == "pi"
    assert task_instance.xcoms["state"] == "Succeeded"
    assert task_instance.xcoms[XCOM_KEY]["verdict"]["outcome"] == "Succeeded"
    assert len(cluster.applications()) == 1


def test_application_that_a_user_deletes_first_exceeded_its_budget(
    cluster: Cluster, deferrable: bool, act_before_deletion: Callable[[Callable[[], object]], None]
) -> None:
    cluster.script = run_on
    act_before_deletion(lambda: cluster.delete("pi"))
    with pytest.raises(SparkBudgetExceeded, match="it does not exist, or is already being deleted"):
        run(operator(deferrable, max_core_hours=TINY, on_budget_exceeded="fail"), TaskInstance())


def test_retry_ends_an_application_that_could_not_be_deleted(
    cluster: Cluster, deferrable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any) -> CancelOutcome:
        raise Forbidden(403, "Forbidden", "no", "delete", "sparkapplications", "jobs", "pi")

    cluster.script, task_instance = run_on, TaskInstance()
    task = operator(deferrable, max_core_hours=TINY, on_budget_exceeded="fail", retries=1, delete_on_kill=False)
    with monkeypatch.context() as patch:
        patch.setattr(wait, "cancel", refuse)
        with pytest.raises(SparkApplicationError) as caught:
            run(task, task_instance)
    assert not isinstance(caught.value, AirflowFailException | SparkBudgetExceeded)
    assert "exceeded its budget: it has used" in str(caught.value)
    assert "could not delete it: " in str(caught.value)
    assert str(caught.value).endswith("; it may still be running, and a retry adopts it")
    (left,) = cluster.applications()
    with pytest.raises(SparkBudgetExceeded):
        run(task, task_instance.next_try())
    assert cluster.applications() == []
    assert left["metadata"]["name"] == "pi"


@pytest.mark.needs_airflow("3.3")
def test_task_that_starts_in_the_triggerer_passes_its_budget() -> None:
    task = operator(start_from_trigger=True, max_core_hours=3, on_budget_exceeded="fail")
    assert arguments_of(task)["budget"] == {"max_core_hours": 3, "max_cost": None, "ends_application": True}


def test_task_without_limits_has_no_budget(cluster: Cluster) -> None:
    cluster.script = stay_submitted
    trigger: Any = defer(operator(on_budget_exceeded="fail"), TaskInstance()).trigger
    assert trigger.budget is None


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"max_core_hours": 0}, "max_core_hours must be a number greater than 0 or None, not 0"),
        ({"max_core_hours": True}, "max_core_hours must be a number"),
        ({"max_cost": "12"}, "max_cost must be a number greater than 0 or None, not '12'"),
        ({"max_cost": float("nan")}, "max_cost must be a number"),
        ({"max_cost": float("inf")}, "max_cost must be a number"),
        ({"on_budget_exceeded": "kill"}, "on_budget_exceeded must be 'warn' or 'fail', not 'kill'"),
        (
            {"max_core_hours": 1, "wait_for_completion": False},
            "max_core_hours: has no effect with wait_for_completion=False. Set wait_for_completion=True",
        ),
    ],
)
def test_invalid_budget_is_rejected_when_the_dag_is_parsed(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        operator(**arguments)
