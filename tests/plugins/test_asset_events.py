"""The listener that records delivered applications, with Airflow's database."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
from airflow.listeners.listener import get_listener_manager
from airflow.models.asset import AssetActive, AssetEvent, AssetModel, AssetWatcherModel
from airflow.models.trigger import Trigger
from airflow.state import AssetScope, get_state_backend
from airflow.triggers.base import TriggerEvent
from airflow.utils.session import create_session
from sqlalchemy import delete, select

from airflow_provider_spark_operator.plugins import delivery
from airflow_provider_spark_operator.plugins.asset_events import DeliveryListener, SparkAssetEventsPlugin
from airflow_provider_spark_operator.plugins.spark_view.plugin import SparkViewPlugin
from airflow_provider_spark_operator.triggers.spark_application_event import SparkApplicationEventTrigger

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.usefixtures("airflow_database", "listener"),
    # Airflow and its dependencies emit warnings. The project's modules must not.
    pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator"),
]
TRIGGER = SparkApplicationEventTrigger("jobs")


@pytest.fixture
def listener() -> Iterator[None]:
    """Register the listener alone, whether or not the plugin is installed."""
    manager = get_listener_manager()
    manager.clear()  # type: ignore[no-untyped-call]
    manager.add_listener(DeliveryListener())  # type: ignore[no-untyped-call]
    yield
    manager.clear()  # type: ignore[no-untyped-call]


@pytest.fixture
def trigger_id() -> Iterator[int]:
    """A trigger that is stored with one asset, the only one in the database."""
    delete_assets()  # other tests in the same database may have left some
    with create_session() as session:
        asset = AssetModel(name="reports", uri="reports", group="asset")
        asset.extra = {}
        trigger = Trigger.from_object(TRIGGER)
        session.add_all([asset, trigger])
        session.flush()
        session.add(AssetActive(name=asset.name, uri=asset.uri))
        session.add(AssetWatcherModel(name="reports", asset_id=asset.id, trigger_id=trigger.id))
        identifier = trigger.id
    yield identifier
    delete_assets()


def delete_assets() -> None:
    with create_session() as session:
        for model in (AssetEvent, AssetWatcherModel, AssetActive, AssetModel, Trigger):
            session.execute(delete(model))


def build_event(uid: str) -> TriggerEvent:
    payload = {"uid": uid, "name": "pi", "watcher": TRIGGER.key}
    return TriggerEvent(payload)  # type: ignore[no-untyped-call]


def read_state() -> tuple[list[str], Any]:
    """Return the uids of the stored events, and the record."""
    with create_session() as session:
        events = session.scalars(select(AssetEvent).order_by(AssetEvent.id)).all()
        uids = [event.extra["payload"]["uid"] for event in events]
        asset_id = session.scalars(select(AssetModel.id)).one()
        stored = get_state_backend().get(AssetScope(asset_id=asset_id), TRIGGER.key, session=session)
    return uids, json.loads(stored) if stored else None


def test_stored_event_and_record_are_written_together(trigger_id: int) -> None:
    for uid in ("u1", "u2"):
        Trigger.submit_event(trigger_id, build_event(uid))
    assert read_state() == (["u1", "u2"], {"uids": ["u1", "u2"]})


def test_failed_transaction_writes_neither_event_nor_record(trigger_id: int) -> None:
    Trigger.submit_event(trigger_id, build_event("u1"))
    with create_session() as session:
        Trigger.submit_event(trigger_id, build_event("u2"), session=session)
        session.flush()
        session.rollback()
    assert read_state() == (["u1"], {"uids": ["u1"]})


def test_event_in_another_session_writes_no_record(trigger_id: int) -> None:
    with create_session(scoped=False) as session:
        Trigger.submit_event(trigger_id, build_event("u1"), session=session)
    assert read_state() == (["u1"], None)


def test_event_is_not_recorded_before_airflow_3_3(trigger_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "HAS_ASSET_STATE", False)
    Trigger.submit_event(trigger_id, build_event("u1"))
    assert read_state() == (["u1"], None)


@pytest.mark.parametrize("payload", [None, "text", {"uid": "u1"}, {"uid": "u1", "watcher": "another"}, {"watcher": 5}])
def test_event_of_another_trigger_is_ignored(trigger_id: int, payload: Any) -> None:
    event = TriggerEvent(payload)  # type: ignore[no-untyped-call]
    Trigger.submit_event(trigger_id, event)
    with create_session() as session:
        asset_id = session.scalars(select(AssetModel.id)).one()
        assert get_state_backend().get(AssetScope(asset_id=asset_id), TRIGGER.key, session=session) is None


def test_plugins_are_declared_for_airflow() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    declared = project["entry-points"]["airflow.plugins"]
    assert [resolve_name(path) for path in declared.values()] == [SparkAssetEventsPlugin, SparkViewPlugin]
    assert [*declared] == [SparkAssetEventsPlugin.name, SparkViewPlugin.name]
