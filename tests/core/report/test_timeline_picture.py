"""The rows of a timeline, and its picture."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from xml.etree import ElementTree

import pytest

from airflow_provider_spark_operator.core.dialects.progress import ExecutorState
from airflow_provider_spark_operator.core.report.pod_spans import PodSpan, count_over_time
from airflow_provider_spark_operator.core.report.timeline import Mark, MarkKind, Timeline, build_timeline
from airflow_provider_spark_operator.core.report.timeline_picture import draw_timeline
from airflow_provider_spark_operator.core.report.timeline_rows import (
    MAX_EXECUTORS,
    build_groups,
    choose_ticks,
    describe_parts,
    describe_timeline,
    list_parts,
    list_tones,
    number_missing,
)
from tests.core.report.documents import at, build_application

SVG = "{http://www.w3.org/2000/svg}"
FAILED = (("Submitted", 0), ("DriverRequested", 1), ("RunningHealthy", 7), ("Failed", 30), ("ResourceReleased", 31))


def build(*moves: tuple[str, float], attempt: int = 0, executors: tuple[PodSpan, ...] = ()) -> Timeline:
    timeline = build_timeline(build_application(*moves, attempt=attempt), at(60))
    return replace(timeline, executors=executors, counts=count_over_time(executors))


@pytest.mark.parametrize(("seconds", "most", "expected"), [(50, 2, [0, 30]), (1, 2, [0, 1]), (600, 4, [0, 300, 600])])
def test_axis_has_at_least_two_ticks(seconds: int, most: int, expected: list[int]) -> None:
    ticks = choose_ticks(timedelta(seconds=seconds), most)
    assert [tick.total_seconds() for tick in ticks] == expected


def test_rows_are_the_states_of_attempts_and_the_executors() -> None:
    spans = [PodSpan(f"exec-{number}", ExecutorState.RUNNING, at(number)) for number in range(10, 32)]
    spans += [
        PodSpan("lost", ExecutorState.FAILED, at(8), at(9), "OOMKilled"),
        PodSpan("unknown", ExecutorState.UNKNOWN),
    ]
    attempt, executors = build_groups(build(*FAILED, executors=tuple(spans)))
    assert [(bar.label, bar.lasted, bar.tone) for bar in attempt.bars] == [
        ("Submitted", "1s", "waiting"),
        ("DriverRequested", "6s", "starting"),
        ("RunningHealthy", "23s", "running"),
        ("driver", "23s", "failed"),
    ]
    assert list_tones([executors, attempt]) == ["waiting", "starting", "running", "failed", "executor"]
    assert executors.title == f"executors: 23, the first {MAX_EXECUTORS}; at most 22 at once"
    assert len(executors.bars) == MAX_EXECUTORS
    assert executors.bars[0].label == "lost", "those that failed come first"


@pytest.mark.parametrize(
    ("retained", "title"),
    [
        ([("ResourceReleased", 30.2)], "attempt 1: Failed"),
        ([("TerminatedWithoutReleaseResources", 30.2)], "attempt 1: Failed; its resources are retained"),
        (
            [("TerminatedWithoutReleaseResources", 30.2), ("ResourceReleased", 330.2)],
            "attempt 1: Failed; its resources were retained for 5m",
        ),
    ],
)
def test_retention_after_the_end_is_in_the_title_and_has_no_row(
    retained: Sequence[tuple[str, float]], title: str
) -> None:
    timeline = build_timeline(build_application(*FAILED[:-1], *retained), at(60))
    (attempt,) = build_groups(timeline)
    assert (attempt.title, attempt.bars[-2].label) == (title, "RunningHealthy")
    assert timeline.end == at(30)
    assert describe_timeline(timeline).endswith(", 30s")


def test_rows_name_attempts_that_the_status_no_longer_contains() -> None:
    timeline = build(("DriverRequested", 20), ("RunningHealthy", 27), attempt=3)
    assert number_missing(timeline) == "1-3"
    assert [group.title for group in build_groups(timeline)] == ["attempt 1-3: no longer in the status", "attempt 4"]
    assert number_missing(build(("DriverRequested", 20), attempt=1)) == "1"
    assert number_missing(build(*FAILED)) == ""


@pytest.mark.parametrize(("seconds", "lasted"), [(0.0016, "1ms"), (0.25, "250ms"), (0.9999, "999ms"), (1.9, "1s")])
def test_state_shorter_than_a_second_has_milliseconds(seconds: float, lasted: str) -> None:
    (attempt,) = build_groups(build(("Submitted", 0), ("Succeeded", seconds)))
    assert attempt.bars[0].lasted == lasted


def test_short_states_have_no_rows_unless_the_program_runs_or_the_run_is_short() -> None:
    moves = [("Submitted", 0), ("DriverRequested", 0.5), ("RunningHealthy", 0.9), ("Failed", 1.2)]
    later = [("ScheduledToRestart", 2.0), ("DriverRequested", 2.5), ("RunningHealthy", 2.9)]
    first, second = build_groups(build(*moves, *later, ("Succeeded", 59), attempt=1))
    assert [bar.label for bar in first.bars] == ["RunningHealthy", "driver"]
    assert [bar.label for bar in second.bars] == ["RunningHealthy", "driver"]
    (attempt,) = build_groups(build(*moves))
    assert [bar.label for bar in attempt.bars] == ["Submitted", "DriverRequested", "RunningHealthy", "driver"]
    (attempt,) = build_groups(build(*moves[:2], ("RunningHealthy", 59.9)))
    assert [bar.label for bar in attempt.bars] == ["DriverRequested", "RunningHealthy", "driver"], "the present state"


def test_parts_of_a_run_are_divided_by_whether_executors_run() -> None:
    spans = [
        PodSpan("pi-0-exec-1", ExecutorState.ENDED, at(10), at(12)),
        PodSpan("pi-0-exec-2", ExecutorState.ENDED, at(11), at(20)),
        PodSpan("pi-0-exec-3", ExecutorState.ENDED, at(25), at(30)),
    ]
    timeline = build(*FAILED, executors=tuple(spans))
    parts = [(part.label, (part.end - part.begin).seconds) for part in list_parts(timeline)]
    divided = [("driver only", 3), ("with executors", 10), ("driver only", 5), ("with executors", 5)]
    assert parts == [("waiting", 1), ("starting", 6), *divided]
    words = "waiting 1s (3 %), starting 6s (20 %), driver only 8s (27 %), with executors 15s (50 %)"
    assert describe_parts(timeline) == words
    unknown = replace(timeline, executors=tuple(spans[1:]))
    assert describe_parts(unknown) == "waiting 1s (3 %), starting 6s (20 %), running 23s (77 %)"
    early = build(*FAILED, executors=(PodSpan("pi-0-exec-1", ExecutorState.ENDED, at(5), at(40)),))
    assert [part.label for part in list_parts(early)] == ["waiting", "starting", "with executors"]
    assert describe_parts(replace(timeline, attempts=())) == ""


def test_state_without_a_time_has_no_row() -> None:
    document = build_application(("Submitted", 0), ("RunningHealthy", 7))
    del document["status"]["stateTransitionHistory"]["0"]["lastTransitionTime"]
    (attempt,) = build_groups(build_timeline(document, at(60)))
    assert [bar.label for bar in attempt.bars] == ["RunningHealthy", "driver"]


def test_title_has_name_end_and_duration() -> None:
    assert (
        describe_timeline(build(("Submitted", 0), ("Succeeded", 90), ("ResourceReleased", 91)))
        == "jobs/pi: Succeeded, 1m30s"
    )
    assert describe_timeline(build(("Submitted", 0))) == "jobs/pi: Submitted, 1m"


def draw(timeline: Timeline) -> ElementTree.Element:
    return ElementTree.fromstring(draw_timeline(timeline))


def read_texts(picture: ElementTree.Element) -> list[str]:
    return [one.text or "" for one in picture.iter(f"{SVG}text")]


def test_picture_shows_states_executors_and_their_number() -> None:
    span = PodSpan("exec-1", ExecutorState.FAILED, at(8), at(20), "OOMKilled")
    picture = draw(build(*FAILED, executors=(span,)))
    texts = read_texts(picture)
    assert {"attempt 1: Failed", "RunningHealthy", "exec-1", "12s OOMKilled"} <= set(texts)
    assert {"executors, at most 1", "15s"} <= set(texts)
    assert texts[-1].startswith("since 20")
    assert {"starting", "running", "failed"} <= set(texts)
    assert "succeeded" not in texts
    assert picture.find(f"{SVG}title") is not None
    bars = {one[0].text: float(one.get("width", "")) for one in picture.iter(f"{SVG}rect") if len(one)}
    assert bars["RunningHealthy"] > bars["DriverRequested"] > bars["Submitted"] > 0


def test_picture_has_colours_for_dark_pages_and_names_the_end() -> None:
    picture = draw(build(*FAILED))
    style = picture.findtext(f"{SVG}style") or ""
    assert style.startswith("@media (prefers-color-scheme: dark)")
    page = next(picture.iter(f"{SVG}rect"))
    written = [one.get("fill") for one in (page, *picture.iter(f"{SVG}text"))]
    failed = next(one for one in picture.iter(f"{SVG}text") if one.text == "Failed" and float(one.get("x", "0")) > 900)
    assert all(f'[fill="{colour}"]' in style for colour in written)
    assert failed.get("fill") == "#c8402f"


def test_picture_names_the_end_but_no_restart() -> None:
    timeline = replace(build(*FAILED), marks=(Mark(at(9), MarkKind.RESTARTED, "attempt 2"),))
    picture = draw(timeline)
    assert "attempt 2" not in read_texts(picture)
    assert "attempt 2" in [one.text for one in picture.iter(f"{SVG}title")]


def test_picture_without_times_has_a_title_only() -> None:
    timeline = replace(build(("Submitted", 0)), begin=None, attempts=())
    assert read_texts(draw(timeline)) == ["jobs/pi: Submitted", "0s", "1s"]


@pytest.mark.parametrize("name", ["<script>&\x00\x1b\ud800", "a" * 300])
def test_picture_shows_any_name_as_text(name: str) -> None:
    span = PodSpan(name, ExecutorState.RUNNING, at(8))
    texts = read_texts(draw(build(*FAILED, executors=(span,))))
    shown = next(text for text in texts if text.startswith(("<script>&", "…aaa")))
    assert len(shown) <= 34
