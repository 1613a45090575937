import pytest

from local_kubernetes.kubelet.containers.references import divide_quantity


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
    assert divide_quantity(quantity, divisor) == result
