from datetime import timedelta

import pytest

from airflow_provider_spark_operator.core.lifecycle.transitions import (
    MOVES,
    IllegalMove,
    create_status,
    get_next_key,
    move,
    move_to_next_attempt,
    replace_message,
    sort_records,
)
from airflow_provider_spark_operator.core.models.status import AttemptInfo, ForeignRecord, PastRecord
from airflow_provider_spark_operator.core.states.states import (
    INITIALIZING,
    RUNNING,
    STARTING,
    STOPPING,
    TERMINATED,
    ApplicationState,
)
from tests.builders import NOW, build_status, build_status_at, seconds

S = ApplicationState
LATER = NOW + timedelta(seconds=5)


def test_every_state_but_suspended_is_in_exactly_one_set() -> None:
    sets = (INITIALIZING, STARTING, RUNNING, STOPPING, TERMINATED, {S.SUSPENDED})
    assert sorted(state for each in sets for state in each) == sorted(ApplicationState)


def test_transition_table_contains_and_reaches_every_state() -> None:
    assert set(MOVES) == set(ApplicationState)
    assert set().union(*MOVES.values()) == set(ApplicationState)


def test_only_suspended_has_transition_to_itself() -> None:
    assert [state for state, targets in MOVES.items() if state in targets] == [S.SUSPENDED]


def test_released_state_has_no_transitions() -> None:
    assert MOVES[S.RESOURCE_RELEASED] == frozenset()


@pytest.mark.parametrize("state", sorted(STOPPING))
def test_stopping_state_has_no_transition_to_another(state: ApplicationState) -> None:
    assert not MOVES[state] & STOPPING


@pytest.mark.parametrize("state", sorted(set(ApplicationState) - {S.RESOURCE_RELEASED}))
def test_every_unreleased_state_can_be_released(state: ApplicationState) -> None:
    assert S.RESOURCE_RELEASED in MOVES[state]


def test_transition_is_appended_to_history() -> None:
    status = move(create_status(NOW), S.DRIVER_REQUESTED, LATER, "Asked.", {"phase": "Pending"})
    record = status.current_state
    assert status.state_transition_history["1"] == record
    assert (record.current_state_summary, record.last_transition_time) == (S.DRIVER_REQUESTED, LATER)
    assert (record.message, record.last_observed_driver_status) == ("Asked.", {"phase": "Pending"})


def test_transition_does_not_change_previous_status() -> None:
    before = create_status(NOW)
    move(before, S.DRIVER_REQUESTED, LATER, "")
    assert before == create_status(NOW)


def test_transition_missing_from_table_raises() -> None:
    with pytest.raises(IllegalMove, match="cannot move from Submitted to RunningHealthy"):
        move(create_status(NOW), S.RUNNING_HEALTHY, LATER, "")


def test_next_key_follows_highest_number() -> None:
    status = create_status(NOW)
    foreign = {"9": status.current_state, "07": status.current_state, "zero": status.current_state}
    status = status.model_copy(update={"state_transition_history": foreign})
    assert "10" in move(status, S.DRIVER_REQUESTED, LATER, "").state_transition_history


def test_first_key_of_empty_history_is_zero() -> None:
    status = create_status(NOW).model_copy(update={"state_transition_history": {}})
    assert list(move(status, S.DRIVER_REQUESTED, LATER, "").state_transition_history) == ["0"]


def test_history_is_sorted_by_numeric_key() -> None:
    status = build_status(S.DRIVER_REQUESTED, S.DRIVER_STARTED)
    first, second, third = sort_records(status.state_transition_history)
    shuffled: dict[str, PastRecord] = {"10": third, "9": second, "junk": first, "11": ForeignRecord()}
    assert sort_records(shuffled) == [first, second, third]
    assert sort_records(None) == []


def test_trimmed_history_moves_to_previous_attempt() -> None:
    ended = build_status_at(S.FAILED)
    status = move_to_next_attempt(ended, AttemptInfo(id=1), LATER, "Again.", trim=True)
    assert status.previous_attempt_summary is not None
    assert status.previous_attempt_summary.state_transition_history == ended.state_transition_history
    key = str(len(ended.state_transition_history))
    assert status.state_transition_history == {key: status.current_state}
    assert status.current_attempt_summary.attempt_info.id == 1
    assert status.current_attempt_summary.state_transition_history is None


def test_untrimmed_history_continues_in_next_attempt() -> None:
    ended = build_status_at(S.FAILED)
    status = move_to_next_attempt(ended, AttemptInfo(id=1), LATER, "Again.", trim=False)
    assert len(status.state_transition_history) == len(ended.state_transition_history) + 1
    assert status.previous_attempt_summary == ended.current_attempt_summary


def test_next_attempt_of_released_application_raises() -> None:
    with pytest.raises(IllegalMove):
        move_to_next_attempt(build_status_at(S.RESOURCE_RELEASED), AttemptInfo(id=1), LATER, "", trim=True)


def test_new_status_is_submitted_with_one_history_entry() -> None:
    status = create_status(NOW)
    assert status.current_state.message == "The application was submitted."
    assert status.state_transition_history == {"0": status.current_state}


def test_replaced_message_changes_only_the_latest_record() -> None:
    before = build_status(S.DRIVER_REQUESTED, S.DRIVER_STARTED)
    status = replace_message(before, "Later.")
    assert status.current_state == before.current_state.model_copy(update={"message": "Later."})
    assert status.state_transition_history == {**before.state_transition_history, "2": status.current_state}


def test_invalid_history_keys_are_sorted_first_and_not_counted() -> None:
    first, second = (create_status(NOW + seconds(number)).current_state for number in (1, 2))
    assert sort_records({"0": second, "-7": first}) == [first, second]
    assert get_next_key({"x": first}) == "0"
    assert get_next_key({"x": first, "0": second, "9" * 19: second}) == "1"
    assert get_next_key({"9" * 18: first}) == "1" + "0" * 18


@pytest.mark.parametrize(
    ("states", "outcome"),
    [
        ((S.SUCCEEDED, S.RESOURCE_RELEASED), "Succeeded"),
        ((S.FAILED, S.RESOURCE_RELEASED), "Failed"),
        ((S.DRIVER_EVICTED, S.TERMINATED_WITHOUT_RELEASE_RESOURCES), "Failed"),
        ((S.SUCCEEDED, S.TERMINATED_WITHOUT_RELEASE_RESOURCES, S.RESOURCE_RELEASED), "Succeeded"),
        ((S.RESOURCE_RELEASED,), "Cancelled"),
        ((S.SUCCEEDED,), None),
        ((S.FAILED, S.SCHEDULED_TO_RESTART), None),
    ],
)
def test_outcome_is_set_only_in_terminal_state(states: tuple[ApplicationState, ...], outcome: str | None) -> None:
    status = build_status_at(S.DRIVER_REQUESTED)
    for state in states:
        status = move(status, state, LATER, "")
    assert status.outcome == outcome
    assert status.to_document().get("outcome") == outcome
