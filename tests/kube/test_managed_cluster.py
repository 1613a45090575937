"""A client of a managed cluster renews its tokens, and finds the cluster again after it moved."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from aiohttp.test_utils import unused_port

from airflow_provider_spark_operator.kube import credentials, link, managed_cluster
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client, read_configuration
from airflow_provider_spark_operator.kube.errors import ConfigurationError, Unauthorized
from airflow_provider_spark_operator.kube.managed_cluster import BearerToken, ClusterLocation, ManagedCluster
from airflow_provider_spark_operator.kube.resources import PODS
from tests.kube.scripted_api import ScriptedApi, answer, refuse

POD = {"metadata": {"name": "a"}}


@dataclass
class Cloud:
    """The API of a cloud: where the cluster is, and for how many seconds the next tokens are valid."""

    server: str
    lifetimes: list[float] = field(default_factory=list)
    failure: Exception | None = None
    located: int = 0
    issued: int = 0
    hold: asyncio.Event | None = None

    async def locate(self) -> ClusterLocation:
        await self._answer()
        self.located += 1
        return ClusterLocation(self.server)

    async def issue_token(self) -> BearerToken:
        await self._answer()
        self.issued += 1
        lifetime = self.lifetimes.pop(0) if self.lifetimes else 900.0
        return BearerToken(f"secret-{self.issued}", time.time() + lifetime)

    async def _answer(self) -> None:
        if self.hold is not None:
            await self.hold.wait()
        if self.failure is not None:
            raise self.failure


@pytest.fixture(autouse=True)
def act_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "SHORTEST_READ_SECONDS", 0.0)
    monkeypatch.setattr(credentials, "SHORTEST_RELOAD_SECONDS", 0.0)
    monkeypatch.setattr(managed_cluster, "SHORTEST_LOCATE_SECONDS", 0.0)
    monkeypatch.setattr(managed_cluster, "SHORTEST_ISSUE_SECONDS", 0.0)


@pytest.fixture
def cloud(api: ScriptedApi) -> Cloud:
    return Cloud(api.url)


def manage(cloud: Cloud) -> ManagedCluster:
    return ManagedCluster(
        title="cluster 'analytics'",
        key="cloud/analytics",
        renewal="grant access to the cluster",
        locate=cloud.locate,
        issue_token=cloud.issue_token,
    )


def list_tokens(api: ScriptedApi) -> list[str]:
    return [seen.headers["Authorization"].removeprefix("Bearer ") for seen in api.requests]


async def test_token_is_kept_while_it_is_valid(api: ScriptedApi, cloud: Cloud) -> None:
    api.script(answer(POD), answer(POD))
    managed = manage(cloud)
    for _ in range(2):
        async with await open_client(ClusterAccess(managed=managed)) as client:
            assert await client.get(PODS, "a", "jobs") == POD
    assert list_tokens(api) == ["secret-1", "secret-1"]
    assert (cloud.located, cloud.issued) == (1, 1)


async def test_token_is_renewed_before_it_expires(api: ScriptedApi, cloud: Cloud) -> None:
    cloud.lifetimes = [0.0]
    api.script(answer(POD), answer(POD))
    async with await open_client(ClusterAccess(managed=manage(cloud))) as client:
        await client.get(PODS, "a", "jobs")
        await client.get(PODS, "a", "jobs")
    assert list_tokens(api) == ["secret-2", "secret-2"]


@pytest.mark.parametrize(("lifetime", "margin"), [(900.0, 120.0), (10.0, 2.0)])
async def test_token_is_due_before_it_expires(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, lifetime: float, margin: float
) -> None:
    now = 1_000_000.0
    monkeypatch.setattr(time, "time", lambda: now)
    cloud.lifetimes = [lifetime]
    managed = manage(cloud)
    await managed.read_headers()
    now += lifetime - margin - 0.1
    assert await managed.read_headers() == {"Authorization": "Bearer secret-1"}
    now += 0.2
    assert await managed.read_headers() == {"Authorization": "Bearer secret-2"}


async def test_rejected_token_is_renewed(api: ScriptedApi, cloud: Cloud) -> None:
    api.script(refuse(401), answer(POD))
    async with await open_client(ClusterAccess(managed=manage(cloud))) as client:
        assert await client.get(PODS, "a", "jobs") == POD
    assert list_tokens(api) == ["secret-1", "secret-2"]


async def test_old_token_stays_in_use_if_the_cloud_issues_none(
    api: ScriptedApi, cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.lifetimes = [0.0]
    api.script(answer(POD))
    async with await open_client(ClusterAccess(managed=manage(cloud))) as client:
        cloud.failure = RuntimeError("throttled")
        with caplog.at_level(logging.WARNING):
            assert await client.get(PODS, "a", "jobs") == POD
    assert list_tokens(api) == ["secret-1"]
    assert "could not get a token for cluster 'analytics': throttled" in caplog.text
    assert "secret-" not in caplog.text


async def test_rejected_request_explains_why_the_cloud_does_not_help(api: ScriptedApi, cloud: Cloud) -> None:
    api.script(refuse(401))
    async with await open_client(ClusterAccess(managed=manage(cloud))) as client:
        cloud.failure = RuntimeError("access denied")
        with pytest.raises(Unauthorized) as caught:
            await client.get(PODS, "a", "jobs")
    assert "could not find cluster 'analytics': access denied" in str(caught.value)
    assert str(caught.value).endswith("grant access to the cluster")


async def test_cluster_that_moved_is_found_again(api: ScriptedApi, cloud: Cloud) -> None:
    cloud.server = f"http://127.0.0.1:{unused_port()}"
    api.script(answer(POD))
    managed = manage(cloud)
    async with await open_client(ClusterAccess(managed=managed)) as client:
        before = await read_configuration(ClusterAccess(managed=managed))
        cloud.server = api.url
        assert await client.get(PODS, "a", "jobs") == POD
        assert client.server == api.url
    after = await read_configuration(ClusterAccess(managed=managed))
    assert after.fingerprint.connection != before.fingerprint.connection


async def test_address_is_not_read_for_each_failed_request(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(managed_cluster, "SHORTEST_LOCATE_SECONDS", 60.0)
    managed = manage(cloud)
    for _ in range(3):
        await managed.find_location(again=True)
    assert cloud.located == 1


Use = Callable[[ManagedCluster], Awaitable[object]]


each_call = pytest.mark.parametrize(
    ("use", "failure"),
    [
        (lambda managed: managed.find_location(), "could not find cluster 'analytics'"),
        (lambda managed: managed.read_headers(), "could not get a token for cluster 'analytics'"),
    ],
    ids=["location", "token"],
)


@each_call
async def test_call_of_the_cloud_is_shared_by_callers_that_wait_at_the_same_time(
    cloud: Cloud, use: Use, failure: str
) -> None:
    cloud.hold = asyncio.Event()
    managed = manage(cloud)
    waiting = [asyncio.ensure_future(use(managed)) for _ in range(20)]
    await asyncio.sleep(0)
    cloud.hold.set()
    results = await asyncio.gather(*waiting)
    assert len(set(map(str, results))) == 1
    assert cloud.located + cloud.issued == 1


@each_call
async def test_call_of_the_cloud_continues_if_a_caller_is_cancelled(cloud: Cloud, use: Use, failure: str) -> None:
    cloud.hold = asyncio.Event()
    managed = manage(cloud)
    first, second = asyncio.ensure_future(use(managed)), asyncio.ensure_future(use(managed))
    await asyncio.sleep(0)
    first.cancel()
    cloud.hold.set()
    assert await second
    assert first.cancelled()
    assert cloud.located + cloud.issued == 1


@each_call
async def test_call_of_the_cloud_is_reported_if_it_fails(cloud: Cloud, use: Use, failure: str) -> None:
    cloud.failure = RuntimeError("access denied")
    with pytest.raises(ConfigurationError, match=f"{failure}: access denied"):
        await use(manage(cloud))


@each_call
async def test_call_of_the_cloud_is_reported_if_it_takes_too_long(
    cloud: Cloud, use: Use, failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(managed_cluster, "ANSWER_SECONDS", 0.01)
    cloud.hold = asyncio.Event()
    with pytest.raises(ConfigurationError, match=f"{failure}: no answer within"):
        await use(manage(cloud))
    cloud.hold.set()


def test_cluster_can_be_used_in_several_event_loops(cloud: Cloud) -> None:
    managed = manage(cloud)
    assert asyncio.run(managed.find_location()) == asyncio.run(managed.find_location())
    assert asyncio.run(_read_twice(managed)) == asyncio.run(_read_twice(managed))
    assert cloud.issued == 1


async def _read_twice(managed: ManagedCluster) -> list[object]:
    return list(await asyncio.gather(managed.read_headers(), managed.read_headers()))


async def test_no_token_is_shown(api: ScriptedApi, cloud: Cloud) -> None:
    access = ClusterAccess(managed=manage(cloud))
    async with await open_client(access) as client:
        shown = f"{access!r} {access.key} {access.source} {client.links.current!r} {BearerToken('secret-0', 0.0)!r}"
    assert cloud.issued == 1
    assert "secret" not in shown


async def test_address_of_the_cloud_is_checked(cloud: Cloud) -> None:
    cloud.server = "analytics"
    with pytest.raises(ConfigurationError, match="cluster 'analytics': the server 'analytics' is not a valid URL"):
        await open_client(ClusterAccess(managed=manage(cloud)))
