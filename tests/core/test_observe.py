from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.status import AttemptInfo
from airflow_provider_spark_operator.core.observation import (
    Absent,
    ApplicationPods,
    JsonObject,
    Present,
    Unconfirmed,
    find_driver,
    find_executors,
    has_fixed_child_names,
    observe,
    observe_live,
)
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.transitions import move, move_to_next_attempt
from tests import builders

APPLICATION = builders.build_application_model()


def build_pod(
    name: str,
    *,
    role: str = "driver",
    selector: str = "pi-0",
    owner: str = APPLICATION.uid,
    created: str = "2026-01-01T12:00:00Z",
    **modifiers: Any,
) -> JsonObject:
    document = builders.build_driver_pod(name=name, **modifiers)
    document["metadata"] |= {
        "labels": {
            "spark-role": role,
            "spark-app-selector": selector,
            "spark.operator/spark-app-name": "pi",
        },
        "ownerReferences": [{"kind": "Pod" if role == "executor" else "SparkApplication", "uid": owner}],
        "creationTimestamp": created,
    }
    return document


def get_name(found: JsonObject | None) -> str | None:
    return found["metadata"]["name"] if found else None


@pytest.mark.parametrize(
    ("attempt", "pods", "found"),
    [
        pytest.param(0, [], None, id="no pod"),
        pytest.param(0, [build_pod("pi-0-driver")], "pi-0-driver", id="current attempt"),
        pytest.param(0, [build_pod("x", role="executor")], None, id="executor only"),
        pytest.param(0, [build_pod("pi-0-driver", owner="former")], None, id="earlier application of the same name"),
        pytest.param(1, [build_pod("pi-0-driver")], None, id="previous attempt"),
        pytest.param(1, [build_pod("a"), build_pod("b", selector="pi-1")], "b", id="both attempts"),
        pytest.param(0, [build_pod("own", selector="mine")], "own", id="user-defined id"),
        pytest.param(
            0,
            [build_pod("old", selector="mine", deletion=builders.NOW), build_pod("new", selector="mine")],
            "new",
            id="one of two under deletion",
        ),
        pytest.param(
            0,
            [build_pod("old", selector="x", created="2026-01-01T11:00:00Z"), build_pod("new", selector="y")],
            "new",
            id="youngest of two with unknown ids",
        ),
    ],
)
def test_driver_of_current_attempt_is_found(attempt: int, pods: list[JsonObject], found: str | None) -> None:
    assert get_name(find_driver(APPLICATION, attempt, pods)) == found


def test_driver_missing_from_cache_is_unconfirmed() -> None:
    assert observe(APPLICATION, []).driver == Unconfirmed()


@pytest.mark.parametrize(
    ("state", "selector", "expected"),
    [
        pytest.param(ApplicationState.SUCCEEDED, "pi-0", Absent(), id="attempt stopped"),
        pytest.param(ApplicationState.SUCCEEDED, "pi-1", Unconfirmed(), id="another attempt"),
        pytest.param(ApplicationState.RUNNING_HEALTHY, "pi-0", Unconfirmed(), id="attempt running"),
    ],
)
def test_deleted_driver_is_absent_only_if_its_attempt_has_stopped(
    state: ApplicationState, selector: str, expected: object
) -> None:
    application = builders.build_application_model(
        status=builders.build_status_at(state, attempt=AttemptInfo(id=int(selector[-1])))
    )
    deleted = build_pod("pi-0-driver", created="2026-01-01T11:00:00Z")
    assert observe(application, [], [deleted]).driver == expected


@pytest.mark.parametrize("key", ["spark.app.id", "spark.kubernetes.driver.pod.name"])
def test_deleted_driver_with_user_defined_name_is_unconfirmed(key: str) -> None:
    status = builders.build_status_at(ApplicationState.FAILED, attempt=AttemptInfo(id=1))
    application = builders.build_application_model(status=status, conf={key: "mine"})
    deleted = build_pod("mine", selector="mine" if key == "spark.app.id" else "pi-0", created="2026-01-01T11:00:00Z")
    assert observe(application, [], [deleted]).driver == Unconfirmed()


def test_observation_contains_only_executors_of_driver() -> None:
    driver = build_pod("pi-0-driver")
    uid = driver["metadata"]["uid"]
    pods = [
        driver,
        build_pod("mine", role="executor", owner=uid),
        build_pod("other", role="executor", owner=uid, selector="pi-1"),
        build_pod("of a deleted driver", role="executor", owner="another"),
    ]
    observed = observe(APPLICATION, pods)
    assert observed.driver == Present(driver)
    assert [get_name(dict(executor)) for executor in observed.executors] == ["mine"]
    assert find_executors(driver, pods) == observed.executors


