import pytest

from local_kubernetes.api.kinds.quantities import MILLI, normalize_quantity, parse_quantity


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
        (" 1 ", 1),
    ],
)
def test_quantity_is_parsed(text: str | float, number: float) -> None:
    assert parse_quantity(text) == pytest.approx(number)


@pytest.mark.parametrize(
    "text",
    ["", "1 Gi", "Gi", "1x", "1kk", "one", "1e999999999999", "1e-101", "1" * 101, "1" * 1_000_000 + "x", "٣"],
    ids=lambda text: text[:20],
)
def test_invalid_quantity_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("1000Ki", "1000Ki"),
        ("1024Gi", "1Ti"),
        ("1.1Gi", "1181116006400m"),
        ("100Ei", "9223372036854775807"),
        ("1000k", "1M"),
        ("1025", "1025"),
        ("1.5k", "1500"),
        ("10E", "10E"),
        ("100e2", "10e3"),
        ("1e-1", "100e-3"),
        ("1e19", "10e18"),
        ("1e3", "1e3"),
        ("0e5", "0"),
        ("-0", "0"),
        ("-1500m", "-1500m"),
        (1.25, "1250m"),
        (1000.0, "1k"),
    ],
)
def test_quantity_is_formatted_canonically(text: str | float, shown: str) -> None:
    assert normalize_quantity(text) == shown


@pytest.mark.parametrize(("text", "shown"), [("1n", "1m"), ("1.0000000001", "1001m"), ("100u", "1m"), ("2m", "2m")])
def test_a_quantity_is_rounded_up(text: str, shown: str) -> None:
    assert normalize_quantity(text, MILLI) == shown
