"""Several candidates in an election, on a local API server."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.names import APPLICATION_FINALIZER
from airflow_provider_spark_operator.core.kubernetes.ownership import LeaseReference, Tenure, read_tenure
from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError, Unreachable
from airflow_provider_spark_operator.kube.resources import LEASES, NAMESPACES, PODS, SPARK_APPLICATIONS
from airflow_provider_spark_operator.reconcile.objects.lease import LeaseTerms
from airflow_provider_spark_operator.reconcile.ownership.election import (
    Elector,
    Leadership,
    NotLeading,
    create_identity,
    elect,
)
from tests.reconcile.harness import DEADLINE, Api, build_application, build_error

HOURS = LeaseTerms(duration=7200, renew_deadline=3600, retry=0.05)
QUICK = LeaseTerms(duration=1, renew_deadline=0.6, retry=0.05)


def build_elector(api: Api, identity: str, client: Any = None, terms: LeaseTerms = QUICK) -> Elector:
    return Elector(client or api.client, LeaseReference(api.namespace, "lease"), identity, terms)


async def read_lease(api: Api) -> Tenure:
    return read_tenure(await api.client.get(LEASES, "lease", api.namespace))


@asynccontextmanager
async def lead(elector: Elector) -> AsyncIterator[Leadership]:
    """Run an elector while the body runs. The body starts when the elector is the leader."""
    async with elect(elector) as leadership:
        async with asyncio.timeout(DEADLINE):
            await leadership.wait_until_gained()
        yield leadership


class Cut:
    """A client that can lose its connection permanently."""

    def __init__(self, client: KubeClient, error: KubeError) -> None:
        self._client = client
        self._error = error
        self.is_cut = False

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._client, name)

        async def call(*arguments: Any, **options: Any) -> Any:
            if self.is_cut:
                raise self._error
            return await real(*arguments, **options)

        return call


class Clock:
    """A clock that only the test advances. `step` is the duration of a write."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.step = 0.0

    def __call__(self) -> float:
        return self.seconds


class Slow:
    """A client whose writes advance a clock."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def patch(self, *arguments: Any, **options: Any) -> Any:
        answer = await self._client.patch(*arguments, **options)
        self._clock.seconds += self._clock.step
        return answer


async def test_one_of_two_candidates_becomes_the_leader(api: Api) -> None:
    async with lead(build_elector(api, "one")) as first, elect(build_elector(api, "two")) as second:
        since = await read_lease(api)

        async def has_been_renewed() -> bool:
            return (await read_lease(api)).renewed != since.renewed

        await api.wait_until_true(has_been_renewed)
        assert (first.is_held, second.is_held) == (True, False)
        assert (await read_lease(api)).holder == "one"


async def test_shutdown_of_the_leader_releases_the_lease(api: Api) -> None:
    long_terms = LeaseTerms(duration=3600, renew_deadline=1800, retry=0.05)
    async with AsyncExitStack() as first:
        await first.enter_async_context(lead(build_elector(api, "one", terms=long_terms)))
        async with elect(build_elector(api, "two", terms=long_terms)) as second:
            await first.aclose()
            async with asyncio.timeout(DEADLINE):
                await second.wait_until_gained()
    assert (await read_lease(api)).holder == ""


async def test_expired_lease_is_taken(api: Api) -> None:
    first = build_elector(api, "gone")
    task = asyncio.create_task(first.run())
    async with asyncio.timeout(DEADLINE):
        await first.leadership.wait_until_gained()
    task.cancel()
    await asyncio.wait([task])
    async with lead(build_elector(api, "next")):
        pass
    assert (await read_lease(api)).transitions == 1


async def test_leader_without_a_connection_stops_before_the_next_one_starts(api: Api) -> None:
    client = Cut(api.client, build_error(Unreachable, None))
    async with lead(build_elector(api, "one", client)) as first, elect(build_elector(api, "two")) as second:
        client.is_cut = True
        async with asyncio.timeout(DEADLINE):
            await second.wait_until_gained()
        assert not first.is_held
        client.is_cut = False  # the client connects again and finds another leader


async def test_leader_steps_down_if_another_process_holds_the_lease(api: Api) -> None:
    async with lead(build_elector(api, "one")) as first:
        lease = await api.client.get(LEASES, "lease", api.namespace)
        spec = {**lease["spec"], "holderIdentity": "thief"}
        await api.client.patch(LEASES, "lease", api.namespace, {"spec": spec})
        async with asyncio.timeout(DEADLINE):
            await first.wait_until_lost()


async def test_renewal_after_the_deadline_starts_a_new_term(api: Api) -> None:
    # Writes were rejected in the meantime. Only a new leader repeats them.
    clock = Clock()
    client: Any = Slow(api.client, clock)
    elector = Elector(client, LeaseReference(api.namespace, "lease"), "one", HOURS, clock=clock)
    async with lead(elector) as leadership:
        end_of_the_first_term = asyncio.create_task(leadership.wait_until_lost())
        clock.seconds = HOURS.renew_deadline - 1
        clock.step = 2
        async with asyncio.timeout(DEADLINE):
            await end_of_the_first_term
            await leadership.wait_until_gained()
        clock.step = 0


async def test_deleted_lease_is_created_again(api: Api) -> None:
    async with lead(build_elector(api, "one")):
        await api.client.delete(LEASES, "lease", api.namespace)

        async def is_back() -> bool:
            items = (await api.client.list(LEASES, api.namespace)).items
            return [read_tenure(item).holder for item in items] == ["one"]

        await api.wait_until_true(is_back)


async def test_lease_in_a_terminating_namespace_is_answered_with_the_option_for_another(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    document = build_application()
    document["metadata"]["finalizers"] = [APPLICATION_FINALIZER]
    await api.client.create(SPARK_APPLICATIONS, document, api.namespace)
    await api.client.delete(NAMESPACES, api.namespace, None)

    async with elect(build_elector(api, "one")):

        async def is_logged() -> bool:
            return bool(caplog.messages)

        await api.wait_until_true(is_logged)

    assert caplog.messages[0].endswith(
        "because it is being terminated. Start the controller with --lease OTHER-NAMESPACE/NAME, so that it can remove "
        "the finalizers of the applications in this namespace"
    )


def test_writes_pass_the_check_only_in_the_leader() -> None:
    seconds = 100.0
    leadership = Leadership(lambda: seconds)
    read, write = Call("get", "GET", PODS, "jobs", "a"), Call("create", "POST", PODS, "jobs")
    leadership.check(read)
    with pytest.raises(NotLeading, match=r"could not create pods in namespace jobs: .* is not the leader"):
        leadership.check(write)
    leadership.extend(110.0)
    leadership.check(write)
    seconds = 110.0  # leadership ends at the deadline without a call of `end`
    with pytest.raises(NotLeading):
        leadership.check(write)
    assert leadership.has_lapsed


async def test_identities_are_unique() -> None:
    assert create_identity() != create_identity()
