"""Invalid input leads to a message that names the field, or to a defined state."""

from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.driver.attempt import build_attempt
from airflow_provider_spark_operator.core.driver.configuration.configuration import DriverBuildError
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.kubernetes.times import LONGEST_MILLIS
from airflow_provider_spark_operator.core.lifecycle.application import decide
from airflow_provider_spark_operator.core.lifecycle.decision import Settings
from airflow_provider_spark_operator.core.lifecycle.observation import (
    Absent,
    Created,
    DriverObservation,
    Observed,
    Present,
    Unconfirmed,
)
from airflow_provider_spark_operator.core.models.base import INT64_MAX
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.models.status import AttemptInfo
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import RUNNING, STARTING, ApplicationState
from airflow_provider_spark_operator.core.validation.application import validate_application
from tests.builders import (
    NOW,
    build_application_document,
    build_application_model,
    build_driver_pod,
    build_executors,
    build_status,
    build_status_at,
    seconds,
)
from tests.core.simulated_application import SimulatedApplication, simulate

S = ApplicationState
EXTREME_MILLIS = [pytest.param(-INT64_MAX - 1, id="int64 minimum"), pytest.param(INT64_MAX, id="int64 maximum")]
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


def build_tolerations_with_durations(millis: int) -> dict[str, Any]:
    tolerations: dict[str, Any] = {"resourceRetainPolicy": "Always"}
    for part, names in DURATIONS.items():
        (tolerations.setdefault(part, {}) if part else tolerations).update(dict.fromkeys(names, millis))
    return tolerations


@pytest.mark.parametrize("millis", EXTREME_MILLIS)
@pytest.mark.parametrize("state", sorted(ApplicationState))
@pytest.mark.parametrize(
    "driver", [Present(build_driver_pod("ready")), Absent(), Unconfirmed()], ids=lambda d: type(d).__name__
)
def test_extreme_duration_returns_decision_in_every_state(
    millis: int, state: ApplicationState, driver: Absent | Present | Unconfirmed
) -> None:
    resource = build_application_model(
        status=build_status_at(state), tolerations=build_tolerations_with_durations(millis)
    )
    decision = decide(resource, Observed(driver), Settings(), NOW + timedelta(days=400))
    assert decision.requeue_after is None or timedelta(0) <= decision.requeue_after <= timedelta(days=1)


@pytest.mark.parametrize("state", [S.DRIVER_REQUESTED, S.DRIVER_STARTED])
@pytest.mark.parametrize("millis", EXTREME_MILLIS)
def test_extreme_timeout_never_expires(state: ApplicationState, millis: int) -> None:
    resource = build_application_model(
        status=build_status_at(state), tolerations=build_tolerations_with_durations(millis)
    )
    decision = decide(
        resource, Observed(Present(build_driver_pod("unready"))), Settings(), NOW + timedelta(days=36_000)
    )
    assert decision.reason == reasons.NOTHING_DUE


def test_too_long_durations_are_reported_with_their_paths() -> None:
    paths = [
        problem.path
        for problem in validate_application(
            build_application_document(tolerations=build_tolerations_with_durations(10**18))
        )
    ]
    prefix = "spec.applicationTolerations"
    parts = {part: f"{prefix}.{part}" if part else prefix for part in DURATIONS}
    named = [f"{parts[part]}.{name}" for part, names in DURATIONS.items() for name in names]
    assert sorted(paths) == sorted(named)


@pytest.mark.parametrize("millis", [LONGEST_MILLIS, 0])
def test_maximum_and_disabled_durations_are_accepted(millis: int) -> None:
    assert validate_application(build_application_document(tolerations=build_tolerations_with_durations(millis))) == []


def test_message_about_long_duration_contains_maximum() -> None:
    (problem,) = validate_application(build_application_document(tolerations={"ttlAfterStopMillis": 10**18}))
    assert str(problem) == (
        "spec.applicationTolerations.ttlAfterStopMillis: must be at most 3153600000000 milliseconds "
        "(100 years), not 1000000000000000000"
    )


