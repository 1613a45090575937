import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.driver.configuration.configuration import (
    Configuration,
    DriverBuildError,
    decode_text,
    format_double,
    parse_double,
    parse_memory_mib,
    split,
    trim,
    trim_except_line_ends,
)

UNITS = {
    "": 20,
    "b": 0,
    "k": 10,
    "kb": 10,
    "m": 20,
    "mb": 20,
    "g": 30,
    "gb": 30,
    "t": 40,
    "p": 50,
    "ki": 10,
    "kib": 10,
    "mi": 20,
    "gib": 30,
}


def build_configuration(values: dict[str, str], environment: dict[str, str] | None = None) -> Configuration:
    return Configuration(values, environment or {})


def test_first_key_that_is_set_takes_precedence() -> None:
    conf = build_configuration({"spark.b": "2", "spark.c": "3"})
    assert conf.get_text("spark.a", "spark.b", "spark.c") == "2"
    assert conf.get_text("spark.a") is None


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("${spark.tag}-x", "4.3-x"),
        ("${env:HOME}", "/root"),
        ("${spark.outer}", "<4.3>"),
        (
            "${spark.unknown}${env:UNKNOWN}${system:user}${other}",
            "${spark.unknown}${env:UNKNOWN}${system:user}${other}",
        ),
        ("$HOME", "$HOME"),
        ("${open ${spark.tag} ${${env:HOME}", "${open 4.3 ${${env:HOME}"),
    ],
)
def test_references_are_resolved(value: str, resolved: str) -> None:
    values = {"spark.tag": "4.3", "spark.outer": "<${spark.tag}>", "spark.image": value}
    assert build_configuration(values, {"HOME": "/root"}).get_text("spark.image") == resolved


def test_circular_reference_is_refused() -> None:
    with pytest.raises(DriverBuildError, match="refers to itself"):
        build_configuration({"spark.a": "${spark.b}", "spark.b": "${spark.a}"}).get_text("spark.a")


def test_prefixed_settings_are_sorted_and_literal() -> None:
    conf = build_configuration({"spark.p.b": "${spark.p.a}", "spark.p.a": "1", "spark.q": "another"})
    assert list(conf.get_by_prefix("spark.p.").items()) == [("a", "1"), ("b", "${spark.p.a}")]


@pytest.mark.parametrize(
    "read",
    [
        lambda conf: conf.get_boolean("spark.key"),
        lambda conf: conf.get_integer("spark.key", default=1),
        lambda conf: conf.get_double("spark.key"),
        lambda conf: conf.get_mebibytes("spark.key"),
        lambda conf: conf.get_choice("spark.key", ("a", "b"), "a"),
    ],
)
def test_value_that_cannot_be_parsed_is_refused_with_its_key(read: Callable[..., object]) -> None:
    with pytest.raises(DriverBuildError) as refused:
        read(build_configuration({"spark.key": "1_0"}))
    assert refused.value.field == "spark.key"


@pytest.mark.parametrize(("text", "value"), [("0.5", 0.5), (" .5 ", 0.5), ("1e-3d", 0.001), ("2F", 2.0)])
def test_numbers_are_parsed_as_java_does(text: str, value: float) -> None:
    assert build_configuration({"spark.key": text}).get_double("spark.key") == value


@pytest.mark.parametrize(
    "values",
    [
        {f"spark.a{number}": f"${{spark.a{number + 1}}}" * 2 for number in range(40)} | {"spark.a40": "x"},
        {f"spark.a{number}": f"${{spark.a{number + 1}}}" for number in range(60)},
        {"spark.a0": "${spark.b}" * 100_000, "spark.b": ""},
    ],
    ids=["expansion", "depth", "number"],
)
def test_value_with_excessive_references_is_refused(values: dict[str, str]) -> None:
    with pytest.raises(DriverBuildError, match=r"spark\.a0: refers to values of more than 65536 characters"):
        build_configuration(values).get_text("spark.a0")


@given(st.integers(0, 10_000), st.sampled_from(sorted(UNITS)), st.booleans())
def test_size_is_rounded_down_to_mebibytes(number: int, unit: str, upper: bool) -> None:
    text = f" {number}{unit.upper() if upper else unit} "
    assert parse_memory_mib("key", text) == number * 2 ** UNITS[unit] // 2**20


@pytest.mark.parametrize(
    "text", ["", "lots", "1.5g", "-1g", "+1g", "1 g", "1ei", "1bi", "g", "9999999999p", "9" * 19 + "b", "\u0661g"]
)
def test_invalid_size_is_refused_with_its_key(text: str) -> None:
    with pytest.raises(DriverBuildError, match=r"spark\.driver\.memory") as refused:
        parse_memory_mib("spark.driver.memory", text)
    assert refused.value.field == "spark.driver.memory"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (0.1, "0.1"),
        (1, "1.0"),
        (0.001, "0.001"),
        (0.0005, "5.0E-4"),
        (1e-05, "1.0E-5"),
        (1.5e-07, "1.5E-7"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12345678.5, "1.23456785E7"),
        (2.5e20, "2.5E20"),
    ],
)
def test_number_is_formatted_as_java_does(number: float, text: str) -> None:
    assert format_double(number) == text


@given(st.floats(0, allow_infinity=False))
def test_formatted_number_is_parsed_to_the_same_number(number: float) -> None:
    assert float(format_double(number)) == number


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
