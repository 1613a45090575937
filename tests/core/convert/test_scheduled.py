"""A ScheduledSparkApplication becomes a DAG file that Airflow parses."""

import re
from datetime import timedelta
from typing import Any

import pendulum
import pytest
from airflow.sdk import DAG
from airflow.timetables.base import TimeRestriction
from airflow.timetables.trigger import CronTriggerTimetable, DeltaTriggerTimetable
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.convert.check import check_manifest
from airflow_provider_spark_operator.core.convert.conversion import Conversion, Outcome, Status
from airflow_provider_spark_operator.core.convert.document import convert_document
from airflow_provider_spark_operator.core.convert.scheduled import InvalidSchedule, Schedule, parse_schedule
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from tests.core.convert.documents import build_document
from tests.dag_serialization import DagSerialization


def build_schedule(name: str = "nightly", template: JsonObject | None = None, **spec: Any) -> JsonObject:
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "ScheduledSparkApplication",
        "metadata": {"name": name, "namespace": "jobs"},
        "spec": {"schedule": "0 5 * * *", "template": build_document(**(template or {}))["spec"], **spec},
    }


def convert(name: str = "nightly", template: JsonObject | None = None, **spec: Any) -> Conversion:
    (conversion,) = convert_document(build_schedule(name, template, **spec))
    return conversion


def parse(conversion: Conversion) -> DAG:
    assert conversion.problems == ()
    assert conversion.dag is not None
    names: dict[str, Any] = {}
    exec(compile(conversion.dag, "dag.py", "exec"), names)
    dag: DAG = names["dag"]
    return dag


def test_file_is_a_dag_that_airflow_serializes() -> None:
    conversion = convert(timeZone="Europe/Berlin", suspend=True, concurrencyPolicy="Forbid")
    assert conversion.resource == "ScheduledSparkApplication nightly"
    dag = parse(conversion)
    assert (dag.dag_id, dag.max_active_runs, dag.catchup) == ("nightly", 1, False)
    assert dag.is_paused_upon_creation is True
    assert isinstance(dag.timetable, CronTriggerTimetable)
    assert DagSerialization.to_dict(dag)
    task: Any = dag.get_task("run")
    application = task.application
    assert application["apiVersion"] == "spark.apache.org/v1"
    assert application["metadata"] == {"namespace": "jobs"}


@pytest.mark.parametrize(
    ("template", "shared"),
    [
        ({"driver": {"podName": "nightly-driver"}}, "the driver pod nightly-driver"),
        (
            {
                "monitoring": {
                    "exposeDriverMetrics": True,
                    "exposeExecutorMetrics": False,
                    "prometheus": {"jmxExporterJar": "/a.jar"},
                }
            },
            "the ConfigMap nightly-prom-conf",
        ),
        ({}, None),
    ],
)
def test_names_that_runs_share_are_a_note_unless_runs_cannot_overlap(template: JsonObject, shared: str | None) -> None:
    notes = " ".join(convert(template=template, concurrencyPolicy="Allow").notes)
    assert ("set max_active_runs=1 in the DAG" in notes) is (shared is not None)
    assert shared is None or f"runs that overlap would share {shared}:" in notes
    assert "overlap" not in " ".join(convert(template=template, concurrencyPolicy="Forbid").notes)


def test_interval_becomes_a_timedelta() -> None:
    dag = parse(convert(schedule="@every 1h30m"))
    assert isinstance(dag.timetable, DeltaTriggerTimetable)
    assert dag.timetable._delta == timedelta(hours=1, minutes=30)


def test_text_that_airflow_would_render_is_kept() -> None:
    task: Any = parse(convert(template={"arguments": ["{{ ds }}", "plain"]})).get_task("run")
    assert task.render_template(task.application, {"ds": "wrong"})["spec"]["driverArgs"] == ["{{ ds }}", "plain"]


@pytest.mark.parametrize(("policy", "runs"), [("Forbid", 1), ("Replace", 1), ("Allow", None), (None, None)])
def test_concurrency_policy_limits_active_runs(policy: str | None, runs: int | None) -> None:
    conversion = convert(concurrencyPolicy=policy)
    assert conversion.dag is not None
    assert (f"max_active_runs={runs}" in conversion.dag) is (runs is not None)
    outcomes = [field.outcome for field in conversion.fields if field.path == "spec.concurrencyPolicy"]
    assert outcomes == ([Outcome.CHANGED] if policy else [])
    assert any("starts only the first run" in note for note in conversion.notes) is (policy is None)


def test_fields_of_the_template_are_reported_with_their_paths() -> None:
    conversion = convert(template={"driver": {"memoryLimit": "2g", "wrong": 1}}, successfulRunHistoryLimit=3)
    dropped = [field.path for field in conversion.fields if field.outcome is Outcome.DROPPED]
    assert dropped == [
        "spec.template.driver.memoryLimit",
        "spec.successfulRunHistoryLimit",
        "spec.template.driver.wrong",
    ]


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"schedule": "61 5"}, "spec.schedule"),
        ({"schedule": None}, "spec.schedule"),
        ({"name": ""}, "metadata.name"),
        ({"concurrencyPolicy": "Sometimes"}, "spec.concurrencyPolicy"),
        ({"name": '"""+x'}, "metadata.name"),
        ({"name": "../x"}, "metadata.name"),
        ({"template": {"mode": "client"}}, "spec.template.mode"),
        ({"template": {"mainApplicationFile": None}}, "spec.template.mainApplicationFile"),
    ],
)
def test_invalid_schedule_or_template_is_refused(arguments: Any, path: str) -> None:
    conversion = convert(**arguments)
    assert (conversion.status, conversion.dag) == (Status.REFUSED, None)
    assert path in [problem.path for problem in conversion.problems]