def test_client_mode_is_reported_by_validation() -> None:
    (problem,) = validate_application(build_application_document(deploymentMode="ClientMode"))
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
def test_invalid_executor_numbers_are_reported(config: dict[str, int], path: str) -> None:
    (problem,) = validate_application(build_application_document(instances=config))
    assert problem.path == f"spec.applicationTolerations.instanceConfig.{path}"


@pytest.mark.parametrize("init", [-5, 0, 5])
@pytest.mark.parametrize("least", [-5, 0, 5])
@pytest.mark.parametrize("most", [-5, 0, 3])
@pytest.mark.parametrize("state", sorted(RUNNING | {S.DRIVER_READY}))
def test_invalid_executor_numbers_keep_application_running(
    init: int, least: int, most: int, state: ApplicationState
) -> None:
    instances = {"initExecutors": init, "minExecutors": least, "maxExecutors": most}
    resource = build_application_model(status=build_status_at(state), instances=instances)
    observed = Observed(Present(build_driver_pod("ready")), build_executors(4))
    decision = decide(resource, observed, Settings(), NOW)
    after = decision.status.current_state.current_state_summary if decision.status else state
    assert after in RUNNING | STARTING


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("deploymentMode", "ClusterMode, ClientMode"),
        ("applicationTolerations/resourceRetainPolicy", "Always, OnFailure, Never"),
        ("applicationTolerations/restartConfig/restartPolicy", "Always, OnFailure, OnInfrastructureFailure, Never"),
    ],
)
def test_unknown_enum_value_is_reported_with_supported_values(path: str, known: str) -> None:
    document = build_application_document()
    *parents, last = path.split("/")
    inner = document["spec"]
    for name in parents:
        inner = inner.setdefault(name, {})
    inner[last] = "Perhaps"
    with pytest.raises(InvalidResource) as raised:
        parse_application(document)
    assert str(raised.value) == f"spec.{path.replace('/', '.')}: 'Perhaps' is not supported: use one of {known}"


@pytest.mark.parametrize("name", ["x" * 64, "1st.app.v2", "a.b", "x" * 253])
def test_name_unsuitable_for_child_resources_is_reported(name: str) -> None:
    assert [problem.path for problem in validate_application(build_application_document(name=name))] == [
        "metadata.name"
    ]
    with pytest.raises(DriverBuildError, match=r"^metadata\.name"):
        build_attempt(
            build_application_model(name=name, conf={"spark.kubernetes.container.image": "spark"}), 0, "operator"
        )


@pytest.mark.parametrize("identifier", ["x" * 53, "My.App"])
def test_app_id_unsuitable_for_child_resources_is_reported(identifier: str) -> None:
    (problem,) = validate_application(build_application_document(conf={"spark.app.id": identifier}))
    assert problem.path == "spec.sparkConf['spark.app.id']"
    assert repr(identifier) in problem.message


def test_valid_app_id_is_accepted() -> None:
    assert validate_application(build_application_document(conf={"spark.app.id": "mine"})) == []


# --- status written by another controller ---


