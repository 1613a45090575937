from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, TypeAlias

import pytest
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import TaskStatesResult, TICount
from pydantic import Field, TypeAdapter

from airflow_provider_spark_operator.airflow_compat import REPORTS_LATER_TRIES, GetPreviousTI, PreviousTIResult
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.triggers.task_instance import Fate, read_fate, read_fate_of_deferred

STAMP = TaskStamp("dag", "task", "run", -1, 1, "id-1")
MAPPED = TaskStamp("dag", "task", "run", 3, 1, "id-1")
States: TypeAlias = dict[str, dict[str, str | None]]
PresentTry: TypeAlias = Callable[..., TaskStamp]


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> States:
    """The states that Airflow reports, which the test sets."""
    answer: States = {}

    def get_task_states(*, dag_id: str, task_ids: list[str], run_ids: list[str], map_index: int | None) -> States:
        assert (dag_id, task_ids, run_ids) == ("dag", ["task"], ["run"])
        return answer

    monkeypatch.setattr(
        "airflow.sdk.execution_time.task_runner.RuntimeTaskInstance.get_task_states", staticmethod(get_task_states)
    )
    return answer


@pytest.mark.parametrize("state", [None, "success", "failed", "skipped", "upstream_failed", "removed", "restarting"])
def test_task_marked_or_cleared_by_a_user_is_killed(states: States, state: str | None) -> None:
    states["run"] = {"task": state}
    assert read_fate(STAMP) is Fate.KILLED


@pytest.mark.parametrize(
    "state", ["running", "deferred", "queued", "scheduled", "up_for_retry", "up_for_reschedule", "a state of tomorrow"]
)
def test_task_that_continues_elsewhere_is_moved(states: States, state: str) -> None:
    states["run"] = {"task": state}
    assert read_fate(STAMP) is Fate.MOVED


def fail_to_decode(message: dict[str, Any]) -> None:
    """Fail as the triggerer of Airflow does: it does not know the message of the answer."""
    TypeAdapter(Annotated[TaskStatesResult | TICount, Field(discriminator="type")]).validate_python(message)


@pytest.fixture(params=[True, False], ids=["decodable", "undecodable"])
def present_try(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> PresentTry:
    """A function that sets the task instance that Airflow reports for the logical date of the run."""
    if not REPORTS_LATER_TRIES:
        pytest.skip("Airflow 3.0 and 3.1 do not report it")
    from airflow.sdk.api.datamodels._generated import PreviousTIResponse

    answer: list[PreviousTIResponse] = []
    logical_date = "2026-01-01T00:00:00+00:00"
    dated = replace(STAMP, logical_date=logical_date)

    class Supervisor:
        def send(self, message: "GetPreviousTI") -> "PreviousTIResult | None":
            assert (message.dag_id, message.task_id, message.map_index) == ("dag", "task", -1)
            assert message.logical_date is not None
            assert message.logical_date > datetime.fromisoformat(logical_date)
            result = PreviousTIResult(task_instance=answer[0])
            if not request.param:
                fail_to_decode(result.model_dump())
            return result

    def report(try_number: int, run_id: str = "run", state: str | None = None) -> TaskStamp:
        found = PreviousTIResponse(task_id="task", dag_id="dag", run_id=run_id, try_number=try_number, state=state)
        answer[:] = [found]
        return dated

    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", Supervisor(), raising=False)
    return report


@pytest.mark.parametrize(
    ("state", "answer"),
    [
        (None, Fate.KILLED),
        ("failed", Fate.KILLED),
        ("scheduled", Fate.KILLED),
        ("queued", Fate.KILLED),
        ("running", Fate.KILLED),
        ("deferred", Fate.MOVED),
        ("up_for_retry", Fate.MOVED),
        ("a state of tomorrow", Fate.MOVED),
    ],
)
def test_deferred_task_that_started_again_was_cleared(states: States, state: str | None, answer: Fate) -> None:
    states["run"] = {"task": state}
    assert read_fate_of_deferred(STAMP) is answer


@pytest.mark.parametrize("state", ["scheduled", "queued", "running", "deferred"])
@pytest.mark.parametrize(("try_number", "answer"), [(1, Fate.MOVED), (2, Fate.KILLED)])
def test_deferred_task_in_later_try_was_cleared(
    states: States, present_try: PresentTry, state: str, try_number: int, answer: Fate
) -> None:
    states["run"] = {"task": state}
    assert read_fate_of_deferred(present_try(try_number)) is answer


def test_try_of_another_run_is_ignored(states: States, present_try: PresentTry) -> None:
    states["run"] = {"task": "deferred"}
    assert read_fate_of_deferred(present_try(2, run_id="other")) is Fate.MOVED


@pytest.mark.parametrize(("try_number", "answer"), [(1, Fate.MOVED), (2, Fate.MOVED)])
def test_lost_worker_leaves_application_to_next_try(
    states: States, present_try: PresentTry, try_number: int, answer: Fate
) -> None:
    states["run"] = {"task": "up_for_retry"}
    assert read_fate_of_deferred(present_try(try_number)) is answer


def test_task_of_deleted_run_is_killed(states: States) -> None:
    assert read_fate(STAMP) is Fate.KILLED


def test_mapped_task_has_its_own_state(states: States) -> None:
    states["run"] = {"task_3": "running", "task": "failed"}
    assert read_fate(MAPPED) is Fate.MOVED


@pytest.mark.parametrize(("state", "answer"), [("running", Fate.MOVED), ("failed", Fate.KILLED), (None, Fate.KILLED)])
def test_iteration_of_a_loop_has_its_own_state(
    states: States, present_try: PresentTry, state: str | None, answer: Fate
) -> None:
    states["run"] = {"task": "success" if answer is Fate.MOVED else "running"}  # of the latest iteration
    assert read_fate(replace(present_try(1, state=state), loop_index=0)) is answer


def test_iteration_in_run_without_logical_date_has_the_state_of_the_latest_one(states: States) -> None:
    states["run"] = {"task": "running"}
    assert read_fate(replace(STAMP, loop_index=0)) is Fate.MOVED
