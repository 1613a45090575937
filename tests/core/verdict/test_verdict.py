from collections.abc import Sequence
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.lifecycle.application import decide
from airflow_provider_spark_operator.core.lifecycle.decision import Settings
from airflow_provider_spark_operator.core.lifecycle.observation import Observed, Refused
from airflow_provider_spark_operator.core.lifecycle.transitions import move, move_to_next_attempt
from airflow_provider_spark_operator.core.log.executor_refusals import REFUSED
from airflow_provider_spark_operator.core.models.status import ApplicationStatus, AttemptInfo
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import TERMINATED, ApplicationState
from airflow_provider_spark_operator.core.verdict.driver_facts import confirm_end
from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, Outcome, Verdict, judge_progress
from tests.builders import (
    NOW,
    build_application_document,
    build_application_model,
    build_container,
    build_driver_pod,
    build_pod,
    build_status,
    build_status_at,
)
from tests.core.simulated_application import simulate

S = ApplicationState
APPLICATION, INFRASTRUCTURE, SCHEDULING = FailureKind.APPLICATION, FailureKind.INFRASTRUCTURE, FailureKind.SCHEDULING


def judge_status(status: ApplicationStatus, warnings: Sequence[str] = ()) -> Verdict:
    document = build_application_document(status=status.to_document())
    return judge_progress(confirm_end(read_progress(document), document, []), warnings)


def judge_stop(
    stop: ApplicationState, message: str = "", driver: dict[str, Any] | None = None, warnings: Sequence[str] = ()
) -> Verdict:
    """Judge an application that stopped in state `stop` and was then released."""
    origin = {
        S.SCHEDULING_FAILURE: (),
        S.DRIVER_READY_TIMED_OUT: (S.DRIVER_REQUESTED, S.DRIVER_STARTED),
        S.EXECUTORS_START_TIMED_OUT: (S.DRIVER_REQUESTED, S.DRIVER_STARTED, S.DRIVER_READY),
    }.get(stop, (S.DRIVER_REQUESTED,))
    status = move(build_status(*origin), stop, NOW, message, driver["status"] if driver else None)
    return judge_status(move(status, S.RESOURCE_RELEASED, NOW, ""), warnings)


def get_judgement(verdict: Verdict) -> tuple[Outcome, FailureKind | None, bool, str, str]:
    return verdict.outcome, verdict.failure_kind, verdict.retry_worthy, verdict.reason, verdict.sentence


@pytest.mark.parametrize("state", sorted(set(ApplicationState) - TERMINATED))
def test_outcome_is_waiting_until_terminal_state(state: ApplicationState) -> None:
    in_progress = f"The application is in progress: {state}."
    sentence = "The application is suspended by spec.suspend." if state == S.SUSPENDED else in_progress
    verdict = judge_status(build_status_at(state))
    assert get_judgement(verdict) == (Outcome.WAITING, None, False, reasons.IN_PROGRESS, sentence)
    assert verdict.state == state


def test_released_application_that_succeeded_has_outcome_succeeded() -> None:
    verdict = judge_stop(S.SUCCEEDED)
    sentence = "The application succeeded."
    assert get_judgement(verdict) == (Outcome.SUCCEEDED, None, False, reasons.SUCCEEDED, sentence)
    assert (verdict.state, verdict.attempts, verdict.had_driver) == (S.SUCCEEDED, 1, True)


def test_released_application_without_result_is_cancelled() -> None:
    cancelled = judge_status(build_status(S.DRIVER_REQUESTED, S.RESOURCE_RELEASED))
    sentence = "The application ended without a result: its resources were deleted before its latest attempt ended."
    assert get_judgement(cancelled) == (Outcome.FAILED, INFRASTRUCTURE, True, reasons.CANCELLED, sentence)
    assert cancelled.state == S.RESOURCE_RELEASED


def test_cancelled_attempt_ignores_result_of_previous_attempt() -> None:
    first = build_status(S.DRIVER_REQUESTED, S.SUCCEEDED)
    second = move_to_next_attempt(first, AttemptInfo(id=1), NOW, "", trim=False)
    assert judge_status(move(second, S.RESOURCE_RELEASED, NOW, "")).reason == reasons.CANCELLED


UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available: 3 Insufficient cpu."}
DISRUPTED = {"type": "DisruptionTarget", "status": "True"}