def build_document_with_status(**status: Any) -> dict[str, Any]:
    """Return a running application whose status fields are replaced by `status`."""
    return build_application_document(status={**build_status_at(S.RUNNING_HEALTHY).to_document(), **status})


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"stateTransitionHistory": {}}, id="no history"),
        pytest.param({"stateTransitionHistory": None}, id="null history"),
        pytest.param({"currentAttemptSummary": None}, id="no attempt"),
        pytest.param({"previousAttemptSummary": {}}, id="empty previous attempt"),
        pytest.param({"conditions": [{"type": "Future"}]}, id="fields of a newer version"),
        pytest.param(
            {"currentAttemptSummary": {"attemptInfo": {"id": -3, "restartCounter": -9}}}, id="negative counters"
        ),
        pytest.param(
            {"currentAttemptSummary": {"attemptInfo": dict.fromkeys(("id", "restartCounter"), INT64_MAX)}},
            id="int64 maximum counters",
        ),
    ],
)
@pytest.mark.parametrize("story", ["ready", "succeeded", "failed"])
def test_status_of_another_controller_is_continued(status: dict[str, Any], story: str) -> None:
    simulated = SimulatedApplication(
        build_document_with_status(**status)
        | {"spec": build_application_document(restart={"restartPolicy": "Always"})["spec"]}
    )
    simulated.pods[simulated.attempt] = build_driver_pod(story)
    simulated.run()
    assert simulated.state in {"ready": {"RunningHealthy"}}.get(story, {"ScheduledToRestart", "ResourceReleased"})
    assert simulated.application.status is not None
    assert simulated.application.status.to_document().get("conditions") == status.get("conditions")


def test_non_numeric_history_keys_are_preserved() -> None:
    document = build_document_with_status()
    document["status"]["stateTransitionHistory"]["first"] = document["status"]["stateTransitionHistory"]["0"]
    decision = decide(parse_application(document), Observed(Present(build_driver_pod("failed"))), Settings(), NOW)
    assert decision.status is not None
    assert list(decision.status.state_transition_history)[-1] == "5"
    assert "first" in decision.status.state_transition_history


def test_unknown_current_state_is_reported() -> None:
    document = build_document_with_status()
    document["status"]["currentState"]["currentStateSummary"] = "RunningInOrbit"
    with pytest.raises(InvalidResource, match=r"^status\.currentState\.currentStateSummary: 'RunningInOrbit' is not"):
        parse_application(document)


FOREIGN_RECORDS = [
    pytest.param(
        {"currentStateSummary": "DriverInOrbit", "lastTransitionTime": NOW.isoformat(), "height": 400},
        id="unknown state",
    ),
    pytest.param({"currentStateSummary": "Failed", "lastTransitionTime": "yesterday"}, id="invalid time"),
    pytest.param({"currentStateSummary": "Failed"}, id="no time"),
    pytest.param({}, id="empty record"),
]
HISTORIES_OF_A_STATUS = [(), ("currentAttemptSummary",), ("previousAttemptSummary",)]


@pytest.mark.parametrize("record", FOREIGN_RECORDS)
@pytest.mark.parametrize("path", HISTORIES_OF_A_STATUS, ids=lambda path: path[0] if path else "status")
def test_unreadable_history_record_is_preserved(record: dict[str, Any], path: tuple[str, ...]) -> None:
    document = build_document_with_status()
    part = document["status"]
    for name in path:
        part = part.setdefault(name, {})
    part.setdefault("stateTransitionHistory", {})["3"] = record
    simulated = SimulatedApplication(deepcopy(document))
    simulated.pods[simulated.attempt] = build_driver_pod("failed")
    simulated.run()
    assert simulated.state == "ResourceReleased"
    part = simulated.document
    for name in ("status", *path, "stateTransitionHistory"):
        assert part is not None
        part = part[name]
    assert part is not None
    assert part["3"] == record


def test_restart_after_unknown_state_waits_for_backoff() -> None:
    status = build_status(attempt=AttemptInfo(id=1)).to_document()
    status["currentState"]["currentStateSummary"] = "ScheduledToRestart"
    ended = {"currentStateSummary": "DriverInOrbit", "lastTransitionTime": NOW.isoformat()}
    status["previousAttemptSummary"] = {"stateTransitionHistory": {"0": status["currentState"], "1": ended}}
    resource = parse_application(build_application_document(status=status, restart={"restartBackoffMillis": 5000}))
    decision = decide(resource, Observed(), Settings(), NOW + seconds(1))
    assert (decision.reason, decision.requeue_after) == (reasons.RESTART_BACKOFF, seconds(4))


