"""The state diagram says what the table of legal moves says."""

import re
from collections.abc import Callable
from itertools import product
from xml.etree import ElementTree

import pytest

from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.transitions import MOVES
from docs import draw_states


def test_the_arrows_stand_for_the_moves_of_the_table_each_once() -> None:
    drawn = [move for arrow in draw_states.arrows() for move in draw_states.moves_of(arrow)]
    assert sorted(drawn) == sorted((origin, target) for origin, targets in MOVES.items() for target in targets)


@pytest.mark.parametrize(
    ("name", "drawn"), [("states.md", draw_states.page), ("states.svg", draw_states.svg)], ids=["page", "picture"]
)
def test_what_is_in_the_folder_is_what_would_be_drawn(name: str, drawn: Callable[[], str]) -> None:
    written = (draw_states.FOLDER / name).read_text(encoding="utf-8")
    assert written == drawn(), "run python docs/draw_states.py"


def test_the_picture_shows_every_state() -> None:
    words = re.sub(r"<[^>]+>", "", draw_states.svg())
    assert all(str(state) in words for state in ApplicationState)
    ElementTree.fromstring(draw_states.svg())


def test_no_state_covers_another() -> None:
    boxes = [draw_states._bounds(str(state)) for state in ApplicationState]
    for first, second in product(boxes, boxes):
        apart = first[2] < second[0] or second[2] < first[0] or first[3] < second[1] or second[3] < first[1]
        assert first == second or apart
