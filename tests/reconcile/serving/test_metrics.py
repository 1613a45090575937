import re
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.models.status import ApplicationStatus, AttemptInfo
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.errors import Forbidden, ServerError
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS
from airflow_provider_spark_operator.reconcile.attempts.attempt import ReconcileLater
from airflow_provider_spark_operator.reconcile.loop.queue import WorkQueue
from airflow_provider_spark_operator.reconcile.objects.cache import ObjectKey
from airflow_provider_spark_operator.reconcile.ownership.claims import ClaimCounts
from airflow_provider_spark_operator.reconcile.ownership.election import Leadership
from airflow_provider_spark_operator.reconcile.serving.metrics import APPLIED, PREFIX, Metrics, serve_metrics
from tests.builders import NOW, build_application_model, build_status, build_status_at, seconds
from tests.reconcile import harness
from tests.reconcile.harness import Api, FaultyClient, build_error, get_value, run_controller

State = ApplicationState
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"
CREATE_POD = Call("create", "POST", PODS, "jobs")
KIND = SPARK_APPLICATIONS.kind


def count_transition(before: ApplicationStatus | None, after: ApplicationStatus) -> Metrics:
    """Return metrics that have counted one transition."""
    metrics = Metrics()
    metrics.attempts.count_transition(build_application_model(status=before), after)
    return metrics


def count_attempts(metrics: Metrics) -> dict[str, float]:
    """Return the number of completed attempts of each outcome that occurred."""
    counters = [metric for metric in metrics.collect() if metric.name == f"{PREFIX}attempts"]
    return {sample.labels["outcome"]: sample.value for sample in counters[0].samples if sample.value}


def reconcile(metrics: Metrics, error: BaseException | None = None) -> None:
    with metrics.measure_reconcile(KIND):
        if error is not None:
            raise error


def test_reconcile_is_counted_and_timed() -> None:
    ticks = iter((10.0, 10.4))
    metrics = Metrics(clock=lambda: next(ticks))
    reconcile(metrics)
    assert get_value(metrics, "reconciles_total", kind=KIND, result="done") == 1
    assert get_value(metrics, "reconcile_duration_seconds_sum", kind=KIND) == pytest.approx(0.4)
    assert get_value(metrics, "reconcile_errors_total") is None


def test_postponed_reconcile_is_not_an_error() -> None:
    metrics = Metrics()
    with pytest.raises(ReconcileLater):
        reconcile(metrics, ReconcileLater("the driver is still there"))
    assert get_value(metrics, "reconciles_total", kind=KIND, result="waiting") == 1
    assert get_value(metrics, "reconcile_errors_total") is None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        # An admission webhook can send any reason, so the reason must not be a label.
        (Forbidden(403, "PolicyOf-team-a", "no"), "Forbidden"),
        (build_error(ServerError, 500), "ServerError"),
        (KeyError("x"), "Defect"),
    ],
)
def test_failed_reconcile_is_counted_by_the_type_of_the_error(error: Exception, reason: str) -> None:
    metrics = Metrics()
    with pytest.raises(type(error)):
        reconcile(metrics, error)
    assert get_value(metrics, "reconciles_total", kind=KIND, result="failed") == 1
    assert get_value(metrics, "reconcile_errors_total", kind=KIND, reason=reason) == 1


def test_cancelled_reconcile_is_not_counted() -> None:
    metrics = Metrics()
    with pytest.raises(KeyboardInterrupt):
        reconcile(metrics, KeyboardInterrupt())
    assert get_value(metrics, "reconciles_total") is None


async def test_queue_metrics_are_computed_at_the_collection() -> None:
    now = 0.0
    queue: WorkQueue[ObjectKey] = WorkQueue(clock=lambda: now)
    metrics = Metrics()
    metrics.watch_queue(KIND, queue)
    queue.add(ObjectKey("jobs", "a"))
    queue.add(ObjectKey("jobs", "b"))
    now = 7.0
    assert get_value(metrics, "queue_depth", kind=KIND) == 2
    assert get_value(metrics, "queue_oldest_age_seconds", kind=KIND) == 7


def test_counters_of_rare_events_start_at_zero_so_that_prometheus_sees_the_first_one() -> None:
    metrics = Metrics()
    metrics.watch_queue(KIND, WorkQueue())
    assert get_value(metrics, "reconcile_errors_total", kind=KIND, reason="Defect") == 0
    for outcome in ("Succeeded", "Failed", "DriverEvicted", "Cancelled", "Suspended"):
        assert get_value(metrics, "attempts_total", outcome=outcome) == 0


