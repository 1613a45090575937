"""The metrics of the controller, for Prometheus; docs/reference/metrics.md lists them.

No label holds a name that users choose: the number of time series does not grow with the number of resources.
"""

import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, fields
from functools import cache, partial
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.gc_collector import GCCollector
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.pods import get_object, get_text
from ...core.models.application import SparkApplication
from ...core.models.cluster import ClusterState
from ...core.models.status import ApplicationStatus
from ...core.states.states import RUNNING, STARTING, STOPPING, ApplicationState
from ...kube.call import Call
from ...kube.errors import KubeError
from ..attempts.attempt import ReconcileLater
from ..loop.queue import WorkQueue
from ..objects.cache import ObjectKey
from ..ownership.claims import ClaimCounts, ManagedElsewhere
from ..ownership.election import Leadership
from .http_server import EVERYWHERE, serve_pages

PREFIX: Final = "spark_operator_"
DONE: Final = "done"
"""Result of a reconcile that was completed."""
WAITING: Final = "waiting"
"""Result of a reconcile that must wait until something has ended."""
LEFT_ALONE: Final = "left_alone"
"""Result of a reconcile of a resource that another controller manages."""
FAILED: Final = "failed"
"""Result of a reconcile that failed and is repeated."""
APPLIED: Final = "applied"
"""Result of a change of the settings file that was applied."""
REFUSED: Final = "refused"
"""Result of a change of the settings file that is invalid: the previous settings stay in force."""
DEFECT: Final = "Defect"
"""Reason of an error that does not come from the API."""
CANCELLED: Final = "Cancelled"
"""Outcome of an attempt whose application was deleted."""
SUSPENDED: Final = "Suspended"
"""Outcome of an attempt that a suspension has stopped."""
NO_ANSWER: Final = "none"
"""Status of a request that the API did not answer."""
UNKNOWN_STATE: Final = "Unknown"
"""State of resources whose status has an unknown state."""

_CALL_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_DELAY_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_DRIVER_SECONDS = (1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)


