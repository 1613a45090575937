"""What nobody should write, and somebody will: a message that names the field, or a defined state."""

from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.application import decide
from airflow_provider_spark_operator.core.decision import Settings
from airflow_provider_spark_operator.core.driver.attempt import build_attempt
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.models.base import INT64_MAX
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.models.status import AttemptInfo
from airflow_provider_spark_operator.core.observation import (
    Absent,
    Created,
    DriverObservation,
    Observed,
    Present,
    Unconfirmed,
)
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.core.states import RUNNING, STARTING, ApplicationState
from airflow_provider_spark_operator.core.times import LONGEST_MILLIS
from airflow_provider_spark_operator.core.validation.application import validate_application
from tests.builders import NOW, application, application_document, driver_pod, executors, seconds, status_at, status_in
from tests.core.scene import Scene

S = ApplicationState
ABSURD = [pytest.param(-INT64_MAX - 1, id="least"), pytest.param(INT64_MAX, id="greatest")]
DURATIONS = {
    "applicationTimeoutConfig": [
        "driverStartTimeoutMillis",
        "driverReadyTimeoutMillis",
        "executorStartTimeoutMillis",
        "forceTerminationGracePeriodMillis",
        "terminationRequeuePeriodMillis",
    ],
    "restartConfig": [
        "restartBackoffMillis",
        "restartBackoffMillisForFailure",
        "restartBackoffMillisForSchedulingFailure",
        "restartCounterResetMillis",
    ],
    "": ["resourceRetainDurationMillis", "ttlAfterStopMillis"],
}


def all_durations(millis: int) -> dict[str, Any]:
    tolerations: dict[str, Any] = {"resourceRetainPolicy": "Always"}
    for part, names in DURATIONS.items():
        (tolerations.setdefault(part, {}) if part else tolerations).update(dict.fromkeys(names, millis))
    return tolerations


@pytest.mark.parametrize("millis", ABSURD)
@pytest.mark.parametrize("state", sorted(ApplicationState))
@pytest.mark.parametrize(
    "driver", [Present(driver_pod("ready")), Absent(), Unconfirmed()], ids=lambda d: type(d).__name__
)
def test_an_absurd_duration_leads_to_a_decision_in_every_state(
    millis: int, state: ApplicationState, driver: Absent | Present | Unconfirmed
) -> None:
    resource = application(status=status_at(state), tolerations=all_durations(millis))
    decision = decide(resource, Observed(driver), Settings(), NOW + timedelta(days=400))
    assert decision.requeue_after is None or timedelta(0) <= decision.requeue_after <= timedelta(days=1)


@pytest.mark.parametrize("state", [S.DRIVER_REQUESTED, S.DRIVER_STARTED])
@pytest.mark.parametrize("millis", ABSURD)
def test_an_absurd_timeout_never_ends_anything(state: ApplicationState, millis: int) -> None:
    resource = application(status=status_at(state), tolerations=all_durations(millis))
    decision = decide(resource, Observed(Present(driver_pod("unready"))), Settings(), NOW + timedelta(days=36_000))
    assert decision.reason == reasons.NOTHING_DUE


def test_a_duration_that_cannot_be_meant_is_named() -> None:
    paths = [problem.path for problem in validate_application(application_document(tolerations=all_durations(10**18)))]
    prefix = "spec.applicationTolerations"
    parts = {part: f"{prefix}.{part}" if part else prefix for part in DURATIONS}
    named = [f"{parts[part]}.{name}" for part, names in DURATIONS.items() for name in names]
    assert sorted(paths) == sorted(named)


@pytest.mark.parametrize("millis", [LONGEST_MILLIS, 0])
def test_a_duration_that_is_long_or_off_is_no_problem(millis: int) -> None:
    assert validate_application(application_document(tolerations=all_durations(millis))) == []


def test_message_about_long_duration_contains_maximum() -> None:
    (problem,) = validate_application(application_document(tolerations={"ttlAfterStopMillis": 10**18}))
    assert str(problem) == (
        "spec.applicationTolerations.ttlAfterStopMillis: is 1000000000000000000, more than 100 years: "
        "use at most 3153600000000 milliseconds"
    )


