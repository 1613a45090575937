import re
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from airflow_provider_spark_operator.core.models.status import ApplicationStatus, AttemptInfo
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.errors import Forbidden, ServerError
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS
from airflow_provider_spark_operator.reconcile.attempt import NotYet
from airflow_provider_spark_operator.reconcile.cache import JsonObject, ObjectKey
from airflow_provider_spark_operator.reconcile.claims import ClaimCounts
from airflow_provider_spark_operator.reconcile.leadership import Leadership
from airflow_provider_spark_operator.reconcile.metrics import APPLIED, PREFIX, Metrics, serve_metrics
from airflow_provider_spark_operator.reconcile.queue import WorkQueue
from tests.builders import NOW, application, seconds, status_at, status_in
from tests.reconcile import stage as stages
from tests.reconcile.stage import FaultyClient, Stage, controlling, fault, playing, value

State = ApplicationState
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
CREATE_POD = Call("create", "POST", PODS, "jobs")
KIND = SPARK_APPLICATIONS.kind


def transition(before: ApplicationStatus | None, after: ApplicationStatus) -> Metrics:
    """Metrics that have been told of one transition."""
    metrics = Metrics()
    metrics.count_transition(application(status=before), after)
    return metrics


def look(metrics: Metrics, error: BaseException | None = None) -> None:
    with metrics.measure_reconcile(KIND):
        if error is not None:
            raise error


def test_a_look_is_counted_and_timed() -> None:
    ticks = iter((10.0, 10.4))
    metrics = Metrics(clock=lambda: next(ticks))
    look(metrics)
    assert value(metrics, "reconciles_total", kind=KIND, result="done") == 1
    assert value(metrics, "reconcile_duration_seconds_sum", kind=KIND) == pytest.approx(0.4)
    assert value(metrics, "reconcile_errors_total") is None


def test_a_look_that_has_to_wait_is_no_error() -> None:
    metrics = Metrics()
    with pytest.raises(NotYet):
        look(metrics, NotYet("the driver is still there"))
    assert value(metrics, "reconciles_total", kind=KIND, result="waiting") == 1
    assert value(metrics, "reconcile_errors_total") is None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        # An admission webhook may say any word as its reason: it would be a label without bounds.
        (Forbidden(403, "PolicyOf-team-a", "no"), "Forbidden"),
        (fault(ServerError, 500), "ServerError"),
        (KeyError("x"), "Defect"),
    ],
)
def test_a_failed_look_is_counted_by_the_kind_of_its_error(error: Exception, reason: str) -> None:
    metrics = Metrics()
    with pytest.raises(type(error)):
        look(metrics, error)
    assert value(metrics, "reconciles_total", kind=KIND, result="failed") == 1
    assert value(metrics, "reconcile_errors_total", kind=KIND, reason=reason) == 1


def test_a_look_that_is_cancelled_is_not_counted() -> None:
    metrics = Metrics()
    with pytest.raises(KeyboardInterrupt):
        look(metrics, KeyboardInterrupt())
    assert value(metrics, "reconciles_total") is None


async def test_the_queues_are_looked_at_when_the_metrics_are_asked_for() -> None:
    now = 0.0
    queue: WorkQueue[ObjectKey] = WorkQueue(clock=lambda: now)
    metrics = Metrics()
    metrics.watch_queue(KIND, queue)
    queue.add(ObjectKey("jobs", "a"))
    queue.add(ObjectKey("jobs", "b"))
    now = 7.0
    assert value(metrics, "queue_depth", kind=KIND) == 2
    assert value(metrics, "queue_oldest_age_seconds", kind=KIND) == 7


