"""The trigger of asset watchers: its identity, its selection, and the record of what it has delivered."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from airflow.triggers.base import BaseEventTrigger
from pydantic import JsonValue

from airflow_provider_spark_operator.airflow_compat import VERSION
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.triggers import spark_application_event_runtime
from airflow_provider_spark_operator.triggers.delivery_record import format_uids
from airflow_provider_spark_operator.triggers.spark_application_event import SparkApplicationEventTrigger
from tests.cluster import NAMESPACE, Cluster, stay_submitted

TEST_SECONDS = 30
DAG_WITHOUT_STATE = "this version of Airflow cannot store the state of asset watchers"


class Store:
    """The state of one asset."""

    def __init__(self) -> None:
        self.values: dict[str, JsonValue] = {}
        self.reads = 0

    async def aget(self, key: str, default: JsonValue = None) -> JsonValue:
        self.reads += 1
        return self.values.get(key, default)

    async def aset(self, key: str, value: JsonValue) -> None:
        self.values[key] = value


class Accessors:
    """The state of the assets of a trigger, as Airflow 3.3 gives it to the trigger."""

    def __init__(self, *stores: Store) -> None:
        self._by_name = {f"asset-{number}": store for number, store in enumerate(stores)}


def build(*stores: Store, **arguments: Any) -> SparkApplicationEventTrigger:
    trigger = SparkApplicationEventTrigger(**{"kubernetes_conn_id": "spark", "namespace": NAMESPACE, **arguments})
    if stores:
        trigger.asset_state_store = Accessors(*stores)  # type: ignore[assignment]
    return trigger


class Payloads:
    """The payloads of a running trigger."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def put(self, payload: dict[str, Any]) -> None:
        self._queue.put_nowait(payload)

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(TEST_SECONDS):
            return await self._queue.get()

    def __len__(self) -> int:
        return self._queue.qsize()


@asynccontextmanager
async def run(trigger: SparkApplicationEventTrigger, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Payloads]:
    """Run the trigger, from the time when it watches, until it is killed."""
    payloads = Payloads()

    async def fire() -> None:
        async for event in trigger.run():
            payloads.put(event.payload)

    caplog.clear()
    task = asyncio.create_task(fire())
    with caplog.at_level("INFO", spark_application_event_runtime.logger.name):
        async with asyncio.timeout(TEST_SECONDS):
            while "watching SparkApplications" not in caplog.text:
                if task.done():
                    task.result()
                await asyncio.sleep(0.01)
    try:
        yield payloads
    finally:
        task.cancel()
        await asyncio.wait([task])


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(TEST_SECONDS):
        while not condition():  # noqa: ASYNC110 - no event reports the change of a fake
            await asyncio.sleep(0.01)


async def succeed_at_once(application: Application) -> None:
    application.enter("Succeeded", "ResourceReleased")


async def fail_at_once(application: Application) -> None:
    application.start()
    application.fail(exit_code=3)


async def end(cluster: Cluster, name: str, script: Any = succeed_at_once, **metadata: Any) -> str:
    """Create an application that ends, and return its uid."""
    cluster.script = stay_submitted
    uid = cluster.create(name, **metadata)["metadata"]["uid"]
    await asyncio.to_thread(cluster.play, script, name)
    return str(uid)


def test_equal_triggers_have_one_identity() -> None:
    one = SparkApplicationEventTrigger("jobs", outcomes=["failed", "succeeded"], label_selector="team=a")
    other = SparkApplicationEventTrigger("jobs", label_selector="team=a")
    assert one.serialize() == other.serialize()
    assert one.key == other.key
    assert one.key != SparkApplicationEventTrigger("jobs", label_selector="team=b").key


def test_default_connection_is_that_of_the_operators() -> None:
    operator = SparkApplicationOperator(task_id="run", py_file="local:///a.py", image="spark:4.3.0")
    assert SparkApplicationEventTrigger("jobs").kubernetes_conn_id == operator.kubernetes_conn_id
    stored = SparkApplicationEventTrigger("jobs", kubernetes_conn_id=None).serialize()[1]
    assert SparkApplicationEventTrigger(**stored).kubernetes_conn_id is None