def test_client_mode_is_named_before_anything_is_submitted() -> None:
    (problem,) = validate_application(application_document(deploymentMode="ClientMode"))
    assert str(problem) == "spec.deploymentMode: ClientMode is not supported by operators: use ClusterMode"


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"minExecutors": 3, "maxExecutors": 2}, "minExecutors"),
        ({"initExecutors": 3, "maxExecutors": 2}, "initExecutors"),
        ({"initExecutors": -1}, "initExecutors"),
        ({"minExecutors": -1}, "minExecutors"),
        ({"maxExecutors": -1}, "maxExecutors"),
    ],
)
def test_numbers_of_executors_that_make_no_sense_are_named(config: dict[str, int], path: str) -> None:
    (problem,) = validate_application(application_document(instances=config))
    assert problem.path == f"spec.applicationTolerations.instanceConfig.{path}"


@pytest.mark.parametrize("init", [-5, 0, 5])
@pytest.mark.parametrize("least", [-5, 0, 5])
@pytest.mark.parametrize("most", [-5, 0, 3])
@pytest.mark.parametrize("state", sorted(RUNNING | {S.DRIVER_READY}))
def test_numbers_of_executors_that_make_no_sense_lead_to_a_state_all_the_same(
    init: int, least: int, most: int, state: ApplicationState
) -> None:
    instances = {"initExecutors": init, "minExecutors": least, "maxExecutors": most}
    resource = application(status=status_at(state), instances=instances)
    observed = Observed(Present(driver_pod("ready")), executors(4))
    decision = decide(resource, observed, Settings(), NOW)
    after = decision.status.current_state.current_state_summary if decision.status else state
    assert after in RUNNING | STARTING


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("deploymentMode", "ClusterMode, ClientMode"),
        ("applicationTolerations/resourceRetainPolicy", "Always, OnFailure, Never"),
        (
            "applicationTolerations/restartConfig/restartPolicy",
            "Always, OnFailure, OnInfrastructureFailure, Never",
        ),
    ],
)
def test_an_unknown_word_is_answered_with_the_known_ones(path: str, known: str) -> None:
    document = application_document()
    *parents, last = path.split("/")
    inner = document["spec"]
    for name in parents:
        inner = inner.setdefault(name, {})
    inner[last] = "Perhaps"
    with pytest.raises(InvalidResource) as raised:
        parse_application(document)
    assert str(raised.value) == f"spec.{path.replace('/', '.')}: 'Perhaps' is not supported: use one of {known}"


@pytest.mark.parametrize("name", ["x" * 64, "1st.app.v2", "a.b", "x" * 253])
def test_a_name_that_no_child_can_have_is_named(name: str) -> None:
    assert [problem.path for problem in validate_application(application_document(name=name))] == ["metadata.name"]
    with pytest.raises(DriverBuildError, match=r"^metadata\.name"):
        build_attempt(application(name=name, conf={"spark.kubernetes.container.image": "spark"}), 0, "operator")


@pytest.mark.parametrize("identifier", ["x" * 53, "My.App"])
def test_an_id_that_no_child_can_be_named_after_is_named(identifier: str) -> None:
    (problem,) = validate_application(application_document(conf={"spark.app.id": identifier}))
    assert problem.path == "spec.sparkConf['spark.app.id']"
    assert repr(identifier) in problem.message


def test_an_id_that_children_can_be_named_after_is_no_problem() -> None:
    assert validate_application(application_document(conf={"spark.app.id": "mine"})) == []


# --- a status that somebody else has written ---


def foreign(**status: Any) -> dict[str, Any]:
    """A document with a status that is none of ours, on top of one that runs."""
    return application_document(status={**status_at(S.RUNNING_HEALTHY).to_document(), **status})


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"stateTransitionHistory": {}}, id="no history"),
        pytest.param({"stateTransitionHistory": None}, id="a null history"),
        pytest.param({"currentAttemptSummary": None}, id="no attempt"),
        pytest.param({"previousAttemptSummary": {}}, id="an empty attempt before"),
        pytest.param({"conditions": [{"type": "Future"}]}, id="fields of a newer version"),
        pytest.param({"currentAttemptSummary": {"attemptInfo": {"id": -3, "restartCounter": -9}}}, id="negative"),
        pytest.param(
            {"currentAttemptSummary": {"attemptInfo": dict.fromkeys(("id", "restartCounter"), INT64_MAX)}}, id="huge"
        ),
    ],
)
@pytest.mark.parametrize("story", ["ready", "succeeded", "failed"])
def test_a_status_that_somebody_else_has_written_is_built_upon(status: dict[str, Any], story: str) -> None:
    scene = Scene(foreign(**status) | {"spec": application_document(restart={"restartPolicy": "Always"})["spec"]})
    scene.pods[scene.attempt] = driver_pod(story)
    scene.run()
    assert scene.state in {"ready": {"RunningHealthy"}}.get(story, {"ScheduledToRestart", "ResourceReleased"})
    assert scene.application.status is not None
    assert scene.application.status.to_document().get("conditions") == status.get("conditions")