def test_requests_are_counted_by_what_they_asked_and_got() -> None:
    metrics = Metrics()
    metrics.count_call(CREATE_POD, 201, 0.03)
    metrics.count_call(CREATE_POD, None, 10.0)
    assert value(metrics, "api_requests_total", verb="create", resource="pods", status="201") == 1
    assert value(metrics, "api_requests_total", verb="create", resource="pods", status="none") == 1
    assert value(metrics, "api_request_duration_seconds_sum", verb="create", resource="pods") == pytest.approx(10.03)


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ((State.SCHEDULING_FAILURE,), "SchedulingFailure"),
        ((State.DRIVER_REQUESTED, State.DRIVER_START_TIMED_OUT), "DriverStartTimedOut"),
        ((State.DRIVER_REQUESTED, State.SUCCEEDED), "Succeeded"),
        ((State.DRIVER_REQUESTED, State.RESOURCE_RELEASED), "Cancelled"),
        ((State.DRIVER_REQUESTED, State.SCHEDULED_TO_RESTART), "Suspended"),
        ((State.RESOURCE_RELEASED,), None),
        ((State.DRIVER_REQUESTED, State.DRIVER_STARTED), None),
        ((State.DRIVER_REQUESTED, State.FAILED, State.RESOURCE_RELEASED), None),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else str(value),
)
def test_the_end_of_an_attempt_is_counted_once_by_its_outcome(path: Sequence[State], outcome: str | None) -> None:
    metrics = transition(status_in(*path[:-1]), status_in(*path))
    assert value(metrics, "attempts_total") == (1 if outcome else None)
    assert value(metrics, "attempts_total", outcome=str(outcome)) == (1 if outcome else None)


@pytest.mark.parametrize(("ended", "restarts"), [(State.FAILED, 1), (State.SUCCEEDED, 1), (State.RUNNING_HEALTHY, 0)])
def test_an_attempt_after_an_ended_one_is_a_restart(ended: State, restarts: int) -> None:
    metrics = transition(status_at(ended), status_in(*(State.DRIVER_REQUESTED, State.SCHEDULED_TO_RESTART)))
    assert value(metrics, "restarts_total") == restarts


def test_a_status_that_stays_in_its_state_counts_nothing() -> None:
    metrics = transition(status_at(State.FAILED), status_at(State.FAILED))
    assert value(metrics, "attempts_total") is None


@pytest.mark.parametrize(
    ("attempt", "delay", "expected"), [(0, 2.5, (1.0, 2.5)), (1, 2.5, (0.0, 0.0)), (0, -0.4, (1.0, 0.0))]
)
def test_the_first_driver_of_an_application_is_timed(attempt: int, delay: float, expected: tuple[float, float]) -> None:
    after = status_in(State.DRIVER_REQUESTED, since=NOW + seconds(delay), attempt=AttemptInfo(id=attempt))
    metrics = transition(None, after)
    name = "driver_request_delay_seconds"
    assert (value(metrics, f"{name}_count"), value(metrics, f"{name}_sum")) == expected


def in_state(word: str) -> JsonObject:
    return {"status": {"currentState": {"currentStateSummary": word}}}


def test_resources_are_counted_by_state_and_empty_states_are_shown() -> None:
    applications: list[JsonObject] = [{}, {"status": []}, in_state("Failed"), in_state("FromTheFuture")]
    metrics = Metrics()
    metrics.watch_states(lambda: applications, lambda: [in_state("RunningHealthy")])
    counts = {state: value(metrics, "applications", state=state) for state in (*State, "Unknown")}
    assert {state: count for state, count in counts.items() if count} == {"Submitted": 2, "Failed": 1, "Unknown": 1}
    assert value(metrics, "applications", state="Succeeded") == 0
    assert value(metrics, "clusters", state="RunningHealthy") == 1


def test_two_controllers_in_one_process_do_not_share_their_counts() -> None:
    one, other = Metrics(), Metrics()
    look(one)
    assert value(other, "reconciles_total") is None


async def fetch(port: int, accept: str | None = None) -> tuple[str, str]:
    """The page and its content type."""
    headers = {"Accept": accept} if accept else {}
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/metrics", headers=headers) as response,
    ):
        return await response.text(), response.headers["Content-Type"]


