"""Prices of cores and memory, and the cost of a run that they yield."""

import json
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.progress import ExecutorState
from airflow_provider_spark_operator.core.report.observed_pods import ObservedPods
from airflow_provider_spark_operator.core.report.pod_spans import PodSpan
from airflow_provider_spark_operator.core.report.prices import InvalidPrices, parse_prices
from airflow_provider_spark_operator.core.report.run_record import build_record
from airflow_provider_spark_operator.core.report.timeline import build_timeline
from tests.core.report.documents import at, build_application
from tests.core.report.record_schema import VALIDATOR
from tests.core.report.test_run_record import SUCCEEDED, build_sized_pod

SPOT = {"karpenter.sh/capacity-type": "spot"}
ON_DEMAND = {"coreHour": 0.04, "gibHour": 0.005}
TABLE = {
    "currency": "EUR",
    "prices": [
        {"nodeSelector": SPOT, "coreHour": 0.01, "gibHour": 0.001},
        {"node": "big-*", "coreHour": 0.1, "gibHour": 0},
        ON_DEMAND,
    ],
}


def build_pods() -> list[dict[str, Any]]:
    """Return a driver on demand, two executors on spot nodes, and one on a large node, each for one hour."""
    hour = {"started": 12, "ended": 3610}  # from two seconds before the start
    driver = build_sized_pod("d", role="driver", cores="1", memory="2Gi", **hour)
    executors = [build_sized_pod(f"pi-exec-{number}", cores="4", memory="8Gi", **hour) for number in (1, 2, 3)]
    for pod in executors[:2]:
        pod["spec"]["nodeSelector"] = SPOT | {"pool": "spark"}
    executors[2]["spec"]["nodeName"] = "big-7"
    return [driver, *executors]


def build(table: dict[str, Any], pods: list[dict[str, Any]]) -> dict[str, Any]:
    timeline = build_timeline(build_application(*SUCCEEDED), at(9000), all_pods=pods)
    record = build_record(timeline, prices=parse_prices(json.dumps(table)))
    VALIDATOR.validate(record)
    return record


def test_cost_of_spot_and_on_demand_pods_equals_that_by_hand() -> None:
    cost = build(TABLE, build_pods())["totals"]["cost"]
    driver = 1 * 0.04 + 2 * 0.005
    executors = 2 * (4 * 0.01 + 8 * 0.001) + 4 * 0.1
    assert cost == {
        "amount": pytest.approx(driver + executors),
        "currency": "EUR",
        "driver": pytest.approx(driver),
        "executor": pytest.approx(executors),
        "spot": pytest.approx(2 * (4 * 0.01 + 8 * 0.001)),
    }


@pytest.mark.parametrize(
    ("price", "is_spot"),
    [
        ({"nodeSelector": SPOT}, True),
        ({"nodeSelector": SPOT, "spot": False}, False),
        ({"nodeSelector": {"pool": "spark"}}, False),
        ({"node": "cheap-*", "spot": True}, True),
        ({}, False),
    ],
    ids=repr,
)
def test_price_is_that_of_spot_nodes_by_its_label_or_by_its_member(price: dict[str, Any], is_spot: bool) -> None:
    (parsed,) = parse_prices(json.dumps({"currency": "EUR", "prices": [{**ON_DEMAND, **price}]})).prices
    assert parsed.is_spot is is_spot


def test_member_spot_must_be_a_boolean() -> None:
    with pytest.raises(InvalidPrices, match=r"prices\[0\]\.spot: must be true or false"):
        parse_prices(json.dumps({"currency": "EUR", "prices": [{**ON_DEMAND, "spot": "yes"}]}))


def test_cost_without_prices_of_spot_nodes_has_no_such_part() -> None:
    assert "spot" not in build(TABLE | {"prices": [ON_DEMAND]}, build_pods())["totals"]["cost"]


def test_kept_pods_have_the_same_cost() -> None:
    kept = ObservedPods().add(build_pods(), at(0), label="spark.operator/spark-app-name", is_complete=True).unpack()
    assert build(TABLE, kept)["totals"]["cost"] == build(TABLE, build_pods())["totals"]["cost"]


def test_pods_without_a_price_are_named_and_not_free() -> None:
    record = build(TABLE | {"prices": TABLE["prices"][:1]}, build_pods())
    assert "driver" not in record["totals"]["cost"]
    assert record["totals"]["cost"]["amount"] == record["totals"]["cost"]["executor"]
    assert record["missing"] == [
        {"what": "totals.cost.driver", "why": "no price matches 1 of 1 pods, or their nodeSelector or node is unknown"},
        {
            "what": "totals.cost.executor",
            "why": "no price matches 1 of 3 pods, or their nodeSelector or node is unknown",
        },
    ]


