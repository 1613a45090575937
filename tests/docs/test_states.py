"""The state diagram matches the table of legal moves."""

from airflow_provider_spark_operator.core.lifecycle.transitions import MOVES
from airflow_provider_spark_operator.core.states.states import ApplicationState
from docs import draw_states


def test_arrows_stand_for_each_legal_move_once() -> None:
    drawn = [move for arrow in draw_states.find_arrows() for move in draw_states.list_moves(arrow)]
    assert sorted(drawn) == sorted((origin, target) for origin, targets in MOVES.items() for target in targets)


def test_page_is_up_to_date() -> None:
    written = (draw_states.FOLDER / "concepts" / "lifecycle.md").read_text(encoding="utf-8")
    assert written == draw_states.build_page(), "run python docs/draw_states.py"


def test_diagram_shows_every_state() -> None:
    names = {line.strip() for line in draw_states.draw_diagram().splitlines()}
    assert names >= {str(state) for state in ApplicationState}
