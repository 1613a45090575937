"""Statements of SQL text."""

import copy
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.compose.sql import SqlText, Statement, is_sql_file, split_statements


def split(text: str) -> list[str]:
    return [statement.text for statement in split_statements(text)]


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        (" ;; -- nothing;\n/* ; */ ;", []),
        ("SELECT 1", ["SELECT 1"]),
        ("\ufeffSELECT 1", ["SELECT 1"]),
        ("SELECT 1;SELECT 2 ; ", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';', \";\", `;`; SELECT 2", ["SELECT ';', \";\", `;`", "SELECT 2"]),
        (r"SELECT 'it\'s;', 'it''s;'; SELECT 2", [r"SELECT 'it\'s;', 'it''s;'", "SELECT 2"]),
        (r"SELECT r'\', R';'; SELECT 2", [r"SELECT r'\', R';'", "SELECT 2"]),
        (r"SELECT bar'\';'; SELECT 2", [r"SELECT bar'\';'", "SELECT 2"]),
        ("SELECT 1 -- it's; not\n; SELECT 2", ["SELECT 1 -- it's; not", "SELECT 2"]),
        ("SELECT 1 -- continued \\\n; here\n; SELECT 2", ["SELECT 1 -- continued \\\n; here", "SELECT 2"]),
        ("SELECT /* ; /* ; */ ; */ 1; SELECT 2", ["SELECT /* ; /* ; */ ; */ 1", "SELECT 2"]),
        ("SELECT 1 - -1 / 2; SELECT 2", ["SELECT 1 - -1 / 2", "SELECT 2"]),
        ("SELECT 1; SELECT 'open; ", ["SELECT 1", "SELECT 'open;"]),
        ("SELECT 1; SELECT 'open\\", ["SELECT 1", "SELECT 'open\\"]),
        ("SELECT 1; SELECT 2 /* open; /* ;", ["SELECT 1", "SELECT 2 /* open; /* ;"]),
        ("SET a = 1; begin SELECT 1; SELECT 2; END;", ["SET a = 1", "begin SELECT 1; SELECT 2; END;"]),
        ("main : BEGIN SELECT 1; END", ["main : BEGIN SELECT 1; END"]),
        ("SELECT beginning; SELECT 2", ["SELECT beginning", "SELECT 2"]),
    ],
)
def test_semicolons_separate_statements_only_outside_of_other_text(text: str, statements: list[str]) -> None:
    assert split(text) == statements


def test_statement_knows_its_line() -> None:
    text = "-- totals\n\nSELECT\n1; SELECT 2;\n/* a\nb */ SELECT 3"
    assert [(one.text, one.line) for one in split_statements(text)] == [
        ("SELECT\n1", 3),
        ("SELECT 2", 4),
        ("SELECT 3", 6),
    ]


QUOTED = st.builds(lambda mark, text: mark + text + mark, st.sampled_from("'\"`"), st.text("ab;-/* \n", max_size=5))
COMMENT = st.one_of(
    st.text("ab;'\"`/* ", max_size=5).map(lambda text: f"--{text}\n"),
    st.text("ab;'\"`\n", max_size=5).map(lambda text: f"/*{text}*/"),
)
WORD = st.text("abr1(", min_size=1, max_size=5)
STATEMENT = st.builds(
    lambda word, parts: " ".join([word, *parts]), WORD, st.lists(st.one_of(QUOTED, COMMENT, WORD), max_size=5)
)


@given(st.lists(st.tuples(st.lists(COMMENT, max_size=2), STATEMENT), max_size=5))
def test_joined_statements_are_split_again(parts: list[tuple[list[str], str]]) -> None:
    texts = ["".join(comments) + statement for comments, statement in parts]
    joined = ";".join(texts)
    lines = [
        ";".join([*texts[:number], "".join(comments)]).count("\n") + 1 for number, (comments, _) in enumerate(parts)
    ]
    expected = [Statement(statement.rstrip(), line) for (_, statement), line in zip(parts, lines, strict=True)]
    assert split_statements(joined) == expected


@given(st.text("a;'\"`-/*\\\nrR Begin:"))
def test_any_text_keeps_its_code(text: str) -> None:
    remaining = text
    for statement in split_statements(text):
        before, found, remaining = remaining.partition(statement.text)
        assert found
        assert not before.replace(";", "").strip() or "--" in before or "/*" in before


@pytest.mark.parametrize(
    "piece", ["'", '"', "`", "/*", "--", "\\", "';", "r'", "/*;", "a:", "BEGIN;", " ", "\n", "'\\"]
)
def test_time_grows_linearly(piece: str) -> None:
    def measure(number: int) -> float:
        begin = time.process_time()
        split_statements(piece * number)
        return time.process_time() - begin

    measure(1000)
    assert measure(200_000) < 4.0


def test_text_of_a_file_keeps_its_name() -> None:
    text = SqlText("SELECT 1", "jobs/totals.sql")
    assert (text, text.file, copy.deepcopy(text).file) == ("SELECT 1", "totals.sql", "totals.sql")


@pytest.mark.parametrize(("text", "expected"), [("a/b.sql", True), ("SELECT 1", False), ("SELECT 1\n-- b.sql", False)])
def test_path_is_distinguished_from_a_statement(text: str, expected: bool) -> None:
    assert is_sql_file(text) is expected