class _Registry(CollectorRegistry):
    """Creates metrics whose names begin with `PREFIX`.

    The users cache the series of frequent events: finding a series by its labels takes longer than counting.
    """

    def create_counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(PREFIX + name, meaning, labels, registry=self)

    def create_gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(PREFIX + name, meaning, labels, registry=self)

    def create_histogram(self, name: str, meaning: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(PREFIX + name, meaning, labels, buckets=buckets, registry=self)


class RequestMetrics:
    """The metrics of the requests to the API.

    Args:
        registry: The registry of the metrics.
    """

    def __init__(self, registry: _Registry) -> None:
        self._requests = cache(
            registry.create_counter(
                "api_requests", "Requests to the API, including retries.", "verb", "resource", "status"
            ).labels
        )
        self._seconds = cache(
            registry.create_histogram(
                "api_request_duration_seconds",
                "Time from a request until the answer of the API starts.",
                _CALL_SECONDS,
                "verb",
                "resource",
            ).labels
        )

    def count_call(self, call: Call, status: int | None, seconds: float) -> None:
        """Count a request to the API; `status` is the code of the answer, None without an answer."""
        resource = call.rbac_resource
        self._requests(call.verb, resource, NO_ANSWER if status is None else str(status)).inc()
        self._seconds(call.verb, resource).observe(seconds)


class AttemptMetrics:
    """The metrics of the attempts of applications.

    Args:
        registry: The registry of the metrics.
    """

    def __init__(self, registry: _Registry) -> None:
        self._attempts = registry.create_counter(
            "attempts", "Completed attempts of applications, by outcome.", "outcome"
        )
        # Prometheus does not see an increase if a counter appears with its first event.
        for outcome in (*STOPPING, CANCELLED, SUSPENDED):
            self._attempts.labels(str(outcome))
        self._restarts = registry.create_counter(
            "restarts", "Restarts by the restart policy, without attempts after a suspension."
        )
        self._driver_seconds = registry.create_histogram(
            "driver_request_delay_seconds",
            "Time from the creation of an application until its first driver was requested.",
            _DRIVER_SECONDS,
        )

    def count_transition(self, application: SparkApplication, status: ApplicationStatus) -> None:
        """Count the transition of `application` from its previous status to the written `status`."""
        known = application.status
        before = known.current_state.current_state_summary if known else ApplicationState.SUBMITTED
        after = status.current_state.current_state_summary
        if before == after:
            return
        if outcome := _find_outcome(before, after):
            self._attempts.labels(outcome).inc()
        if before in STOPPING and after is ApplicationState.SCHEDULED_TO_RESTART:
            self._restarts.inc()
        created = application.creation_timestamp
        first = status.current_attempt_summary.attempt_info.id == 0
        if first and created is not None and after is ApplicationState.DRIVER_REQUESTED:
            delay = status.current_state.last_transition_time - created
            self._driver_seconds.observe(max(0.0, delay.total_seconds()))


class Metrics:
    """The metrics of one controller, in their own registry.

    Args:
        clock: A monotonic clock, in seconds.

    Attributes:
        requests: The metrics of the requests to the API.
        attempts: The metrics of the attempts of applications.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._registry = registry = _Registry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        self._reconciles = cache(
            registry.create_counter("reconciles", "Reconciles, by result.", "kind", "result").labels
        )
        self._reconcile_seconds = cache(
            registry.create_histogram(
                "reconcile_duration_seconds", "Duration of a reconcile.", _CALL_SECONDS, "kind"
            ).labels
        )
        self._errors = registry.create_counter("reconcile_errors", "Failed reconciles, by reason.", "kind", "reason")
        self._queue_depth = registry.create_gauge(
            "queue_depth", "SparkApplications and SparkClusters that wait for a free worker of the controller.", "kind"
        )
        self._queue_age = registry.create_gauge(
            "queue_oldest_age_seconds", "Time for which the first resource in the queue has waited.", "kind"
        )
        self._left_alone = registry.create_gauge(
            "left_alone", "Resources of another controller that this controller leaves alone.", "kind"
        )
        self._claims = registry.create_gauge(
            "claims", "Resources in scope, by whether this controller has claimed them.", "kind", "claim"
        )
        self._stalls = registry.create_histogram(
            "event_loop_delay_seconds",
            "Time for which the event loop did not run tasks, measured ten times per second.",
            _DELAY_SECONDS,
        )
        self._settings = registry.create_counter(
            "settings_changes", "Changes of the settings file, by result.", "result"
        )
        self.requests = RequestMetrics(registry)
        self.attempts = AttemptMetrics(registry)

    def watch_queue(self, kind: str, queue: WorkQueue[ObjectKey]) -> None:
        """Measure the queue of a kind whenever the metrics are collected, and show that the kind has no defect yet."""
        self._errors.labels(kind, DEFECT)
        self._queue_depth.labels(kind).set_function(lambda: len(queue))
        self._queue_age.labels(kind).set_function(lambda: queue.oldest_age)

    def watch_states(
        self, applications: Callable[[], Iterable[JsonObject]], clusters: Callable[[], Iterable[JsonObject]]
    ) -> None:
        """Count the states of all known resources whenever the metrics are collected. Call this method once."""
        for name, meaning, states, documents in (
            ("applications", "Known applications, by state.", ApplicationState, applications),
            ("clusters", "Known clusters, by state.", ClusterState, clusters),
        ):
            self._registry.register(_StateCount(PREFIX + name, meaning, tuple(map(str, states)), documents))

    def watch_leadership(self, leadership: Leadership) -> None:
        """Show whether this controller is the leader whenever the metrics are collected. Call this method once."""
        gauge = self._registry.create_gauge("leader", "Whether this controller is the leader (1) or a standby (0).")
        gauge.set_function(lambda: float(leadership.is_held))

    def watch_claims(self, kind: str, count: Callable[[], ClaimCounts]) -> None:
        """Count the resources of a kind by the controller that manages them whenever the metrics are collected."""
        for claim in (field.name for field in fields(ClaimCounts)):
            self._claims.labels(kind, claim).set_function(partial(_get_count, count, claim))
        self._left_alone.labels(kind).set_function(lambda: count().left_alone)

    @contextmanager
    def measure_reconcile(self, kind: str) -> Iterator[None]:
        """Count and time the reconcile of a resource of `kind` in the body, unless it is cancelled."""
        began = self._clock()
        try:
            yield
        except ReconcileLater:
            self._count_reconcile(kind, WAITING, began)
            raise
        except ManagedElsewhere:
            self._count_reconcile(kind, LEFT_ALONE, began)
            raise
        except Exception as error:
            self._count_reconcile(kind, FAILED, began)
            # The label is not the reason in the answer: an admission webhook can send any word.
            self.count_error(kind, type(error).__name__ if isinstance(error, KubeError) else DEFECT)
            raise
        else:
            self._count_reconcile(kind, DONE, began)

    def count_error(self, kind: str, reason: str) -> None:
        """Count an error in a reconcile of a resource of `kind`."""
        self._errors.labels(kind, reason).inc()

    def observe_stall(self, seconds: float) -> None:
        """Record for how long the event loop did not run tasks."""
        self._stalls.observe(seconds)

    def count_settings(self, result: str) -> None:
        """Count a change of the settings file, APPLIED or REFUSED."""
        self._settings.labels(result).inc()

    def collect(self) -> Iterator[Metric]:
        """Return all metrics as they are now, without the creation times, which would double the number of series."""
        for metric in self._registry.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric

    def _count_reconcile(self, kind: str, result: str, began: float) -> None:
        self._reconciles(kind, result).inc()
        self._reconcile_seconds(kind).observe(self._clock() - began)


def serve_metrics(port: int, metrics: Metrics, address: str = EVERYWHERE) -> AbstractAsyncContextManager[int]:
    """Serve `metrics` as `/metrics` while the body runs, in the format that Prometheus requests; yield the port.

    Args:
        port: The port; 0 for a free port.
        metrics: The metrics, which are collected for each request.
        address: The IP address of an interface, or `EVERYWHERE`.

    Raises:
        OSError: The port is in use or not permitted.
    """

    async def answer(request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(metrics), headers={"Content-Type": content_type})

    return serve_pages(address, port, {"/metrics": answer})


def _get_count(count: Callable[[], ClaimCounts], claim: str) -> float:
    return float(getattr(count(), claim))


@dataclass(frozen=True)
class _StateCount(Collector):
    """The number of resources of a kind in each state, including states without resources."""

    name: str
    meaning: str
    states: tuple[str, ...]
    documents: Callable[[], Iterable[JsonObject]]

    def describe(self) -> list[Metric]:
        """Return the name only, so that registration does not collect numbers."""
        return [self._build_gauge()]

    def collect(self) -> list[Metric]:
        """Return the counts."""
        known = frozenset(self.states)
        words = map(_read_state, self.documents())
        tally = Tally(word if word in known else UNKNOWN_STATE for word in words)
        gauge = self._build_gauge()
        for state in (*self.states, UNKNOWN_STATE):
            gauge.add_metric([state], tally[state])
        return [gauge]

    def _build_gauge(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(self.name, self.meaning, labels=["state"])


def _read_state(document: JsonObject) -> str:
    current = get_object(get_object(document.get("status")).get("currentState"))
    # No status is written before the first driver is requested, or the cluster applied.
    return get_text(current.get("currentStateSummary")) or ApplicationState.SUBMITTED


def _find_outcome(before: ApplicationState, after: ApplicationState) -> str | None:
    """Return the outcome of an attempt that ended with this transition; None if no attempt ended."""
    if after in STOPPING:
        return str(after)
    if before not in STARTING | RUNNING:
        return None
    interrupted = {ApplicationState.RESOURCE_RELEASED: CANCELLED, ApplicationState.SUSPENDED: SUSPENDED}
    return interrupted.get(after)