def test_keys_of_a_history_that_are_no_numbers_are_kept_and_come_first() -> None:
    document = foreign()
    document["status"]["stateTransitionHistory"]["first"] = document["status"]["stateTransitionHistory"]["0"]
    decision = decide(parse_application(document), Observed(Present(driver_pod("failed"))), Settings(), NOW)
    assert decision.status is not None
    assert list(decision.status.state_transition_history)[-1] == "5"
    assert "first" in decision.status.state_transition_history


def test_a_state_of_a_newer_version_is_named() -> None:
    document = foreign()
    document["status"]["currentState"]["currentStateSummary"] = "RunningInOrbit"
    with pytest.raises(InvalidResource, match=r"^status\.currentState\.currentStateSummary: 'RunningInOrbit' is not"):
        parse_application(document)


FOREIGN_RECORDS = [
    pytest.param(
        {"currentStateSummary": "DriverInOrbit", "lastTransitionTime": NOW.isoformat(), "height": 400}, id="a word"
    ),
    pytest.param({"currentStateSummary": "Failed", "lastTransitionTime": "yesterday"}, id="a time"),
    pytest.param({"currentStateSummary": "Failed"}, id="no time"),
    pytest.param({}, id="nothing"),
]
HISTORIES_OF_A_STATUS = [(), ("currentAttemptSummary",), ("previousAttemptSummary",)]


@pytest.mark.parametrize("record", FOREIGN_RECORDS)
@pytest.mark.parametrize("path", HISTORIES_OF_A_STATUS, ids=lambda path: path[0] if path else "status")
def test_what_is_not_understood_of_the_past_is_kept_and_hinders_nothing(
    record: dict[str, Any], path: tuple[str, ...]
) -> None:
    document = foreign()
    part = document["status"]
    for name in path:
        part = part.setdefault(name, {})
    part.setdefault("stateTransitionHistory", {})["3"] = record
    scene = Scene(deepcopy(document))
    scene.pods[scene.attempt] = driver_pod("failed")
    scene.run()
    assert scene.state == "ResourceReleased"
    kept = scene.document
    for name in ("status", *path, "stateTransitionHistory"):
        assert kept is not None
        kept = kept[name]
    assert kept is not None
    assert kept["3"] == record


def test_after_an_end_that_is_not_understood_the_next_attempt_waits_as_after_any() -> None:
    status = status_in(attempt=AttemptInfo(id=1)).to_document()
    status["currentState"]["currentStateSummary"] = "ScheduledToRestart"
    ended = {"currentStateSummary": "DriverInOrbit", "lastTransitionTime": NOW.isoformat()}
    status["previousAttemptSummary"] = {"stateTransitionHistory": {"0": status["currentState"], "1": ended}}
    resource = parse_application(application_document(status=status, restart={"restartBackoffMillis": 5000}))
    decision = decide(resource, Observed(), Settings(), NOW + seconds(1))
    assert (decision.reason, decision.requeue_after) == (reasons.RESTART_BACKOFF, seconds(4))


@pytest.mark.parametrize("counter", [2**70, "3", 1.5])
def test_a_counter_that_is_none_is_named(counter: float | str) -> None:
    document = foreign(currentAttemptSummary={"attemptInfo": {"restartCounter": counter}})
    with pytest.raises(InvalidResource, match=r"^status\.currentAttemptSummary\.attemptInfo\.restartCounter: "):
        parse_application(document)


def test_counters_stay_within_what_a_status_can_hold() -> None:
    info = AttemptInfo(**dict.fromkeys(AttemptInfo.model_fields, INT64_MAX))
    status = status_in(S.SCHEDULING_FAILURE, attempt=info)
    restart = {"restartPolicy": "Always", "maxRestartAttempts": INT64_MAX}
    decision = decide(application(status=status, restart=restart), Observed(Absent()), Settings(), NOW)
    assert decision.status is not None
    assert decision.status.current_attempt_summary.attempt_info == info


