import pytest

from airflow_provider_spark_operator.local.kubelet.quantities import divided, parse_quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("1.5", 1.5),
        ("500m", 0.5),
        ("1Ki", 1024),
        ("2Gi", 2**31),
        ("3k", 3000),
        ("1e3", 1000),
        (2, 2),
        (".5", 0.5),
    ],
)
def test_a_quantity_is_a_number(text: str | float, number: float) -> None:
    assert parse_quantity(text) == pytest.approx(number)


@pytest.mark.parametrize(
    "text",
    ["", "1 Gi", "Gi", "1x", "1kk", "one", "1e999999999999", "1e-101", "1" * 101, "1" * 1_000_000 + "x"],
    ids=lambda text: text[:20],
)
def test_other_text_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("quantity", "divisor", "result"),
    [
        ("1433Mi", "1Mi", "1433"),
        ("1500m", "1", "2"),
        ("1500m", "1m", "1500"),
        ("1Gi", None, "1073741824"),
        ("2", "0", "2"),
    ],
)
def test_a_resource_is_given_in_units_rounded_up(quantity: str, divisor: str | None, result: str) -> None:
    assert divided(quantity, divisor) == result