@pytest.mark.needs_airflow("3.4")
def test_airflow_stores_the_queue_apart_from_the_arguments() -> None:
    from airflow.serialization.encoders import encode_trigger

    encoded = encode_trigger(SparkApplicationEventTrigger(NAMESPACE, queue="spark"))
    assert encoded["queue"] == "spark"
    assert "queue" not in encoded["kwargs"]


@pytest.mark.skipif(VERSION >= (3, 4), reason="Airflow 3.4 knows queues of event triggers")
def test_queue_warns_on_older_airflow() -> None:
    with pytest.warns(UserWarning, match=r"queue requires Apache Airflow 3\.4 or newer, but found 3\."):
        SparkApplicationEventTrigger(NAMESPACE, queue="spark")


def test_trigger_survives_the_serialization_of_assets() -> None:
    encoders = pytest.importorskip("airflow.serialization.encoders", reason="needs Airflow 3.2")
    trigger = SparkApplicationEventTrigger("jobs", label_selector="a in (b,c)", outcomes={"scheduling", "application"})
    stored = encoders.encode_trigger(trigger)
    again = SparkApplicationEventTrigger(**stored["kwargs"])
    assert stored["classpath"].endswith(".SparkApplicationEventTrigger")
    assert again.serialize() == trigger.serialize()
    hashes = [BaseEventTrigger.hash(*one.serialize()) for one in (trigger, again)]
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"namespace": "Jobs"}, "invalid namespace 'Jobs'"),
        ({"outcomes": ["success"]}, "invalid outcomes"),
        ({"outcomes": []}, "invalid outcomes"),
        ({"label_selector": "team=="}, None),
        ({"label_selector": "=team"}, "label_selector: invalid label selector"),
        ({"label_selector": {"team": "a"}}, "label_selector must be a string, but is of type dict"),
        ({"name_pattern": ""}, "invalid name_pattern"),
        ({"name_pattern": None}, "name_pattern must be a string, but is of type NoneType"),
        ({"namespace": 3}, "namespace must be a string, but is of type int"),
        ({"kubernetes_conn_id": 3}, "kubernetes_conn_id must be a string, but is of type int"),
        ({"outcomes": 3}, "outcomes must be a list of strings, but is of type int"),
        ({"outcomes": [3, "failed"]}, "invalid outcomes"),
        ({"api_version": None}, "api_version must be a string, but is of type NoneType"),
        ({"api_version": "spark.apache.org"}, "api_version: must be one of spark.apache.org/v1, "),
        ({"api_version": "sparkoperator.k8s.io/v1beta2"}, None),
    ],
)
def test_invalid_argument_is_rejected_at_parse(arguments: dict[str, Any], message: str | None) -> None:
    if message is None:
        SparkApplicationEventTrigger(**arguments)
        return
    for kind in (ValueError, TypeError):  # the triggerer survives a TypeError only
        with pytest.raises(kind, match=message):
            SparkApplicationEventTrigger(**arguments)


