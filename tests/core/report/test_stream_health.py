"""The health of streaming queries: progress, stalls, and a lost checkpoint."""

from airflow_provider_spark_operator.core.report.job_report import JobReport, parse_line
from airflow_provider_spark_operator.core.report.stream_health import StreamGoal, StreamHealth, read_goal


def report(batch: int | None = 0, first: int | None = 0, name: str = "clicks", time: str = "1") -> JobReport:
    return JobReport(queries={name: {"batch": batch, "first": first, "rows": 3, "time": time}})


def test_queries_are_parsed_and_bounded() -> None:
    text = '{"a": {"batch": 5, "first": 2, "rows": -1, "time": "2026\\u0007", "other": 1}, "b": 3, "": {}}'
    found = parse_line(f'spark-task {{"queries": {text}}}')
    assert found is not None
    assert found.queries == {"a": {"batch": 5, "first": 2, "time": "2026"}, "b": {"time": ""}}
    assert found.to_json() == {"queries": {"a": {"batch": 5, "first": 2, "time": "2026"}, "b": {}}}
    assert found.describe() == ("query a has completed batch 5 with unknown rows, query b waits for its first data")
    many = JobReport()
    for number in range(20):
        many |= report(name=f"query-{number}")
    assert len(many.queries) == 10


def test_first_progress_ends_the_wait() -> None:
    health = StreamHealth(StreamGoal(ends_at_progress=True), 0)
    assert health.pause == 5
    assert health.check(None, 3000) is None
    assert health.check(JobReport(), 3010) is None
    assert health.check(report(None, None), 3020) is None
    assert (health.reached, health.pause) == (None, 5)
    assert health.check(report(4, 4), 3030) is None
    assert (health.reached, health.pause) == ("query clicks has completed batch 4 with 3 rows", 30)


def test_stall_is_reported_once_until_the_queries_recover() -> None:
    health = StreamHealth(StreamGoal(stalled_seconds=60), 0)
    assert health.check(report(), 10) is None
    assert health.check(report(), 69) is None
    assert health.check(report(), 70) == "is stalled: its queries have made no progress for 1m"
    assert health.check(report(), 100) is None
    assert health.check(report(1), 110) == "makes progress again"
    assert (health.reached, health.stalled) == (None, None)


def test_report_that_is_read_again_is_no_progress() -> None:
    health = StreamHealth(StreamGoal(stalled_seconds=60), 0)
    health.check(report(name="a") | report(name="b"), 10)
    assert health.check(report(name="b"), 69) is None
    assert health.check(JobReport(), 70) == "is stalled: its queries have made no progress for 1m"


def test_job_that_reports_nothing_is_stalled_and_can_be_ended() -> None:
    health = StreamHealth(StreamGoal(stalled_seconds=4, ends_stalled=True), 0)
    assert health.pause == 4
    sentence = health.check(JobReport(), 4)
    assert sentence == "is stalled: its job has reported no progress of a query for 4s"
    assert health.stalled == sentence


def test_new_version_that_begins_with_batch_0_has_lost_its_checkpoint() -> None:
    health = StreamHealth(StreamGoal(continues=True), 0)
    assert health.check(report(None, None), 5) is None
    warning = health.check(report(0, 0), 10)
    assert warning is not None
    assert "its query clicks began with batch 0: the checkpoint is lost" in warning
    assert health.check(report(1, 0), 40) is None
    assert StreamHealth(StreamGoal(continues=True), 0).check(report(8, 7), 10) is None
    assert StreamHealth(StreamGoal(), 0).check(report(0, 0), 10) is None


def test_goal_of_another_release_is_read() -> None:
    assert read_goal({"stalled_seconds": 5.0, "later": 1}) == StreamGoal(stalled_seconds=5.0)