FAILURES = {
    "exit code": (
        *(S.FAILED, "", build_driver_pod("failed"), APPLICATION, reasons.DRIVER_FAILED),
        "container spark-kubernetes-driver of the driver ended with exit code 1 (Error)",
    ),
    "out of memory": (
        *(S.FAILED, "", build_driver_pod("killed"), APPLICATION, reasons.OUT_OF_MEMORY),
        "container spark-kubernetes-driver of the driver ended with exit code 137 (OOMKilled); "
        "raise spark.driver.memory or spark.driver.memoryOverhead",
    ),
    "full heap": (
        S.FAILED,
        "",
        build_pod("Failed", build_container(exit_code=52), build_container("proxy", exit_code=1)),
        APPLICATION,
        reasons.DRIVER_FAILED,
        "container spark-kubernetes-driver of the driver ended with exit code 52",
    ),
    "init container": (
        S.FAILED,
        "",
        build_pod(
            "Pending", build_container(waiting="PodInitializing"), init=[build_container("prepare", exit_code=2)]
        ),
        APPLICATION,
        reasons.INIT_CONTAINER_FAILED,
        "container prepare of the driver ended with exit code 2",
    ),
    "message of the pod": (
        S.FAILED,
        "",
        build_pod("Failed", reason="DeadlineExceeded", message="too long"),
        APPLICATION,
        reasons.DRIVER_FAILED,
        "the driver pod failed (DeadlineExceeded: too long)",
    ),
    "message of the state": (
        S.FAILED,
        "Container x was restarted.",
        build_pod("Running", build_container(restarts=1)),
        APPLICATION,
        reasons.DRIVER_FAILED,
        "container x was restarted",
    ),
    "node shutdown": (
        S.FAILED,
        "",
        build_driver_pod("killed", reason="NodeShutdown", message="the node shuts down"),
        INFRASTRUCTURE,
        reasons.DRIVER_INTERRUPTED,
        "the driver pod was disrupted (NodeShutdown: the node shuts down); retry",
    ),
    "disrupted": (
        *(S.FAILED, "", build_driver_pod("failed", conditions=[DISRUPTED]), INFRASTRUCTURE, reasons.DRIVER_INTERRUPTED),
        "the driver pod was disrupted; retry",
    ),
    "no such command": (
        S.FAILED,
        "",
        build_pod("Failed", build_container(exit_code=128, reason="StartError", message="exec: java: not found")),
        INFRASTRUCTURE,
        reasons.CONTAINER_REFUSED,
        "the driver's container spark-kubernetes-driver could not be started: exec: java: not found; "
        "check its command and image (spec.driverSpec, spark.kubernetes.container.image)",
    ),
    "no such command, no message": (
        S.FAILED,
        "",
        build_pod("Failed", build_container(exit_code=127, reason="ContainerCannotRun")),
        INFRASTRUCTURE,
        reasons.CONTAINER_REFUSED,
        "the driver's container spark-kubernetes-driver could not be started: ContainerCannotRun; "
        "check its command and image (spec.driverSpec, spark.kubernetes.container.image)",
    ),
    "killed": (
        S.FAILED,
        "",
        build_pod("Failed", build_container(exit_code=137, reason="Error")),
        APPLICATION,
        reasons.DRIVER_FAILED,
        "container spark-kubernetes-driver of the driver ended with exit code 137 (Error, killed by SIGKILL)",
    ),
    "Spark container takes precedence": (
        S.FAILED,
        "",
        build_pod("Failed", build_container("proxy", exit_code=2), build_container(exit_code=3)),
        APPLICATION,
        reasons.DRIVER_FAILED,
        "container spark-kubernetes-driver of the driver ended with exit code 3",
    ),
    "out of memory takes precedence": (
        S.FAILED,
        "",
        build_pod("Failed", build_container(exit_code=3), build_container("proxy", exit_code=137, reason="OOMKilled")),
        APPLICATION,
        reasons.OUT_OF_MEMORY,
        "container proxy of the driver ended with exit code 137 (OOMKilled); "
        "raise the memory limit of proxy in spec.driverSpec.podTemplateSpec",
    ),
    "lost": (S.FAILED, "The driver pod is gone.", None, INFRASTRUCTURE, reasons.DRIVER_LOST, "the driver pod is gone"),
    "lost, no message": (
        *(S.FAILED, "", None, INFRASTRUCTURE, reasons.DRIVER_LOST),
        "the driver pod no longer exists, and its result is unknown",
    ),
    "evicted": (
        S.DRIVER_EVICTED,
        "",
        build_driver_pod("killed", reason="Evicted", message="low on memory"),
        INFRASTRUCTURE,
        reasons.DRIVER_EVICTED,
        "the driver pod was evicted from its node: low on memory; "
        "raise the requests of the driver to its actual usage; for memory, raise spark.driver.memoryOverhead",
    ),
    "refused": (
        *(S.SCHEDULING_FAILURE, "cannot create pods: quota exceeded", None, SCHEDULING, reasons.SCHEDULING_FAILED),
        "cannot create pods: quota exceeded",
    ),
    "refused, no message": (
        *(S.SCHEDULING_FAILURE, "", None, SCHEDULING, reasons.SCHEDULING_FAILED),
        "the driver's resources could not be created",
    ),
    "unschedulable": (
        S.DRIVER_START_TIMED_OUT,
        "",
        build_pod("Pending", conditions=[UNSCHEDULABLE]),
        SCHEDULING,
        reasons.UNSCHEDULABLE,
        "the driver pod could not be scheduled: 0/3 nodes are available: 3 Insufficient cpu; "
        "reduce the requests (spark.driver.cores, spark.driver.memory), or add nodes that fit",
    ),
    "image": (
        S.DRIVER_START_TIMED_OUT,
        "",
        build_pod("Pending", build_container(waiting="ImagePullBackOff", message="pull spark:9")),
        INFRASTRUCTURE,
        reasons.IMAGE_UNAVAILABLE,
        "the image of the driver's container spark-kubernetes-driver could not be pulled: "
        "ImagePullBackOff: pull spark:9; "
        "check spark.kubernetes.container.image and spark.kubernetes.container.image.pullSecrets",
    ),
    "container refused": (
        S.DRIVER_START_TIMED_OUT,
        "",
        build_pod("Pending", build_container(waiting="CreateContainerConfigError", message='configmap "x" not found')),
        INFRASTRUCTURE,
        reasons.CONTAINER_REFUSED,
        "the driver's container spark-kubernetes-driver could not be created: CreateContainerConfigError: "
        'configmap "x" not found; create the ConfigMap x in the namespace of the application, or correct its name',
    ),
    "start timeout": (
        *(S.DRIVER_START_TIMED_OUT, "", build_driver_pod("pulling"), INFRASTRUCTURE, reasons.DRIVER_START_TIMED_OUT),
        "the driver did not start in time; check the driver pod's events, or raise driverStartTimeoutMillis",
    ),
    "ready timeout": (
        *(S.DRIVER_READY_TIMED_OUT, "", build_driver_pod("unready"), INFRASTRUCTURE, reasons.DRIVER_READY_TIMED_OUT),
        "the driver started but was not ready in time; "
        "check the driver's log and readiness probe, or raise driverReadyTimeoutMillis",
    ),
    "executors timeout": (
        S.EXECUTORS_START_TIMED_OUT,
        "",
        build_driver_pod("ready"),
        INFRASTRUCTURE,
        reasons.EXECUTORS_START_TIMED_OUT,
        "too few executors were ready in time; "
        "check the executor pods' events, lower initExecutors if it is set, or raise executorStartTimeoutMillis",
    ),
}