def test_requests_are_counted_by_verb_resource_and_status() -> None:
    metrics = Metrics()
    metrics.requests.count_call(CREATE_POD, 201, 0.03)
    metrics.requests.count_call(CREATE_POD, None, 10.0)
    assert get_value(metrics, "api_requests_total", verb="create", resource="pods", status="201") == 1
    assert get_value(metrics, "api_requests_total", verb="create", resource="pods", status="none") == 1
    assert get_value(metrics, "api_request_duration_seconds_sum", verb="create", resource="pods") == pytest.approx(
        10.03
    )


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ((State.SCHEDULING_FAILURE,), "SchedulingFailure"),
        ((State.DRIVER_REQUESTED, State.DRIVER_START_TIMED_OUT), "DriverStartTimedOut"),
        ((State.DRIVER_REQUESTED, State.SUCCEEDED), "Succeeded"),
        ((State.DRIVER_REQUESTED, State.RESOURCE_RELEASED), "Cancelled"),
        ((State.DRIVER_REQUESTED, State.SUSPENDED), "Suspended"),
        ((State.RESOURCE_RELEASED,), None),
        ((State.DRIVER_REQUESTED, State.DRIVER_STARTED), None),
        ((State.DRIVER_REQUESTED, State.FAILED, State.RESOURCE_RELEASED), None),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else str(value),
)
def test_completed_attempt_is_counted_once_by_its_outcome(path: Sequence[State], outcome: str | None) -> None:
    metrics = count_transition(build_status(*path[:-1]), build_status(*path))
    assert count_attempts(metrics) == ({outcome: 1} if outcome else {})


@pytest.mark.parametrize(
    ("ended", "following", "restarts"),
    [
        (State.FAILED, State.SCHEDULED_TO_RESTART, 1),
        (State.SUCCEEDED, State.SCHEDULED_TO_RESTART, 1),
        (State.SUSPENDED, State.SUBMITTED, 0),
    ],
)
def test_attempt_after_a_completed_attempt_is_a_restart(ended: State, following: State, restarts: int) -> None:
    metrics = count_transition(build_status_at(ended), build_status_at(following))
    assert get_value(metrics, "restarts_total") == restarts


def test_status_in_the_same_state_is_not_counted() -> None:
    metrics = count_transition(build_status_at(State.FAILED), build_status_at(State.FAILED))
    assert count_attempts(metrics) == {}


@pytest.mark.parametrize(
    ("attempt", "delay", "expected"), [(0, 2.5, (1.0, 2.5)), (1, 2.5, (0.0, 0.0)), (0, -0.4, (1.0, 0.0))]
)
def test_delay_of_the_first_driver_is_measured(attempt: int, delay: float, expected: tuple[float, float]) -> None:
    after = build_status(State.DRIVER_REQUESTED, since=NOW + seconds(delay), attempt=AttemptInfo(id=attempt))
    metrics = count_transition(None, after)
    name = "driver_request_delay_seconds"
    assert (get_value(metrics, f"{name}_count"), get_value(metrics, f"{name}_sum")) == expected


def build_document(word: str) -> JsonObject:
    return {"status": {"currentState": {"currentStateSummary": word}}}


def test_resources_are_counted_by_state_and_empty_states_are_shown() -> None:
    applications: list[JsonObject] = [{}, {"status": []}, build_document("Failed"), build_document("FromTheFuture")]
    metrics = Metrics()
    metrics.watch_states(lambda: applications, lambda: [build_document("RunningHealthy")])
    counts = {state: get_value(metrics, "applications", state=state) for state in (*State, "Unknown")}
    assert {state: count for state, count in counts.items() if count} == {"Submitted": 2, "Failed": 1, "Unknown": 1}
    assert get_value(metrics, "applications", state="Succeeded") == 0
    assert get_value(metrics, "clusters", state="RunningHealthy") == 1


def test_controllers_in_one_process_have_separate_metrics() -> None:
    one, other = Metrics(), Metrics()
    reconcile(one)
    assert get_value(other, "reconciles_total") is None