@pytest.mark.parametrize("counter", [2**70, "3", 1.5])
def test_invalid_counter_is_reported(counter: float | str) -> None:
    document = build_document_with_status(currentAttemptSummary={"attemptInfo": {"restartCounter": counter}})
    with pytest.raises(InvalidResource, match=r"^status\.currentAttemptSummary\.attemptInfo\.restartCounter: "):
        parse_application(document)


def test_counters_stop_at_int64_maximum() -> None:
    info = AttemptInfo(**dict.fromkeys(AttemptInfo.model_fields, INT64_MAX))
    status = build_status(S.SCHEDULING_FAILURE, attempt=info)
    restart = {"restartPolicy": "Always", "maxRestartAttempts": INT64_MAX}
    decision = decide(build_application_model(status=status, restart=restart), Observed(Absent()), Settings(), NOW)
    assert decision.status is not None
    assert decision.status.current_attempt_summary.attempt_info == info


# --- clocks ---

EXTREMES = ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-12:00"]


@pytest.mark.parametrize("time", EXTREMES)
@pytest.mark.parametrize("state", sorted(ApplicationState))
def test_decide_accepts_extreme_times(time: str, state: ApplicationState) -> None:
    document = build_application_document(
        status=build_status_at(state).to_document(), tolerations={"ttlAfterStopMillis": 5}
    )
    document["metadata"] |= {"creationTimestamp": time}
    document["status"]["currentState"]["lastTransitionTime"] = time
    pod = build_driver_pod("ready")
    pod["metadata"] |= {"deletionTimestamp": time, "deletionGracePeriodSeconds": 30}
    for resource in (document, {**document, "metadata": {**document["metadata"], "deletionTimestamp": time}}):
        decision = decide(parse_application(resource), Observed(Present(pod)), Settings(), NOW)
        assert decision.requeue_after is None or timedelta(0) <= decision.requeue_after <= timedelta(days=1)
    without_status = {key: value for key, value in document.items() if key != "status"}
    created = decide(parse_application(without_status), Observed(create_outcome=Created()), Settings(), NOW)
    assert created.status is not None


@pytest.mark.parametrize("state", sorted(STARTING))
def test_clock_set_back_causes_no_timeout(state: ApplicationState) -> None:
    resource = build_application_model(
        status=build_status_at(state), timeouts={"driverStartTimeoutMillis": 1}, instances={"initExecutors": 1}
    )
    decision = decide(resource, Observed(Present(build_driver_pod("unready"))), Settings(), NOW - seconds(3600))
    assert decision.status is None
    assert decision.requeue_after is not None


def test_clock_set_back_causes_no_endless_requeues() -> None:
    simulated = simulate(tolerations={"resourceRetainPolicy": "Always", "resourceRetainDurationMillis": 0})
    simulated.set_driver("failed").run()
    simulated.now -= seconds(60)
    assert simulated.run().state == "TerminatedWithoutReleaseResources"
    simulated.advance(59)
    assert simulated.state == "TerminatedWithoutReleaseResources"
    assert simulated.advance(2).state == "ResourceReleased"


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
    driver=st.sampled_from(
        [Present(build_driver_pod("ready")), Present(build_driver_pod("failed")), Absent(), Unconfirmed()]
    ),
    suspend=st.booleans(),
    policy=st.sampled_from(["Always", "Never"]),
    trim=st.booleans(),
)
def test_decide_accepts_any_status(
    status: dict[str, Any], driver: DriverObservation, suspend: bool, policy: str, trim: bool
) -> None:
    document = build_application_document(status=deepcopy(status), suspend=suspend, restart={"restartPolicy": policy})
    resource = parse_application(document)
    for deletion in (None, NOW.isoformat()):
        resource.metadata["deletionTimestamp"] = deletion
        decision = decide(resource, Observed(driver), Settings(trim_state_transition_history=trim), NOW)
        if decision.status is not None:
            written = decision.status.to_document()
            reread = parse_application(document | {"status": written}).status
            assert reread is not None
            assert reread.to_document() == written