@pytest.mark.parametrize(("stop", "message", "driver", "kind", "reason", "words"), FAILURES.values(), ids=FAILURES)
def test_failure_has_kind_cause_and_advice(
    stop: ApplicationState, message: str, driver: dict[str, Any] | None, kind: FailureKind, reason: str, words: str
) -> None:
    failed = judge_stop(stop, message, driver)
    assert (failed.outcome, failed.failure_kind, failed.reason) == (Outcome.FAILED, kind, reason)
    assert failed.sentence == f"{stop}: {words}."
    assert failed.retry_worthy is (reason != reasons.OUT_OF_MEMORY)
    assert failed.has_cause_in_log is (kind is FailureKind.APPLICATION and reason != reasons.OUT_OF_MEMORY)


UNEXPLAINED = {
    "evicted": (S.DRIVER_EVICTED, build_driver_pod("killed", reason="Evicted"), "evicted from its node; raise"),
    "unschedulable": (
        S.DRIVER_START_TIMED_OUT,
        build_pod("Pending", conditions=[{"type": "PodScheduled", "status": "False"}]),
        "could not be scheduled: no reason given; reduce",
    ),
    "pod with reason": (S.FAILED, build_pod("Failed", reason="DeadlineExceeded"), "pod failed (DeadlineExceeded)."),
    "pod with message": (S.FAILED, build_pod("Failed", message="too long"), "pod failed (too long)."),
    "pod without reason and message": (S.FAILED, build_pod("Failed"), "Failed: the driver failed."),
    "container": (S.FAILED, build_pod("Failed", build_container(exit_code=3)), "ended with exit code 3."),
}


