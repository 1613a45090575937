"""The adapter of the reconciler for SparkApplications."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import ClassVar

from ...core.kubernetes.json_object import JsonObject, KubernetesObject
from ...core.kubernetes.names import LABEL_OPERATOR_NAME, ROLE_DRIVER, ROLE_EXECUTOR, can_label
from ...core.kubernetes.pods import has_ended
from ...core.kubernetes.problems import InvalidResource
from ...core.kueue.application_pods import build_application_pod_sets
from ...core.kueue.assignment import change_application
from ...core.kueue.steps import GiveBackQuota, MarkFinished, MarkPodsReady, QueueAction, ReleaseQuota, RequestAdmission
from ...core.lifecycle.application import decide
from ...core.lifecycle.decision import (
    ConfirmAbsence,
    CreateAttempt,
    Decision,
    DeleteApplication,
    DeleteAttemptResources,
    DeleteDriver,
    DeletePod,
    ReadPods,
)
from ...core.lifecycle.driver_end import get_main_container
from ...core.lifecycle.drivers import (
    find_driver,
    find_drivers,
    get_label,
    get_name,
    guess_driver_name,
    list_driver_names,
    list_owner_uids,
)
from ...core.lifecycle.observation import (
    Observed,
    Present,
    Refused,
    confirm_driver,
    get_attempt_id,
    has_fixed_child_names,
    observe,
    observe_live,
)
from ...core.lifecycle.unreadable import refuse_application
from ...core.models.application import SparkApplication
from ...core.models.status import ApplicationStatus
from ...core.states import reasons
from ...core.validation.application import find_accepted_problems
from ...kube.errors import Conflict, NotFound
from ...kube.resources import PODS
from ..attempts.attempt import clear_mounts, create_attempt, delete_attempt
from ..attempts.templates import TemplateReader
from ..kueue.admissions import AdmissionRequest
from ..kueue.queue_actions import NOTICES, get_changes
from ..objects.cache import ObjectCache, ObjectKey, key_of
from ..objects.parser import ApplicationParser
from ..objects.pod_selectors import LastDrivers, build_role_selector
from ..reports.driver_log import quote_driver_log
from ..reports.events import NORMAL, WARNING
from .reconciler import Adapter, AnyAction, AnyStatus, Revision


@dataclass(eq=False)
class ApplicationAdapter(Adapter[SparkApplication, Observed, Decision]):
    """Reconciles the driver of one application at a time.

    Attributes:
        pods: The pods that the watch has shown; the answers of the API to reads and writes are added.
        last_drivers: The last known states of the drivers that the watch has shown as deleted.
    """

    pods: ObjectCache
    last_drivers: LastDrivers
    _parser: ApplicationParser = field(init=False, default_factory=ApplicationParser)
    _templates: TemplateReader = field(init=False, default_factory=TemplateReader)
    notices: ClassVar[Mapping[str, str]] = {
        reasons.SUSPEND_HELD: NORMAL,
        reasons.UNEXPECTED_DRIVER: WARNING,
        reasons.EXECUTORS_REMAIN: WARNING,
        reasons.DRIVER_UNWATCHED: WARNING,
        **NOTICES,
    }

    def parse(self, resource: JsonObject) -> SparkApplication:
        """Parse an application, its spec only if it has changed; see `Adapter`."""
        return self._parser.parse(resource)

    def observe(self, model: SparkApplication) -> Observed:
        """Return the pods and the Workload as the caches show them."""
        key = _key_of(model)
        pods, deleted = self.pods.list_owned(key), self.last_drivers.list(key)
        observed = observe(model, pods, self.settings.operator_name, deleted)
        return replace(observed, queue=self.queue_actions.observe(model))

    def decide(self, model: SparkApplication, observed: Observed, now: datetime) -> Decision:
        """Return what to do next."""
        return decide(model, observed, self.settings, now)

    async def apply(self, action: AnyAction, revision: Revision[SparkApplication], observed: Observed) -> Observed:
        """Carry out one action; see `Adapter`."""
        match action:
            case ConfirmAbsence():
                return await self._confirm_absence(revision.model, observed)
            case ReadPods():
                pods = await self._read_all_pods(revision.model, observed.last_driver)
                return observe_live(observed, revision.model, pods, self.settings.operator_name)
            case CreateAttempt(attempt_id):
                return await self._create_attempt(attempt_id, revision, observed)
            case DeleteDriver(attempt_id, force):
                await self._delete_driver(attempt_id, force, revision.model)
            case DeletePod(name, uid, force):
                await self._delete_pod(revision.model, name, uid, force=force)
            case DeleteAttemptResources(attempt_id):
                await delete_attempt(self.client, revision.model, attempt_id, self.settings.operator_name)
            case DeleteApplication():
                await self.resources.delete(revision.document)
            case RequestAdmission() | ReleaseQuota() | GiveBackQuota() | MarkPodsReady() | MarkFinished():
                return await self._apply_to_queue(action, revision, observed)
        return observed

    async def clean_up(self, model: SparkApplication) -> None:
        """Delete the objects that the first driver mounts: a new application of the same name must not mount them."""
        await clear_mounts(self.client, model, self.settings.operator_name)

    async def complete(self, revision: Revision[SparkApplication], observed: Observed, decision: Decision) -> Decision:
        """Quote the log of a newly failed driver in the message of the state."""
        if not isinstance(observed.driver, Present):
            return decision
        application = revision.model
        main = get_main_container(application.spec.spark_conf)
        return await quote_driver_log(self.client, observed.driver.pod, main, application.status, decision)

    def count_transition(self, model: SparkApplication, status: AnyStatus) -> None:
        """Count the transition to `status` in the metrics."""
        if isinstance(status, ApplicationStatus):
            self.metrics.attempts.count_transition(model, status)

    def refuse(self, resource: JsonObject, message: str, now: datetime) -> ApplicationStatus | None:
        """Return the status of an application that cannot be parsed; None to leave the status unchanged."""
        return refuse_application(resource, message, now)

    async def has_workload(self, resource: JsonObject) -> bool:
        """Whether the application has a driver, by a live read."""
        uid = resource["metadata"]["uid"]
        return any(uid in list_owner_uids(pod) for pod in await self._list_unparsed_pods(resource))

    async def has_live_pods(self, resource: JsonObject) -> bool:
        """Whether pods of the application have not ended, by a live read."""
        return not all(has_ended(pod) for pod in await self._list_unparsed_pods(resource))

    async def _apply_to_queue(
        self, action: QueueAction, revision: Revision[SparkApplication], observed: Observed
    ) -> Observed:
        application = revision.model
        build = partial(build_application_pod_sets, application, self.settings.operator_name)
        request = AdmissionRequest(application, build, lambda: self._have_pods(application))
        driver = [observed.driver.pod] if isinstance(observed.driver, Present) else []
        members = {ROLE_DRIVER: driver, ROLE_EXECUTOR: observed.executors}
        queue = await self.queue_actions.apply(action, revision.document, request, members)
        return observed if queue is None else replace(observed, queue=queue)

    async def _have_pods(self, application: SparkApplication) -> bool:
        pods = await self._read_all_pods(application)
        known = observe_live(Observed(), application, pods, self.settings.operator_name).pods
        return not all(has_ended(pod) for pod in (*known.drivers, *known.executors))

    async def _confirm_absence(self, application: SparkApplication, observed: Observed) -> Observed:
        found = await self._read_drivers(application, get_attempt_id(application), observed.last_driver)
        executors = self.pods.list_owned(_key_of(application))
        return confirm_driver(observed, application, found, self.settings.operator_name, executors)

    async def _read_drivers(
        self, application: SparkApplication, attempt_id: int, last: KubernetesObject | None
    ) -> list[JsonObject]:
        """Read the driver of an attempt by its name, and by its labels if the spec that gave the name was edited."""
        names = [*list_driver_names(application, attempt_id), get_name(last or {})]
        return await self._read_pods(application, names, () if application.generation == 1 else (ROLE_DRIVER,))

    async def _read_all_pods(
        self, application: SparkApplication, last: KubernetesObject | None = None
    ) -> list[JsonObject]:
        """Read the drivers and executors of all attempts."""
        attempt_id = get_attempt_id(application)
        names = [*list_driver_names(application, attempt_id, max(0, attempt_id - 1)), get_name(last or {})]
        return await self._read_pods(application, names, (ROLE_DRIVER, ROLE_EXECUTOR))

    async def _read_pods(
        self, application: SparkApplication, names: Iterable[str | None], roles: tuple[str, ...]
    ) -> list[JsonObject]:
        """Read pods from the API, and update the cache.

        Args:
            application: The application.
            names: The names of pods to read, whatever their labels are. None is ignored.
            roles: The roles of pods to find by their labels; the labels must also name the application.
        """
        key = _key_of(application)
        pods = await self._list_labelled_pods(key, roles) if roles else []
        for name in dict.fromkeys(names):
            if name is not None and all(get_name(pod) != name for pod in pods):
                pods += await self._get_pod(key.namespace, name)
        for pod in pods:
            self._store(pod)
        return pods

    async def _get_pod(self, namespace: str, name: str) -> list[JsonObject]:
        try:
            return [await self.client.get(PODS, name, namespace)]
        except NotFound:
            return []

    def _store(self, pod: JsonObject) -> None:
        """Store a pod that the API has returned. The watch would not update a pod without the operator's label."""
        if get_label(pod, LABEL_OPERATOR_NAME) == self.settings.operator_name:
            self.pods.put_answer(pod)
        else:
            self.pods.trim(pod)
            self.last_drivers.put(pod)

    async def _list_labelled_pods(self, key: ObjectKey, roles: tuple[str, ...]) -> list[JsonObject]:
        if not can_label(key.name):
            return []  # no such pod can exist, and the API rejects the selector
        selector = build_role_selector(self.settings.operator_name, key.name, *roles)
        return (await self.client.list(PODS, key.namespace, label_selector=selector, trim=self.pods.trim)).items

    async def _list_unparsed_pods(self, resource: JsonObject) -> list[JsonObject]:
        """Read the pods of an application that cannot be parsed."""
        key = key_of(resource)
        pods = await self._list_labelled_pods(key, (ROLE_DRIVER, ROLE_EXECUTOR))
        name = guess_driver_name(resource)
        if name is not None and all(get_name(pod) != name for pod in pods):
            pods += await self._get_pod(key.namespace, name)
        return pods

    async def _create_attempt(
        self, attempt_id: int, revision: Revision[SparkApplication], observed: Observed
    ) -> Observed:
        application = change_application(revision.model, get_changes(observed.queue))
        try:
            templates = await self._templates.read(application)
        except InvalidResource as error:
            return replace(observed, create_outcome=Refused(str(error)))
        # A decision on an outdated state could create the driver of an attempt that has already ended.
        await self.require_current(revision)
        drivers = [] if _is_untouched(revision) else await self._list_drivers(application, attempt_id)
        creation = await create_attempt(
            self.client, application, attempt_id, self.settings.operator_name, templates, drivers
        )
        if creation.driver is None:
            return replace(observed, create_outcome=creation.outcome)
        self.queue_actions.warn_if_disabled(revision.document, application)
        if creation.resources is not None:
            problems = find_accepted_problems(revision.model, creation.resources)
            self.recorder.record_problems(revision.document, problems, self.now())
        self._store(creation.driver)
        return replace(observed, create_outcome=creation.outcome, driver=Present(creation.driver))

    async def _list_drivers(self, application: SparkApplication, attempt_id: int) -> list[JsonObject]:
        names = list_driver_names(application, attempt_id, max(0, attempt_id - 1))
        pods = await self._read_pods(application, names, (ROLE_DRIVER,))
        return find_drivers(application, attempt_id, pods, self.settings.operator_name)

    async def _delete_driver(self, attempt_id: int, force: bool, application: SparkApplication) -> None:
        key = _key_of(application)
        name = self.settings.operator_name
        driver = find_driver(application, attempt_id, self.pods.list_owned(key), name)
        if driver is None:
            last = find_driver(application, attempt_id, self.last_drivers.list(key), name)
            driver = find_driver(application, attempt_id, await self._read_drivers(application, attempt_id, last), name)
        if driver is None or ("deletionTimestamp" in driver["metadata"] and not force):
            return
        await self._delete_pod(application, driver["metadata"]["name"], driver["metadata"]["uid"], force=force)

    async def _delete_pod(self, application: SparkApplication, name: str, uid: str, *, force: bool) -> None:
        try:
            await self.client.delete(
                PODS,
                name,
                application.namespace,
                # Foreground deletion makes the driver wait for its services and ConfigMaps. All drivers wait for
                # the garbage collector, which sends 20 requests per second by default (kube-controller-manager's
                # --kube-api-qps).
                propagation="Background" if force or not has_fixed_child_names(application) else "Foreground",
                grace_seconds=0 if force else None,
                uid=uid,
            )
        except (NotFound, Conflict):
            # The driver does not exist any more, although the cache shows it. A pod of the same name is a new pod.
            self.pods.forget(ObjectKey(application.namespace, name))


def _key_of(application: SparkApplication) -> ObjectKey:
    return ObjectKey(application.namespace, application.name)


def _is_untouched(revision: Revision[SparkApplication]) -> bool:
    """Whether an existing driver must have the name that the current spec determines: the spec was never changed."""
    return revision.model.status is None and revision.document["metadata"].get("generation") == 1
