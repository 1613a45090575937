"""The causes of failures and the advice for each of them."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.progress import (
    Phase,
    Progress,
    SettingNames,
    StateEntry,
    is_driver_refused,
)
from airflow_provider_spark_operator.core.lifecycle.observation import Present
from airflow_provider_spark_operator.core.lifecycle.transitions import move
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.core.verdict.driver_reports import blame_refusal, describe_refusal
from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, Outcome, Verdict
from tests.builders import NOW, build_blocked_executor, build_container, build_driver_pod, build_pod, seconds
from tests.core.harness import build_application_in_state, decide_once
from tests.core.verdict.test_verdict import judge_status, judge_stop

S = ApplicationState
SPARKS_MEMORY = "raise spark.driver.memory or spark.driver.memoryOverhead"


def build_oom_container(name: str = "spark-kubernetes-driver") -> dict[str, Any]:
    return build_container(name, exit_code=137, reason="OOMKilled")


def build_restarted_container(last: dict[str, Any], name: str = "spark-kubernetes-driver") -> dict[str, Any]:
    """Build a running container that was restarted after the termination of `last`."""
    return {**build_container(name, restarts=1), "lastState": last["state"]}


@pytest.mark.parametrize(
    ("seen", "advice"),
    [
        pytest.param(build_pod("Failed", build_oom_container()), SPARKS_MEMORY, id="Spark container"),
        pytest.param(build_pod("Failed", build_oom_container("main")), SPARKS_MEMORY, id="only container"),
        pytest.param(
            build_pod("Failed", build_container(), build_oom_container("proxy")),
            "raise the memory limit of proxy in spec.driverSpec.podTemplateSpec",
            id="sidecar",
        ),
        pytest.param(
            build_pod("Failed", build_container("a"), build_oom_container("b")),
            f"if container b runs Spark, {SPARKS_MEMORY}; "
            "otherwise raise the memory limit of b in spec.driverSpec.podTemplateSpec",
            id="one of two unknown containers",
        ),
        pytest.param(
            build_pod("Failed", build_container("main"), init=[build_oom_container("prepare")]),
            "raise the memory limit of prepare in spec.driverSpec.podTemplateSpec",
            id="init container",
        ),
    ],
)
def test_out_of_memory_failure_names_setting_of_container(seen: dict[str, Any], advice: str) -> None:
    failed = judge_stop(S.FAILED, "", seen)
    assert failed.sentence.endswith(f"(OOMKilled); {advice}.")
    assert (failed.reason, failed.retry_worthy) == (reasons.OUT_OF_MEMORY, False)


def test_restarted_container_is_judged_by_last_termination() -> None:
    seen = build_pod("Running", build_restarted_container(build_oom_container()))
    failed = judge_stop(S.FAILED, "Container x was restarted.", seen)
    assert failed.reason == reasons.OUT_OF_MEMORY
    assert failed.sentence.endswith(f"ended with exit code 137 (OOMKilled); {SPARKS_MEMORY}.")


def test_current_termination_takes_precedence_over_last() -> None:
    seen = build_pod(
        "Failed", {**build_restarted_container(build_oom_container()), "state": build_container(exit_code=3)["state"]}
    )
    assert "exit code 3" in judge_stop(S.FAILED, "", seen).sentence


def test_container_restarted_after_success_is_reported_as_restarted() -> None:
    seen = build_pod("Running", build_restarted_container(build_container(exit_code=0)))
    assert judge_stop(S.FAILED, "Container x was restarted.", seen).sentence == "Failed: container x was restarted."


def test_state_message_contains_last_termination_of_restarted_container() -> None:
    decision = decide_once(
        build_application_in_state(S.RUNNING_HEALTHY),
        Present(build_pod("Running", build_restarted_container(build_oom_container()))),
    )
    assert decision.message == (
        "Container spark-kubernetes-driver of the driver was restarted after it had ended with exit code 137 "
        "(OOMKilled): its Spark context is lost."
    )


def build_disrupted_pod(reason: str, message: str = "") -> dict[str, Any]:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}
    return build_driver_pod("failed", conditions=[condition])


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("PreemptionByScheduler", "give the driver a higher priority"),
        ("DeletionByTaintManager", "the node of the driver was lost or is being drained"),
        ("EvictionByEvictionAPI", "the driver was evicted through the API"),
        ("DeletionByPodGC", "the node of the driver no longer exists"),
        ("TerminationByKubelet", "the node of the driver shut down"),
        ("SomethingNew", "retry"),
    ],
)
def test_disrupted_driver_has_reason_and_advice(reason: str, advice: str) -> None:
    failed = judge_stop(S.FAILED, "", build_disrupted_pod(reason, "message"))
    assert failed.sentence.startswith(f"Failed: the driver pod was disrupted ({reason}: message); {advice}")
    assert (failed.failure_kind, failed.reason, failed.retry_worthy) == (
        FailureKind.INFRASTRUCTURE,
        reasons.DRIVER_INTERRUPTED,
        True,
    )


@pytest.mark.parametrize(
    ("seen", "begins"),
    [
        pytest.param(
            build_disrupted_pod("PreemptionByScheduler", "preempting."),
            "The driver pod was disrupted while it ran: PreemptionByScheduler: preempting. Container",
            id="disrupted by control plane",
        ),
        pytest.param(
            build_driver_pod("failed", reason="Terminated", message="imminent node shutdown"),
            "The driver pod was disrupted while it ran. Container",
            id="terminated by node",
        ),
        pytest.param(
            build_driver_pod("failed", deletion=NOW), "The driver pod was deleted while it ran. Container", id="deleted"
        ),
    ],
)
def test_state_message_of_interrupted_driver_names_interruption(seen: dict[str, Any], begins: str) -> None:
    decision = decide_once(build_application_in_state(S.RUNNING_HEALTHY), Present(seen))
    assert decision.reason == reasons.DRIVER_INTERRUPTED
    assert decision.message.startswith(begins)


def test_driver_rejected_by_node_is_unschedulable() -> None:
    seen = build_pod("Failed", reason="OutOfcpu", message="Node didn't have enough resource: cpu")
    failed = judge_stop(S.FAILED, "", seen)
    assert (failed.failure_kind, failed.reason) == (FailureKind.SCHEDULING, reasons.UNSCHEDULABLE)
    assert failed.retry_worthy
    assert failed.sentence == (
        "Failed: the node rejected the driver pod: "
        "OutOfcpu: Node didn't have enough resource: cpu; retry, or reduce the resource requests of the driver."
    )


def test_driver_with_scheduling_gates_advises_to_remove_gates() -> None:
    gated = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }
    failed = judge_stop(S.DRIVER_START_TIMED_OUT, "", build_pod("Pending", conditions=[gated]))
    assert failed.sentence.endswith(
        "Scheduling is blocked due to non-empty scheduling gates; "
        "the controller that set the scheduling gates, for example a queue, must remove them."
    )


@pytest.mark.parametrize(
    "message",
    [
        "Client mode is not supported yet.",
        "driverHttpRouteList[0].serviceSpec is required.",
        "driverGrpcRouteList[1].grpcRouteSpec.parentRefs is required.",
    ],
)
def test_spec_refused_by_apache_operator_is_recognized_by_message(message: str) -> None:
    refused = judge_stop(S.FAILED, message)
    assert (refused.reason, refused.retry_worthy) == (reasons.SPEC_UNSUPPORTED, False)
    assert refused.sentence == f"Failed: {message}"


def test_executor_timeout_quotes_scheduler_message() -> None:
    full = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available: 3 Insufficient cpu."}
    waiting = [build_pod("Pending", name="exec-1", conditions=[full]), build_pod("Pending", name="exec-2")]
    resource = build_application_in_state(S.DRIVER_READY, instances={"initExecutors": 2})
    decision = decide_once(resource, Present(build_driver_pod("ready")), after=301, executors=tuple(waiting))
    assert decision.status is not None
    assert decision.message.endswith(
        ": executor pod exec-1 waits for a node: 0/3 nodes are available: 3 Insufficient cpu."
    )
    failed = judge_status(move(decision.status, S.RESOURCE_RELEASED, NOW + seconds(301), ""))
    assert "0/3 nodes are available: 3 Insufficient cpu" in failed.sentence


def test_executor_timeout_names_oldest_blocked_executor() -> None:
    stuck = tuple(build_blocked_executor(f"exec-{number}", created=NOW + seconds(number)) for number in (2, 1))
    resource = build_application_in_state(S.DRIVER_READY, instances={"initExecutors": 2})
    decision = decide_once(resource, Present(build_driver_pod("ready")), after=301, executors=stuck)
    assert "executor pod exec-1 cannot start: ImagePullBackOff" in decision.message


def test_unschedulable_driver_advises_smaller_requests_or_more_nodes() -> None:
    full = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available."}
    failed = judge_stop(S.DRIVER_START_TIMED_OUT, "", build_pod("Pending", conditions=[full]))
    assert failed.sentence.endswith(
        "0/3 nodes are available; reduce the requests (spark.driver.cores, spark.driver.memory), or add nodes that fit."
    )


SELECTOR = "2 node(s) didn't match Pod's node affinity/selector"


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (
            f"0/2 nodes are available: {SELECTOR}.",
            "no node has the labels that the driver requires: change spark.kubernetes.driver.node.selector.* or "
            "spec.driverSpec.podTemplateSpec, or label a node",
        ),
        (
            "0/1 nodes are available: 1 node(s) had untolerated taint {gpu: true}.",
            "no node accepts the driver: add a toleration to spec.driverSpec.podTemplateSpec, "
            "or nodes without the taint",
        ),
        (
            f"0/3 nodes are available: 1 Insufficient memory, {SELECTOR}.",
            "reduce the requests (spark.driver.cores, spark.driver.memory), or add nodes that fit",
        ),
        ("no nodes available to schedule pods", "add nodes"),
        (
            'persistentvolumeclaim "data" not found',
            "create the PersistentVolumeClaim data in the namespace of the application, or correct its name",
        ),
    ],
    ids=["selector", "taint", "size", "no nodes", "claim"],
)
def test_advice_for_an_unschedulable_driver_depends_on_the_reason(message: str, advice: str) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    failed = judge_stop(S.DRIVER_START_TIMED_OUT, "", build_pod("Pending", conditions=[condition]))
    assert failed.sentence.endswith(f"; {advice}.")


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (
            'pods "pi-0-driver" is forbidden: error looking up service account jobs/no: serviceaccount "no" not found',
            "create the ServiceAccount no, or set another one in "
            "spark.kubernetes.authenticate.driver.serviceAccountName",
        ),
        (
            'pods "pi-0-driver" is forbidden: exceeded quota: small, requested: cpu=9',
            "reduce the requests (spark.driver.cores, spark.driver.memory), "
            "or raise the ResourceQuota of the namespace",
        ),
        (
            'pods "pi-0-driver" is forbidden: failed quota: q: must specify limits.cpu for: spark-kubernetes-driver',
            "set spark.kubernetes.driver.limit.cores, because a ResourceQuota of the namespace limits limits.cpu",
        ),
    ],
    ids=["service account", "quota", "limit"],
)
def test_refused_driver_has_advice(message: str, advice: str) -> None:
    assert judge_stop(S.SCHEDULING_FAILURE, message).sentence == f"SchedulingFailure: {message}; {advice}."


def test_driver_that_waited_for_a_volume_names_the_missing_object() -> None:
    mount = 'FailedMount: MountVolume.SetUp failed for volume "key" : secret "key" not found'

    def judge(*warnings: str) -> str:
        return judge_stop(S.DRIVER_START_TIMED_OUT, warnings=warnings).sentence

    assert judge("FailedScheduling: full", mount, "BackOff: it waits") == (
        f"DriverStartTimedOut: the driver did not start in time: {mount}; create the Secret key in the namespace of "
        "the application, or correct its name."
    )
    assert "in time: FailedMount: timed out; check the driver pod's events" in judge("FailedMount: timed out")
    assert judge("BackOff: it waits") == judge()


@pytest.mark.parametrize(
    "condition",
    [{"type": "PodScheduled", "status": "True", "message": "it has one"}, {"type": "PodScheduled", "status": "False"}],
    ids=["scheduled", "no message"],
)
def test_executor_timeout_without_known_obstacle_names_only_the_limit(condition: dict[str, str]) -> None:
    resource = build_application_in_state(S.DRIVER_READY, instances={"initExecutors": 2})
    waiting = (build_pod("Pending", name="exec-1", conditions=[condition]),)
    decision = decide_once(resource, Present(build_driver_pod("ready")), after=301, executors=waiting)
    assert decision.message.endswith("executorStartTimeoutMillis).")


SPARK_SUBMIT = """\
failed to submit spark application: failed to run spark-submit: failed to run spark-submit: WARNING: Using incubator \
modules: jdk.incubator.vector
Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties
26/11/21 21:47:31 WARN NativeCodeLoader: Unable to load native-hadoop library for your platform... using builtin-java
26/11/21 21:47:32 INFO SparkKubernetesClientFactory: Auto-configuring K8S client using current context
Exception in thread "main" """


@pytest.mark.parametrize(
    ("trace", "sentence"),
    [
        (
            "org.apache.spark.SparkException: Must specify the driver container image",
            "org.apache.spark.SparkException: Must specify the driver container image",
        ),
        (
            "org.example.Wrapped: it failed.\n\tat org.example.Main\nCaused by: java.io.IOException: a\n\tat b\n"
            "Caused by: java.net.ConnectException: refused\n\tat c",
            "org.example.Wrapped: it failed: java.net.ConnectException: refused",
        ),
    ],
)
def test_spark_submit_failure_contains_only_error_and_cause(trace: str, sentence: str) -> None:
    refused = judge_stop(S.SCHEDULING_FAILURE, SPARK_SUBMIT + trace)
    assert refused.sentence == f"SchedulingFailure: failed to submit spark application: {sentence}."


@pytest.mark.parametrize(
    ("trace", "sentence"),
    [
        pytest.param(
            "org.apache.spark.SparkException: Must specify the driver container image\n"
            "\tat org.apache.spark.deploy.k8s.KubernetesDriverConf.$anonfun$image$2(KubernetesConf.scala:181)\n"
            "\tat scala.Option.getOrElse(Option.scala:201)\n",
            "org.apache.spark.SparkException: Must specify the driver container image",
            id="no cause",
        ),
        pytest.param(
            "org.apache.spark.SparkException: Could not load pod from template file.\n"
            "\tat a.B.c(B.scala:1)\n"
            "Caused by: java.io.UncheckedIOException: no stream\n"
            "\t... 12 more\n"
            "Caused by: java.io.FileNotFoundException: /template.yaml\n"
            "\t... 14 more\n",
            "org.apache.spark.SparkException: Could not load pod from template file: "
            "java.io.FileNotFoundException: /template.yaml",
            id="nested causes",
        ),
    ],
)
def test_stack_trace_is_reduced_to_error_and_innermost_cause(trace: str, sentence: str) -> None:
    refused = judge_stop(S.SCHEDULING_FAILURE, f"Failed to request driver from scheduler backend. StackTrace: {trace}")
    assert refused.sentence == f"SchedulingFailure: Failed to request driver from scheduler backend: {sentence}."


REFUSAL = "Spark could not create executors: exceeded quota: small, requested: cpu=9."


@pytest.mark.parametrize(
    ("state", "cause", "refusal", "is_blamed"),
    [
        (S.FAILED, REFUSAL, REFUSAL, True),
        (S.FAILED, "ValueError: 7", REFUSAL, False),
        (S.FAILED, None, None, False),
        (S.EXECUTORS_START_TIMED_OUT, None, REFUSAL, True),
        (S.EXECUTORS_START_TIMED_OUT, None, None, False),
        (S.DRIVER_EVICTED, REFUSAL, REFUSAL, False),
    ],
    ids=["cause", "other cause", "no cause", "timed out", "timed out without a rejection", "evicted"],
)
def test_rejected_executors_are_blamed_if_nothing_else_failed(
    state: S, cause: str | None, refusal: str | None, is_blamed: bool
) -> None:
    reported = judge_stop(state, "", build_pod("Failed", build_container(exit_code=1)))
    judged = blame_refusal(reported, cause, refusal, SettingNames())
    assert judged.sentence.startswith(f"{state}: ")
    if is_blamed:
        assert judged.sentence == (
            f"{state}: Spark could not create executors: exceeded quota: small, requested: cpu=9; reduce the requests "
            "(spark.executor.cores, spark.executor.memory), or raise the ResourceQuota of the namespace."
        )
        assert (judged.failure_kind, judged.reason) == (FailureKind.SCHEDULING, reasons.SCHEDULING_FAILED)
    else:
        assert judged == reported


def judge_unscheduled(message: str) -> Verdict:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return judge_stop(S.DRIVER_START_TIMED_OUT, driver=build_pod("Pending", conditions=[condition]))


@pytest.mark.parametrize(
    ("verdict", "lacks_capacity"),
    [
        pytest.param(judge_stop(S.SCHEDULING_FAILURE, "pods is forbidden: exceeded quota: q"), True, id="quota"),
        pytest.param(judge_stop(S.SCHEDULING_FAILURE, 'serviceaccount "no" not found'), False, id="missing account"),
        pytest.param(judge_unscheduled("0/3 nodes are available: 3 Insufficient cpu."), True, id="full nodes"),
        pytest.param(judge_unscheduled("0/3 nodes are available: 3 Too many pods."), True, id="too many pods"),
        pytest.param(judge_unscheduled("no nodes available to schedule pods"), True, id="no nodes"),
        pytest.param(judge_unscheduled(f"0/3 nodes are available: {SELECTOR}."), False, id="wrong labels"),
        pytest.param(
            judge_stop(S.FAILED, driver={"status": {"phase": "Failed", "reason": "OutOfcpu"}}), True, id="full node"
        ),
        pytest.param(
            judge_stop(S.FAILED, driver={"status": {"phase": "Failed", "reason": "UnexpectedAdmissionError"}}),
            False,
            id="other rejection by the node",
        ),
        pytest.param(judge_stop(S.DRIVER_EVICTED), False, id="eviction"),
    ],
)
def test_verdict_knows_whether_the_cluster_lacked_capacity(verdict: Verdict, lacks_capacity: bool) -> None:
    assert verdict.outcome is Outcome.FAILED
    assert verdict.lacks_capacity is lacks_capacity


@pytest.mark.parametrize(("refusal", "lacks_capacity"), [(REFUSAL, True), ("Spark could not: no account", False)])
def test_refused_executors_lack_capacity_because_of_a_quota(refusal: str, lacks_capacity: bool) -> None:
    reported = judge_stop(S.EXECUTORS_START_TIMED_OUT)
    assert blame_refusal(reported, None, refusal, SettingNames()).lacks_capacity is lacks_capacity
    assert judge_stop(S.FAILED, refusal, build_driver_pod("failed")).lacks_capacity is lacks_capacity


def test_unknown_rejection_has_no_advice() -> None:
    assert describe_refusal("Spark could not create executors: no.", SettingNames()).endswith("executors: no")


@pytest.mark.parametrize(
    ("history", "is_refused"),
    [
        ((), False),
        ((StateEntry(S.SUBMITTED), StateEntry(S.SCHEDULING_FAILURE)), True),
        ((StateEntry(S.SUBMITTED), StateEntry(S.DRIVER_REQUESTED), StateEntry(S.SCHEDULING_FAILURE)), False),
        ((StateEntry(S.SUBMITTED), StateEntry(S.FAILED)), False),
    ],
    ids=["no stop", "refused", "requested before", "failed"],
)
def test_driver_is_refused_if_no_state_shows_one(history: tuple[StateEntry, ...], is_refused: bool) -> None:
    assert is_driver_refused(Progress("ResourceReleased", Phase.ENDED, history=history)) is is_refused
