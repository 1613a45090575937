"""The time to live of an application after its end."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.exceptions import SparkApplicationFailed
from airflow_provider_spark_operator.testing.applications import Application
from tests.cluster import Cluster, fail, succeed
from tests.operators.tasks import operator
from tests.task import TaskInstance, run

WEEK, DAY = 604_800_000, 86_400_000


def read_millis(document: dict[str, Any]) -> int | None:
    tolerations: dict[str, int] = document["spec"].get("applicationTolerations", {})
    return tolerations.get("ttlAfterStopMillis")


@pytest.mark.parametrize("ttl", [-2, timedelta(seconds=-1), "1h", True, float("nan")])
def test_invalid_ttl_is_rejected_at_parse_time(ttl: timedelta | float | str) -> None:
    with pytest.raises(ValueError, match="ttl: must be a number of seconds, a timedelta, or -1 to keep"):
        operator(ttl=ttl)


@pytest.mark.parametrize(
    ("script", "expected"), [(succeed, DAY), (fail, WEEK)], ids=["success is cleaned up soon", "failure is evidence"]
)
@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
def test_default_ttl_is_shortened_only_after_success(
    cluster: Cluster, script: Callable[[Application], Awaitable[None]], expected: int, deferrable: bool
) -> None:
    cluster.script = script
    task = operator(deferrable=deferrable)
    if script is fail:
        with pytest.raises(SparkApplicationFailed, match="exit code 3"):
            run(task, TaskInstance())
    else:
        run(task, TaskInstance())
    assert read_millis(cluster.application()) == expected


def test_given_ttl_is_written_at_submission(cluster: Cluster) -> None:
    run(operator(ttl=timedelta(minutes=5)), TaskInstance())
    assert read_millis(cluster.application()) == 300_000


@pytest.mark.parametrize("ttl", [1e300, 9_223_372_036_854_776])
def test_ttl_that_kubernetes_cannot_store_is_rejected(ttl: float) -> None:
    with pytest.raises(ValueError, match="ttl: must be at most 9223372036854775 seconds"):
        operator(ttl=ttl)