# --- clocks ---

EXTREMES = ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-12:00"]


@pytest.mark.parametrize("time", EXTREMES)
@pytest.mark.parametrize("state", sorted(ApplicationState))
def test_no_time_is_too_early_or_too_late(time: str, state: ApplicationState) -> None:
    document = application_document(status=status_at(state).to_document(), tolerations={"ttlAfterStopMillis": 5})
    document["metadata"] |= {"creationTimestamp": time}
    document["status"]["currentState"]["lastTransitionTime"] = time
    pod = driver_pod("ready")
    pod["metadata"] |= {"deletionTimestamp": time, "deletionGracePeriodSeconds": 30}
    for resource in (document, {**document, "metadata": {**document["metadata"], "deletionTimestamp": time}}):
        decision = decide(parse_application(resource), Observed(Present(pod)), Settings(), NOW)
        assert decision.requeue_after is None or timedelta(0) <= decision.requeue_after <= timedelta(days=1)
    unborn = {key: value for key, value in document.items() if key != "status"}
    created = decide(parse_application(unborn), Observed(create_outcome=Created()), Settings(), NOW)
    assert created.status is not None


@pytest.mark.parametrize("state", sorted(STARTING))
def test_a_clock_that_runs_backwards_makes_nothing_time_out(state: ApplicationState) -> None:
    resource = application(
        status=status_at(state), timeouts={"driverStartTimeoutMillis": 1}, instances={"initExecutors": 1}
    )
    decision = decide(resource, Observed(Present(driver_pod("unready"))), Settings(), NOW - seconds(3600))
    assert decision.status is None
    assert decision.requeue_after is not None


def test_a_clock_that_runs_backwards_makes_nobody_look_without_end() -> None:
    scene = Scene(
        application_document(tolerations={"resourceRetainPolicy": "Always", "resourceRetainDurationMillis": 0})
    )
    scene.run()
    scene.set_driver("failed")
    scene.run()
    scene.now -= seconds(60)
    assert scene.run().state == "TerminatedWithoutReleaseResources"
    scene.advance(59)
    assert scene.state == "TerminatedWithoutReleaseResources"
    assert scene.advance(2).state == "ResourceReleased"


TIMES = st.sampled_from([*EXTREMES, NOW.isoformat(), "2026-01-01T00:00:00"])
RECORDS = st.fixed_dictionaries(
    {"currentStateSummary": st.sampled_from(sorted(ApplicationState)), "lastTransitionTime": TIMES},
    optional={"message": st.text(max_size=3), "reason": st.sampled_from(["Suspended", "Other"])},
)
HISTORIES = st.none() | st.dictionaries(st.sampled_from(["0", "1", "7", "-1", "x", "9" * 18, "9" * 19]), RECORDS)
COUNTERS = st.integers(-INT64_MAX - 1, INT64_MAX)
ATTEMPTS = st.fixed_dictionaries(
    {"attemptInfo": st.fixed_dictionaries({}, optional=dict.fromkeys(("id", "restartCounter"), COUNTERS))},
    optional={"stateTransitionHistory": HISTORIES},
)


@settings(deadline=None)
@given(
    status=st.fixed_dictionaries(
        {"currentState": RECORDS},
        optional={
            "stateTransitionHistory": HISTORIES,
            "currentAttemptSummary": ATTEMPTS,
            "previousAttemptSummary": ATTEMPTS,
        },
    ),
    driver=st.sampled_from([Present(driver_pod("ready")), Present(driver_pod("failed")), Absent(), Unconfirmed()]),
    suspend=st.booleans(),
    policy=st.sampled_from(["Always", "Never"]),
    trim=st.booleans(),
)
def test_no_status_makes_decide_raise(
    status: dict[str, Any], driver: DriverObservation, suspend: bool, policy: str, trim: bool
) -> None:
    document = application_document(status=deepcopy(status), suspend=suspend, restart={"restartPolicy": policy})
    resource = parse_application(document)
    for deletion in (None, NOW.isoformat()):
        resource.metadata["deletionTimestamp"] = deletion
        decision = decide(resource, Observed(driver), Settings(trim_state_transition_history=trim), NOW)
        if decision.status is not None:
            parse_application(document | {"status": decision.status.to_document()})
