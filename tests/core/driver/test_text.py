import pytest

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.text import decoded, split, trimmed, trimmed_but_lines


def test_java_trims_control_characters_and_keeps_the_blanks_of_unicode() -> None:
    assert trimmed(" \t\x01a b\r\n") == "a b"
    assert trimmed("\u3000a\u00a0") == "\u3000a\u00a0"


def test_an_end_of_a_line_that_a_file_spells_out_stays() -> None:
    assert trimmed_but_lines(" \ta\n ") == "a\n"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [""]),
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("a,,b,,", ["a", "", "b"]),
        (",a", ["", "a"]),
        (",", []),
        (",,", []),
    ],
)
def test_java_splits_without_what_is_empty_at_the_end(text: str, parts: list[str]) -> None:
    assert split(text, ",") == parts


def test_only_utf_8_is_text() -> None:
    assert decoded("field", "ü".encode()) == "ü"
    with pytest.raises(DriverBuildError, match="field: must be a text file"):
        decoded("field", b"\xff")
