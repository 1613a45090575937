from collections.abc import Callable

import pytest

from airflow_provider_spark_operator.core.driver.configuration.configuration import Configuration
from airflow_provider_spark_operator.core.driver.configuration.errors import DriverBuildError


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
