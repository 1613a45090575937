import math

import pytest

from airflow_provider_spark_operator.core.driver.configuration.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.configuration.text import (
    decode_text,
    format_double,
    parse_double,
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


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1.0),
        ("-.5", -0.5),
        ("1.", 1.0),
        ("1e-1", 0.1),
        ("0.25f", 0.25),
        ("2D", 2.0),
        ("0x1p-3", 0.125),
        ("0X1.8P0d", 1.5),
        ("0x1p99999", math.inf),
        ("-0x1p99999", -math.inf),
        ("1e400", math.inf),
        ("+Infinity", math.inf),
        ("-Infinity", -math.inf),
    ],
)
def test_number_is_parsed_as_java_does(text: str, number: float) -> None:
    assert parse_double(text) == number


@pytest.mark.parametrize("text", ["", " 1", "1_0", "infinity", "inf", "nan", "NaN", "0x1", "1e", ".", "\u0661"])
def test_text_that_java_does_not_parse_is_none(text: str) -> None:
    assert parse_double(text) is None


def test_infinite_number_is_formatted_as_word() -> None:
    assert format_double(math.inf) == "Infinity"
    assert format_double(-math.inf) == "-Infinity"
