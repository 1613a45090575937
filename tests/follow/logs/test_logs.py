import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.follow.logs import logs
from airflow_provider_spark_operator.follow.logs.logs import LogPosition, follow_driver_log
from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.kube.errors import Forbidden
from tests.follow.applications import DRIVER_EXITED_3, build_driver
from tests.kube.scripted_api import ScriptedApi, answer_page, open_client_of, refuse, serve_api, stream

REFERENCE = ApplicationReference("jobs", "pi", "u1")
RUNNING = answer_page(build_driver())
ENDED = answer_page(build_driver(status=DRIVER_EXITED_3))


@pytest.fixture
async def api() -> AsyncIterator[ScriptedApi]:
    async with serve_api() as api:
        yield api


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "Backoff", lambda **_: Backoff(first=0.001, longest=0.001))


def build_line(second: int, text: str, nanoseconds: int = 0) -> bytes:
    return f"2026-01-01T00:00:{second:02}.{nanoseconds:09}Z {text}\n".encode()


async def read(api: ScriptedApi, **options: Any) -> list[str]:
    async with (
        asyncio.timeout(30),
        await open_client_of(api) as client,
        aclosing(follow_driver_log(client, REFERENCE, **options)) as lines,
    ):
        return [text async for text in lines]


async def test_log_is_read_to_its_end(api: ScriptedApi) -> None:
    api.script(RUNNING, ENDED, ENDED, verb="list")
    whole = [build_line(1, "one"), build_line(2, ""), build_line(3, "three  x")]
    api.script(stream(*whole), stream(whole[-1]), verb="log")
    assert await read(api) == ["one", "", "three  x"]
    asked = [seen.query for seen in api.requests if seen.path.endswith("/log")]
    assert asked[0] == {"container": "spark-kubernetes-driver", "follow": "true", "timestamps": "true"}
    assert asked[1]["sinceTime"] == "2026-01-01T00:00:03Z"


async def test_log_waits_for_driver_that_does_not_exist_yet(api: ScriptedApi) -> None:
    api.script(answer_page(), answer_page(build_driver(owner="another")), RUNNING, ENDED, ENDED, verb="list")
    api.script(refuse(400, "waiting to start", "BadRequest"), stream(build_line(1, "one")), verb="log")
    assert await read(api) == ["one"]


async def test_interrupted_log_resumes_at_its_line(api: ScriptedApi) -> None:
    first = [build_line(1, "a"), build_line(1, "a"), build_line(2, "b", 5), build_line(2, "c", 5)]
    again = [build_line(2, "b", 5), build_line(2, "c", 5), build_line(2, "d", 5), build_line(3, "e")]
    api.script(RUNNING, RUNNING, ENDED, ENDED, verb="list")
    api.script(stream(*first, cut=True), stream(*again), stream(again[-1]), verb="log")
    assert await read(api) == ["a", "a", "b", "c", "d", "e"]


async def test_log_resumes_after_outage(api: ScriptedApi) -> None:
    outage = [refuse(503, "away")] * 4  # one answer for each retry of a read
    api.script(*outage, RUNNING, *outage, RUNNING, ENDED, ENDED, verb="list")
    api.script(
        stream(build_line(1, "a"), cut=True),
        refuse(503),
        stream(build_line(1, "a"), build_line(2, "b")),
        stream(),
        verb="log",
    )
    assert await read(api) == ["a", "b"]


async def test_clock_set_back_loses_no_lines(api: ScriptedApi) -> None:
    api.script(RUNNING, ENDED, ENDED, verb="list")
    api.script(
        stream(build_line(9, "late"), build_line(1, "early")),
        stream(build_line(9, "late"), build_line(1, "early")),
        verb="log",
    )
    assert (await read(api))[:2] == ["late", "early"]


MISSING = "… lines after 00:00:01 UTC are missing: the driver pod was deleted"


async def test_log_whose_pod_is_deleted_ends_with_the_gap(api: ScriptedApi) -> None:
    api.script(RUNNING, RUNNING, verb="list")
    api.script(stream(build_line(1, "one"), cut=True), refuse(404, "gone", "NotFound"), verb="log")
    assert await read(api) == ["one", MISSING]


async def test_interrupted_log_of_deleted_pod_ends_with_gap(api: ScriptedApi) -> None:
    api.script(RUNNING, answer_page(), verb="list")
    api.script(stream(build_line(1, "one"), cut=True), verb="log")
    assert await read(api) == ["one", MISSING]


async def test_log_that_could_not_be_read_is_reported(api: ScriptedApi) -> None:
    api.script(RUNNING, verb="list")
    api.script(refuse(404, "gone", "NotFound"), verb="log")
    assert await read(api) == ["… the driver's log could not be read: the driver pod was deleted"]


async def test_log_that_ended_before_its_pod_was_deleted_has_no_gap(api: ScriptedApi) -> None:
    api.script(RUNNING, RUNNING, verb="list")
    api.script(stream(build_line(1, "one")), refuse(404, "gone", "NotFound"), verb="log")
    assert await read(api) == ["one"]


REMOVED = "unable to retrieve container logs for containerd://0123abc"


