from datetime import UTC, datetime, timedelta

import pytest

from local_kubernetes.api.kinds.kinds import EVENTS, NAMESPACES
from local_kubernetes.api.store.retention import EventRetention
from local_kubernetes.api.store.store import Store

HOUR = timedelta(hours=1)


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def store() -> Store:
    store = Store()
    store.create(NAMESPACES, None, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    return store


def record(store: Store, *names: str) -> None:
    for name in names:
        event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"}}
        store.create(EVENTS, "default", event)


def list_left(store: Store) -> list[str]:
    return [event["metadata"]["name"] for event in store.objects.list(EVENTS, None)[0]]


def test_event_is_removed_an_hour_after_its_last_change(store: Store) -> None:
    clock = Clock()
    retention = EventRetention(store, clock=clock)
    record(store, "counted", "once")
    retention.sweep()
    clock.now += HOUR / 2
    store.update(EVENTS, "default", "counted", lambda event: event | {"count": 2})
    retention.sweep()
    clock.now += HOUR / 2
    retention.sweep()
    assert list_left(store) == ["counted"]
    clock.now += HOUR / 2
    retention.sweep()
    assert list_left(store) == []


def test_oldest_of_too_many_events_are_removed(store: Store) -> None:
    record(store, "a", "b", "c")
    store.update(EVENTS, "default", "a", lambda event: event | {"count": 2})
    EventRetention(store, most=2).sweep()
    assert list_left(store) == ["a", "c"]
