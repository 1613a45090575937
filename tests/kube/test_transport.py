from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from aiohttp import web

from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import Forbidden, Unreachable
from airflow_provider_spark_operator.kube.failed_requests import parse_status
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS
from tests.kube.scripted_api import (
    SHORT_PAUSES,
    Answer,
    ScriptedApi,
    answer,
    answer_page,
    build_kubeconfig,
    deny,
    hang_up,
    refuse,
    stream,
)

Observed = list[tuple[str, str, int | None]]


@pytest.fixture
def seen() -> Observed:
    return []


@pytest.fixture
async def observed(api: ScriptedApi, seen: Observed) -> AsyncIterator[KubeClient]:
    def observe(call: Call, status: int | None, seconds: float) -> None:
        assert seconds >= 0
        seen.append((call.verb, call.rbac_resource, status))

    access = ClusterAccess(kubeconfig_document=build_kubeconfig(api.url))
    async with await open_client(access, retry=SHORT_PAUSES, observer=observe) as client:
        yield client


async def test_observer_receives_every_request_and_its_answer(
    api: ScriptedApi, observed: KubeClient, seen: Observed
) -> None:
    api.script(answer_page(), deny("get", "pods"), answer({}))
    await observed.list(PODS, "jobs")
    with pytest.raises(Forbidden):
        await observed.get(PODS, "a", "jobs")
    await observed.patch(SPARK_APPLICATIONS, "a", "jobs", {}, subresource="status")
    assert seen == [
        ("list", "pods", 200),
        ("get", "pods", 403),
        ("patch", "sparkapplications/status.spark.apache.org", 200),
    ]


@pytest.mark.parametrize("lead", [timedelta(hours=-1), timedelta(0), timedelta(hours=1)], ids=["fast", "right", "slow"])
async def test_time_is_that_of_the_api_server_whatever_the_local_clock_shows(
    api: ScriptedApi, observed: KubeClient, lead: timedelta
) -> None:
    def answer_at(date: str) -> Answer:
        async def respond(_: web.BaseRequest) -> web.StreamResponse:
            return web.json_response({}, headers={"Date": date})

        return respond

    time = datetime.now(UTC) + lead
    for date in (format_datetime(time, usegmt=True), "", "now", "Thu, 26 Nov 2026 21:00:00 -0000"):
        api.script(answer_at(date))
        await observed.get(PODS, "a", "jobs")
        assert time - timedelta(seconds=2) <= observed.get_time() < time + timedelta(minutes=30)


@pytest.mark.parametrize("subresource", ["proxy/api/v1/applications", "log"])
async def test_time_of_a_forwarded_answer_is_ignored(api: ScriptedApi, observed: KubeClient, subresource: str) -> None:
    async def respond(_: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({}, headers={"Date": "Thu, 01 Jan 2099 00:00:00 GMT"})

    api.script(respond)
    async with observed.stream(Call("get", "GET", PODS, "jobs", "pi-driver:4040", subresource), 10.0):
        pass
    assert observed.get_time() - datetime.now(UTC) < timedelta(seconds=2)


async def test_observer_receives_retries_and_requests_without_answer(
    api: ScriptedApi, observed: KubeClient, seen: Observed
) -> None:
    # If the server closes the connection during a read, aiohttp itself sends a second request, which the observer does
    # not see.
    api.script(hang_up(), hang_up(), refuse(503, "starting"), answer({}), hang_up())
    await observed.get(PODS, "a", "jobs")
    with pytest.raises(Unreachable):
        await observed.create(PODS, {}, "jobs")
    assert seen == [("get", "pods", None), ("get", "pods", 503), ("get", "pods", 200), ("create", "pods", None)]


async def test_observer_receives_a_watch_when_it_starts(api: ScriptedApi, observed: KubeClient, seen: Observed) -> None:
    api.script(stream({"type": "ADDED", "object": {"metadata": {"name": "a"}}}, hold=True))
    async with aclosing(observed.watch(PODS, "jobs", resource_version="1")) as events:
        await anext(events)
        assert seen == [("watch", "pods", 200)]


async def test_gate_is_awaited_before_each_request_and_can_reject_it(api: ScriptedApi) -> None:
    asked: list[str] = []

    async def gate(call: Call) -> None:
        asked.append(call.verb)
        if call.verb == "create":
            raise call.build_unreachable("closed")

    api.script(refuse(503, "starting"), answer({}))
    access = ClusterAccess(kubeconfig_document=build_kubeconfig(api.url))
    async with await open_client(access, retry=SHORT_PAUSES, gate=gate) as client:
        await client.get(PODS, "a", "jobs")
        with pytest.raises(Unreachable, match="closed"):
            await client.create(PODS, {}, "jobs")
    assert asked == ["get", "get", "create"]
    assert [request.method for request in api.requests] == ["GET", "GET"]


async def test_check_rejects_a_request_before_a_connection_is_opened() -> None:
    def reject(call: Call) -> None:
        raise call.build_unreachable("not now")

    nobody = build_kubeconfig("http://127.0.0.1:1")
    async with await open_client(ClusterAccess(kubeconfig_document=nobody), check=reject) as client:
        with pytest.raises(Unreachable, match="not now"):
            await client.create(PODS, {}, "jobs")


@pytest.mark.parametrize("connects_before", [False, True], ids=["new connection", "open connection"])
async def test_check_rejects_a_request_after_its_connection_is_open(api: ScriptedApi, connects_before: bool) -> None:
    checked: list[str] = []

    def check(call: Call) -> None:
        checked.append(call.verb)
        if call.verb == "create" and checked.count("create") == 2:
            raise call.build_unreachable("too late")

    api.script(*([answer({})] if connects_before else []), answer({}))
    access = ClusterAccess(kubeconfig_document=build_kubeconfig(api.url))
    async with await open_client(access, retry=SHORT_PAUSES, check=check) as client:
        if connects_before:
            await client.get(PODS, "a", "jobs")
        with pytest.raises(Unreachable, match="too late"):
            await client.create(PODS, {}, "jobs")
        await client.patch(PODS, "a", "jobs", {})
    assert {request.method for request in api.requests} == ({"GET", "PATCH"} if connects_before else {"PATCH"})
    # The rejected request has not closed the connection.
    assert len({request.peer for request in api.requests}) == 1


async def test_writes_have_the_field_manager_of_the_client(api: ScriptedApi) -> None:
    api.script(answer({}), answer({}), answer({}), answer({}), answer({}))
    access = ClusterAccess(kubeconfig_document=build_kubeconfig(api.url))
    async with await open_client(access, field_manager="us") as client:
        await client.create(PODS, {}, "jobs")
        await client.replace(PODS, "a", "jobs", {})
        await client.patch(PODS, "a", "jobs", {})
        await client.patch(PODS, "a", "jobs", {}, field_manager="another")
        await client.get(PODS, "a", "jobs")
    managers = [request.query.get("fieldManager") for request in api.requests]
    assert managers == ["us", "us", "us", "another", None]


def test_text_of_a_proxy_is_shown_without_control_characters() -> None:
    assert parse_status(b"\x1b[31mbad\r\n gateway\x07") == {"message": "[31mbad gateway"}
