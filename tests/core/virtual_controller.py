"""A controller around `decide()` for a virtual cluster: it observes, decides, applies, and waits to look again."""

from collections.abc import Iterable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from airflow_provider_spark_operator.core.application import decide
from airflow_provider_spark_operator.core.decision import (
    Action,
    AddFinalizer,
    ConfirmAbsence,
    CreateAttempt,
    Decision,
    DeleteApplication,
    DeleteAttemptResources,
    DeleteDriver,
    RemoveFinalizer,
    Settings,
)
from airflow_provider_spark_operator.core.driver.attempt import AttemptResources, build_attempt, owned_by_driver
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.names import APPLICATION_FINALIZER
from airflow_provider_spark_operator.core.observation import (
    Absent,
    Created,
    CreateOutcome,
    DriverObservation,
    Observed,
    Present,
    Refused,
    Unconfirmed,
)
from tests.core.virtual_cluster import Key, RefusedByApi, VirtualCluster, key_of

if TYPE_CHECKING:
    from datetime import datetime

_REACTION = 0.02
_MOST_DECISIONS = 4


class VirtualController:
    """Looks at an application soon after it or a pod of its changed, while `running`."""

    def __init__(self, cluster: VirtualCluster, settings: Settings) -> None:
        self._cluster = cluster
        self._settings = settings
        self._running = False
        self._next_look: dict[Key, datetime] = {}
        cluster.on_change = self._notice

    def start(self) -> None:
        self._running = True
        for key in list(self._cluster.objects):
            if key.kind == "SparkApplication":
                self._look_within(key, _REACTION)

    def stop(self) -> None:
        self._running = False
        self._next_look.clear()

    def _notice(self, key: Key, document: dict[str, Any]) -> None:
        name = key.name if key.kind == "SparkApplication" else _application_name(document)
        if self._running and name and key.kind in ("SparkApplication", "Pod"):
            self._look_within(Key("SparkApplication", key.namespace, name), _REACTION)

    def _look_within(self, key: Key, seconds: float) -> None:
        def look() -> None:
            if self._next_look.get(key) == self._cluster.now:
                del self._next_look[key]
                self._look(key)

        due = self._cluster.due_in(seconds)
        self._cluster.call_later(seconds, look)
        self._next_look[key] = min(due, self._next_look.get(key, due))

    def _look(self, key: Key) -> None:
        document = self._cluster.objects.get(key)
        if document is None:
            return
        application = parse_application(document)
        decision = self._decide(application)
        for action in decision.actions:
            self._apply(action, key, application)
        if decision.status is not None and key in self._cluster.objects:
            document["status"] = decision.status.to_document()
            self._cluster.changed(key)
        if decision.requeue_after is not None:
            self._look_within(key, max(decision.requeue_after.total_seconds(), _REACTION))

    def _decide(self, application: SparkApplication) -> Decision:
        seen = self._driver(application)
        driver: DriverObservation = Present(seen) if seen else Unconfirmed()
        outcome: CreateOutcome | None = None
        for _ in range(_MOST_DECISIONS):
            observed = Observed(driver, self._executors(seen), outcome)
            decision = decide(application, observed, self._settings, self._cluster.now)
            if ConfirmAbsence() in decision.actions:
                driver = Present(seen) if seen else Absent()
            elif creation := next((each for each in decision.actions if isinstance(each, CreateAttempt)), None):
                outcome = self._create(application, creation.attempt_id)
                seen = self._driver(application)
            else:
                return decision
        raise AssertionError(f"no decision came of looking: {decision}")

    def _driver(self, application: SparkApplication) -> dict[str, Any] | None:
        """The one driver of the application; two of them are what must never be."""
        owned = [self._cluster.objects[key] for key in self._cluster.owned_by(application.uid) if key.kind == "Pod"]
        assert len(owned) <= 1, "an application has two drivers"
        return owned[0] if owned else None

    def _executors(self, driver: dict[str, Any] | None) -> list[dict[str, Any]]:
        if driver is None:
            return []
        return [
            self._cluster.objects[key] for key in self._cluster.owned_by(driver["metadata"]["uid"]) if key.kind == "Pod"
        ]

    def _build(self, application: SparkApplication, attempt: int) -> AttemptResources:
        return build_attempt(application, attempt, self._settings.operator_name)

    def _create(self, application: SparkApplication, attempt: int) -> CreateOutcome:
        try:
            resources = self._build(application, attempt)
            before = [self._cluster.create(document) for document in _without_owner(resources.pre_resources)]
            pod = self._cluster.create(resources.pod)
        except (DriverBuildError, RefusedByApi) as refusal:
            return Refused(str(refusal))
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        for document, owned in zip(before, owned_by_driver(before, name, uid), strict=True):
            document["metadata"]["ownerReferences"] = owned["metadata"]["ownerReferences"]
        for document in owned_by_driver(resources.post_resources, name, uid):
            self._cluster.create(document)
        return Created()

    def _apply(self, action: Action, key: Key, application: SparkApplication) -> None:
        metadata = self._cluster.objects[key]["metadata"]
        match action:
            case AddFinalizer():
                metadata.setdefault("finalizers", []).append(APPLICATION_FINALIZER)
                self._cluster.changed(key)
            case RemoveFinalizer():
                metadata["finalizers"].remove(APPLICATION_FINALIZER)
                self._cluster.changed(key)
            case DeleteApplication():
                self._cluster.delete(key)
            case DeleteDriver(force=force):
                driver = self._driver(application)
                if driver is not None:
                    propagation = "Background" if force else "Foreground"
                    self._cluster.delete(key_of(driver), propagation=propagation, grace=0 if force else None)
            case DeleteAttemptResources(attempt_id=attempt):
                self._delete_resources(application, attempt)

    def _delete_resources(self, application: SparkApplication, attempt: int) -> None:
        try:
            resources = self._build(application, attempt)
        except DriverBuildError:
            return
        for document in (*resources.post_resources, resources.pod, *resources.pre_resources):
            self._cluster.delete(key_of(document))


def _application_name(document: dict[str, Any]) -> str | None:
    labels = document["metadata"].get("labels") or {}
    return labels.get("spark.operator/spark-app-name")


def _without_owner(documents: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [deepcopy(document) for document in documents]
