"""Tables that fit the width of a terminal."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.cli.output.row_printer import RowPrinter
from airflow_provider_spark_operator.cli.output.section_printer import SectionPrinter
from airflow_provider_spark_operator.cli.output.table_layout import (
    choose_columns,
    fold,
    fold_last,
    measure,
    narrow,
    shorten,
)

TITLES = ("NAME", "STATE", "AGE", "TASK")
ROW = ("daily-report", "TerminatedWithoutReleaseResources", "5m", "sales.daily.report")
SENTENCE = "The driver ended with exit code 137, because its container was out of memory"


class Terminal(io.StringIO):
    """A terminal in UTF-8."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def print_rows(monkeypatch: pytest.MonkeyPatch, columns: int, *rows: tuple[str, ...]) -> list[str]:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    printer = RowPrinter(TITLES, (0,) * 4, {}, dropped_first=("TASK", "AGE"), shortened="STATE")
    printer.print(rows)
    return terminal.getvalue().splitlines()


def test_wide_terminal_shows_all_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    titles, row = print_rows(monkeypatch, 100, ROW)
    assert titles.split() == list(TITLES)
    assert row.split() == list(ROW)


def test_narrow_terminal_drops_columns_before_it_shortens(monkeypatch: pytest.MonkeyPatch) -> None:
    titles, row = print_rows(monkeypatch, 60, ROW)
    assert titles.split() == ["NAME", "STATE", "AGE"]
    assert row.split() == ["daily-report", "TerminatedWithoutReleaseResources", "5m"]
    titles, row = print_rows(monkeypatch, 40, ROW)
    assert titles.split() == ["NAME", "STATE"]
    assert row.split() == ["daily-report", "TerminatedWithoutRelease…"]
    assert len(row) <= 40


def test_pipe_gets_all_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    RowPrinter(TITLES, (0,) * 4, {}, dropped_first=("TASK",), shortened="STATE").print([ROW])
    assert capsys.readouterr().out.splitlines()[1].split() == list(ROW)


def test_long_values_continue_below_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    printer = SectionPrinter()
    printer.print_pairs([("Verdict", SENTENCE)])
    printer.print_table(("REASON", "MESSAGE"), [("Failed", SENTENCE)])
    assert terminal.getvalue().splitlines() == [
        "Verdict:   The driver ended with exit code 137, because its",
        "           container was out of memory",
        "  REASON   MESSAGE",
        "  Failed   The driver ended with exit code 137, because its",
        "           container was out of memory",
    ]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(1, 200), st.data())
def test_chosen_columns_fit_or_nothing_is_left_to_drop(widths: list[int], limit: int, data: st.DataObject) -> None:
    dropped = data.draw(st.lists(st.sampled_from(range(len(widths))), unique=True, max_size=len(widths) - 1))
    shown = choose_columns(widths, limit, dropped)
    assert measure([widths[each] for each in shown]) <= limit or not set(shown) & set(dropped)
    position = data.draw(st.sampled_from(range(len(widths))))
    assert min(widths[position], 12) <= narrow(widths, position, limit) <= widths[position]


@given(st.text("ab ", max_size=200), st.integers(0, 100))
def test_folded_text_is_complete(text: str, width: int) -> None:
    assert "".join("".join(fold(text, width)).split()) == "".join(text.split())
    first, *others = fold_last(["name", text], [6, len(text)], width)
    assert first[0] == "name"
    words = "".join("".join(line) for line in (["", first[1]], *others))
    assert "".join(words.split()) == "".join(text.split())


def test_message_without_space_continues_below_its_row() -> None:
    lines = fold_last(["name", SENTENCE], [30, len(SENTENCE)], 50)
    assert lines == [
        ["name", ""],
        ["    The driver ended with exit code 137, because", ""],
        ["    its container was out of memory", ""],
    ]


def test_shortened_cell_fits() -> None:
    assert shorten("RunningHealthy", 8) == "Running…"
    assert shorten("RunningHealthy", 8, unicode=False) == "Running."
    assert shorten("Failed", 8) == "Failed"
