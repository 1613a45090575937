from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.lifecycle.drivers import (
    find_driver,
    find_drivers,
    find_owner_name,
    get_driver_name,
    guess_driver_name,
    is_of_earlier_attempt,
    is_ours,
    list_driver_names,
)
from airflow_provider_spark_operator.core.lifecycle.transitions import move, move_to_next_attempt
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.status import AttemptInfo
from airflow_provider_spark_operator.core.states.states import ApplicationState
from tests import builders
from tests.builders import OPERATOR_NAME

APPLICATION = builders.build_application_model()
UNEDITED = APPLICATION.model_copy(update={"metadata": {**APPLICATION.metadata, "generation": 1}})
BEGAN = builders.NOW + timedelta(milliseconds=1500)
CIRCULAR = {"spark.kubernetes.driver.pod.name": "${spark.kubernetes.driver.pod.name}"}


def build_pod(
    name: str = "pi-0-driver",
    *,
    role: str = "driver",
    selector: str = "pi-0",
    owner: str | None = APPLICATION.uid,
    created: str | None = "2026-01-01T12:00:00Z",
    labels: dict[str, str] | None = None,
    **modifiers: Any,
) -> JsonObject:
    document = builders.build_driver_pod(name=name, **modifiers)
    kind = "Pod" if role == "executor" else "SparkApplication"
    owners = [{"apiVersion": "spark.apache.org/v1", "kind": kind, "name": "pi", "uid": owner}]
    document["metadata"] |= {
        "labels": {
            "spark.operator/name": OPERATOR_NAME,
            "spark.operator/spark-app-name": "pi",
            "spark-role": role,
            "spark-app-selector": selector,
            **(labels or {}),
        },
        "ownerReferences": [] if owner is None else owners,
        "creationTimestamp": created,
    }
    return document


def build_second_attempt(conf: dict[str, str]) -> SparkApplication:
    """Build an application whose second attempt started 1.5 s after its first one."""
    first = builders.build_status(ApplicationState.DRIVER_REQUESTED, ApplicationState.FAILED)
    second = move_to_next_attempt(first, AttemptInfo(id=1), BEGAN, "", trim=True)
    status = move(second, ApplicationState.DRIVER_REQUESTED, BEGAN, "")
    return builders.build_application_model(status=status, conf=conf)


def find_name(application: SparkApplication, attempt: int, *pods: JsonObject) -> str | None:
    """Return the name of the driver of an attempt, None if none of the pods is the driver."""
    found = find_driver(application, attempt, pods, OPERATOR_NAME)
    return found["metadata"]["name"] if found else None


@pytest.mark.parametrize(
    ("attempt", "pods", "found"),
    [
        pytest.param(0, [], None, id="no pod"),
        pytest.param(0, [build_pod()], "pi-0-driver", id="current attempt"),
        pytest.param(0, [build_pod("x", role="executor")], None, id="executor only"),
        pytest.param(0, [build_pod(owner="former")], None, id="earlier application of the same name"),
        pytest.param(1, [build_pod()], None, id="previous attempt"),
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
    assert find_name(APPLICATION, attempt, *pods) == found


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({"spark-role": "executor"}, id="role"),
        pytest.param({"spark.operator/name": "else"}, id="operator"),
        pytest.param({"spark.operator/spark-app-name": "else"}, id="application"),
        pytest.param({"spark-app-selector": "pi-0"}, id="attempt"),
    ],
)
def test_driver_is_found_by_its_name_whatever_its_labels_are(labels: dict[str, str]) -> None:
    driver = build_pod("pi-1-driver", selector="pi-1", labels=labels)
    for conf in ({}, {"spark.app.id": "pi-1"}, {"spark.kubernetes.driver.pod.name": "pi-1-driver"}):
        assert find_name(build_second_attempt(conf), 1, {**driver, "status": {}}, build_pod()) == "pi-1-driver"


@pytest.mark.parametrize("application", [APPLICATION, UNEDITED], ids=["edited", "unedited"])
def test_copy_of_the_driver_does_not_replace_it(application: SparkApplication) -> None:
    copy = build_pod("debug", created="2026-01-01T13:00:00Z")
    assert find_name(application, 0, copy, build_pod(), copy) == "pi-0-driver"


def test_copy_of_the_driver_does_not_replace_it_after_its_name_was_edited() -> None:
    status = builders.build_status(ApplicationState.DRIVER_REQUESTED)
    application = builders.build_application_model(status=status, conf={"spark.kubernetes.driver.pod.name": "edited"})
    driver, copy = build_pod("fixed"), build_pod("debug", created="2026-01-01T12:00:05Z")
    assert find_name(application, 0, copy, driver) == find_name(application, 0, driver, copy) == "fixed"
    driver["metadata"]["creationTimestamp"] = "2026-01-01T11:00:00Z"
    assert find_name(application, 0, copy, driver) == "debug", "the other driver is older than the attempt"


def test_copy_of_an_earlier_driver_with_the_name_of_the_current_one_is_not_the_driver() -> None:
    failed = builders.build_status(ApplicationState.DRIVER_REQUESTED, ApplicationState.FAILED)
    status = move_to_next_attempt(failed, AttemptInfo(id=1), BEGAN, "", trim=True)
    application = builders.build_application_model(status=status)
    copy = build_pod("pi-1-driver", selector="pi-0")
    assert find_name(application, 1, copy) is None
    assert is_of_earlier_attempt(application, 1, copy), "the copy is deleted before the driver is created"
    assert find_name(application, 1, build_pod("pi-1-driver", selector="pi-0", created="2026-01-01T12:00:01Z"))


