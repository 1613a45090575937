from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.status import AttemptInfo
from airflow_provider_spark_operator.core.observation import (
    Absent,
    JsonObject,
    Present,
    Unconfirmed,
    find_driver,
    find_executors,
    has_fixed_child_names,
    observe,
)
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.transitions import move, move_to_next_attempt
from tests import builders

APPLICATION = builders.application()


def pod(
    name: str,
    *,
    role: str = "driver",
    selector: str = "pi-0",
    owner: str = APPLICATION.uid,
    created: str = "2026-01-01T12:00:00Z",
    **modifiers: Any,
) -> JsonObject:
    document = builders.driver_pod(name=name, **modifiers)
    document["metadata"] |= {
        "labels": {
            "spark-role": role,
            "spark-app-selector": selector,
            "spark.operator/spark-app-name": "pi",
        },
        "ownerReferences": [{"kind": "SparkApplication", "uid": owner}],
        "creationTimestamp": created,
    }
    return document


def name_of(found: JsonObject | None) -> str | None:
    return found["metadata"]["name"] if found else None


@pytest.mark.parametrize(
    ("attempt", "pods", "found"),
    [
        pytest.param(0, [], None, id="none"),
        pytest.param(0, [pod("pi-0-driver")], "pi-0-driver", id="the one"),
        pytest.param(0, [pod("x", role="executor")], None, id="only an executor"),
        pytest.param(0, [pod("pi-0-driver", owner="former")], None, id="of a former application of that name"),
        pytest.param(1, [pod("pi-0-driver")], None, id="of the attempt before"),
        pytest.param(1, [pod("a"), pod("b", selector="pi-1")], "b", id="of both attempts"),
        pytest.param(0, [pod("own", selector="mine")], "own", id="with an id of the user's"),
        pytest.param(
            0,
            [pod("old", selector="mine", deletion=builders.NOW), pod("new", selector="mine")],
            "new",
            id="one of two is being deleted",
        ),
        pytest.param(
            0,
            [pod("old", selector="x", created="2026-01-01T11:00:00Z"), pod("new", selector="y")],
            "new",
            id="the youngest of two with unknown ids",
        ),
    ],
)
def test_the_driver_of_the_attempt_is_found(attempt: int, pods: list[JsonObject], found: str | None) -> None:
    assert name_of(find_driver(APPLICATION, attempt, pods)) == found


def test_a_driver_that_the_cache_lacks_is_unconfirmed() -> None:
    assert observe(APPLICATION, []).driver == Unconfirmed()


@pytest.mark.parametrize(
    ("state", "selector", "expected"),
    [
        pytest.param(ApplicationState.SUCCEEDED, "pi-0", Absent(), id="after the attempt"),
        pytest.param(ApplicationState.SUCCEEDED, "pi-1", Unconfirmed(), id="of another attempt"),
        pytest.param(ApplicationState.RUNNING_HEALTHY, "pi-0", Unconfirmed(), id="during the attempt"),
    ],
)
def test_a_driver_that_was_seen_to_go_is_looked_for_only_where_another_could_be(
    state: ApplicationState, selector: str, expected: object
) -> None:
    application = builders.application(status=builders.status_at(state, attempt=AttemptInfo(id=int(selector[-1]))))
    departed = pod("pi-0-driver", created="2026-01-01T11:00:00Z")
    assert observe(application, [], [departed]).driver == expected


@pytest.mark.parametrize("key", ["spark.app.id", "spark.kubernetes.driver.pod.name"])
def test_of_names_that_the_user_has_fixed_the_one_that_was_seen_to_go_may_be_an_earlier_attempts(key: str) -> None:
    status = builders.status_at(ApplicationState.FAILED, attempt=AttemptInfo(id=1))
    application = builders.application(status=status, conf={key: "mine"})
    departed = pod("mine", selector="mine" if key == "spark.app.id" else "pi-0", created="2026-01-01T11:00:00Z")
    assert observe(application, [], [departed]).driver == Unconfirmed()


def test_the_driver_comes_with_its_own_executors() -> None:
    driver = pod("pi-0-driver")
    uid = driver["metadata"]["uid"]
    pods = [
        driver,
        pod("mine", role="executor", owner=uid),
        pod("other", role="executor", owner=uid, selector="pi-1"),
        pod("of a driver that has gone", role="executor", owner="another"),
    ]
    observed = observe(APPLICATION, pods)
    assert observed.driver == Present(driver)
    assert [name_of(dict(executor)) for executor in observed.executors] == ["mine"]
    assert find_executors(driver, pods) == observed.executors


