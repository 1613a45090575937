from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.lifecycle.observation import (
    Absent,
    ApplicationPods,
    Observed,
    Present,
    Unconfirmed,
    confirm_driver,
    find_executors,
    has_fixed_child_names,
    observe,
    observe_live,
)
from airflow_provider_spark_operator.core.models.status import AttemptInfo
from airflow_provider_spark_operator.core.states.states import ApplicationState
from tests import builders
from tests.builders import OPERATOR_NAME
from tests.core.lifecycle.test_drivers import build_pod

APPLICATION = builders.build_application_model()


def get_name(found: JsonObject | None) -> str | None:
    return found["metadata"]["name"] if found else None


def test_driver_missing_from_cache_is_unconfirmed() -> None:
    observed = observe(APPLICATION, [], OPERATOR_NAME)
    assert (observed.driver, observed.last_driver) == (Unconfirmed(), None)


def test_last_state_of_a_deleted_driver_is_observed_but_does_not_prove_its_absence() -> None:
    last, executor = build_pod(), build_pod("x", role="executor", owner="else")
    observed = observe(APPLICATION, [], OPERATOR_NAME, [build_pod("pi-7-driver", selector="pi-7"), last, executor])
    assert (observed.driver, observed.last_driver) == (Unconfirmed(), last)


@pytest.mark.parametrize(
    ("owner", "namesake"), [("former", "pi-0-driver"), (APPLICATION.uid, None)], ids=["not ours", "earlier attempt"]
)
def test_pod_with_the_name_of_the_driver_is_reported_unless_it_is_ours(owner: str, namesake: str | None) -> None:
    status = builders.build_status_at(ApplicationState.SUBMITTED, attempt=AttemptInfo(id=1))
    conf = {"spark.kubernetes.driver.pod.name": "pi-0-driver"}
    application = builders.build_application_model(status=status, conf=conf)
    pod = build_pod(owner=owner, created="2026-01-01T11:00:00Z")
    confirmed = confirm_driver(Observed(), application, [pod], OPERATOR_NAME, [])
    assert confirmed.driver == Absent(namesake)


def test_observation_contains_only_executors_of_driver() -> None:
    driver = build_pod("pi-0-driver")
    uid = driver["metadata"]["uid"]
    pods = [
        driver,
        build_pod("mine", role="executor", owner=uid),
        build_pod("of a deleted driver", role="executor", owner="another"),
    ]
    observed = observe(APPLICATION, pods, OPERATOR_NAME)
    assert observed.driver == Present(driver)
    assert [get_name(dict(executor)) for executor in observed.executors] == ["mine"]
    assert find_executors(driver, pods) == observed.executors


def test_executors_of_a_driver_with_a_changed_label_are_found() -> None:
    driver = build_pod("pi-0-driver", selector="changed")
    executor = build_pod("mine", role="executor", owner=driver["metadata"]["uid"])
    assert find_executors(driver, [driver, executor]) == (executor,)


def test_pods_of_all_attempts_are_observed() -> None:
    drivers = [build_pod("pi-0-driver"), build_pod("pi-1-driver", selector="pi-1")]
    executors = [build_pod("of a deleted driver", role="executor", owner="another")]
    other = [build_pod("of an earlier application", owner="former"), build_pod("else", role="else")]
    expected = ApplicationPods(tuple(drivers), tuple(executors), is_live=False)
    assert observe(APPLICATION, [*drivers, *executors, *other], OPERATOR_NAME).pods == expected


def test_live_read_replaces_all_pods_of_the_cache() -> None:
    driver = build_pod("pi-0-driver")
    executor = build_pod("mine", role="executor", owner=driver["metadata"]["uid"])
    cached = observe(APPLICATION, [driver, executor], OPERATOR_NAME)
    live = observe_live(cached, APPLICATION, [executor], OPERATOR_NAME)
    assert (live.driver, live.executors, live.pods) == (
        Unconfirmed(),
        (),
        ApplicationPods((), (executor,), is_live=True),
    )
    back = observe_live(live, APPLICATION, [driver, executor], OPERATOR_NAME)
    assert (back.driver, back.executors) == (Present(driver), (executor,))
    assert back.pods == ApplicationPods((driver,), (executor,), is_live=True)


def test_executor_without_owner_is_found_by_label() -> None:
    driver, executor = build_pod("pi-0-driver"), build_pod("mine", role="executor")
    del executor["metadata"]["ownerReferences"]
    assert find_executors(driver, [driver, executor]) == (executor,)


@pytest.mark.parametrize("kind", ["StatefulSet", "ReplicaSet"])
@pytest.mark.parametrize(
    ("created", "is_found"),
    [("2026-01-01T12:00:00Z", True), ("2026-01-01T12:00:05Z", True), ("2026-01-01T11:59:59Z", False)],
)
def test_executor_of_a_workload_is_found_unless_it_is_older_than_the_driver(
    kind: str, created: str, is_found: bool
) -> None:
    driver = build_pod("pi-0-driver")
    executor = build_pod("spark-s-pi-0-0-1", role="executor", created=created)
    executor["metadata"]["ownerReferences"] = [{"kind": kind, "uid": "of the workload", "controller": True}]
    assert find_executors(build_pod("pi-1-driver", selector="pi-1"), [executor]) == ()
    assert (find_executors(driver, [driver, executor]) == (executor,)) is is_found


@pytest.mark.parametrize(
    ("modifiers", "fixed"),
    [
        pytest.param({}, False, id="generated names"),
        pytest.param({"conf": {"spark.app.id": "mine"}}, True, id="application id"),
        pytest.param({"configMapSpecs": [{"name": "settings"}]}, True, id="config map"),
        pytest.param({"driverServiceIngressList": [{"ingressMetadata": {"name": "ui"}}]}, True, id="ingress"),
    ],
)
def test_names_of_children_are_fixed_if_the_spec_sets_one(modifiers: dict[str, Any], fixed: bool) -> None:
    assert has_fixed_child_names(builders.build_application_model(**modifiers)) is fixed
