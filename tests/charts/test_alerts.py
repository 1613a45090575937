"""The alerts of the chart, in the rule engine of Prometheus: each one with series that raise it and that do not.

The tests need `promtool`, the program of Prometheus that checks rules. Debian and Ubuntu have it in the package
`prometheus`.
"""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.charts.helm import CHART, VARIANTS, Json, needs_helm, render_chart, select_kind

PROMTOOL = shutil.which("promtool")
RULES = CHART / "files" / "alerts.yaml"
WHERE = 'namespace="operators"'
JOBS = f'{WHERE}, kind="SparkApplication"'

pytestmark = pytest.mark.skipif(PROMTOOL is None, reason="there is no promtool: install Prometheus")


@dataclass(frozen=True)
class Case:
    """Series with one value per minute, and what they raise.

    Attributes:
        alert: Name of the alert, without the prefix.
        series: The values of each series, in the notation of `promtool`.
        minute: Time at which the alert is checked.
        summary: Summary of the alert that fires; None if no alert does.
        labels: Names of the labels that the alert adds to those of its rule.
    """

    alert: str
    series: dict[str, str]
    minute: int
    summary: str | None = None
    labels: tuple[str, ...] = ()


LEADER = f"spark_operator_leader{{{WHERE}, pod="
ERRORS = f"spark_operator_reconcile_errors_total{{{JOBS}, reason="
ALONE = f"spark_operator_left_alone{{{JOBS}}}"
AGE = f"spark_operator_queue_oldest_age_seconds{{{JOBS}}}"
TWO = "No controller, or more than one, leads in namespace operators"
ABSENT = "No controller is running, or Prometheus does not reach it"
LEFT = "Another controller manages 2 resources of kind SparkApplication"
SLOW = "A resource of kind SparkApplication has waited for 40s"
FAILING = "Reconciles of SparkApplication fail with Forbidden"
DEFECT = "The controller failed at a resource of kind SparkApplication"
CASES = {
    "a leader and a standby": Case("HasNoLeader", {LEADER + '"a"}': "1x60", LEADER + '"b"}': "0x60"}, 30),
    "a short change of the leader": Case("HasNoLeader", {LEADER + '"a"}': "1x9 0 1x60"}, 10),
    "no leader": Case("HasNoLeader", {LEADER + '"a"}': "1x9 0x60"}, 12, TWO, ("namespace",)),
    "two leaders": Case("HasNoLeader", {LEADER + '"a"}': "1x60", LEADER + '"b"}': "1x60"}, 12, TWO, ("namespace",)),
    "a standby without a leader": Case("IsAbsent", {LEADER + '"a"}': "0x60"}, 30),
    "no controller": Case("IsAbsent", {LEADER + '"a"}': "1x5 stale"}, 12, ABSENT),
    "claims during a change of the controller": Case("LeavesResourcesAlone", {ALONE: "2x30 0x90"}, 100),
    "resources of another controller": Case("LeavesResourcesAlone", {ALONE: "2x90"}, 70, LEFT, ("namespace", "kind")),
    "a short burst": Case("IsSlow", {AGE: "0 40 40 40 0x60"}, 10),
    "a queue that waits": Case("IsSlow", {AGE: "40x60"}, 10, SLOW, ("namespace", "kind")),
    "rare conflicts": Case("ReconcilesFail", {ERRORS + '"Conflict"}': "0+0.5x90"}, 60),
    "steady errors": Case(
        "ReconcilesFail", {ERRORS + '"Forbidden"}': "0+1x90"}, 60, FAILING, ("namespace", "kind", "reason")
    ),
    "defects are no errors of the API": Case("ReconcilesFail", {ERRORS + '"Defect"}': "0+1x90"}, 60),
    "an old defect": Case("HasADefect", {ERRORS + '"Defect"}': "0x5 1x90"}, 30),
    "the first defect": Case("HasADefect", {ERRORS + '"Defect"}': "0x5 1x90"}, 10, DEFECT, ("namespace", "kind")),
}


def run_promtool(*arguments: str | Path) -> None:
    found = subprocess.run([str(PROMTOOL), *arguments], capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stdout + found.stderr


def find_rule(name: str) -> Json:
    rules: list[Json] = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"][0]["rules"]
    return next(rule for rule in rules if rule["alert"] == name)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_series_raise_the_alert_that_describes_them(case: Case, tmp_path: Path) -> None:
    name = f"SparkOperator{case.alert}"
    rule = find_rule(name)
    known = {"namespace": "operators", "kind": "SparkApplication", "reason": "Forbidden"}
    raised = {
        "exp_labels": rule["labels"] | {label: known[label] for label in case.labels},
        "exp_annotations": rule["annotations"] | {"summary": case.summary},
    }
    check = {"alertname": name, "eval_time": f"{case.minute}m", "exp_alerts": [raised] if case.summary else []}
    series = [{"series": series, "values": values} for series, values in case.series.items()]
    document = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": [check]}],
    }
    path = tmp_path / "test.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    run_promtool("test", "rules", path)


def test_each_alert_has_a_series_that_raises_it_and_one_that_does_not() -> None:
    rules = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"][0]["rules"]
    for raised in (True, False):
        assert {f"SparkOperator{case.alert}" for case in CASES.values() if bool(case.summary) == raised} == {
            rule["alert"] for rule in rules
        }


def test_rules_are_valid() -> None:
    run_promtool("check", "rules", RULES)


@needs_helm
def test_rendered_rules_are_valid(tmp_path: Path) -> None:
    (rule,) = select_kind(render_chart(VARIANTS["namespaces"]), "PrometheusRule")
    assert rule["spec"] == yaml.safe_load(RULES.read_text(encoding="utf-8"))
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump(rule["spec"]), encoding="utf-8")
    run_promtool("check", "rules", path)