@pytest.mark.parametrize(("stop", "driver", "words"), UNEXPLAINED.values(), ids=UNEXPLAINED)
def test_failure_without_message_is_a_complete_sentence(
    stop: ApplicationState, driver: dict[str, Any], words: str
) -> None:
    assert words in judge_stop(stop, "", driver).sentence


def test_out_of_memory_failure_is_not_worth_a_retry() -> None:
    assert judge_stop(S.FAILED, "", build_driver_pod("killed")).retry_worthy is False
    assert judge_stop(S.FAILED, "", build_driver_pod("failed")).retry_worthy is True


@pytest.mark.parametrize(
    ("driver", "roles"),
    [
        (build_pod("Failed", build_container(exit_code=52)), ("driver",)),
        (build_pod("Failed", build_container(exit_code=1), build_container("proxy", exit_code=52)), ()),
        (build_pod("Pending", init=[build_container("fetch", exit_code=52)]), ()),
    ],
    ids=["of Spark's container", "of another container", "of an init container"],
)
def test_exit_code_of_a_full_heap_counts_only_for_the_container_of_spark(
    driver: dict[str, Any], roles: tuple[str, ...]
) -> None:
    verdict = judge_stop(S.FAILED, "", driver)
    assert (verdict.out_of_memory, verdict.retry_worthy, verdict.has_cause_in_log) == (roles, True, True)


STARTED, WAITING = ApplicationState.FAILED, ApplicationState.DRIVER_START_TIMED_OUT


@pytest.mark.parametrize(
    ("stop", "reason", "message", "worthy"),
    [
        (STARTED, "StartError", 'exec: "driver": executable file not found in $PATH: unknown', False),
        (STARTED, "StartError", 'exec: "/a/b": stat /a/b: no such file or directory: unknown', False),
        (STARTED, "ContainerCannotRun", 'exec: "/tmp": permission denied: unknown', False),
        (STARTED, "ContainerCannotRun", 'exec: "/tmp": is a directory: unknown', False),
        (STARTED, "StartError", "exec /bin/sh: exec format error", True),
        (STARTED, "StartError", "open /sys/fs/cgroup/a: no such file or directory", True),
        (WAITING, "CreateContainerError", "no command specified", False),
        (WAITING, "RunContainerError", 'exec: "driver": executable file not found in $PATH', False),
        (WAITING, "CreateContainerConfigError", "container has runAsNonRoot and image will run as root", False),
        (WAITING, "CreateContainerConfigError", "container's runAsUser breaks the non-root policy", False),
        (WAITING, "CreateContainerConfigError", 'secret "x" not found', True),
        (WAITING, "CreateContainerConfigError", "couldn't find key a in ConfigMap jobs/x", True),
        (WAITING, "InvalidImageName", 'couldn\'t parse image name "a b"', False),
        (WAITING, "ErrImagePull", "spark:9: not found", True),
    ],
)
def test_container_that_no_node_can_start_is_not_worth_a_retry(
    stop: ApplicationState, reason: str, message: str, worthy: bool
) -> None:
    ended = {"exit_code": 128, "reason": reason} if stop is STARTED else {"waiting": reason}
    driver = build_pod("Failed" if stop is STARTED else "Pending", build_container(message=message, **ended))
    verdict = judge_stop(stop, "", driver)
    assert (verdict.failure_kind, verdict.retry_worthy) == (INFRASTRUCTURE, worthy)