async def test_trigger_fires_for_applications_that_end_after_its_first_start(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    await end(cluster, "earlier")
    async with run(build(Store()), caplog) as payloads:
        uid = await end(cluster, "pi")
        payload = await payloads.next()
        assert len(payloads) == 0
    assert payload["uid"] == uid
    assert (payload["namespace"], payload["name"], payload["outcome"]) == (NAMESPACE, "pi", "Succeeded")
    assert payload["watcher"] == build().key


async def test_failure_has_its_kind_and_reason(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    async with run(build(Store()), caplog) as payloads:
        await end(cluster, "pi", fail_at_once)
        payload = await payloads.next()
    assert (payload["outcome"], payload["failure_kind"]) == ("Failed", "application")
    assert "exit code 3" in payload["message"]


@pytest.mark.parametrize(
    ("arguments", "selected"),
    [
        ({"name_pattern": "report-*"}, {"report-good", "report-bad"}),
        ({"outcomes": ["succeeded"]}, {"report-good"}),
        ({"outcomes": ["failed"]}, {"report-bad", "other"}),
        ({"outcomes": ["application"]}, {"report-bad", "other"}),
        ({"outcomes": ["infrastructure"]}, set()),
        ({"label_selector": "team=a"}, {"report-bad"}),
        ({"label_selector": "team=a", "outcomes": ["succeeded"]}, set()),
    ],
)
async def test_trigger_fires_for_selected_applications_only(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, arguments: dict[str, Any], selected: set[str]
) -> None:
    # A second trigger fires for everything, and shows when the first one has seen everything.
    async with run(build(Store(), **arguments), caplog) as payloads, run(build(Store()), caplog) as all_payloads:
        await end(cluster, "report-good")
        await end(cluster, "report-bad", fail_at_once, labels={"team": "a"})
        await end(cluster, "other", fail_at_once, labels={"team": "b"})
        for _ in range(3):
            await all_payloads.next()
        names = {(await payloads.next())["name"] for _ in selected}
        assert len(payloads) == 0
    assert names == selected


async def test_restarted_trigger_fires_for_what_it_missed_only(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store()
    trigger = build(store)
    async with run(trigger, caplog) as payloads:
        uid = await end(cluster, "delivered")
        await payloads.next()
    store.values[trigger.key] = format_uids({uid})  # as the listener writes it
    missed = await end(cluster, "missed")
    async with run(build(store), caplog) as payloads:
        assert (await payloads.next())["uid"] == missed
        assert len(payloads) == 0


async def test_killed_trigger_repeats_an_event_that_airflow_has_not_stored(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store()
    async with run(build(store), caplog) as payloads:
        uid = await end(cluster, "pi")
        await payloads.next()
    async with run(build(store), caplog) as payloads:
        assert (await payloads.next())["uid"] == uid


async def test_trigger_writes_the_record_if_the_listener_does_not(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_application_event_runtime, "_CONFIRM_SECONDS", 0.01)
    stores = Store(), Store()
    trigger = build(*stores)
    async with run(trigger, caplog) as payloads:
        uid = await end(cluster, "pi")
        await payloads.next()
        await wait_until(lambda: stores[0].values[trigger.key] == format_uids({uid}))
    assert stores[1].values == stores[0].values
    assert "spark_operator_asset_events did not record" in caplog.text


async def test_confirmed_trigger_asks_airflow_nothing_until_the_next_event(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_application_event_runtime, "_CONFIRM_SECONDS", 0.01)
    store = Store()
    trigger = build(store)
    async with run(trigger, caplog) as payloads:
        first = await end(cluster, "first")
        await payloads.next()
        store.values[trigger.key] = format_uids({first})
        reads = -1
        while reads != store.reads:
            reads = store.reads
            await asyncio.sleep(0.1)
        await end(cluster, "second")
        await payloads.next()
        await wait_until(lambda: store.reads > reads)


async def test_record_forgets_applications_that_no_longer_exist(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_application_event_runtime, "_CONFIRM_SECONDS", 0.01)
    store = Store()
    trigger = build(store)
    store.values[trigger.key] = format_uids(f"deleted-{number}" for number in range(501))
    async with run(trigger, caplog) as payloads:
        uid = await end(cluster, "pi")
        await payloads.next()
        await wait_until(lambda: store.values[trigger.key] == format_uids({uid}))


async def test_asset_that_joins_a_trigger_gets_its_record(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    old, new = Store(), Store()
    trigger = build(old, new)
    uid = await end(cluster, "delivered")
    old.values[trigger.key] = format_uids({uid})
    async with run(trigger, caplog) as payloads:
        assert len(payloads) == 0
    assert new.values == old.values


async def test_trigger_without_asset_state_fires_while_it_runs(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    await end(cluster, "earlier")
    async with run(build(), caplog) as payloads:
        uid = await end(cluster, "pi")
        assert (await payloads.next())["uid"] == uid
        assert len(payloads) == 0
    assert DAG_WITHOUT_STATE in caplog.text


async def test_unknown_connection_is_logged_and_repeated(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    trigger = build(Store(), kubernetes_conn_id="unknown")
    task = asyncio.ensure_future(anext(trigger.run()))
    await wait_until(lambda: "connection 'unknown' is not defined" in caplog.text)
    assert not task.done()
    task.cancel()
    await asyncio.wait([task])