async def fetch(port: int, accept: str | None = None) -> tuple[str, str]:
    """Fetch the metrics; return the page and its content type."""
    headers = {"Accept": accept} if accept else {}
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/metrics", headers=headers) as response,
    ):
        return await response.text(), response.headers["Content-Type"]


async def test_metrics_are_served_as_prometheus_text() -> None:
    metrics = fill_metrics()
    async with serve_metrics(0, metrics) as port:
        page, content_type = await fetch(port)
    families = {family.name: family for family in text_string_to_metric_families(page)}
    assert content_type.startswith("text/plain")
    assert families[f"{PREFIX}reconciles"].type == "counter"
    assert "python_info" in families
    assert not [line for line in page.splitlines() if "_created" in line]


async def test_metrics_are_served_as_openmetrics_on_request() -> None:
    async with serve_metrics(0, fill_metrics()) as port:
        page, content_type = await fetch(port, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert content_type.startswith("application/openmetrics-text")
    assert page.endswith("# EOF\n")


async def test_port_in_use_is_an_error() -> None:
    async with serve_metrics(0, Metrics()) as port:
        with pytest.raises(OSError, match="in use"):
            async with serve_metrics(port, Metrics()):
                pass


async def test_metrics_of_an_application_with_a_restart(api: Api) -> None:
    metrics = Metrics()
    restart = {"restartPolicy": "Always", "maxRestartAttempts": 1, "restartBackoffMillis": 1}
    async with run_controller(api, metrics=metrics), api.play_drivers("failed", "succeeded"):
        await api.submit(harness.build_application(restart=restart))
        await api.wait_for_state(State.RESOURCE_RELEASED)

        async def is_counted() -> bool:
            return get_value(metrics, "attempts_total", outcome="Succeeded") == 1

        await api.wait_until_true(is_counted)
        assert get_value(metrics, "attempts_total", outcome="Failed") == 1
        assert get_value(metrics, "restarts_total") == 1
        assert get_value(metrics, "driver_request_delay_seconds_count") == 1
        assert get_value(metrics, "applications", state="ResourceReleased") == 1
        assert (get_value(metrics, "reconciles_total", kind=KIND, result="done") or 0) > 5


async def test_error_of_the_api_is_counted(api: Api) -> None:
    metrics = Metrics()
    failing = FaultyClient(api.client, ("create",), 1, build_error(ServerError, 500), after=False)
    async with run_controller(api, failing, metrics=metrics):  # type: ignore[arg-type]
        await api.submit(harness.build_application())
        await api.wait_for_state(State.DRIVER_REQUESTED)
    assert get_value(metrics, "reconcile_errors_total", kind=KIND, reason="ServerError") == 1


async def test_invalid_resource_is_counted(api: Api) -> None:
    metrics = Metrics()
    unreadable = {"currentState": {"currentStateSummary": "Submitted", "lastTransitionTime": "yesterday"}}
    await api.submit(harness.build_application())
    await api.patch({"status": unreadable}, subresource="status")
    async with run_controller(api, metrics=metrics):

        async def is_counted() -> bool:
            return get_value(metrics, "reconcile_errors_total", kind=KIND, reason="InvalidResource") is not None

        await api.wait_until_true(is_counted)


def fill_metrics() -> Metrics:
    """Return metrics with at least one sample of each metric."""
    metrics = Metrics()
    metrics.watch_queue(KIND, WorkQueue())
    metrics.watch_states(list, list)
    metrics.watch_claims(KIND, lambda: ClaimCounts(0, 0, 0))
    metrics.watch_leadership(Leadership.without_election())
    with pytest.raises(KeyError):
        reconcile(metrics, KeyError("x"))
    metrics.requests.count_call(CREATE_POD, 201, 0.1)
    metrics.count_settings(APPLIED)
    metrics.attempts.count_transition(build_application_model(), build_status_at(State.SCHEDULING_FAILURE))
    return metrics


def test_documentation_lists_all_metrics() -> None:
    shown = set()
    for metric in fill_metrics().collect():
        if not metric.name.startswith(PREFIX):
            continue
        name = metric.name + ("_total" if metric.type == "counter" else "")
        labels = {label for sample in metric.samples for label in sample.labels if label != "le"}
        shown.add((name, metric.type, ", ".join(f"`{label}`" for label in sorted(labels)), metric.documentation))
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) ?\| (.+?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows) == shown
