from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.kubernetes.quantities import format_bytes, format_cores, parse_quantity
from airflow_provider_spark_operator.core.report.resources import Resources, add_up, read_requests, read_usage
from local_kubernetes.api.kinds import quantities

GIBIBYTE = Decimal(2**30)


@pytest.mark.parametrize(
    ("text", "number"),
    [("500m", "0.5"), ("1.5Gi", str(3 * 2**29)), ("2", "2"), (2, "2"), ("1e3", "1000"), ("12345n", "0.000012345")],
)
def test_quantity_is_parsed(text: object, number: str) -> None:
    assert parse_quantity(text) == Decimal(number)


@pytest.mark.parametrize("value", ["", "abc", "1x", None, True, [], "1" * 99, float("nan"), "1e999"])
def test_malformed_quantity_counts_as_nothing(value: object) -> None:
    assert parse_quantity(value) == 0


@given(st.decimals(0, 10**9, places=3), st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "Ti", "e3", "E2"]))
def test_quantity_equals_that_of_the_api_server(number: Decimal, unit: str) -> None:
    assert parse_quantity(f"{number}{unit}") == quantities.parse_quantity(f"{number}{unit}")


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0"),
        (512, "512"),
        (1408 * 2**20, "1.4Gi"),
        (512 * 2**20, "512Mi"),
        (100 * 2**30, "100Gi"),
        (3000 * 2**60, "3000Ei"),
    ],
)
def test_bytes_have_the_largest_fitting_unit(size: int, text: str) -> None:
    assert format_bytes(Decimal(size)) == text


@pytest.mark.parametrize(("cores", "text"), [("2.000", "2"), ("0.5", "0.5"), ("100", "100"), ("0.0004", "0")])
def test_cores_have_at_most_three_decimals(cores: str, text: str) -> None:
    assert format_cores(Decimal(cores)) == text


def build_container(name: str, cpu: str, memory: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": {"cpu": cpu, "memory": memory}}, **more}


def test_requests_of_a_pod_include_sidecars_and_overhead() -> None:
    pod = {
        "spec": {
            "containers": [build_container("spark", "1", "1Gi"), build_container("proxy", "100m", "0")],
            "initContainers": [
                build_container("sidecar", "400m", "1Gi", restartPolicy="Always"),
                build_container("copy", "500m", "4Gi"),
            ],
            "overhead": {"cpu": "500m"},
        }
    }
    assert read_requests(pod) == Resources(Decimal(2), 4 * GIBIBYTE)


def test_limits_stand_in_for_missing_requests() -> None:
    pod = {"spec": {"containers": [{"resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}}]}}
    assert read_requests(pod) == Resources(Decimal(1), GIBIBYTE)


@pytest.mark.parametrize("pod", [{}, {"spec": []}, {"spec": {"containers": [{"resources": 1}, 3]}}])
def test_pod_without_requests_requests_nothing(pod: dict[str, Any]) -> None:
    assert read_requests(pod) == Resources()


def test_usage_is_the_sum_of_the_containers() -> None:
    usage = [{"usage": {"cpu": "250m", "memory": "1Gi"}}, {"usage": {"cpu": "250m", "memory": "1Gi"}}]
    assert read_usage({"containers": usage}) == Resources(Decimal("0.5"), 2 * GIBIBYTE)
    assert add_up([]) == Resources()
