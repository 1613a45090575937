"""The executors in the log of a driver, with lines that Spark 4.3 has written."""

import pytest

from airflow_provider_spark_operator.core.report.executor_log import MAX_EXECUTORS, ExecutorLog
from tests.core.report.documents import at

BACKEND = "INFO KubernetesClusterSchedulerBackend$KubernetesDriverEndpoint:"
REGISTERED = (
    f"26/01/01 00:00:00 {BACKEND} Registered executor NettyRpcEndpointRef(spark-client://Executor) (10.0.0.1:1) "
)
KILLED = "26/01/01 00:00:00 INFO TaskSchedulerImpl: Executor 1 on 10.0.0.1 killed by driver."
REMOVED = "26/01/01 00:00:00 INFO DAGScheduler: Executor lost: 1 (epoch 0)"
GONE = f"26/01/01 00:00:00 {BACKEND} Asked to remove non-existent executor 1"
STOPPED = f"26/01/01 00:00:00 {BACKEND} Asking each executor to shut down"
LOST = "26/01/01 00:00:00 ERROR TaskSchedulerImpl: Lost executor 1 on 10.0.0.1: "
EXITED = "The executor with id 1 exited with exit code 137(SIGKILL, possible container OOM)."
REASON = "\t termination reason: OOMKilled"


def register(number: int) -> str:
    return f"{REGISTERED}with ID {number}, ResourceProfileId 0"


def read(*lines: tuple[str, float], is_whole: bool = True) -> ExecutorLog:
    log = ExecutorLog()
    for line, second in lines:
        log.add(line, at(second))
    log.is_whole = is_whole
    return log


def list_events(log: ExecutorLog) -> list[tuple[str, str, str, str]]:
    return [
        (each["involvedObject"]["name"], each["reason"], each["lastTimestamp"], each["message"])
        for each in log.build_events("pi", at(90))
    ]


def test_removed_executor_ends_at_once_however_long_its_pod_exists() -> None:
    log = read((register(1), 10), (KILLED, 30.9), (REMOVED, 30.9), (GONE, 62), (STOPPED, 80))
    assert list_events(log) == [
        ("pi-exec-1", "Registered", at(10).isoformat(), ""),
        ("pi-exec-1", "SparkExecutorCompleted", at(30).isoformat(), ""),
    ]


@pytest.mark.parametrize(
    ("lines", "is_whole", "end"),
    [((STOPPED,), True, 80), ((), True, 90), ((STOPPED,), False, None), (("unrelated executor",), True, 90)],
)
def test_executor_ends_with_the_driver_if_a_whole_log_shows_no_other_end(
    lines: tuple[str, ...], is_whole: bool, end: float | None
) -> None:
    log = read((register(1), 10), *((line, 80) for line in lines), is_whole=is_whole)
    ends = [time for _, reason, time, _ in list_events(log) if reason == "SparkExecutorCompleted"]
    assert ends == ([] if end is None else [at(end).isoformat()])


@pytest.mark.parametrize(
    ("lines", "detail"),
    [
        ((LOST, EXITED, "container state: terminated", REASON, EXITED, REASON), "exit code 137 (OOMKilled)"),
        ((f"{LOST}{EXITED}",), "exit code 137"),
        ((f"{LOST}Executor heartbeat timed out after 125 ms",), "Executor heartbeat timed out after 125 ms"),
        ((LOST, EXITED.replace("137", "143")), ""),
        ((f"{LOST}it broke", EXITED, REASON), "it broke"),
    ],
)
def test_lost_executor_has_its_cause(lines: tuple[str, ...], detail: str) -> None:
    _, (name, reason, time, message) = list_events(read((register(1), 10), *((line, 30) for line in lines), (GONE, 50)))
    assert (name, message) == ("pi-exec-1", detail)
    assert reason == ("SparkExecutorFailed" if detail else "SparkExecutorCompleted")
    assert time == at(30).isoformat()


def test_two_readers_of_one_log_complete_each_other() -> None:
    streamed = read((register(1), 10), is_whole=False)
    both = streamed | read((REMOVED, 30), (register(2), 40), (STOPPED, 80))
    assert [life.end for life in both.lives.values()] == [at(30), None]
    assert (both.is_complete, both.stopped) == (True, at(80))


def test_executor_that_was_requested_but_never_registered_is_not_shown() -> None:
    requests = "INFO ExecutorPodsAllocator: Going to request {} executors from Kubernetes for ResourceProfile Id: 0"
    lines = [(requests.format(2), 1.0), (register(1), 10.0), (register(3), 20.0)]
    assert read(*lines).has_latest
    assert not read(*lines, is_whole=False).has_latest
    assert not read(*lines[1:]).has_latest, "the level of the log is too high"
    assert not read(*lines, (requests.format(2), 30.0)).has_latest
    assert (read(*lines) | read()).has_latest


def test_log_of_warnings_shows_no_executor() -> None:
    log = read(("26/01/01 00:00:00 WARN Utils: an executor", 1))
    assert not log.is_complete
    assert list_events(log) == []


def test_hostile_log_yields_a_bounded_number_of_executors() -> None:
    log = ExecutorLog()
    for number in range(MAX_EXECUTORS + 10):
        log.add(register(number), at(1))
    log.add(register(1), None)
    log.add("Going to request 999999 executors from Kubernetes", at(1))
    log.add(f"{'Registered executor ' * 5000} with ID 7777,", at(1))
    log.add(f"Lost executor {'9' * 5000} on x: {'y' * 5000}", at(1))
    assert len(log.lives) == MAX_EXECUTORS