def test_copy_is_not_ours_unless_an_edit_can_have_changed_the_name_of_the_driver() -> None:
    assert find_drivers(UNEDITED, 0, [build_pod("debug"), build_pod()], OPERATOR_NAME) == [build_pod()]
    assert is_ours(APPLICATION, 0, build_pod("debug"), OPERATOR_NAME)


def test_driver_of_a_later_attempt_is_ours_although_the_status_was_reset() -> None:
    assert is_ours(UNEDITED, 0, build_pod("pi-1-driver", selector="pi-1"), OPERATOR_NAME)


@pytest.mark.parametrize(
    ("modifiers", "expected"),
    [
        pytest.param({}, True, id="orphaned driver"),
        pytest.param({"created": "2026-01-01T11:59:59Z"}, False, id="older than the attempt"),
        pytest.param({"created": None}, False, id="unknown age"),
        pytest.param({"name": "debug"}, False, id="another name"),
        pytest.param({"selector": "pi-1"}, False, id="another attempt"),
        pytest.param({"role": "executor"}, False, id="another role"),
        pytest.param({"labels": {"spark.operator/name": "else"}}, False, id="another operator"),
        pytest.param({"labels": {"spark.operator/spark-app-name": "else"}}, False, id="another application"),
    ],
)
@pytest.mark.parametrize("state", [None, ApplicationState.RUNNING_HEALTHY])
def test_pod_without_owner_is_ours_by_name_labels_and_age(
    modifiers: dict[str, Any], expected: bool, state: ApplicationState | None
) -> None:
    status = builders.build_status_at(state) if state else None
    application = builders.build_application_model(status=status)
    assert is_ours(application, 0, build_pod(owner=None, **modifiers), OPERATOR_NAME) is expected


def test_driver_is_found_for_attempt_in_status() -> None:
    status = builders.build_status_at(ApplicationState.DRIVER_REQUESTED, attempt=AttemptInfo(id=3))
    restarted = builders.build_application_model(status=status)
    pods = [build_pod("pi-2-driver", selector="pi-2"), build_pod("pi-3-driver", selector="pi-3")]
    assert find_name(restarted, 3, *pods) == "pi-3-driver"


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
    assert find_name(build_second_attempt(conf), 1, build_pod(created=created)) == found


def test_driver_of_earlier_attempt_with_changed_labels_is_not_the_current_one() -> None:
    earlier = build_pod("pi-0-driver", selector="pi-1")
    assert find_name(build_second_attempt({}), 1, earlier) is None


def test_driver_is_found_by_user_defined_id() -> None:
    pods = [
        build_pod("mine", selector="mine", created="2026-01-01T11:00:00Z"),
        build_pod("pi-1-driver", selector="pi-1"),
    ]
    assert find_name(build_second_attempt({"spark.app.id": "mine"}), 1, *pods) == "mine"


@pytest.mark.parametrize(
    "conf",
    [
        {"spark.kubernetes.driver.pod.name": "fixed"},
        {"spark.kubernetes.driver.pod.name": "${spark.x}ed", "spark.x": "fix"},
    ],
    ids=["name", "reference"],
)
def test_driver_with_user_defined_name_is_found_despite_earlier_id(conf: dict[str, str]) -> None:
    assert find_name(build_second_attempt(conf), 1, build_pod("fixed")) == "fixed"


def test_driver_with_null_label_is_found() -> None:
    driver = build_pod("pi-1-driver")
    driver["metadata"]["labels"]["spark-app-selector"] = None
    assert find_name(build_second_attempt({}), 1, driver) == "pi-1-driver"


def test_circular_driver_name_matches_no_driver() -> None:
    application = build_second_attempt(CIRCULAR)
    assert find_name(application, 1, build_pod()) is None
    assert list_driver_names(application, 1) == ["pi-1-driver"]
    assert list_driver_names(application.model_copy(update={"metadata": UNEDITED.metadata}), 1) == []


def test_names_of_drivers_follow_from_the_attempts_and_the_spec() -> None:
    application = build_second_attempt({})
    assert list_driver_names(application, 1, 0) == ["pi-1-driver", "pi-0-driver"]
    fixed = build_second_attempt({"spark.app.id": "mine"})
    assert list_driver_names(fixed, 1) == ["mine-driver", "pi-1-driver"]
    assert list_driver_names(fixed.model_copy(update={"metadata": UNEDITED.metadata}), 1) == ["mine-driver"]
    assert get_driver_name(application, 2) == "pi-2-driver"


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        pytest.param({}, "pi-0-driver", id="neither spec nor status"),
        pytest.param({"spec": [], "status": {"currentAttemptSummary": 1}}, "pi-0-driver", id="malformed"),
        pytest.param(
            {"status": {"currentAttemptSummary": {"attemptInfo": {"id": 2}}}}, "pi-2-driver", id="third attempt"
        ),
        pytest.param({"spec": {"sparkConf": {"spark.app.id": "mine"}}}, "mine-driver", id="user-defined id"),
        pytest.param({"spec": {"sparkConf": CIRCULAR}}, None, id="circular name"),
    ],
)
def test_driver_name_of_an_unreadable_application_is_guessed(resource: JsonObject, name: str | None) -> None:
    assert guess_driver_name({"metadata": {"name": "pi", "namespace": "jobs"}, **resource}) == name


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ({"apiVersion": "spark.apache.org/v1beta1", "kind": "SparkApplication"}, "pi"),
        ({"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication"}, None),
        ({"apiVersion": "v1", "kind": "Pod"}, None),
    ],
)
def test_owner_is_named_if_it_is_an_application(reference: dict[str, str], name: str | None) -> None:
    assert find_owner_name({"metadata": {"ownerReferences": [{**reference, "name": "pi", "uid": "u"}]}}) == name