@pytest.mark.parametrize("condition", [{"nodeSelector": SPOT}, {"node": "big-*"}])
def test_driver_that_only_states_show_has_no_price_if_an_earlier_one_may_match(condition: dict[str, Any]) -> None:
    record = build(TABLE | {"prices": [ON_DEMAND | condition, ON_DEMAND]}, [])
    assert "driver" not in record["totals"].get("cost", {})
    assert {
        "what": "totals.cost.driver",
        "why": "no price matches 1 of 1 pods, or their nodeSelector or node is unknown",
    } in record["missing"]


@pytest.mark.parametrize("prices", [[ON_DEMAND], [ON_DEMAND, ON_DEMAND | {"node": "big-*"}]])
def test_driver_that_only_states_show_has_a_price_without_conditions(prices: list[dict[str, Any]]) -> None:
    record = build(TABLE | {"prices": prices}, [])
    assert record["totals"]["cost"]["driver"] > 0
    assert "totals.cost.driver" not in {each["what"] for each in record["missing"]}


def test_known_node_excludes_a_price_although_the_labels_are_unknown() -> None:
    """An Event shows the node of a pod that no longer exists, but not its `nodeSelector`."""
    span = PodSpan("a", ExecutorState.ENDED, node="small-1")
    first = ON_DEMAND | {"node": "big-*", "nodeSelector": SPOT}
    table = parse_prices(json.dumps(TABLE | {"prices": [first, ON_DEMAND]}))
    assert table.find(span) == table.prices[1]
    assert table.find(replace(span, node="big-1")) is None


def test_record_without_any_priced_pod_has_no_cost() -> None:
    record = build(TABLE | {"prices": [ON_DEMAND | {"node": "none"}]}, build_pods())
    assert "cost" not in record["totals"]


def test_record_without_prices_has_no_cost() -> None:
    timeline = build_timeline(build_application(*SUCCEEDED), at(9000), all_pods=build_pods())
    assert "cost" not in build_record(timeline)["totals"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "must be JSON: "),
        ("[" * 100_000, "must be JSON: "),
        ("[]", 'must be a JSON object with the members "currency" and "prices"'),
        ('{"currency": "EUR"}', 'must be a JSON object with the members "currency" and "prices"'),
        ('{"currency": "", "prices": []}', "currency: must be a word of up to 8 characters"),
        ('{"currency": "EUR", "prices": []}', "prices: must be a list of 1 to 200 objects"),
        ('{"currency": "EUR", "prices": [1]}', r"prices\[0\]: must be an object"),
        ('{"currency": "EUR", "prices": [{"hour": 1}]}', r"prices\[0\]\.hour: is not a member of a price"),
        ('{"currency": "EUR", "prices": [{"coreHour": -1}]}', r"prices\[0\]\.coreHour: must be a number that is not"),
        ('{"currency": "EUR", "prices": [{"coreHour": true}]}', r"prices\[0\]\.coreHour: must be a number"),
        ('{"currency": "EUR", "prices": [{"coreHour": NaN}]}', r"prices\[0\]\.coreHour: must be a number"),
        ('{"currency": "EUR", "prices": [{"coreHour": 1}]}', r"prices\[0\]\.gibHour: must be a number"),
    ],
)
def test_invalid_table_is_rejected_with_its_field(text: str, problem: str) -> None:
    with pytest.raises(InvalidPrices, match=f"^{problem}"):
        parse_prices(text)


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("nodeSelector", {"a": 1}, "must be an object of texts"),
        ("nodeSelector", "spot", "must be an object of texts"),
        ("node", "", "must be the name of a node"),
        ("node", "a*b*c*d*", "must be the name of a node, with up to 3 stars"),
    ],
)
def test_invalid_condition_is_rejected(field: str, value: object, problem: str) -> None:
    with pytest.raises(InvalidPrices, match=rf"^prices\[0\]\.{field}: {problem}"):
        parse_prices(json.dumps({"currency": "EUR", "prices": [ON_DEMAND | {field: value}]}))


def test_pattern_matches_the_whole_name_and_no_other_characters() -> None:
    (price,) = parse_prices(json.dumps({"currency": "EUR", "prices": [ON_DEMAND | {"node": "a.b-*"}]})).prices
    assert price.node is not None
    assert [name for name in ("a.b-7", "axb-7", "x-a.b-7", "a.b-") if price.node.fullmatch(name)] == ["a.b-7", "a.b-"]
