"""What each cause of a failure is called, and what whoever waits is told to do about it."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.observation import Present
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.transitions import move
from airflow_provider_spark_operator.core.verdict import FailureKind
from tests.builders import NOW, container, driver_pod, held_up_executor, pod, seconds
from tests.core.harness import build_application_in_state, decide_once
from tests.core.test_verdict import judged, judged_end

S = ApplicationState
SPARKS_MEMORY = "raise spark.driver.memory or spark.driver.memoryOverhead"


def out_of_memory(name: str = "spark-kubernetes-driver") -> dict[str, Any]:
    return container(name, exit_code=137, reason="OOMKilled")


def restarted(last: dict[str, Any], name: str = "spark-kubernetes-driver") -> dict[str, Any]:
    """A container that runs again after `last`."""
    return {**container(name, restarts=1), "lastState": last["state"]}


@pytest.mark.parametrize(
    ("seen", "advice"),
    [
        pytest.param(pod("Failed", out_of_memory()), SPARKS_MEMORY, id="Spark's"),
        pytest.param(pod("Failed", out_of_memory("main")), SPARKS_MEMORY, id="the only one"),
        pytest.param(
            pod("Failed", container(), out_of_memory("proxy")),
            "raise the memory limit of proxy in spec.driverSpec.podTemplateSpec",
            id="a sidecar",
        ),
        pytest.param(
            pod("Failed", container("a"), out_of_memory("b")),
            f"{SPARKS_MEMORY} if it runs Spark, else the memory limit of b in spec.driverSpec.podTemplateSpec",
            id="one of two of which none has Spark's name",
        ),
        pytest.param(
            pod("Failed", container("main"), init=[out_of_memory("prepare")]),
            "raise the memory limit of prepare in spec.driverSpec.podTemplateSpec",
            id="an init container",
        ),
    ],
)
def test_a_lack_of_memory_says_whose_setting_to_raise(seen: dict[str, Any], advice: str) -> None:
    failed = judged_end(S.FAILED, "", seen)
    assert failed.sentence.endswith(f"(OOMKilled); {advice}.")
    assert (failed.reason, failed.retry_worthy) == (reasons.OUT_OF_MEMORY, False)


def test_a_container_that_was_restarted_is_judged_by_how_it_ended_before() -> None:
    seen = pod("Running", restarted(out_of_memory()))
    failed = judged_end(S.FAILED, "Container x was restarted.", seen)
    assert failed.reason == reasons.OUT_OF_MEMORY
    assert failed.sentence.endswith(f"ended with exit code 137 (OOMKilled); {SPARKS_MEMORY}.")


def test_how_a_container_ended_now_comes_before_how_it_ended_before() -> None:
    seen = pod("Failed", {**restarted(out_of_memory()), "state": container(exit_code=3)["state"]})
    assert "exit code 3" in judged_end(S.FAILED, "", seen).sentence


def test_a_container_that_was_restarted_after_a_good_end_says_no_more_than_that() -> None:
    seen = pod("Running", restarted(container(exit_code=0)))
    assert judged_end(S.FAILED, "Container x was restarted.", seen).sentence == "Failed: container x was restarted."


def test_the_state_says_how_a_restarted_container_had_ended() -> None:
    decision = decide_once(
        build_application_in_state(S.RUNNING_HEALTHY), Present(pod("Running", restarted(out_of_memory())))
    )
    assert decision.message == (
        "Container spark-kubernetes-driver of the driver was restarted after it had ended with exit code 137 "
        "(OOMKilled): its Spark context is lost."
    )


def disrupted(reason: str, message: str = "") -> dict[str, Any]:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}
    return driver_pod("failed", conditions=[condition])


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("PreemptionByScheduler", "give the driver a higher priority"),
        ("DeletionByTaintManager", "its node was lost or is being drained"),
        ("EvictionByEvictionAPI", "it was evicted through the API"),
        ("DeletionByPodGC", "its node no longer exists"),
        ("TerminationByKubelet", "its node shut down"),
        ("SomethingNew", "retry"),
    ],
)
def test_a_driver_that_was_taken_away_says_by_whom_and_what_to_do(reason: str, advice: str) -> None:
    failed = judged_end(S.FAILED, "", disrupted(reason, "in their words"))
    assert failed.sentence.startswith(f"Failed: the driver pod was disrupted ({reason}: in their words); {advice}")
    assert (failed.failure_kind, failed.reason, failed.retry_worthy) == (
        FailureKind.INFRASTRUCTURE,
        reasons.DRIVER_INTERRUPTED,
        True,
    )


@pytest.mark.parametrize(
    ("seen", "begins"),
    [
        pytest.param(
            disrupted("PreemptionByScheduler", "preempting."),
            "The driver pod was disrupted while it ran: PreemptionByScheduler: preempting. Container",
            id="by the control plane",
        ),
        pytest.param(
            driver_pod("failed", reason="Terminated", message="imminent node shutdown"),
            "The driver pod was disrupted while it ran. Container",
            id="by its node",
        ),
        pytest.param(
            driver_pod("failed", deletion=NOW), "The driver pod was deleted while it ran. Container", id="by somebody"
        ),
    ],
)
def test_the_state_of_a_driver_that_was_taken_away_says_so(seen: dict[str, Any], begins: str) -> None:
    decision = decide_once(build_application_in_state(S.RUNNING_HEALTHY), Present(seen))
    assert decision.reason == reasons.DRIVER_INTERRUPTED
    assert decision.message.startswith(begins)


def test_a_driver_that_its_node_refused_waits_for_room() -> None:
    seen = pod("Failed", reason="OutOfcpu", message="Node didn't have enough resource: cpu")
    failed = judged_end(S.FAILED, "", seen)
    assert (failed.failure_kind, failed.reason) == (FailureKind.SCHEDULING, reasons.UNSCHEDULABLE)
    assert failed.retry_worthy
    assert failed.sentence == (
        "Failed: the node rejected the driver pod: "
        "OutOfcpu: Node didn't have enough resource: cpu; retry, or reduce the requests."
    )


def test_a_driver_that_a_queue_holds_back_needs_no_more_nodes() -> None:
    gated = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }
    failed = judged_end(S.DRIVER_START_TIMED_OUT, "", pod("Pending", conditions=[gated]))
    assert failed.sentence.endswith(
        "Scheduling is blocked due to non-empty scheduling gates; "
        "the controller that set the scheduling gates, such as a queue, must remove them."
    )


@pytest.mark.parametrize(
    "message",
    [
        "Client mode is not supported yet.",
        "driverHttpRouteList[0].serviceSpec is required.",
        "driverGrpcRouteList[1].grpcRouteSpec.parentRefs is required.",
    ],
)
def test_what_the_apache_operator_refuses_is_told_by_its_words(message: str) -> None:
    refused = judged_end(S.FAILED, message)
    assert (refused.reason, refused.retry_worthy) == (reasons.SPEC_UNSUPPORTED, False)
    assert refused.sentence == f"Failed: {message}"


def test_executors_that_no_node_takes_are_told_in_the_schedulers_words() -> None:
    full = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available: 3 Insufficient cpu."}
    waiting = [pod("Pending", name="exec-1", conditions=[full]), pod("Pending", name="exec-2")]
    resource = build_application_in_state(S.DRIVER_READY, instances={"initExecutors": 2})
    decision = decide_once(resource, Present(driver_pod("ready")), after=301, executors=tuple(waiting))
    assert decision.status is not None
    assert decision.message.endswith(
        ": executor pod exec-1 waits for a node: 0/3 nodes are available: 3 Insufficient cpu."
    )
    failed = judged(move(decision.status, S.RESOURCE_RELEASED, NOW + seconds(301), ""))
    assert "0/3 nodes are available: 3 Insufficient cpu" in failed.sentence


def test_the_oldest_of_several_executors_that_cannot_start_is_told() -> None:
    stuck = tuple(held_up_executor(f"exec-{number}", created=NOW + seconds(number)) for number in (2, 1))
    resource = build_application_in_state(S.DRIVER_READY, instances={"initExecutors": 2})
    decision = decide_once(resource, Present(driver_pod("ready")), after=301, executors=stuck)
    assert "executor pod exec-1 cannot start: ImagePullBackOff" in decision.message


def test_a_driver_that_no_node_takes_needs_other_nodes_or_less() -> None:
    full = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available."}
    failed = judged_end(S.DRIVER_START_TIMED_OUT, "", pod("Pending", conditions=[full]))
    assert failed.sentence.endswith(
        "0/3 nodes are available; reduce the requests (spark.driver.cores, spark.driver.memory), or add nodes that fit."
    )


@pytest.mark.parametrize(
    "condition",
    [
        {"type": "PodScheduled", "status": "True", "message": "it has one"},
        {"type": "PodScheduled", "status": "False"},
    ],
    ids=["scheduled", "mute"],
)
def test_executors_of_which_nobody_says_what_they_wait_for_are_only_too_few(condition: dict[str, str]) -> None:
    resource = build_application_in_state(S.DRIVER_READY, instances={"initExecutors": 2})
    waiting = (pod("Pending", name="exec-1", conditions=[condition]),)
    decision = decide_once(resource, Present(driver_pod("ready")), after=301, executors=waiting)
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
def test_of_all_that_spark_submit_wrote_only_its_error_is_told(trace: str, sentence: str) -> None:
    refused = judged_end(S.SCHEDULING_FAILURE, SPARK_SUBMIT + trace)
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
            id="a cause of a cause",
        ),
    ],
)
def test_of_a_stack_trace_only_what_happened_is_told(trace: str, sentence: str) -> None:
    refused = judged_end(S.SCHEDULING_FAILURE, f"Failed to request driver from scheduler backend. StackTrace: {trace}")
    assert refused.sentence == f"SchedulingFailure: Failed to request driver from scheduler backend: {sentence}."
