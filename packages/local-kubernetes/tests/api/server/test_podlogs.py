from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.builders import PODS, Api, Document, build_pod
from api.conftest import RecordedLogs

RUNNING: Document = {"state": {"running": {}}}


async def start_pod(api: Api, state: Document | None = None, containers: tuple[str, ...] = ("main",)) -> None:
    """Create the pod `p` on a node, with the same status for all its containers."""
    document = build_pod("p")
    document["spec"]["containers"] = [{"name": name, "image": "i"} for name in containers]
    document["spec"]["nodeName"] = "local"
    await api.create(PODS, document)
    statuses = [{"name": name, **(RUNNING if state is None else state)} for name in containers]
    await api.patch(f"{PODS}/p/status", {"status": {"containerStatuses": statuses}})


async def test_log_of_the_kubelet_is_returned(api: Api, logs: RecordedLogs) -> None:
    await start_pod(api)
    reply = await api.get(f"{PODS}/p/log")
    assert (reply.status, reply.body) == (200, "one\ntwo\n")
    assert reply.headers["Content-Type"].startswith("text/plain")
    assert logs.asked[0][:3] == ("default", "p", "main")


async def test_log_options_are_passed_to_the_kubelet(api: Api, logs: RecordedLogs) -> None:
    await start_pod(api, containers=("main", "side"))
    query = "container=side&follow=true&tailLines=5&sinceTime=2026-01-01T00:00:00Z&timestamps=true&limitBytes=9"
    await api.get(f"{PODS}/p/log?{query}")
    assert logs.asked[0][2] == "side"
    assert logs.asked[0][3] == {
        "container": "side",
        "follow": True,
        "tail_lines": 5,
        "since": datetime(2026, 1, 1, tzinfo=UTC),
        "timestamps": True,
        "limit_bytes": 9,
        "previous": False,
    }


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("stream=Stdout", 422),
        ("tailLines=", 400),
        ("tailLines=1_0", 400),
        ("limitBytes=100000000000000000000", 400),
        ("sinceTime=2026-01-01", 400),
        ("sinceTime=2026-01-01T00:00:00", 400),
        ("sinceTime=2026-13-01T00:00:00Z", 400),
        ("container=..%2Fx", 400),
        ("previous=true", 400),
    ],
)
async def test_invalid_log_options_are_rejected(api: Api, logs: RecordedLogs, query: str, code: int) -> None:
    await start_pod(api)
    assert (await api.get(f"{PODS}/p/log?{query}")).status == code
    assert logs.asked == []


async def test_log_time_is_truncated_to_seconds(api: Api, logs: RecordedLogs) -> None:
    await start_pod(api)
    await api.get(f"{PODS}/p/log?sinceTime=2026-01-01T00:00:00.999Z")
    assert logs.asked[0][3]["since"] == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(("time", "year"), [("0001-01-01T00:00:00%2B23:00", 1), ("9999-12-31T23:59:59-23:00", 9999)])
async def test_log_time_out_of_range_is_limited(api: Api, logs: RecordedLogs, time: str, year: int) -> None:
    await start_pod(api)
    assert (await api.get(f"{PODS}/p/log?sinceTime={time}")).status == 200
    assert logs.asked[0][3]["since"].year == year


async def test_number_of_seconds_is_converted_to_a_time(api: Api, logs: RecordedLogs) -> None:
    await start_pod(api)
    before = datetime.now(UTC)
    for seconds in (60, 2**62):
        assert (await api.get(f"{PODS}/p/log?sinceSeconds={seconds}")).status == 200
    times = [options["since"] for *_, options in logs.asked]
    assert before <= times[0] + timedelta(seconds=60) <= datetime.now(UTC)
    assert times[1] == datetime.min.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"state": {"waiting": {"reason": "ContainerCreating"}}}, "is waiting to start: ContainerCreating"),
        ({"state": {"waiting": {"reason": "ErrImagePull"}}}, "is waiting to start: image can't be pulled"),
        (
            {"state": {"waiting": {"reason": "ImagePullBackOff"}}},
            "is waiting to start: trying and failing to pull image",
        ),
        ({"state": {"waiting": {"reason": "InvalidImageName"}}}, "is waiting to start: InvalidImageName"),
    ],
)
async def test_a_container_that_has_not_started_has_no_log(api: Api, state: dict[str, Any], message: str) -> None:
    await start_pod(api, state)
    reply = await api.get(f"{PODS}/p/log")
    assert reply.refusal == (400, "BadRequest")
    assert message in reply.body["message"]


async def test_previous_log_is_returned_after_a_restart(api: Api, logs: RecordedLogs) -> None:
    await start_pod(api, {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {}}})
    assert (await api.get(f"{PODS}/p/log?previous=true")).status == 200
    assert logs.asked[0][3]["previous"] is True
