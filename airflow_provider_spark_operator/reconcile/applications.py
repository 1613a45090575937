"""The adapter of the reconciler for SparkApplications."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from airflow_provider_spark_operator.core.application import decide
from airflow_provider_spark_operator.core.decision import (
    ConfirmAbsence,
    CreateAttempt,
    Decision,
    DeleteApplication,
    DeleteAttemptResources,
    DeleteDriver,
    Settings,
)
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.status import ApplicationStatus
from airflow_provider_spark_operator.core.names import can_label
from airflow_provider_spark_operator.core.observation import (
    Absent,
    Observed,
    Present,
    find_driver,
    find_drivers,
    find_executors,
    get_attempt_id,
    get_main_container,
    has_fixed_child_names,
    list_owner_uids,
    observe,
)
from airflow_provider_spark_operator.core.unreadable import refuse_application
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Conflict, NotFound
from airflow_provider_spark_operator.kube.resources import PODS
from airflow_provider_spark_operator.reconcile.attempt import clear_mounts, create_attempt, delete_attempt
from airflow_provider_spark_operator.reconcile.cache import JsonObject, ObjectCache, ObjectKey, key_of
from airflow_provider_spark_operator.reconcile.driver_log import quote_driver_log
from airflow_provider_spark_operator.reconcile.events import EventRecorder, find_spec_warning
from airflow_provider_spark_operator.reconcile.metrics import Metrics
from airflow_provider_spark_operator.reconcile.parser import ApplicationParser
from airflow_provider_spark_operator.reconcile.pod_selectors import build_driver_selector
from airflow_provider_spark_operator.reconcile.reconciler import AnyAction, AnyStatus, Revision
from airflow_provider_spark_operator.reconcile.resources import Resources


class ApplicationAdapter:
    """Reconciles the driver of one application at a time.

    Attributes:
        settings: The settings that decisions depend on. They can be changed at any time, except the operator's name.
        notices: Empty: a decision about an application is recorded only if it changes the status.

    Args:
        client: The client of the API.
        resources: The applications.
        pods: The pods that the watch has shown; the answers of the API to reads and writes are added.
        settings: See above.
        recorder: Writes Events.
        metrics: Count transitions.
        now: The clock, in UTC.
    """

    notices: frozenset[str] = frozenset()

    def __init__(
        self,
        client: KubeClient,
        resources: Resources,
        pods: ObjectCache,
        settings: Settings,
        recorder: EventRecorder,
        metrics: Metrics,
        now: Callable[[], datetime],
    ) -> None:
        self.settings = settings
        self._client = client
        self._resources = resources
        self._pods = pods
        self._recorder = recorder
        self._metrics = metrics
        self._now = now
        self._parser = ApplicationParser()

    def parse(self, resource: JsonObject) -> SparkApplication:
        """Parse an application, its spec only if it has changed; see `Adapter`."""
        return self._parser.parse(resource)

    def observe(self, model: SparkApplication) -> Observed:
        """Return the driver and the executors as the cache shows them."""
        key = _key_of(model)
        return observe(model, self._pods.list_owned(key), self._pods.list_deleted(key))

    def decide(self, model: SparkApplication, observed: Observed, now: datetime) -> Decision:
        """Return what to do next."""
        return decide(model, observed, self.settings, now)

    async def apply(self, action: AnyAction, revision: Revision[SparkApplication], observed: Observed) -> Observed:
        """Carry out one action; see `Adapter`."""
        match action:
            case ConfirmAbsence():
                return await self._confirm_absence(revision.model, observed)
            case CreateAttempt(attempt_id):
                return await self._create_attempt(attempt_id, revision, observed)
            case DeleteDriver(attempt_id, force):
                await self._delete_driver(attempt_id, force, revision.model)
            case DeleteAttemptResources(attempt_id):
                await delete_attempt(self._client, revision.model, attempt_id, self.settings.operator_name)
            case DeleteApplication():
                await self._resources.delete(revision.document)
        return observed

    async def clean_up(self, model: SparkApplication) -> None:
        """Delete the objects that the first driver mounts: a new application of the same name must not mount them."""
        await clear_mounts(self._client, model, self.settings.operator_name)

    async def complete(self, revision: Revision[SparkApplication], observed: Observed, decision: Decision) -> Decision:
        """Quote the log of a newly failed driver in the message of the state."""
        if not isinstance(observed.driver, Present):
            return decision
        application = revision.model
        main = get_main_container(application.spec.spark_conf)
        return await quote_driver_log(self._client, observed.driver.pod, main, application.status, decision)

    def count_transition(self, model: SparkApplication, status: AnyStatus) -> None:
        """Count the transition to `status` in the metrics."""
        if isinstance(status, ApplicationStatus):
            self._metrics.count_transition(model, status)

    def refuse(self, resource: JsonObject, message: str, now: datetime) -> ApplicationStatus | None:
        """Return the status of an application that cannot be parsed; None to leave the status unchanged."""
        return refuse_application(resource, message, now)

    async def has_workload(self, resource: JsonObject) -> bool:
        """Whether the application has a driver, by a live read."""
        uid = resource["metadata"]["uid"]
        return any(uid in list_owner_uids(pod) for pod in await self._list_labelled_drivers(key_of(resource)))

    async def _confirm_absence(self, application: SparkApplication, observed: Observed) -> Observed:
        driver = await self._find_driver(application, get_attempt_id(application))
        if driver is None:
            return replace(observed, driver=Absent())
        pods = self._pods.list_owned(_key_of(application))
        return replace(observed, driver=Present(driver), executors=find_executors(driver, pods))

    async def _find_driver(self, application: SparkApplication, attempt_id: int) -> JsonObject | None:
        return find_driver(application, attempt_id, await self._list_drivers(application))

    async def _list_drivers(self, application: SparkApplication) -> list[JsonObject]:
        pods = await self._list_labelled_drivers(_key_of(application))
        for pod in pods:
            self._pods.put_answer(pod)
        return find_drivers(application, pods)

    async def _list_labelled_drivers(self, key: ObjectKey) -> list[JsonObject]:
        """Read the driver pods that carry an application's name as a label."""
        if not can_label(key.name):
            return []  # no such pod can exist, and the API rejects the selector
        selector = build_driver_selector(self.settings.operator_name, key.name)
        return (await self._client.list(PODS, key.namespace, label_selector=selector)).items

    async def _create_attempt(
        self, attempt_id: int, revision: Revision[SparkApplication], observed: Observed
    ) -> Observed:
        # A decision on an outdated state could create the driver of an attempt that has already ended.
        if not revision.is_current:
            await self._resources.require_current(revision.document)
        application = revision.model
        drivers = [] if _is_untouched(revision) else await self._list_drivers(application)
        creation = await create_attempt(self._client, application, attempt_id, self.settings.operator_name, drivers)
        if creation.driver is None:
            return replace(observed, create_outcome=creation.outcome)
        if warning := find_spec_warning(revision.document, self._now()):
            self._recorder.record(warning)
        self._pods.put_answer(creation.driver)
        return replace(observed, create_outcome=creation.outcome, driver=Present(creation.driver))

    async def _delete_driver(self, attempt_id: int, force: bool, application: SparkApplication) -> None:
        key = _key_of(application)
        driver = find_driver(application, attempt_id, self._pods.list_owned(key))
        driver = driver or await self._find_driver(application, attempt_id)
        if driver is None or ("deletionTimestamp" in driver["metadata"] and not force):
            return
        try:
            await self._client.delete(
                PODS,
                driver["metadata"]["name"],
                key.namespace,
                # Foreground deletion makes the driver wait for its services and ConfigMaps. All drivers wait for
                # the garbage collector, which sends 20 requests per second by default (kube-controller-manager's
                # --kube-api-qps).
                propagation="Background" if force or not has_fixed_child_names(application) else "Foreground",
                grace_seconds=0 if force else None,
                uid=driver["metadata"]["uid"],
            )
        except (NotFound, Conflict):
            # The driver does not exist any more, although the cache shows it. A pod of the same name is a new pod.
            self._pods.forget(key_of(driver))


def _key_of(application: SparkApplication) -> ObjectKey:
    return ObjectKey(application.namespace, application.name)


def _is_untouched(revision: Revision[SparkApplication]) -> bool:
    """Whether an existing driver must have the name that the current spec determines: the spec was never changed."""
    return revision.model.status is None and revision.document["metadata"].get("generation") == 1