def test_an_executor_that_nobody_owns_is_known_by_its_label() -> None:
    driver, executor = pod("pi-0-driver"), pod("mine", role="executor")
    del executor["metadata"]["ownerReferences"]
    assert find_executors(driver, [driver, executor]) == (executor,)


def test_the_status_says_which_attempt_is_the_current_one() -> None:
    status = builders.status_at(ApplicationState.DRIVER_REQUESTED, attempt=AttemptInfo(id=3))
    restarted = builders.application(status=status)
    pods = [pod("pi-2-driver", selector="pi-2"), pod("pi-3-driver", selector="pi-3")]
    observed = observe(restarted, pods)
    assert isinstance(observed.driver, Present)
    assert observed.driver.pod == pods[1]


BEGAN = builders.NOW + timedelta(milliseconds=1500)


def in_attempt_1(conf: dict[str, str]) -> SparkApplication:
    """An application whose second attempt began a second and a half after its first."""
    first = builders.status_in(ApplicationState.DRIVER_REQUESTED, ApplicationState.FAILED)
    second = move_to_next_attempt(first, AttemptInfo(id=1), BEGAN, "", trim=True)
    status = move(second, ApplicationState.DRIVER_REQUESTED, BEGAN, "")
    return builders.application(status=status, conf=conf)


@pytest.mark.parametrize(
    ("conf", "created", "found"),
    [
        pytest.param({"spark.app.id": "pi-0"}, "2026-01-01T12:00:01Z", "pi-0-driver", id="fixed"),
        pytest.param({"spark.app.id": "pi-0"}, "2026-01-01T11:00:00Z", "pi-0-driver", id="fixed, clocks differ"),
        pytest.param({}, "2026-01-01T12:00:01Z", "pi-0-driver", id="fixed when the driver was created"),
        pytest.param({}, "2026-01-01T12:00:00Z", None, id="of the attempt before"),
        pytest.param({}, None, None, id="of unknown age"),
    ],
)
def test_an_id_of_the_users_that_looks_like_an_earlier_attempts_hides_no_driver(
    conf: dict[str, str], created: str | None, found: str | None
) -> None:
    driver = pod("pi-0-driver")
    driver["metadata"]["creationTimestamp"] = created
    assert name_of(find_driver(in_attempt_1(conf), 1, [driver])) == found


def test_the_id_that_the_user_has_fixed_tells_the_driver() -> None:
    pods = [pod("mine", selector="mine", created="2026-01-01T11:00:00Z"), pod("pi-1-driver", selector="pi-1")]
    assert name_of(find_driver(in_attempt_1({"spark.app.id": "mine"}), 1, pods)) == "mine"


@pytest.mark.parametrize(
    "conf",
    [
        {"spark.kubernetes.driver.pod.name": "fixed"},
        {"spark.kubernetes.driver.pod.name": "${spark.x}ed", "spark.x": "fix"},
    ],
    ids=["name", "reference"],
)
def test_driver_of_an_earlier_attempt_counts_if_the_user_sets_its_name(conf: dict[str, str]) -> None:
    driver = pod("fixed", selector="pi-0")
    assert name_of(find_driver(in_attempt_1(conf), 1, [driver])) == "fixed"


def test_a_pod_whose_label_is_none_is_of_no_earlier_attempt() -> None:
    driver = pod("pi-0-driver")
    driver["metadata"]["labels"]["spark-app-selector"] = None
    assert name_of(find_driver(in_attempt_1({}), 1, [driver])) == "pi-0-driver"


@pytest.mark.parametrize(
    ("modifiers", "fixed"),
    [
        pytest.param({}, False, id="generated names"),
        pytest.param({"conf": {"spark.app.id": "mine"}}, True, id="an id"),
        pytest.param({"configMapSpecs": [{"name": "settings"}]}, True, id="a config map"),
        pytest.param({"driverServiceIngressList": [{"ingressMetadata": {"name": "ui"}}]}, True, id="an ingress"),
    ],
)
def test_names_of_children_are_fixed_if_the_spec_sets_one(modifiers: dict[str, Any], fixed: bool) -> None:
    assert has_fixed_child_names(builders.application(**modifiers)) is fixed


def test_a_fixed_driver_name_that_refers_to_itself_finds_no_driver() -> None:
    conf = {"spark.kubernetes.driver.pod.name": "${spark.kubernetes.driver.pod.name}"}
    assert find_driver(in_attempt_1(conf), 1, [pod("pi-0-driver")]) is None
