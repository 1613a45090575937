import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.driver.configuration.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.configuration.memory import parse_memory_mib
from airflow_provider_spark_operator.core.driver.configuration.text import format_double

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