def test_document_without_a_template_is_refused() -> None:
    document = {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "ScheduledSparkApplication",
        "metadata": {"name": "nightly"},
        "spec": {"schedule": "@daily"},
    }
    (conversion,) = convert_document(document)
    assert conversion.status is Status.REFUSED
    assert [problem.path for problem in conversion.problems] == ["spec.template"]


def test_time_zone_of_the_schedule_takes_precedence() -> None:
    conversion = convert(schedule="CRON_TZ=Asia/Tokyo @daily", timeZone="Europe/Berlin")
    timetable = parse(conversion).timetable
    assert isinstance(timetable, CronTriggerTimetable)
    assert "Asia/Tokyo" in str(conversion.dag)
    assert "Europe/Berlin" not in str(conversion.dag)
    assert [field.outcome for field in conversion.fields if field.path == "spec.timeZone"] == [Outcome.DROPPED]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*/5 * ? * MON-FRI", Schedule("*/5 * * * MON-FRI")),
        ("5/15 0 1,15 * *", Schedule("5-59/15 0 1,15 * *")),
        ("CRON_TZ=Asia/Tokyo @daily", Schedule("@daily", zone="Asia/Tokyo")),
        ("TZ=UTC 0 0 * * 0", Schedule("0 0 * * 0", zone="UTC")),
        ("@every 3m", Schedule("", 180.0)),
        ("@every 100ms", Schedule("", 1.0)),
        ("0 0 31 */2 *", Schedule("0 0 31 */2 *")),
        ("0 0 30 2 1", Schedule("0 0 30 2 1")),
        ("0 0 * jan/3 Mon/2", Schedule("0 0 * jan-12/3 Mon-6/2")),
    ],
)
def test_schedule_is_parsed_as_by_kubeflow(text: str, expected: Schedule) -> None:
    assert parse_schedule(text) == expected


INVALID = {
    "": "must have five fields",
    "* * * *": "must have five fields",
    "0 0 0 0 * *": "must have five fields",
    "@reboot": "is not a schedule",
    "@every 5": "is not a duration",
    "a;b * * * *": "'a;b' is not valid for the minute",
    "*/0 * * * *": "has a step of 0",
    "60 * * * *": "the minute must be 0 to 59, not '60'",
    "H * * * *": "the minute must be 0 to 59, not 'H'",
    "1000000000000 * * * *": "the minute must be 0 to 59",
    "0 24 * * *": "the hour must be 0 to 23",
    "0 0 0 * *": "the day of the month must be 1 to 31",
    "0 0 L * *": "the day of the month must be 1 to 31",
    "0 0 5-1 * *": "'5-1' begins after its end",
    "0 0 1,,2 * *": "'' is not valid for the day of the month",
    "0 0 * foo *": "the month must be 1 to 12 or jan to dec, not 'foo'",
    "0 0 31 4-6/2 *": "never occurs: its months have no day 31",
    "0 0 30 feb *": "never occurs: its months have no day 30",
    "0 0 * * 7": "the day of the week must be 0 to 6 or sun to sat, not '7'",
}


@pytest.mark.parametrize("text", INVALID)
def test_invalid_schedule_is_rejected(text: str) -> None:
    with pytest.raises(InvalidSchedule, match=re.escape(INVALID[text])):
        parse_schedule(text)


def draw_field(first: int, last: int, words: str = "") -> st.SearchStrategy[str]:
    """Draw a field of a cron expression, which may be invalid."""
    value = st.integers(first - 1, last + 1).map(str) | st.sampled_from(words.split() or [str(first)])
    span = st.builds("{}-{}".format, value, value)
    part = st.builds("{}{}".format, st.just("*") | value | span, st.sampled_from(["", "", "/1", "/2", "/7", "/90"]))
    return st.just("*") | st.just("?") | st.lists(part, min_size=1, max_size=3).map(",".join)


FIELDS = (
    draw_field(0, 59),
    draw_field(0, 23),
    draw_field(1, 27),  # each month has a day 28: Airflow reports days that no month has
    draw_field(1, 12, "JAN feb DEC"),
    draw_field(0, 6, "sun MON fri"),
)


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(st.tuples(*FIELDS).map(" ".join))
@example("@annually")
@example("@midnight")
@example("@hourly")
def test_airflow_finds_the_next_run_of_each_accepted_schedule(text: str) -> None:
    try:
        schedule = parse_schedule(text)
    except InvalidSchedule:
        assume(False)
    timetable = CronTriggerTimetable(schedule.cron, timezone="UTC")
    window = TimeRestriction(earliest=pendulum.datetime(2026, 1, 1, tz="UTC"), latest=None, catchup=True)
    assert timetable.next_dagrun_info(last_automated_data_interval=None, restriction=window)


@pytest.mark.parametrize(
    ("spec", "path"), [({"schedule": "TZ=Nope @daily"}, "spec.schedule"), ({"timeZone": "Nope/Zone"}, "spec.timeZone")]
)
def test_unknown_time_zone_is_refused(spec: dict[str, Any], path: str) -> None:
    document = build_schedule(**spec)
    (conversion,) = convert_document(document, lambda name: name == "Europe/Berlin")
    assert conversion.status is Status.REFUSED
    assert [problem.path for problem in conversion.problems] == [path]
    assert [problem.path for problem in check_manifest(document, lambda name: False)] == [path]
    (conversion,) = convert_document(build_schedule(timeZone="Europe/Berlin"), lambda name: name == "Europe/Berlin")
    assert conversion.status is Status.CONVERTED
