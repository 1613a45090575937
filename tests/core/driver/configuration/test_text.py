import pytest

from airflow_provider_spark_operator.core.driver.configuration.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.configuration.text import (
    decode_text,
    split,
    trim,
    trim_except_line_ends,
)


def test_trim_removes_control_characters_but_not_unicode_spaces() -> None:
    assert trim(" \t\x01a b\r\n") == "a b"
    assert trim("\u3000a\u00a0") == "\u3000a\u00a0"


def test_trim_except_line_ends_keeps_line_ends() -> None:
    assert trim_except_line_ends(" \ta\n ") == "a\n"


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
def test_split_drops_empty_parts_at_the_end(text: str, parts: list[str]) -> None:
    assert split(text, ",") == parts


def test_text_that_is_not_utf_8_is_refused() -> None:
    assert decode_text("field", "ü".encode()) == "ü"
    with pytest.raises(DriverBuildError, match="field: must be a text file"):
        decode_text("field", b"\xff")
