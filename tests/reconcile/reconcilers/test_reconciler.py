"""The generic reconciler, with an adapter that the tests define."""

import itertools
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.lifecycle.decision import CreateAttempt, Decision
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.reconcile.attempts.attempt import ReconcileLater
from airflow_provider_spark_operator.reconcile.objects.cache import ObjectCache, ObjectKey, key_of
from airflow_provider_spark_operator.reconcile.objects.kinds import APPLICATION
from airflow_provider_spark_operator.reconcile.reconcilers.reconciler import Reconciler, Revision
from airflow_provider_spark_operator.reconcile.reconcilers.resources import ResourceChanged, Resources
from airflow_provider_spark_operator.reconcile.reports.events import EventRecorder
from airflow_provider_spark_operator.reconcile.serving.metrics import Metrics
from tests.reconcile.harness import build_application

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NO_CLIENT: Any = None


class CreatingAdapter:
    """An adapter that always decides to create an attempt. The test defines `apply`."""

    notices: Mapping[str, str] = {}

    def parse(self, resource: JsonObject) -> SparkApplication:
        return parse_application(resource)

    def observe(self, model: SparkApplication) -> int:
        return 0

    def decide(self, model: SparkApplication, observed: int, now: datetime) -> Decision:
        return Decision("AttemptDue", "", (CreateAttempt(0),), None, None)


def build_resource() -> JsonObject:
    document = build_application()
    document["metadata"] |= {"uid": "u", "namespace": "jobs", "resourceVersion": "1"}
    return document


def build_reconciler(adapter: Any, resources: Resources) -> Reconciler[Any, Any, Any]:
    adapter.resources, adapter.recorder = resources, EventRecorder(NO_CLIENT, "operator")
    adapter.metrics, adapter.now = Metrics(), lambda: NOW
    return Reconciler(adapter)


def build_cache(document: JsonObject) -> ObjectCache:
    cache = ObjectCache()
    cache.put(document)
    return cache


async def test_reconcile_gives_up_on_a_resource_that_is_modified_all_the_time() -> None:
    seen: list[bool] = []

    class Overtaken(CreatingAdapter):
        async def apply(self, action: object, revision: Revision[Any], observed: int) -> int:
            seen.append(revision.is_current)
            raise ResourceChanged

    resources = Resources(NO_CLIENT, APPLICATION, build_cache(build_resource()))
    with pytest.raises(ReconcileLater, match="jobs/pi changed during each of 5 reads"):
        await build_reconciler(Overtaken(), resources).reconcile(key_of(build_resource()))
    assert seen == [False, True, True, True, True]


async def test_reconcile_gives_up_if_every_action_needs_another_decision() -> None:
    numbers = itertools.count(1)

    class Undecided(CreatingAdapter):
        async def apply(self, action: object, revision: Revision[Any], observed: int) -> int:
            return next(numbers)

    resources = Resources(NO_CLIENT, APPLICATION, build_cache(build_resource()))
    with pytest.raises(
        ReconcileLater,
        match=r"could not reconcile jobs/pi: one reconcile did not finish within 6 steps \(last step: AttemptDue\)",
    ):
        await build_reconciler(Undecided(), resources).reconcile(key_of(build_resource()))
    assert next(numbers) == 7


async def test_reconcile_drops_the_claim_on_a_resource_that_does_not_exist() -> None:
    forgotten: list[ObjectKey] = []

    class RecordedClaims:
        def forget(self, key: ObjectKey) -> None:
            forgotten.append(key)

    claims: Any = RecordedClaims()
    resources = Resources(NO_CLIENT, APPLICATION, ObjectCache(), claims)
    assert await build_reconciler(CreatingAdapter(), resources).reconcile(ObjectKey("jobs", "pi")) is None
    assert forgotten == [ObjectKey("jobs", "pi")]