async def test_the_page_is_what_prometheus_reads() -> None:
    metrics = busy()
    async with serve_metrics(0, metrics) as port:
        page, content_type = await fetch(port)
    families = {family.name: family for family in text_string_to_metric_families(page)}
    assert content_type.startswith("text/plain")
    assert families[f"{PREFIX}reconciles"].type == "counter"
    assert "python_info" in families
    assert not [line for line in page.splitlines() if "_created" in line]


async def test_the_page_is_open_metrics_for_those_who_prefer_it() -> None:
    async with serve_metrics(0, busy()) as port:
        page, content_type = await fetch(port, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert content_type.startswith("application/openmetrics-text")
    assert page.endswith("# EOF\n")


async def test_a_port_that_is_taken_is_an_error() -> None:
    async with serve_metrics(0, Metrics()) as port:
        with pytest.raises(OSError, match="in use"):
            async with serve_metrics(port, Metrics()):
                pass


async def test_a_life_with_a_restart_shows_in_the_metrics(stage: Stage) -> None:
    metrics = Metrics()
    restart = {"restartPolicy": "Always", "maxRestartAttempts": 1, "restartBackoffMillis": 1}
    async with controlling(stage.client, stage.namespace, metrics=metrics), playing(stage, "failed", "succeeded"):
        await stage.submit(stages.application(restart=restart))
        await stage.until_state(State.RESOURCE_RELEASED)

        async def counted() -> bool:
            return value(metrics, "attempts_total", outcome="Succeeded") == 1

        await stage.until_true(counted)
        assert value(metrics, "attempts_total", outcome="Failed") == 1
        assert value(metrics, "restarts_total") == 1
        assert value(metrics, "driver_request_delay_seconds_count") == 1
        assert value(metrics, "applications", state="ResourceReleased") == 1
        assert (value(metrics, "reconciles_total", kind=KIND, result="done") or 0) > 5


async def test_a_failing_api_shows_in_the_metrics(stage: Stage) -> None:
    metrics = Metrics()
    failing = FaultyClient(stage.client, ("create",), 1, fault(ServerError, 500), after=False)
    async with controlling(failing, stage.namespace, metrics=metrics):  # type: ignore[arg-type]
        await stage.submit(stages.application())
        await stage.until_state(State.DRIVER_REQUESTED)
    assert value(metrics, "reconcile_errors_total", kind=KIND, reason="ServerError") == 1


async def test_an_unreadable_resource_shows_in_the_metrics(stage: Stage) -> None:
    metrics = Metrics()
    unreadable = {"currentState": {"currentStateSummary": "Submitted", "lastTransitionTime": "yesterday"}}
    await stage.submit(stages.application())
    await stage.patch({"status": unreadable}, subresource="status")
    async with controlling(stage.client, stage.namespace, metrics=metrics):

        async def counted() -> bool:
            return value(metrics, "reconcile_errors_total", kind=KIND, reason="InvalidResource") is not None

        await stage.until_true(counted)


def busy() -> Metrics:
    """Metrics with at least one sample of everything."""
    metrics = Metrics()
    metrics.watch_queue(KIND, WorkQueue())
    metrics.watch_states(list, list)
    metrics.watch_claims(KIND, lambda: ClaimCounts(0, 0, 0))
    metrics.watch_leadership(Leadership.without_election())
    with pytest.raises(KeyError):
        look(metrics, KeyError("x"))
    metrics.count_call(CREATE_POD, 201, 0.1)
    metrics.count_settings(APPLIED)
    metrics.count_transition(application(), status_at(State.SCHEDULING_FAILURE))
    return metrics


def test_the_page_of_the_documentation_lists_exactly_the_metrics_there_are() -> None:
    shown = set()
    for metric in busy().collect():
        if not metric.name.startswith(PREFIX):
            continue
        name = metric.name + ("_total" if metric.type == "counter" else "")
        labels = {label for sample in metric.samples for label in sample.labels if label != "le"}
        shown.add((name, metric.type, ", ".join(f"`{label}`" for label in sorted(labels)), metric.documentation))
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) ?\| (.+?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows) == shown
