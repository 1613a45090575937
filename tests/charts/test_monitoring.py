"""The alerts, the dashboard and the README of the chart agree with the metrics and with the values."""

import json
import re
from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest
import yaml

from tests.charts.helm import CHART

ROOT = CHART.parents[1]
DOCUMENTED = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
METRICS = dict(re.findall(r"^\| `(spark_operator_\w+)` \| (\w+) \|", DOCUMENTED, re.MULTILINE))


def list_expressions() -> Iterator[str]:
    rules = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text(encoding="utf-8"))
    yield from (rule["expr"] for group in rules["groups"] for rule in group["rules"])
    dashboard = json.loads((CHART / "files" / "dashboard.json").read_text(encoding="utf-8"))
    yield from (target["expr"] for panel in dashboard["panels"] for target in panel["targets"])


@pytest.mark.parametrize("expression", sorted(set(list_expressions())))
def test_expression_is_valid_and_uses_documented_metrics(expression: str) -> None:
    pytest.importorskip("promql_parser").parse(expression)
    for metric in re.findall(r"spark_operator_\w+", expression):
        name = metric.removesuffix("_bucket")
        assert name in METRICS
        assert (METRICS[name] == "histogram") == metric.endswith("_bucket")


def test_alerts_say_what_happened_and_what_to_do() -> None:
    rules = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text(encoding="utf-8"))
    for rule in rules["groups"][0]["rules"]:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"].keys() == {"summary", "description"}


def test_readme_lists_the_values() -> None:
    found = util.spec_from_file_location("write_readme", Path(ROOT) / "charts" / "write_readme.py")
    assert found is not None
    assert found.loader is not None
    module = util.module_from_spec(found)
    found.loader.exec_module(module)
    assert module.README.read_text(encoding="utf-8") == module.build_readme(), "run python charts/write_readme.py"