def test_pods_of_all_attempts_are_observed() -> None:
    drivers = [build_pod("pi-0-driver"), build_pod("pi-1-driver", selector="pi-1")]
    executors = [build_pod("of a deleted driver", role="executor", owner="another")]
    other = [build_pod("of an earlier application", owner="former"), build_pod("else", role="else")]
    expected = ApplicationPods(tuple(drivers), tuple(executors), is_live=False)
    assert observe(APPLICATION, [*drivers, *executors, *other]).pods == expected


def test_live_read_replaces_all_pods_of_the_cache() -> None:
    driver = build_pod("pi-0-driver")
    executor = build_pod("mine", role="executor", owner=driver["metadata"]["uid"])
    cached = observe(APPLICATION, [driver, executor])
    live = observe_live(cached, APPLICATION, [executor])
    assert (live.driver, live.executors, live.pods) == (Absent(), (), ApplicationPods((), (executor,), is_live=True))
    back = observe_live(live, APPLICATION, [driver, executor])
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
    assert (find_executors(driver, [driver, executor]) == (executor,)) is is_found


def test_driver_is_found_for_attempt_in_status() -> None:
    status = builders.build_status_at(ApplicationState.DRIVER_REQUESTED, attempt=AttemptInfo(id=3))
    restarted = builders.build_application_model(status=status)
    pods = [build_pod("pi-2-driver", selector="pi-2"), build_pod("pi-3-driver", selector="pi-3")]
    observed = observe(restarted, pods)
    assert isinstance(observed.driver, Present)
    assert observed.driver.pod == pods[1]


BEGAN = builders.NOW + timedelta(milliseconds=1500)


def build_second_attempt(conf: dict[str, str]) -> SparkApplication:
    """Build an application whose second attempt started 1.5 s after its first one."""
    first = builders.build_status(ApplicationState.DRIVER_REQUESTED, ApplicationState.FAILED)
    second = move_to_next_attempt(first, AttemptInfo(id=1), BEGAN, "", trim=True)
    status = move(second, ApplicationState.DRIVER_REQUESTED, BEGAN, "")
    return builders.build_application_model(status=status, conf=conf)


@pytest.mark.parametrize(
    ("conf", "created", "found"),
    [
        pytest.param({"spark.app.id": "pi-0"}, "2026-01-01T12:00:01Z", "pi-0-driver", id="user-defined id"),
        pytest.param(
            {"spark.app.id": "pi-0"}, "2026-01-01T11:00:00Z", "pi-0-driver", id="user-defined id, older driver"
        ),
        pytest.param({}, "2026-01-01T12:00:01Z", "pi-0-driver", id="driver created in this attempt"),
        pytest.param({}, "2026-01-01T12:00:00Z", None, id="previous attempt"),
        pytest.param({}, None, None, id="unknown creation time"),
    ],
)
def test_driver_with_id_of_earlier_attempt_is_found_by_creation_time_or_configuration(
    conf: dict[str, str], created: str | None, found: str | None
) -> None:
    driver = build_pod("pi-0-driver")
    driver["metadata"]["creationTimestamp"] = created
    assert get_name(find_driver(build_second_attempt(conf), 1, [driver])) == found


def test_driver_is_found_by_user_defined_id() -> None:
    pods = [
        build_pod("mine", selector="mine", created="2026-01-01T11:00:00Z"),
        build_pod("pi-1-driver", selector="pi-1"),
    ]
    assert get_name(find_driver(build_second_attempt({"spark.app.id": "mine"}), 1, pods)) == "mine"


@pytest.mark.parametrize(
    "conf",
    [
        {"spark.kubernetes.driver.pod.name": "fixed"},
        {"spark.kubernetes.driver.pod.name": "${spark.x}ed", "spark.x": "fix"},
    ],
    ids=["name", "reference"],
)
def test_driver_with_user_defined_name_is_found_despite_earlier_id(conf: dict[str, str]) -> None:
    driver = build_pod("fixed", selector="pi-0")
    assert get_name(find_driver(build_second_attempt(conf), 1, [driver])) == "fixed"


def test_driver_with_null_label_is_found() -> None:
    driver = build_pod("pi-0-driver")
    driver["metadata"]["labels"]["spark-app-selector"] = None
    assert get_name(find_driver(build_second_attempt({}), 1, [driver])) == "pi-0-driver"


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


def test_circular_driver_name_matches_no_driver() -> None:
    conf = {"spark.kubernetes.driver.pod.name": "${spark.kubernetes.driver.pod.name}"}
    assert find_driver(build_second_attempt(conf), 1, [build_pod("pi-0-driver")]) is None
