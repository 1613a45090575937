"""The pictures of terminals show what a command wrote, with its colours, and when it wrote it."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

from docs.terminal_picture import draw, record, replay

SVG = "{http://www.w3.org/2000/svg}"
OUTPUT = [
    (0.1, "starting\r\n"),
    (0.4, "\r\x1b[Kwaiting, 0s"),
    (9.0, "\r\x1b[Kwaiting, 9s"),
    (90.0, "\r\x1b[K\x1b[32mready\x1b[0m\r\n"),
]


def test_record_returns_output_of_a_terminal_and_exit_code(tmp_path: Path) -> None:
    script = "import os, sys; print(os.getcwd(), sys.stdout.isatty(), os.get_terminal_size().columns); sys.exit(3)"
    code, output = record([sys.executable, "-c", script], tmp_path, 70, GREETING="hello")
    assert code == 3
    assert "".join(chunk for _, chunk in output) == f"{tmp_path} True 70\r\n"


def test_progress_is_replaced_and_waits_are_shortened() -> None:
    lines = replay("up", OUTPUT, 40)
    assert [(line.row, line.text.plain, line.end is None) for line in lines] == [
        (0, "$ up", True),
        (1, "starting", True),
        (2, "waiting, 0s", False),
        (2, "ready", True),
    ]
    assert lines[-1].begin < 3
    assert lines[2].end == lines[-1].begin


def test_long_line_is_wrapped_as_in_a_terminal() -> None:
    assert [line.text.plain for line in replay("x", [(0, "a" * 25 + "\r\n")], 10)[1:]] == ["a" * 10, "a" * 10, "a" * 5]


def test_hidden_line_leaves_no_gap() -> None:
    output = [(1.0, "\x1b[33m26/01/01 WARN"), (1.5, " x: slow\x1b[0m\r\nready\r\n")]
    lines = replay("up", output, 40, re.compile(r"[0-9/]+ WARN "))
    assert [(line.row, line.text.plain) for line in lines] == [(0, "$ up"), (1, "ready")]


def test_recording_shows_the_end_first_and_plays_once() -> None:
    picture = draw("demo", replay("up", OUTPUT, 40), 40)
    assert "infinite" not in picture
    assert re.findall(r"@keyframes a[23] \{ 0% \{ visibility: (\w+)", picture) == ["hidden", "visible"]


def test_picture_has_colours_and_times() -> None:
    picture = draw("demo", replay("up", [*OUTPUT, (91, "<█ 2>\r\n")], 40), 40)
    groups = list(ElementTree.fromstring(picture).iter(f"{SVG}g"))
    texts = {"".join(group.itertext()): group for group in groups}
    assert list(texts) == ["$ up", "starting", "waiting, 0s", "ready", "< 2>"]
    assert [text for text, group in texts.items() if group.get("class") == "past"] == ["waiting, 0s"]
    assert texts["ready"][0].get("fill") != texts["starting"][0].get("fill")
    assert [f"@keyframes a{index} " in picture for index in range(5)] == [False, True, True, True, True]
    assert "prefers-reduced-motion" in picture


def test_still_picture_has_no_animation() -> None:
    assert "@keyframes" not in draw("demo", replay("up", [], 40), 40)
