"""A controller in a simulated cluster. It uses the harness to reconcile an application after each change."""

from collections.abc import Iterable
from copy import deepcopy
from typing import TYPE_CHECKING

from airflow_provider_spark_operator.core.driver.attempt import AttemptResources, build_attempt, with_driver_owner
from airflow_provider_spark_operator.core.driver.configuration.configuration import DriverBuildError
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import APPLICATION_FINALIZER, LABEL_APPLICATION_NAME
from airflow_provider_spark_operator.core.kueue.steps import QueueAction, QueueObservation
from airflow_provider_spark_operator.core.lifecycle.decision import Settings
from airflow_provider_spark_operator.core.lifecycle.observation import ApplicationPods, Created, CreateOutcome, Refused
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.models.status import ApplicationStatus
from tests.core.harness import reconcile
from tests.core.simulated_kubernetes import Key, RefusedByApi, SimulatedKubernetes, key_of

if TYPE_CHECKING:
    from datetime import datetime

_REACTION = 0.02


class SimulatedController:
    """Reconcile an application after a change to the application or one of its pods, while the controller runs."""

    def __init__(self, kubernetes: SimulatedKubernetes, settings: Settings) -> None:
        self._kubernetes = kubernetes
        self._settings = settings
        self._running = False
        self._due: dict[Key, datetime] = {}
        kubernetes.on_change = self._handle_change

    def start(self) -> None:
        self._running = True
        for key in list(self._kubernetes.objects):
            if key.kind == "SparkApplication":
                self._requeue(key, _REACTION)

    def stop(self) -> None:
        self._running = False
        self._due.clear()

    def _handle_change(self, key: Key, document: JsonObject) -> None:
        labels = document["metadata"].get("labels") or {}
        name = key.name if key.kind == "SparkApplication" else labels.get(LABEL_APPLICATION_NAME)
        if self._running and name and key.kind in ("SparkApplication", "Pod"):
            self._requeue(Key("SparkApplication", key.namespace, name), _REACTION)

    def _requeue(self, key: Key, seconds: float) -> None:
        def run() -> None:
            if self._due.get(key) == self._kubernetes.now:
                del self._due[key]
                self._reconcile(key)

        due = self._kubernetes.compute_due_time(seconds)
        self._kubernetes.call_later(seconds, run)
        self._due[key] = min(due, self._due.get(key, due))

    def _reconcile(self, key: Key) -> None:
        document = self._kubernetes.objects.get(key)
        if document is None:
            return
        decision = reconcile(self, parse_application(document), self._settings, self._kubernetes.now)[-1]
        if decision.requeue_after is not None:
            self._requeue(key, max(decision.requeue_after.total_seconds(), _REACTION))

    # --- implementation of Resources ---

    def find_driver(self, application: SparkApplication, *, live: bool) -> JsonObject | None:
        pods = self._list_pods(application.uid)
        assert len(pods) <= 1, "an application has two drivers"
        return pods[0] if pods else None

    def find_last_driver(self, application: SparkApplication) -> JsonObject | None:
        return None  # the simulated watch shows each change at once

    def list_executors(self, application: SparkApplication) -> list[JsonObject]:
        driver = self.find_driver(application, live=False)
        return self._list_pods(driver["metadata"]["uid"]) if driver else []

    def list_pods(self, application: SparkApplication, *, live: bool) -> ApplicationPods:
        drivers = self._list_pods(application.uid)
        executors = [pod for driver in drivers for pod in self._list_pods(driver["metadata"]["uid"])]
        return ApplicationPods(drivers, executors, live)

    def create_attempt(self, application: SparkApplication, attempt_id: int) -> CreateOutcome:
        try:
            resources = self._build(application, attempt_id)
            before = [self._kubernetes.create(document) for document in _copy(resources.pre_resources)]
            pod = self._kubernetes.create(resources.pod)
        except (DriverBuildError, RefusedByApi) as refusal:
            return Refused(str(refusal))
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        for document, owned in zip(before, with_driver_owner(before, name, uid), strict=True):
            document["metadata"]["ownerReferences"] = owned["metadata"]["ownerReferences"]
        for document in with_driver_owner(resources.post_resources, name, uid):
            self._kubernetes.create(document)
        return Created()

    def add_finalizer(self, application: SparkApplication) -> None:
        key = _key_of_application(application)
        self._kubernetes.objects[key]["metadata"].setdefault("finalizers", []).append(APPLICATION_FINALIZER)
        self._kubernetes.notify(key)

    def remove_finalizer(self, application: SparkApplication) -> None:
        key = _key_of_application(application)
        self._kubernetes.objects[key]["metadata"]["finalizers"].remove(APPLICATION_FINALIZER)
        self._kubernetes.notify(key)

    def delete_application(self, application: SparkApplication) -> None:
        self._kubernetes.delete(_key_of_application(application))

    def delete_driver(self, application: SparkApplication, attempt_id: int, *, force: bool) -> None:
        driver = self.find_driver(application, live=True)
        if driver is not None:
            self.delete_pod(application, driver["metadata"]["uid"], force=force)

    def delete_pod(self, application: SparkApplication, uid: str, *, force: bool) -> None:
        for pod in self._list_pods(application.uid):
            if pod["metadata"]["uid"] == uid:
                propagation = "Background" if force else "Foreground"
                self._kubernetes.delete(key_of(pod), propagation=propagation, grace=0 if force else None)

    def delete_attempt_resources(self, application: SparkApplication, attempt_id: int) -> None:
        try:
            resources = self._build(application, attempt_id)
        except DriverBuildError:
            return
        for document in (*resources.post_resources, resources.pod, *resources.pre_resources):
            self._kubernetes.delete(key_of(document))

    def write_status(self, application: SparkApplication, status: ApplicationStatus) -> None:
        key = _key_of_application(application)
        if key in self._kubernetes.objects:
            self._kubernetes.objects[key]["status"] = status.to_document()
            self._kubernetes.notify(key)

    def observe_queue(self, application: SparkApplication) -> QueueObservation | None:
        return None

    def apply_to_queue(self, application: SparkApplication, action: QueueAction) -> QueueObservation | None:
        raise AssertionError(f"{action}: the simulated cluster has no Kueue")

    def _list_pods(self, owner_uid: str) -> list[JsonObject]:
        return [self._kubernetes.objects[key] for key in self._kubernetes.list_owned(owner_uid) if key.kind == "Pod"]

    def _build(self, application: SparkApplication, attempt_id: int) -> AttemptResources:
        return build_attempt(application, attempt_id, self._settings.operator_name)


def _key_of_application(application: SparkApplication) -> Key:
    return Key("SparkApplication", application.namespace, application.name)


def _copy(documents: Iterable[JsonObject]) -> list[JsonObject]:
    return [deepcopy(document) for document in documents]
