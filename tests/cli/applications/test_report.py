"""`spark-operator report` with applications that follow a script."""

import csv
import io
import json
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_DAG_ID, ANNOTATION_TASK_ID
from airflow_provider_spark_operator.core.report.events import find_pod_names
from airflow_provider_spark_operator.kube.resources import EVENTS
from tests.cli.applications.test_describe import forbid
from tests.cli.cluster_objects import record_event
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, fail, stay_submitted

PRICES = '{"currency": "EUR", "prices": [{"coreHour": 3600000, "gibHour": 0}]}'


@pytest.fixture
def prices(tmp_path: Path) -> str:
    path = tmp_path / "prices.json"
    path.write_text(PRICES)
    return str(path)


def create_applications(cluster: Cluster) -> None:
    """Create an application of a task that succeeded, and one that failed."""
    task = {ANNOTATION_DAG_ID: "=HYPERLINK()", ANNOTATION_TASK_ID: "load"}
    cluster.create("load", labels={"team": "sales"}, annotations=task)
    assert main(["wait", "load"]) == ExitCode.SUCCESS
    cluster.script = fail
    cluster.create("pi")
    assert main(["wait", "pi"]) == ExitCode.APPLICATION_FAILED


def test_table_has_a_row_for_each_application_and_the_sums(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    create_applications(scripted_cluster)
    capsys.readouterr()
    shown = run_verb("report")
    titles, *rows = shown.out.splitlines()
    assert titles.split()[:2] == ["APPLICATION", "DAG"], "a namespace is shown for several"
    assert [row.split()[0] for row in rows] == ["load", "pi", "TOTAL"]
    assert "executors unknown or incomplete in 1 of 2 runs, for example: no pod or Event shows" in shown.err
    assert [row.count("≥") for row in rows] == [0, 0, 2], "the executors of pi, and so their sums, are unknown"


def test_executors_without_pods_are_counted_by_their_events(
    scripted_cluster: Cluster,
    prices: str,
    capsys: pytest.CaptureFixture[str],
    run_verb: Verbs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create_applications(scripted_cluster)
    pi = scripted_cluster.application("pi")
    prefix, *_ = find_pod_names(pi, read_progress(pi)).prefixes
    executor = {"kind": "Pod", "metadata": {"name": f"{prefix}1", "uid": "gone"}}
    for reason, minute in (("Started", 0), ("Killing", 30)):
        time = f"2126-01-01T00:{minute:02}:00Z"
        record_event(scripted_cluster, reason.lower(), reason, time=time, about=executor)
    capsys.readouterr()
    row = json.loads(run_verb(["report", "-o", "json", "--prices", prices]).out)["applications"][1]
    assert row["executorCoreHours"] == 0.5
    assert row["cost"] == pytest.approx(1_800_000, rel=0.01), "the driver ran for milliseconds"
    assert not {"executorCoreHours", "executorGibHours"} & {*row["incomplete"]}
    forbid(monkeypatch, EVENTS)
    assert main(["report", "-o", "json", "--prices", prices]) == ExitCode.SUCCESS, "Events are optional"
    row = json.loads(capsys.readouterr().out)["applications"][1]
    assert row["executorCoreHours"] is None
    assert {"executorCoreHours", "cost"} <= {*row["incomplete"]}
    assert {"executors", "events"} <= {gap["what"] for gap in row["missing"]}


def test_json_has_the_cost_and_its_sum(
    scripted_cluster: Cluster, prices: str, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    create_applications(scripted_cluster)
    capsys.readouterr()
    shown = json.loads(run_verb(["report", "-o", "json", "--prices", prices]).out)
    load, pi = shown["applications"]
    assert (load["task"], load["team"], load["outcome"]) == ("load", "sales", "Succeeded")
    assert (pi["task"], pi["team"], pi["outcome"]) == (None, None, "Failed")
    assert load["driverCoreHours"] >= 0
    assert pi["executorCoreHours"] is None
    assert shown["total"]["cost"] == load["cost"] + pi["cost"] >= 0
    assert (shown["total"]["runs"], shown["total"]["failed"], shown["total"]["currency"]) == (2, 1, "EUR")
    assert "executors" in {gap["what"] for gap in shown["total"]["missing"]}


def test_csv_has_only_rows_and_no_formula(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    create_applications(scripted_cluster)
    capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(run_verb("report -A -o csv").out)))
    assert [row["application"] for row in rows] == ["load", "pi"]
    assert rows[0]["dag"] == "'=HYPERLINK()"
    assert rows[1]["executorCoreHours"] == ""
    assert "executors: no pod or Event shows the executors" in rows[1]["missing"]


def test_since_omits_only_applications_that_ended_earlier(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    create_applications(scripted_cluster)
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("live")
    capsys.readouterr()
    assert [row["application"] for row in json.loads(run_verb("report --since 0s -o json").out)["applications"]] == [
        "live"
    ]


def test_nothing_to_report_is_no_error(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    assert run_verb("report") == ("", "spark-operator: no runs of the last 7d found\n")


def test_invalid_prices_are_invalid_input(tmp_path: Path, run_verb: Verbs) -> None:
    assert "cannot be read" in run_verb(["report", "--prices", str(tmp_path / "none")], ExitCode.INVALID).err


def test_groups_and_dag_select_and_sum_applications_of_the_cluster(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    create_applications(scripted_cluster)
    capsys.readouterr()
    groups = json.loads(run_verb("report --by team -o json").out)["groups"]
    assert [(group["team"], group["runs"], group["failed"]) for group in groups] == [("", 1, 1), ("sales", 1, 0)]
    assert [
        row["application"]
        for row in json.loads(run_verb(["report", "--dag", "=HYPER*", "-o", "json"]).out)["applications"]
    ] == ["load"]
