"""The state diagram says what the table of legal moves says."""

from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.transitions import MOVES
from docs import draw_states


def test_the_arrows_stand_for_the_moves_of_the_table_each_once() -> None:
    drawn = [move for arrow in draw_states.arrows() for move in draw_states.moves_of(arrow)]
    assert sorted(drawn) == sorted((origin, target) for origin, targets in MOVES.items() for target in targets)


def test_page_is_what_the_table_gives() -> None:
    written = (draw_states.FOLDER / "concepts" / "lifecycle.md").read_text(encoding="utf-8")
    assert written == draw_states.page(), "run python docs/draw_states.py"


def test_diagram_shows_every_state() -> None:
    names = {line.strip() for line in draw_states.mermaid().splitlines()}
    assert names >= {str(state) for state in ApplicationState}
