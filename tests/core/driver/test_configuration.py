from collections.abc import Callable

import pytest

from airflow_provider_spark_operator.core.driver.configuration import Configuration
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError


def configuration(values: dict[str, str], environment: dict[str, str] | None = None) -> Configuration:
    return Configuration(values, environment or {})


def test_the_first_key_that_is_set_wins() -> None:
    conf = configuration({"spark.b": "2", "spark.c": "3"})
    assert conf.text("spark.a", "spark.b", "spark.c") == "2"
    assert conf.text("spark.a") is None


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
    ],
)
def test_references_are_resolved(value: str, resolved: str) -> None:
    values = {"spark.tag": "4.3", "spark.outer": "<${spark.tag}>", "spark.image": value}
    assert configuration(values, {"HOME": "/root"}).text("spark.image") == resolved


def test_a_reference_to_itself_is_refused() -> None:
    with pytest.raises(DriverBuildError, match="refers to itself"):
        configuration({"spark.a": "${spark.b}", "spark.b": "${spark.a}"}).text("spark.a")


def test_prefixed_settings_are_sorted_and_literal() -> None:
    conf = configuration({"spark.p.b": "${spark.p.a}", "spark.p.a": "1", "spark.q": "another"})
    assert list(conf.with_prefix("spark.p.").items()) == [("a", "1"), ("b", "${spark.p.a}")]


@pytest.mark.parametrize(
    "read",
    [
        lambda conf: conf.boolean("spark.key"),
        lambda conf: conf.integer("spark.key", default=1),
        lambda conf: conf.double("spark.key"),
        lambda conf: conf.mebibytes("spark.key"),
        lambda conf: conf.choice("spark.key", ("a", "b"), "a"),
    ],
)
def test_a_value_that_does_not_parse_is_refused_and_named(read: Callable[..., object]) -> None:
    with pytest.raises(DriverBuildError) as refused:
        read(configuration({"spark.key": "1_0"}))
    assert refused.value.field == "spark.key"


@pytest.mark.parametrize(("text", "value"), [("0.5", 0.5), (" .5 ", 0.5), ("1e-3d", 0.001), ("2F", 2.0)])
def test_numbers_are_read_as_java_reads_them(text: str, value: float) -> None:
    assert configuration({"spark.key": text}).double("spark.key") == value
