"""Tables: aligned for programs, and fitted to the width of a terminal."""

import io
from operator import itemgetter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_provider_spark_operator.cli.base.styles import style_state
from airflow_provider_spark_operator.cli.output.section_printer import SectionPrinter
from airflow_provider_spark_operator.cli.output.tables import Column, Table, build_columns, fold, print_table

TITLES = ("NAME", "STATE", "AGE", "TASK")
COLUMNS: list[Column[tuple[str, ...]]] = [
    Column("NAME", itemgetter(0)),
    Column("STATE", itemgetter(1), is_shortened=True),
    Column("AGE", itemgetter(2), drop_rank=1),
    Column("TASK", itemgetter(3), drop_rank=2),
]
ROW = ("daily-report", "TerminatedWithoutReleaseResources", "5m", "sales.daily.report")
ROWS = [["driver", "RunningHealthy"], ["executor-1", ""]]
SENTENCE = "The driver ended with exit code 137, because its container was out of memory"


class Terminal(io.StringIO):
    """A terminal in UTF-8."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def open_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> Terminal:
    """Replace standard output by a terminal without colours."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    return terminal


def print_rows(monkeypatch: pytest.MonkeyPatch, columns: int, *rows: tuple[str, ...]) -> list[str]:
    terminal = open_terminal(monkeypatch, columns)
    Table(COLUMNS).print(rows)
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
    Table(COLUMNS).print([ROW])
    assert capsys.readouterr().out.splitlines()[1].split() == list(ROW)


def test_long_values_continue_below_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch, 60)
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


@given(
    names=st.lists(st.text("abc", min_size=1, max_size=12), min_size=1, max_size=3),
    others=st.tuples(*[st.text("abc", min_size=1, max_size=40)] * 3),
    columns=st.integers(40, 200),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_fit_the_terminal(
    names: list[str], others: tuple[str, ...], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles, *lines = print_rows(monkeypatch, columns, *[(name, *others) for name in names])
    assert [line.split()[0] for line in lines] == names
    assert titles.split()[:2] == ["NAME", "STATE"]
    assert max(map(len, (titles, *lines))) <= columns


@given(st.text("ab ", max_size=200), st.integers(0, 100))
def test_folded_text_is_complete(text: str, width: int) -> None:
    assert "".join("".join(fold(text, width)).split()) == "".join(text.split())


def test_long_word_stays_whole_so_that_it_can_be_copied() -> None:
    path = "/opt/airflow/dags/jobs/2026/reports/daily.py"
    assert fold(f"could not read {path} there", 20) == ["could not read", path, "there"]


def test_pipe_has_colours_but_no_folded_cells_if_they_are_forced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "30")
    print_table(("STATE", "MESSAGE"), [["Failed", SENTENCE]], {"STATE": style_state})
    _, row = capsys.readouterr().out.splitlines()
    assert row == f"\033[31mFailed\033[0m   {SENTENCE}"


def test_message_without_space_continues_below_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch, 50)
    print_table(("NAME", "MESSAGE"), [("n" * 30, SENTENCE)])
    assert terminal.getvalue().splitlines()[1:] == [
        "n" * 30,
        "    The driver ended with exit code 137, because",
        "    its container was out of memory",
    ]


def test_messages_continue_below_all_rows_or_below_none(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch, 60)
    print_table(("NAME", "MESSAGE"), [("n" * 30, "started"), ("driver", f"could not pull {'i' * 40}"), ("pi", "")])
    assert terminal.getvalue().splitlines()[1:] == [
        "n" * 30,
        "    started",
        "driver",
        f"    could not pull {'i' * 40}",
        f"pi{' ' * 31}-",
    ]


def test_later_pages_have_the_columns_of_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(build_columns(("NAME", "STATE"), widths=(6, 0)))
    for page in ([], [("pi", "New")], [("report", "Running")]):
        table.print(page)
    assert capsys.readouterr().out == "NAME     STATE\npi       New\nreport   Running\n"


def test_terminal_without_unicode_shortens_with_a_dot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Terminal, "encoding", "ascii")
    assert print_rows(monkeypatch, 40, ROW)[1].split() == ["daily-report", "TerminatedWithoutRelease."]
    assert print_rows(monkeypatch, 40, ("pi", "Failed", "5m", "pi"))[1].split()[:2] == ["pi", "Failed"]


def test_table_is_aligned_and_has_no_trailing_space(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", "STATE"), ROWS)
    assert capsys.readouterr().out == "NAME         STATE\ndriver       RunningHealthy\nexecutor-1   -\n"


def test_control_characters_of_a_resource_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["MESSAGE"], [["a\033[2Jb\nc\u202e"]])
    assert capsys.readouterr().out == "MESSAGE\na\\x1b[2Jb c\\u202e\n"


@pytest.mark.parametrize(("no_color", "is_coloured"), [("", True), ("1", False)])
def test_states_have_a_colour_on_a_terminal_unless_no_color_is_set(
    no_color: str, is_coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", no_color)
    print_table(("NAME", "STATE"), ROWS, {"STATE": style_state})
    assert ("\033[32mRunningHealthy" in terminal.getvalue()) is is_coloured
    assert "[bold" not in terminal.getvalue()