def test_wrong_user_of_an_image_is_no_missing_object() -> None:
    container = build_container(
        waiting="CreateContainerConfigError", message="container has runAsNonRoot and image will run as root"
    )
    sentence = judge_stop(WAITING, "", build_pod("Pending", container)).sentence
    advice = "check its command, user and image (spec.driverSpec, spark.kubernetes.container.image)."
    assert sentence.endswith(advice)


def test_unsupported_spec_is_not_worth_a_retry() -> None:
    simulated = simulate(deploymentMode="ClientMode")
    assert simulated.document is not None
    refused = judge_progress(read_progress(simulated.document))
    assert (refused.reason, refused.failure_kind, refused.retry_worthy) == (reasons.SPEC_UNSUPPORTED, SCHEDULING, False)


def test_unsupported_spec_is_recognized_by_apache_message() -> None:
    refused = judge_stop(S.FAILED, "Client mode is not supported yet.")
    assert (refused.reason, refused.failure_kind, refused.retry_worthy) == (reasons.SPEC_UNSUPPORTED, SCHEDULING, False)


def test_lost_driver_is_recognized_by_reason_despite_message() -> None:
    status = move(
        build_status(S.DRIVER_REQUESTED),
        S.FAILED,
        NOW,
        "client mode is what the pod was called",
        reason=reasons.DRIVER_LOST,
    )
    assert judge_status(move(status, S.RESOURCE_RELEASED, NOW, "")).reason == reasons.DRIVER_LOST


def test_refused_executors_in_the_status_are_a_scheduling_failure() -> None:
    message = f"{REFUSED}pods is forbidden: exceeded quota: team"
    verdict = judge_stop(S.FAILED, message, build_driver_pod("failed"))
    assert (verdict.failure_kind, verdict.retry_worthy) == (SCHEDULING, True)
    assert message in verdict.sentence
    assert "raise the ResourceQuota of the namespace" in verdict.sentence


@pytest.mark.parametrize(
    ("reason", "retry_worthy"),
    [(reasons.SPEC_UNBUILDABLE, False), (reasons.NAME_TAKEN, False), (reasons.SCHEDULING_FAILED, True)],
)
def test_retry_after_refused_driver_depends_on_reason(reason: str, retry_worthy: bool) -> None:
    decision = decide(
        build_application_model(), Observed(create_outcome=Refused("spec.x: is wrong", reason)), Settings(), NOW
    )
    assert decision.status is not None
    refused = judge_status(move(decision.status, S.RESOURCE_RELEASED, NOW, ""))
    assert (refused.reason, refused.failure_kind, refused.retry_worthy) == (reason, SCHEDULING, retry_worthy)
    assert "spec.x: is wrong" in refused.sentence


def test_image_that_cannot_be_pulled_is_named() -> None:
    waiting = {
        **build_container(waiting="ImagePullBackOff", message="Back-off pulling"),
        "image": "registry.example/spark:9",
    }
    failed = judge_stop(S.DRIVER_START_TIMED_OUT, "", build_pod("Pending", waiting))
    assert "the image registry.example/spark:9 of the driver's container" in failed.sentence
    assert "spark.kubernetes.container.image" in failed.sentence


def test_executor_timeout_quotes_obstacle() -> None:
    message = "No executor has started within 90 s: executor pod exec-1 cannot start: ImagePullBackOff."
    status = move(
        build_status_at(S.RUNNING_HEALTHY),
        S.EXECUTORS_START_TIMED_OUT,
        NOW,
        message,
        build_driver_pod("ready")["status"],
        reason=reasons.EXECUTORS_START_TIMED_OUT,
    )
    failed = judge_status(move(status, S.RESOURCE_RELEASED, NOW, ""))
    assert (failed.failure_kind, failed.reason) == (INFRASTRUCTURE, reasons.EXECUTORS_START_TIMED_OUT)
    assert "within 90 s: executor pod exec-1 cannot start: ImagePullBackOff; check the executor pods" in failed.sentence


def test_failure_of_later_attempt_names_attempt() -> None:
    simulated = simulate(restart={"restartPolicy": "Always", "maxRestartAttempts": 1})
    for _ in range(2):
        simulated.set_driver("failed").run().advance(31)
    assert simulated.document is not None
    assert judge_progress(read_progress(simulated.document)).sentence.startswith("Failed in attempt 2: ")
