from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.kubernetes.times import read_first_time, read_last_time
from airflow_provider_spark_operator.core.report.events import PodNames, find_pod_names, select_events
from tests.core.report.documents import at, build_application, build_event, build_spark_pod

UID = "00000000-0000-4000-8000-000000000001"
NAMES = PodNames(frozenset({"pi-0-driver"}), ("pi-0-exec-",))


def build_own_event(reason: str, second: float, *, uid: str | None = UID) -> dict[str, Any]:
    """Return an Event about the application with this uid."""
    event = build_event(reason, second)
    event["involvedObject"]["uid"] = uid
    return event


def list_reasons(*events: dict[str, Any], document: dict[str, Any] | None = None) -> list[object]:
    return [event["reason"] for event in select_events(document or build_application(("Submitted", 0)), NAMES, events)]


@pytest.mark.parametrize("name", ["pi-0-driver", "pi-0-exec-1", "pi-0-exec-99"])
def test_driver_and_executor_names_are_names_of_pods_of_the_application(name: str) -> None:
    assert name in NAMES


@pytest.mark.parametrize("name", ["pi-0-driver-svc", "pi-00-exec-1", "tau-0-exec-1", "", None, 7])
def test_other_names_and_other_types_are_no_names_of_pods_of_the_application(name: object) -> None:
    assert name not in NAMES


def test_pods_of_the_latest_twenty_attempts_and_of_no_earlier_one_are_known() -> None:
    document = build_application(("Submitted", 0), attempt=25)
    names = find_pod_names(document, read_progress(document), [build_spark_pod("custom")])
    assert [f"pi-{attempt}-exec-1" in names for attempt in (4, 5, 25, 26)] == [False, True, True, False]
    assert "custom" in names, "a pod that exists is known by its name"


def test_events_of_the_application_and_its_pods_are_sorted_by_their_last_time() -> None:
    again = build_event("BackOff", 2, pod="pi-0-exec-1") | {"lastTimestamp": at(30).isoformat()}
    driver = build_event("Pulled", 9, pod="pi-0-driver")
    assert list_reasons(again, driver, build_own_event("Submitted", 1)) == ["Submitted", "Pulled", "BackOff"]


def test_events_of_one_second_are_in_the_order_of_their_writes() -> None:
    writes = {"101": ("Last", 5.0), "99": ("First", 5.9), "100": ("Second", 5.0)}
    events = [
        build_own_event(reason, second) | {"metadata": {"resourceVersion": version}}
        for version, (reason, second) in writes.items()
    ]
    assert list_reasons(*events) == ["First", "Second", "Last"]


def test_event_without_a_time_comes_first() -> None:
    untimed = build_event("Untimed", 0, pod="pi-0-driver") | {"firstTimestamp": None, "lastTimestamp": None}
    assert list_reasons(build_own_event("Submitted", 1), untimed) == ["Untimed", "Submitted"]


def test_events_of_other_pods_and_of_other_applications_are_left_out() -> None:
    assert list_reasons(build_event("Started", 1, pod="tau-0-exec-1"), build_own_event("Other", 1, uid="other")) == []


def test_event_without_a_uid_does_not_belong_to_an_application_without_a_uid() -> None:
    document = build_application(("Submitted", 0))
    del document["metadata"]["uid"]
    assert list_reasons(build_own_event("Other", 1, uid=None), document=document) == []


def test_events_before_the_creation_of_the_application_belong_to_an_earlier_one_with_its_name() -> None:
    earlier, later = build_event("Killing", -1, pod="pi-0-driver"), build_event("Started", 0, pod="pi-0-driver")
    assert list_reasons(earlier, later) == ["Started"]


def test_event_with_only_an_event_time_happened_once() -> None:
    event = {"eventTime": at(3).isoformat(), "firstTimestamp": None, "lastTimestamp": None}
    assert (read_first_time(event), read_last_time(event)) == (at(3), at(3))
