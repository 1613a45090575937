import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_CLAIM
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.follow.narration.obstacles import ObstacleWatch, Pauses, WaitState
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS


class Client:
    """A client of an API server without any object."""

    def get_time(self) -> datetime:
        return datetime.now(UTC)

    async def get(self, *_: object) -> Any:
        raise NotFound(404, "NotFound", "not found")


class Sink:
    def __init__(self) -> None:
        self.obstacles: list[str] = []
        self.remarks: list[str] = []

    def show_obstacle(self, sentence: str) -> None:
        self.obstacles.append(sentence)

    def show_remark(self, _: int, sentence: str) -> None:
        self.remarks.append(sentence)


class Watch(ObstacleWatch):
    """A watch that announces its checks, and whose time for a suspension can change."""

    checks: asyncio.Queue[None]

    def set_time_for_suspension(self, seconds: float) -> None:
        self._pauses = Pauses((0.001, 0.001), (0.001, 0.001), suspension=seconds)

    async def check(self) -> None:
        await super().check()
        self.checks.put_nowait(None)

    async def wait_for_checks(self) -> None:
        """Wait for three checks from now on, of which two are complete with what follows them."""
        self.checks = asyncio.Queue()
        for _ in range(3):
            await self.checks.get()


def build_running(*, suspend: bool, age: timedelta = timedelta()) -> dict[str, Any]:
    created = (datetime.now(UTC) - age).strftime("%Y-%m-%dT%H:%M:%SZ")
    entry = {"currentStateSummary": "RunningHealthy", "lastTransitionTime": created}
    return {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkApplication",
        "metadata": {
            "name": "pi",
            "namespace": "jobs",
            "uid": "1",
            "generation": 1 + suspend,
            "creationTimestamp": created,
            "annotations": {ANNOTATION_CLAIM: "jobs/controller 1"},
        },
        "spec": {"suspend": suspend},
        "status": {"currentState": entry, "stateTransitionHistory": {"0": entry}},
    }


async def watch_suspension(age: timedelta, seconds: float) -> list[str]:
    """Suspend an application that runs longer than its operator had time for; return what is shown.

    Args:
        age: The age of the application.
        seconds: The time that the operator has from the suspension on.
    """
    sink, resource = Sink(), build_running(suspend=False, age=age)
    reference = ApplicationReference.of(resource, SPARK_APPLICATIONS)
    pauses = Pauses((0.001, 0.001), (0.001, 0.001), suspension=0.0)
    watch = Watch(Client(), reference, sink, WaitState(), pauses)  # type: ignore[arg-type]

    await watch.update(read_progress(resource), resource)
    await watch.wait_for_checks()
    watch.set_time_for_suspension(seconds)
    suspended = build_running(suspend=True, age=age)
    await watch.update(read_progress(suspended), suspended)
    await watch.wait_for_checks()
    await watch.close()
    return sink.obstacles


async def test_operator_has_time_to_suspend_a_running_application() -> None:
    assert await watch_suspension(timedelta(), seconds=3600.0) == []


async def test_lost_controller_does_not_ignore_a_suspension() -> None:
    (shown,) = await watch_suspension(timedelta(hours=1), seconds=0.0)
    assert "the controller that manages it does not run" in shown


async def test_unexpected_error_is_a_warning() -> None:
    class Broken(ObstacleWatch):
        async def check(self) -> None:
            raise KeyError("status")

    sink, resource = Sink(), build_running(suspend=False)
    pauses = Pauses((0.001, 0.001), (0.001, 0.001))
    reference = ApplicationReference.of(resource, SPARK_APPLICATIONS)
    watch = Broken(Client(), reference, sink, WaitState(), pauses)  # type: ignore[arg-type]
    await watch.update(read_progress(resource), resource)
    async with asyncio.timeout(30):
        while not sink.remarks:  # noqa: ASYNC110 - a sink has no event
            await asyncio.sleep(0.001)
    await watch.close()
    cause = "unexpected KeyError: 'status'. Report this error to the maintainers"
    assert sink.remarks == [f"SparkApplication jobs/pi is followed without the cause for which it waits: {cause}"]