async def test_answer_of_a_node_that_has_no_log_is_not_a_line_of_the_log(api: ScriptedApi) -> None:
    api.script(ENDED, ENDED, verb="list")
    api.script(stream(REMOVED.encode()), verb="log")
    assert await read(api) == [f"… the driver's log could not be read: {REMOVED}"]


async def test_log_that_the_node_loses_ends_with_the_gap(api: ScriptedApi) -> None:
    api.script(RUNNING, ENDED, ENDED, verb="list")
    api.script(stream(build_line(1, "one"), cut=True), stream(REMOVED.encode()), verb="log")
    assert await read(api) == ["one", f"… lines after 00:00:01 UTC are missing: {REMOVED}"]


async def test_log_that_the_node_loses_after_it_was_read_to_its_end_has_no_gap(api: ScriptedApi) -> None:
    api.script(RUNNING, ENDED, ENDED, verb="list")
    api.script(stream(build_line(1, "one")), stream(REMOVED.encode()), verb="log")
    assert await read(api) == ["one"]


async def test_driver_that_logs_the_same_words_keeps_its_line(api: ScriptedApi) -> None:
    api.script(ENDED, ENDED, verb="list")
    api.script(stream(build_line(1, REMOVED)), stream(build_line(1, REMOVED)), verb="log")
    assert await read(api) == [REMOVED]


async def test_log_of_the_next_attempt_is_another_one(api: ScriptedApi) -> None:
    following = build_driver()
    following["metadata"] |= {"name": "pi-1-driver", "creationTimestamp": "2026-01-01T00:01:00Z"}
    api.script(RUNNING, answer_page(build_driver(), following), verb="list")
    api.script(stream(build_line(1, "one")), verb="log")
    assert await read(api) == ["one"]


async def test_log_longer_than_the_limit_is_left(api: ScriptedApi) -> None:
    api.script(RUNNING, verb="list")
    api.script(stream(*[build_line(1, "x" * 90)] * 20, hold=True), verb="log")
    lines = await read(api, longest=1000)
    assert len(lines) == 11
    assert lines[-1] == "… the rest of the log is not shown. Run `kubectl logs -n jobs pi-0-driver` to see all of it"


async def test_missing_log_permission_is_raised(api: ScriptedApi) -> None:
    api.script(RUNNING, verb="list")
    api.script(refuse(403, "no", "Forbidden"), verb="log")
    with pytest.raises(Forbidden, match=r"pods/log"):
        await read(api)


POD = build_driver()["metadata"]["uid"]


def build_position_after(second: int, count: int = 1, pod: str = POD) -> LogPosition:
    """Return the position of an earlier reader: the `count`-th line of that second."""
    return LogPosition.from_text(f"{pod} 2026-01-01T00:00:{second:02}.{0:09}Z {count}")


async def test_second_reader_continues_where_the_first_stopped(api: ScriptedApi) -> None:
    api.script(RUNNING, ENDED, ENDED, verb="list")
    whole = [build_line(3, "three"), build_line(3, "three again"), build_line(4, "four")]
    api.script(stream(*whole), stream(whole[-1]), verb="log")
    position = build_position_after(3)
    assert await read(api, position=position) == ["three again", "four"]
    asked = next(seen.query for seen in api.requests if seen.path.endswith("/log"))
    assert asked["sinceTime"] == "2026-01-01T00:00:03Z"
    assert LogPosition.from_text(position.to_text()) == build_position_after(4)


async def test_lines_lost_by_rotation_are_reported_as_missing(api: ScriptedApi) -> None:
    api.script(RUNNING, ENDED, ENDED, verb="list")
    api.script(stream(build_line(9, "nine"), build_line(10, "ten")), stream(build_line(10, "ten")), verb="log")
    assert await read(api, position=build_position_after(3)) == [
        "… lines between 00:00:03 and 00:00:09 UTC are missing: the log was rotated",
        "nine",
        "ten",
    ]


async def test_log_of_another_driver_is_read_from_its_beginning(api: ScriptedApi) -> None:
    api.script(RUNNING, ENDED, ENDED, verb="list")
    api.script(stream(build_line(1, "one")), stream(build_line(1, "one")), verb="log")
    gap = "… lines of the previous driver after 00:00:03 UTC may be missing: its pod was deleted"
    assert await read(api, position=build_position_after(3, pod="earlier")) == [gap, "one"]


async def test_log_that_was_read_to_its_end_leaves_no_gap_before_the_next_one(api: ScriptedApi) -> None:
    api.script(RUNNING, ENDED, ENDED, RUNNING, ENDED, ENDED, verb="list")
    api.script(*[stream(build_line(1, "one"))] * 4, verb="log")
    position = LogPosition()
    assert await read(api, position=position) == ["one"]
    position.pod = "of the attempt before"
    assert await read(api, position=position) == ["one"]


@pytest.mark.parametrize("text", ["", "p1", "p1 2026-01-01T00:00:03Z", "p1 2026-01-01T00:00:03Z many"])
def test_invalid_position_is_the_beginning_of_the_log(text: str) -> None:
    assert LogPosition.from_text(text) == LogPosition()
