"""Runs of which Python and the page draw the same lanes."""

from collections.abc import Iterator
from dataclasses import replace

from airflow_provider_spark_operator.core.dialects.progress import ExecutorState
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_QUEUE_NAME
from airflow_provider_spark_operator.core.report.pod_spans import PodSpan, count_over_time
from airflow_provider_spark_operator.core.report.timeline import Mark, MarkKind, Timeline, build_timeline
from airflow_provider_spark_operator.core.report.waits import Wait, WaitKind
from tests.core.report.documents import at, build_annotations, build_application, build_kubeflow, build_spark_pod

RESTARTED = (
    *(("Submitted", 0), ("DriverRequested", 1.25), ("DriverStarted", 5), ("RunningHealthy", 7), ("Failed", 1807.5)),
    *(("ScheduledToRestart", 1808), ("DriverRequested", 1810), ("DriverStarted", 1820), ("RunningHealthy", 1825)),
)
RETAINED = (("TerminatedWithoutReleaseResources", 30.2), ("ResourceReleased", 330.2))
ENDED = (*RESTARTED, ("Succeeded", 5420), ("ResourceReleased", 5420.4))


def build_restarted(*, live: bool = False) -> Timeline:
    """Return a run with two attempts and 24 executors, of which three failed."""
    moves = RESTARTED if live else ENDED
    document = build_application(*moves, attempt=1, annotations=build_annotations())
    drivers = [
        build_spark_pod("d0", role="driver", started=5, ended=1805, exit_code=137, reason="OOMKilled"),
        build_spark_pod("d1", role="driver", application_id="pi-1", started=1820, ended=None if live else 5419),
    ]
    for pod, created in zip(drivers, (2, 1811), strict=True):
        pod["metadata"]["creationTimestamp"] = at(created).isoformat()
    timeline = build_timeline(document, at(5000 if live else 9000), all_pods=drivers)
    spans = [
        PodSpan(f"pi-1-exec-{number}", ExecutorState.RUNNING if live else ExecutorState.ENDED, at(1830 + 3 * number))
        for number in range(1, 22)
    ]
    if not live:
        spans = [replace(span, end=at(5418.2)) for span in spans]
    spans[:0] = [
        PodSpan("pi-0-exec-1", ExecutorState.FAILED, at(10), at(1500.5), "exit code 137 (OOMKilled)"),
        PodSpan(
            "pi-0-exec-2", ExecutorState.FAILED, at(10.4), at(900), "exit code 143; EvictionByEvictionAPI: drained"
        ),
        PodSpan("pi-0-exec-3", ExecutorState.FAILED, at(11), at(11.01), "PreemptionByScheduler"),
    ]
    marks = [
        Mark(span.end, MarkKind.EXECUTOR_FAILED, f"{span.name}: {span.detail}")
        for span in spans
        if span.state is ExecutorState.FAILED and span.end
    ]
    return replace(
        timeline,
        executors=tuple(spans),
        counts=count_over_time(spans),
        marks=tuple(sorted((*marks, *timeline.marks), key=lambda mark: mark.time)),
        waits=(
            Wait(WaitKind.NODE, "executor", at(1812), at(1830), "0/3 nodes are available", frozenset({"a", "b"})),
            Wait(WaitKind.IMAGE, "driver", at(1), None, "ImagePullBackOff", frozenset({"d0"})),
        ),
    )


def build_evicted() -> Timeline:
    """Return a run whose driver was evicted, which only the message of its state shows."""
    document = build_application(
        ("Submitted", 0), ("DriverStarted", 5), ("RunningHealthy", 7), ("Failed", 30), ("ResourceReleased", 31)
    )
    document["status"]["stateTransitionHistory"]["3"]["message"] = (
        "The driver pod was disrupted: EvictionByEvictionAPI: evicting."
    )
    return build_timeline(document, at(60))


def build_partly_known() -> Iterator[tuple[str, Timeline]]:
    """Yield runs of which an earlier executor is unknown, or the exact start of an executor."""
    document = build_application(*RESTARTED[:4], ("Succeeded", 60))
    timeline = build_timeline(document, at(90))
    for name, number in (("gap", 2), ("late", 1)):
        span = PodSpan(f"pi-0-exec-{number}", ExecutorState.ENDED, at(20), at(50), ready=at(20))
        yield name, replace(timeline, executors=(span,), counts=count_over_time([span]))


def build_queued() -> Timeline:
    """Return a run that waited for its queue twice: until it was admitted, and after a preemption."""
    moves = (("Submitted", 0), ("DriverRequested", 30), ("RunningHealthy", 37), ("Suspended", 50))
    document = build_application(*moves, ("DriverRequested", 59), ("Succeeded", 90))
    document["metadata"]["labels"] = {LABEL_QUEUE_NAME: "team-a"}
    return build_timeline(document, at(120))


def build_runs() -> dict[str, Timeline]:
    """Return the runs by name."""
    return {
        "restarted": build_restarted(),
        "live": build_restarted(live=True),
        "short": build_timeline(build_application(("Submitted", 0), ("Succeeded", 0.25)), at(60)),
        "retained": build_timeline(build_application(("Submitted", 0), ("Failed", 30), *RETAINED), at(900)),
        "later attempts": build_timeline(
            build_application(("DriverRequested", 20), ("RunningHealthy", 27), attempt=3), at(60)
        ),
        "kubeflow": build_timeline(build_kubeflow("FAILED", "the driver failed"), at(90)),
        "evicted": build_evicted(),
        **dict(build_partly_known()),
        "queued": build_queued(),
        "submitted": build_timeline(build_application(("Submitted", 0)), at(0)),
    }
